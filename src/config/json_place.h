// One value of a JSON document and its place, for readers that go on after a
// fault and name each with its path.

#pragma once

#include <google/protobuf/struct.pb.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/fault_list.h"
#include "grpc_resilience/clock.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience::internal {

/// What a reading found.
struct ImportReport {
  FaultLines faults;
  std::vector<ServiceConfigDifference> differences;
};

/// Null counts as absent, as in Protobuf's JSON. A getter says nothing of an
/// absent value and adds a fault for one of another kind; both give empty. Not
/// safe for use from several threads at once.
class JsonPlace {
  using Value = google::protobuf::Value;

 public:
  /// The document. It and the report must outlive all places.
  JsonPlace(const google::protobuf::Value& root, ImportReport* report)
      : JsonPlace(&root, "$", report) {}

  bool present() const { return value_ != nullptr; }
  const std::string& path() const { return path_; }

  /// A fault when absent.
  const JsonPlace& Required(absl::string_view what) const;

  std::optional<bool> Bool() const;
  std::optional<double> Number() const;
  std::optional<int> WholeNumber(int low, int high) const;
  std::optional<std::string> String() const;
  /// Without a fault for another kind.
  std::optional<double> NumberIfAny() const;
  std::optional<std::string> StringIfAny() const;
  bool IsList() const { return Has(Value::kListValue); }
  /// "1.5s", > 0. Beyond 292 years: the longest there is.
  std::optional<Duration> PositiveDuration() const;
  std::optional<Duration> NotNegativeDuration() const;
  /// False, and a fault, when it is something else.
  bool IsObject() const;
  /// Of an object.
  JsonPlace Field(absl::string_view name) const;
  std::vector<JsonPlace> Elements() const;

  void Fault(absl::string_view allowed) const;
  void Differs(std::string instead) const;
  /// Every field of the object that isn't one of these.
  void NameFieldsBeyond(std::initializer_list<absl::string_view> known) const;

 private:
  JsonPlace(const Value* value, std::string path, ImportReport* report)
      : value_(value), path_(std::move(path)), report_(report) {}

  bool Has(Value::KindCase kind) const {
    return present() && value_->kind_case() == kind;
  }
  /// A fault when it is present and of another kind.
  bool Is(Value::KindCase kind, absl::string_view allowed) const;
  std::string Text() const;
  std::optional<Duration> DurationFrom(int nanoseconds,
                                       absl::string_view allowed) const;

  const Value* value_;
  std::string path_;
  ImportReport* report_;
};

}  // namespace grpc_resilience::internal
