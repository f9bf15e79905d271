#include "core/breaker_rules.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace grpc_resilience::internal {
namespace {

constexpr Duration kDefaultOpenDuration = std::chrono::milliseconds(100);
constexpr Duration kDefaultMaxOpenDuration = std::chrono::seconds(5);
constexpr double kDefaultMultiplier = 1.6;
constexpr double kDefaultJitter = 0.2;
constexpr int kDefaultEarlyProbe = 100;

TripRule TripRuleOf(const BreakerPolicy& policy) {
  if (policy.mode == BreakerMode::kDisabled) return TripRule::kNone;
  return policy.failure_rate_threshold ? TripRule::kCountWindow
                                       : TripRule::kTokenBucket;
}

// As A6: decimals beyond the third are dropped. The small addend keeps 0.57,
// which is 569.99… thousandths as a double, from becoming 0.569.
std::uint32_t ToMilli(double tokens) {
  if (!(tokens > 0.001)) return 1;  // NaN as well
  return static_cast<std::uint32_t>(std::min(tokens, 1000.0) * kMilli + 1e-6);
}

TokenBucket BucketOf(const RetryThrottlePolicy& throttle) {
  TokenBucket bucket;
  bucket.size = kMilli * std::clamp(throttle.max_tokens, 1, 1000);
  bucket.per_success = ToMilli(throttle.token_ratio);
  return bucket;
}

// A duration that the user set is kept to the letter unless the neighbouring
// fields are set as well.
BackoffPolicy OpenTimeOf(const BreakerPolicy& policy) {
  const bool set = policy.open_duration.has_value();
  BackoffPolicy time;
  time.initial_backoff = policy.open_duration.value_or(kDefaultOpenDuration);
  time.max_backoff = policy.max_open_duration.value_or(
      std::max(kDefaultMaxOpenDuration, time.initial_backoff));
  time.backoff_multiplier =
      policy.open_duration_multiplier.value_or(set ? 1.0 : kDefaultMultiplier);
  time.jitter_ratio =
      policy.open_duration_jitter.value_or(set ? 0.0 : kDefaultJitter);
  time.jitter = time.jitter_ratio > 0.0 ? Jitter::kRatio : Jitter::kNone;
  return time;
}

}  // namespace

BreakerRules::BreakerRules(const BreakerPolicy& policy,
                           const RetryThrottlePolicy& throttle)
    : trip_rule(TripRuleOf(policy)),
      limits_retries(throttle.limits_retries),
      bucket(BucketOf(throttle)),
      failure_rate_threshold(policy.failure_rate_threshold.value_or(1.0)),
      window_calls(policy.failure_rate_threshold
                       ? std::clamp(policy.window_calls, 1, 100'000)
                       : 0),
      minimum_calls(std::min(policy.minimum_calls, window_calls)),
      open_time(OpenTimeOf(policy)),
      early_probe_after_rejections(policy.early_probe_after_rejections.value_or(
          policy.open_duration ? 0 : kDefaultEarlyProbe)),
      half_open_calls(std::max(policy.half_open_calls, 1)),
      half_open_max_in_flight(std::max(
          policy.half_open_max_in_flight.value_or(half_open_calls), 1)),
      half_open_max_wait(policy.half_open_max_wait) {}

}  // namespace grpc_resilience::internal
