#include "core/breaker_rules.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "core/breaker_defaults.h"

namespace grpc_resilience::internal {
namespace {

constexpr Duration kDefaultMaxOpenDuration = std::chrono::seconds(5);
constexpr double kDefaultMultiplier = 1.6;
constexpr double kDefaultJitter = 0.2;
constexpr int kDefaultEarlyProbe = 100;

bool SetsWindow(const BreakerPolicy& policy) {
  return policy.failure_rate_threshold || policy.slow_call_rate_threshold;
}

// Nothing else would time a call in vain.
Duration SlowCallDurationOf(const BreakerPolicy& policy) {
  if (!SetsWindow(policy)) return Duration::zero();
  return std::max(policy.slow_call_duration.value_or(Duration::zero()),
                  Duration::zero());
}

std::vector<int> PermilleOf(const std::vector<double>& shares) {
  std::vector<int> permille;
  for (const double share : shares) {
    if (!(share > 0.0) || share >= 1.0) continue;  // NaN as well
    permille.push_back(
        std::clamp(static_cast<int>(std::lround(share * 1000)), 1, 999));
  }
  return permille;
}

// Fields that decide, in one tuple.
auto Tie(const BreakerRules& r) {
  return std::tie(r.enabled, r.trips_on_empty_bucket, r.limits_retries,
                  r.bucket.size, r.bucket.per_success, r.failure_rate_threshold,
                  r.slow_call_rate_threshold, r.slow_call_duration,
                  r.consecutive_failures, r.window_calls, r.window_duration,
                  r.window_buckets, r.minimum_calls, r.max_hinted_open,
                  r.open_time.initial_backoff, r.open_time.max_backoff,
                  r.open_time.backoff_multiplier, r.open_time.jitter,
                  r.open_time.jitter_ratio, r.open_time_reset_after,
                  r.early_probe_after_rejections, r.half_open_calls,
                  r.half_open_max_in_flight, r.half_open_max_wait,
                  r.ramp_permille, r.ramp_step);
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
    : enabled(policy.mode != BreakerMode::kDisabled),
      trips_on_empty_bucket(!SetsRuleBesideBucket(policy) ||
                            policy.trip_on_empty_bucket.value_or(false)),
      limits_retries(throttle.limits_retries),
      bucket(BucketOf(throttle)),
      failure_rate_threshold(policy.failure_rate_threshold.value_or(0.0)),
      slow_call_rate_threshold(policy.slow_call_rate_threshold.value_or(0.0)),
      slow_call_duration(SlowCallDurationOf(policy)),
      consecutive_failures(
          std::max(policy.consecutive_failures.value_or(0), 0)),
      window_calls(SetsWindow(policy) && !policy.window_duration
                       ? std::clamp(policy.window_calls, 1, 100'000)
                       : 0),
      window_duration(
          SetsWindow(policy)
              ? std::max(policy.window_duration.value_or(Duration::zero()),
                         Duration::zero())
              : Duration::zero()),
      window_buckets(SetsWindow(policy) && policy.window_duration
                         ? std::clamp(policy.window_buckets, 1, 1000)
                         : 0),
      minimum_calls(window_calls > 0
                        ? std::min(policy.minimum_calls, window_calls)
                        : policy.minimum_calls),
      max_hinted_open(
          policy.max_hinted_open_duration.value_or(Duration::zero())),
      open_time(OpenTimeOf(policy)),
      open_time_reset_after(policy.open_duration_reset_after),
      early_probe_after_rejections(policy.early_probe_after_rejections.value_or(
          policy.open_duration ? 0 : kDefaultEarlyProbe)),
      half_open_calls(std::max(policy.half_open_calls, 1)),
      half_open_max_in_flight(std::max(
          policy.half_open_max_in_flight.value_or(half_open_calls), 1)),
      half_open_max_wait(policy.half_open_max_wait),
      ramp_permille(PermilleOf(policy.half_open_ramp)),
      ramp_step(std::max(policy.half_open_ramp_step, Duration(1))) {}

bool operator==(const BreakerRules& a, const BreakerRules& b) {
  return Tie(a) == Tie(b);
}

}  // namespace grpc_resilience::internal
