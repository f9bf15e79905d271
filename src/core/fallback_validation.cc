#include "core/fallback_validation.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/fallback_decision.h"

namespace grpc_resilience::internal {
namespace {

// May throw: a source is the user's code.
void CheckSource(const MethodPolicy& policy, const FallbackSource& source,
                 const std::string& field, FaultsOf faults) {
  const RetryPolicy& retry = policy.retry;
  const std::string_view kind = source.kind();
  const std::string place = absl::StrCat(
      field, " (", absl::string_view(kind.data(), kind.size()), ")");
  if (source.repeats_request() && !retry.idempotency_key_header &&
      retry.idempotency != Idempotency::kIdempotent) {
    faults.Add(absl::StrCat(
        place,
        ": sends the request again later, which needs "
        "retry.idempotency_key_header or retry.idempotency = kIdempotent"));
  }
  for (const std::string& fault : source.Faults()) {
    faults.Add(absl::StrCat(place, ": ", fault));
  }
}

}  // namespace

void CheckFallbacks(const MethodPolicy& policy, FaultsOf faults) {
  for (std::size_t i = 0; i < policy.fallbacks.size(); ++i) {
    const std::string field = absl::StrCat("fallbacks[", i, "]");
    const FallbackSource* source = policy.fallbacks[i].get();
    if (source == nullptr) {
      faults.Add(field, "null", "must be a source");
      continue;
    }
    try {
      CheckSource(policy, *source, field, faults);
    } catch (...) {
      faults.Add(absl::StrCat(
          field, ": kind(), repeats_request() or Faults() threw an exception"));
    }
  }
  const FallbackRules& rules = policy.fallback_rules;
  faults.Positive("fallback_rules.timeout", rules.timeout);
  faults.NotNegative("fallback_rules.reserve", rules.reserve);
  for (const StatusCode code : rules.also_on) {
    const int number = static_cast<int>(code);
    std::string fault;
    if (number < 0 || number > 16) {
      fault = "not a gRPC status code";
    } else if (code == StatusCode::OK || code == StatusCode::CANCELLED) {
      fault = "never leads to a fallback";
    } else if (IsCallersFault(code)) {
      fault = "the caller's own fault, which a fallback would hide";
    } else {
      continue;
    }
    faults.Add(absl::StrCat("fallback_rules.also_on contains ",
                            StatusCodeName(code), ": ", fault));
  }
}

}  // namespace grpc_resilience::internal
