// The policies of a breaker with every default worked out: what the state
// machine reads.

#pragma once

#include "core/breaker_word.h"
#include "core/token_bucket.h"
#include "grpc_resilience/backoff.h"
#include "grpc_resilience/breaker_policy.h"

namespace grpc_resilience::internal {

/// A value type. Made from valid policies; out-of-range numbers are moved to
/// the nearer end, so that nothing can divide by zero or get stuck.
struct BreakerRules {
  BreakerRules(const BreakerPolicy& policy,
               const RetryThrottlePolicy& throttle);

  TripRule trip_rule;
  bool limits_retries;
  TokenBucket bucket;

  double failure_rate_threshold;  ///< only with TripRule::kCountWindow
  int window_calls;               ///< 0 without a window
  int minimum_calls;

  BackoffPolicy open_time;  ///< grows from one failed round to the next
  int early_probe_after_rejections;  ///< 0: never early

  int half_open_calls;
  int half_open_max_in_flight;
  Duration half_open_max_wait;
};

}  // namespace grpc_resilience::internal
