// A Config in words, so that tests compare whole ones.

#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/duration_text.h"
#include "grpc_resilience/config.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/service_config.h"

namespace grpc_resilience::internal {

/// "timeout 2 s; 4 attempts, 50 ms to 1 s x2, jitter 4/0.2, UNAVAILABLE;
/// idempotency 0; hedged, 2 after 100 ms, UNAVAILABLE; idempotency 1".
inline std::string TextOf(const MethodPolicy& policy) {
  std::vector<std::string> parts;
  if (policy.timeout) {
    parts.push_back("timeout " + DurationText(*policy.timeout));
  }
  const RetryPolicy& retry = policy.retry;
  std::string text = absl::StrCat(retry.max_attempts, " attempts");
  if (retry.max_attempts > 1) {
    const BackoffPolicy& backoff = retry.backoff;
    absl::StrAppend(&text, ", ", DurationText(backoff.initial_backoff), " to ",
                    DurationText(backoff.max_backoff), " x",
                    backoff.backoff_multiplier, ", jitter ",
                    static_cast<int>(backoff.jitter), "/",
                    backoff.jitter_ratio);
    if (retry.retryable_status_codes) {
      for (const StatusCode code : *retry.retryable_status_codes) {
        absl::StrAppend(&text, ", ", StatusCodeName(code));
      }
    } else {
      absl::StrAppend(&text, ", default codes");
    }
    absl::StrAppend(&text, "; idempotency ",
                    static_cast<int>(retry.idempotency));
  }
  parts.push_back(text);
  if (policy.hedging) {
    text = absl::StrCat("hedged, ", policy.hedging->max_hedged_attempts,
                        " after ", DurationText(policy.hedging->hedging_delay));
    for (const StatusCode code : policy.hedging->non_fatal_status_codes) {
      absl::StrAppend(&text, ", ", StatusCodeName(code));
    }
    absl::StrAppend(&text, "; idempotency ",
                    static_cast<int>(retry.idempotency));
    parts.push_back(text);
  }
  return absl::StrJoin(parts, "; ");
}

/// One line for each pattern, the default method and the throttle.
inline std::vector<std::string> TextOf(const Config& config) {
  std::vector<std::string> lines;
  for (const auto& [pattern, policy] : config.by_pattern()) {
    lines.push_back(absl::StrCat(pattern, ": ", TextOf(policy)));
  }
  if (config.default_method()) {
    lines.push_back("default: " + TextOf(*config.default_method()));
  }
  const RetryThrottlePolicy& throttle = config.default_target().throttle;
  lines.push_back(absl::StrCat("throttle: ", throttle.limits_retries, " ",
                               throttle.max_tokens, " ", throttle.token_ratio));
  return lines;
}

inline std::vector<std::string> TextOf(
    const std::vector<ServiceConfigDifference>& differences) {
  std::vector<std::string> lines;
  for (const ServiceConfigDifference& difference : differences) {
    lines.push_back(ToString(difference));
  }
  return lines;
}

}  // namespace grpc_resilience::internal
