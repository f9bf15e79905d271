// The policies of a breaker with every default worked out: what the state
// machine reads.

#pragma once

#include <optional>
#include <vector>

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

  bool enabled;
  bool trips_on_empty_bucket;
  bool limits_retries;
  TokenBucket bucket;

  // 0: no such rule.
  double failure_rate_threshold;
  double slow_call_rate_threshold;
  Duration slow_call_duration;  ///< 0: no call is timed
  int consecutive_failures;

  // At most one of the windows.
  int window_calls;          ///< 0 without a count window
  Duration window_duration;  ///< 0 without a time window
  int window_buckets;        ///< 0 without a time window
  int minimum_calls;

  Duration max_hinted_open;  ///< 0: hints are ignored
  BackoffPolicy open_time;   ///< grows from one failed round to the next
  std::optional<Duration> open_time_reset_after;
  int early_probe_after_rejections;  ///< 0: never early

  int half_open_calls;
  int half_open_max_in_flight;
  Duration half_open_max_wait;
  std::vector<int> ramp_permille;
  Duration ramp_step;

  bool HasWindow() const { return window_calls > 0 || window_buckets > 0; }
  bool HasRuleBesideBucket() const {
    return failure_rate_threshold > 0 || slow_call_rate_threshold > 0 ||
           consecutive_failures > 0;
  }
  /// Then HALF_OPEN goes by the bucket too.
  bool BucketAlone() const {
    return trips_on_empty_bucket && !HasRuleBesideBucket();
  }
  bool TimesCalls() const { return slow_call_duration > Duration::zero(); }
  /// Whether counting an outcome needs the time.
  bool ReadsClock() const { return window_buckets > 0; }
  /// How outcomes are counted while CLOSED in AUTO.
  CountingPath Path() const {
    if (!enabled) return CountingPath::kDisabled;
    return BucketAlone() ? CountingPath::kBucket : CountingPath::kLocked;
  }

  friend bool operator==(const BreakerRules& a, const BreakerRules& b);
};

}  // namespace grpc_resilience::internal
