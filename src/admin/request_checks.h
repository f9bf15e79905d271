// What is wrong with a request: INVALID_ARGUMENT with every fault, each naming the
// field, the value and what is allowed.

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "core/fault_list.h"
#include "google/protobuf/duration.pb.h"
#include "grpc_resilience/admin/v1/admin.pb.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

inline constexpr int kDefaultPage = 100;
inline constexpr int kLargestPage = 1000;

/// Collects faults of one request. Not safe for use from several threads at once.
class RequestChecks {
 public:
  explicit RequestChecks(std::string_view request);

  /// A target, a target and a method, or a custom key.
  void Key(const admin::v1::BreakerKey& key);
  /// Not empty.
  void Target(std::string_view field, std::string_view target);
  /// "/pkg.Service/Method".
  void Method(std::string_view field, std::string_view method);
  void Filter(const admin::v1::BreakerFilter& filter);
  void PageSize(int page_size);
  void Reason(std::string_view reason);
  void Mode(admin::v1::Mode mode);
  void InRange(std::string_view field, const google::protobuf::Duration& value,
               Duration low, Duration high);
  void InRange(std::string_view field, int value, int low, int high);
  void Add(std::string_view field, std::string_view value,
           std::string_view allowed);

  absl::Status Result() const;

 private:
  void Text(std::string_view field, std::string_view text, std::size_t most);

  FaultLines lines_;
  FaultsOf faults_;
};

/// The page that is given for what was asked for.
int PageSizeOf(int page_size);

}  // namespace grpc_resilience::internal
