#include "config/retry_policy_import.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/duration_text.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {
namespace {

constexpr int kLastCode = 16;

std::optional<StatusCode> CodeOf(const JsonPlace& place) {
  constexpr char kAllowed[] = "must be a status code, as \"UNAVAILABLE\" or 14";
  if (const std::optional<double> number = place.NumberIfAny()) {
    for (int code = 0; code <= kLastCode; ++code) {
      if (*number == code) return static_cast<StatusCode>(code);
    }
  } else if (const std::optional<std::string> name = place.StringIfAny()) {
    for (int code = 0; code <= kLastCode; ++code) {
      const auto status = static_cast<StatusCode>(code);
      if (absl::EqualsIgnoreCase(*name, StatusCodeName(status))) return status;
    }
  }
  place.Fault(kAllowed);
  return std::nullopt;
}

bool NeedsIdempotency(StatusCode code) {
  return code != StatusCode::UNAVAILABLE &&
         code != StatusCode::RESOURCE_EXHAUSTED;
}

// In the order of the list, each once.
std::vector<StatusCode> CodesOf(const JsonPlace& place,
                                absl::string_view instead) {
  std::vector<StatusCode> codes;
  std::set<StatusCode> seen;
  for (const JsonPlace& element : place.Elements()) {
    const std::optional<StatusCode> code = CodeOf(element);
    if (!code) continue;
    if (*code == StatusCode::OK || *code == StatusCode::CANCELLED) {
      element.Differs(std::string(instead));
    } else if (seen.insert(*code).second) {
      codes.push_back(*code);
    }
  }
  return codes;
}

void ImportCodes(const JsonPlace& place, RetryPolicy* policy) {
  place.Required("a list of status codes");
  if (place.IsList() && place.Elements().empty()) {
    place.Fault("must not be empty");
  }
  const std::vector<StatusCode> codes = CodesOf(place, "never retried");
  std::vector<std::string> need_idempotency;
  for (const StatusCode code : codes) {
    if (NeedsIdempotency(code)) {
      need_idempotency.push_back(StatusCodeName(code));
    }
  }
  policy->retryable_status_codes.emplace(codes.begin(), codes.end());
  if (need_idempotency.empty()) return;
  policy->idempotency = Idempotency::kIdempotent;
  place.Differs(absl::StrCat(
      "the methods are declared idempotent (retry.idempotency = kIdempotent): "
      "after ",
      absl::StrJoin(need_idempotency, ", "),
      " the request may have taken effect, and gRPC sends it again whatever "
      "the method"));
}

void ImportMaxAttempts(const JsonPlace& place, absl::string_view field,
                       int* max_attempts) {
  place.Required("a whole number >= 2");
  const std::optional<int> attempts =
      place.WholeNumber(2, std::numeric_limits<int>::max());
  if (!attempts) return;
  *max_attempts = std::min(*attempts, kMaxAttemptsOfGrpc);
  if (*attempts > kMaxAttemptsOfGrpc) {
    place.Differs(absl::StrCat(kMaxAttemptsOfGrpc, ", as gRPC takes it; ",
                               field, " may be set to more"));
  }
}

void ImportBackoff(const JsonPlace& place, BackoffPolicy* backoff) {
  constexpr char kDuration[] = "a duration > 0, as \"0.05s\"";
  const JsonPlace initial = place.Field("initialBackoff");
  const JsonPlace most = place.Field("maxBackoff");
  const auto initial_backoff = initial.Required(kDuration).PositiveDuration();
  const auto max_backoff = most.Required(kDuration).PositiveDuration();
  if (initial_backoff) backoff->initial_backoff = *initial_backoff;
  if (max_backoff) backoff->max_backoff = *max_backoff;
  if (initial_backoff && max_backoff && *initial_backoff > *max_backoff) {
    backoff->initial_backoff = *max_backoff;
    initial.Differs(absl::StrCat("maxBackoff (", DurationText(*max_backoff),
                                 "), which no wait exceeds"));
  }

  const JsonPlace growth = place.Field("backoffMultiplier");
  const auto multiplier = growth.Required("a number > 0").Number();
  if (multiplier && !(*multiplier > 0)) {
    growth.Fault("must be > 0");
  } else if (multiplier) {
    backoff->backoff_multiplier = std::clamp(*multiplier, 1.0, 1000.0);
    if (backoff->backoff_multiplier != *multiplier) {
      growth.Differs(absl::StrCat(backoff->backoff_multiplier,
                                  ": retry.backoff.backoff_multiplier is in "
                                  "[1, 1000]"));
    }
  }
  backoff->jitter = Jitter::kRatio;
  backoff->jitter_ratio = kJitterOfGrpc;
}

}  // namespace

RetryPolicy ImportRetryPolicy(const JsonPlace& place) {
  RetryPolicy policy;
  policy.max_attempts = 1;
  if (!place.IsObject()) return policy;
  ImportMaxAttempts(place.Field("maxAttempts"), "retry.max_attempts",
                    &policy.max_attempts);
  ImportBackoff(place, &policy.backoff);
  ImportCodes(place.Field("retryableStatusCodes"), &policy);
  place.NameFieldsBeyond({"maxAttempts", "initialBackoff", "maxBackoff",
                          "backoffMultiplier", "retryableStatusCodes"});
  return policy;
}

std::optional<HedgingPolicy> ImportHedgingPolicy(const JsonPlace& place) {
  if (!place.present() || !place.IsObject()) return std::nullopt;
  HedgingPolicy policy;
  ImportMaxAttempts(place.Field("maxAttempts"), "hedging.max_hedged_attempts",
                    &policy.max_hedged_attempts);
  const JsonPlace delay = place.Field("hedgingDelay");
  policy.hedging_delay = Duration::zero();  // gRPC's default
  if (delay.present()) {
    policy.hedging_delay =
        delay.NotNegativeDuration().value_or(Duration::zero());
  }
  const std::vector<StatusCode> codes =
      CodesOf(place.Field("nonFatalStatusCodes"), "ends the call");
  policy.non_fatal_status_codes = {codes.begin(), codes.end()};
  place.NameFieldsBeyond(
      {"maxAttempts", "hedgingDelay", "nonFatalStatusCodes"});
  place.Differs(
      "the methods are declared idempotent (retry.idempotency = kIdempotent), "
      "and hedged: gRPC C++ reads a hedgingPolicy and makes one attempt");
  return policy;
}

}  // namespace grpc_resilience::internal
