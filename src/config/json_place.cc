#include "config/json_place.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace grpc_resilience::internal {
namespace {

using google::protobuf::Value;
using google::protobuf::util::TimeUtil;

constexpr std::size_t kLongestText = 160;
// Of Protobuf's Duration, which TimeUtil doesn't hold to.
constexpr std::int64_t kMaxSeconds = 315'576'000'000;

std::string PathOf(const std::string& parent, absl::string_view name) {
  const bool plain =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
      });
  return plain
             ? absl::StrCat(parent, ".", name)
             : absl::StrCat(parent, "[\"", absl::Utf8SafeCEscape(name), "\"]");
}

bool AreDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// As Protobuf's JSON form says; its parser also takes " +1.s".
bool HasDurationShape(absl::string_view text) {
  if (text.empty() || text.back() != 's') return false;
  text.remove_suffix(1);
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const std::size_t point = text.find('.');
  if (point == absl::string_view::npos) return AreDigits(text);
  const absl::string_view decimals = text.substr(point + 1);
  return AreDigits(text.substr(0, point)) && AreDigits(decimals) &&
         decimals.size() <= 9;
}

Duration Saturated(const google::protobuf::Duration& duration) {
  const std::chrono::seconds seconds(duration.seconds());
  if (seconds >=
      std::chrono::duration_cast<std::chrono::seconds>(Duration::max())) {
    return Duration::max();
  }
  return seconds + Duration(duration.nanos());
}

}  // namespace

const JsonPlace& JsonPlace::Required(absl::string_view what) const {
  if (!present()) {
    report_->faults.push_back(
        absl::StrCat(path_, " is missing: must be ", what));
  }
  return *this;
}

bool JsonPlace::Is(Value::KindCase kind, absl::string_view allowed) const {
  if (!present() || Has(kind)) return present();
  Fault(absl::StrCat("must be ", allowed));
  return false;
}

std::optional<bool> JsonPlace::Bool() const {
  if (!Is(Value::kBoolValue, "true or false")) return std::nullopt;
  return value_->bool_value();
}

std::optional<double> JsonPlace::Number() const {
  if (!Is(Value::kNumberValue, "a number")) return std::nullopt;
  return value_->number_value();
}

std::optional<int> JsonPlace::WholeNumber(int low, int high) const {
  const std::optional<double> number = Number();
  if (!number) return std::nullopt;
  if (*number >= low && *number <= high && std::floor(*number) == *number) {
    return static_cast<int>(*number);
  }
  Fault(absl::StrCat("must be a whole number in [", low, ", ", high, "]"));
  return std::nullopt;
}

std::optional<std::string> JsonPlace::String() const {
  if (!Is(Value::kStringValue, "a string")) return std::nullopt;
  return value_->string_value();
}

std::optional<double> JsonPlace::NumberIfAny() const {
  if (!Has(Value::kNumberValue)) return std::nullopt;
  return value_->number_value();
}

std::optional<std::string> JsonPlace::StringIfAny() const {
  if (!Has(Value::kStringValue)) return std::nullopt;
  return value_->string_value();
}

std::optional<Duration> JsonPlace::PositiveDuration() const {
  return DurationFrom(1, "a duration > 0, as \"1.5s\" with at most 9 decimals");
}

std::optional<Duration> JsonPlace::NotNegativeDuration() const {
  return DurationFrom(0,
                      "a duration >= 0, as \"1.5s\" with at most 9 decimals");
}

std::optional<Duration> JsonPlace::DurationFrom(
    int nanoseconds, absl::string_view allowed) const {
  if (!Is(Value::kStringValue, allowed)) return std::nullopt;
  google::protobuf::Duration parsed;
  if (HasDurationShape(value_->string_value()) &&
      TimeUtil::FromString(value_->string_value(), &parsed) &&
      (parsed.seconds() > 0 ||
       (parsed.seconds() == 0 && parsed.nanos() >= nanoseconds)) &&
      parsed.seconds() <= kMaxSeconds) {
    return Saturated(parsed);
  }
  Fault(absl::StrCat(
      "must be ", allowed,
      parsed.seconds() > kMaxSeconds ? " and at most 315576000000s" : ""));
  return std::nullopt;
}

bool JsonPlace::IsObject() const {
  return Is(Value::kStructValue, "an object");
}

JsonPlace JsonPlace::Field(absl::string_view name) const {
  const Value* found = nullptr;
  if (Has(Value::kStructValue)) {
    const auto& fields = value_->struct_value().fields();
    const auto at = fields.find(std::string(name));
    if (at != fields.end() && at->second.kind_case() != Value::kNullValue) {
      found = &at->second;
    }
  }
  return JsonPlace(found, PathOf(path_, name), report_);
}

std::vector<JsonPlace> JsonPlace::Elements() const {
  std::vector<JsonPlace> elements;
  if (!Is(Value::kListValue, "a list")) return elements;
  int index = 0;
  for (const Value& value : value_->list_value().values()) {
    elements.push_back(
        JsonPlace(&value, absl::StrCat(path_, "[", index++, "]"), report_));
  }
  return elements;
}

void JsonPlace::Fault(absl::string_view allowed) const {
  report_->faults.push_back(absl::StrCat(path_, " = ", Text(), ": ", allowed));
}

void JsonPlace::Differs(std::string instead) const {
  report_->differences.push_back({path_, Text(), std::move(instead)});
}

void JsonPlace::NameFieldsBeyond(
    std::initializer_list<absl::string_view> known) const {
  if (!Has(Value::kStructValue)) return;
  // Protobuf's map has no order of its own.
  std::map<std::string, const Value*> unknown;
  for (const auto& [name, value] : value_->struct_value().fields()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      unknown.emplace(name, &value);
    }
  }
  for (const auto& [name, value] : unknown) {
    JsonPlace(value, PathOf(path_, name), report_)
        .Differs("not read; gRPC may still honour it where the channel has it");
  }
}

std::string JsonPlace::Text() const {
  std::string text;
  if (!present() ||
      !google::protobuf::util::MessageToJsonString(*value_, &text).ok()) {
    return "?";
  }
  if (text.size() <= kLongestText) return text;
  std::size_t end = kLongestText;
  // Never in the middle of a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "…";
}

}  // namespace grpc_resilience::internal
