#include "grpc_resilience/backoff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace grpc_resilience {
namespace {

double AsDouble(Duration length) { return static_cast<double>(length.count()); }

// `nanoseconds`, or `limit` when that is less; infinity is fine.
Duration AtMost(double nanoseconds, Duration limit) {
  if (!(nanoseconds < AsDouble(limit))) return limit;
  return std::min(limit,
                  Duration(static_cast<std::int64_t>(std::round(nanoseconds))));
}

Duration UniformBetween(Duration low, Duration high, Random& random) {
  if (high <= low) return low;
  return low + AtMost(random.Uniform() * AsDouble(high - low), high - low);
}

// The range is cut at the cap, not the sample: delays at the cap still differ.
Duration UniformBelowCap(Duration low, double high, Duration cap,
                         Random& random) {
  return UniformBetween(std::min(low, cap), AtMost(high, cap), random);
}

}  // namespace

Duration UnjitteredBackoff(const BackoffPolicy& policy, int retry) {
  if (retry <= 1 || policy.backoff_multiplier <= 1.0) {
    return std::min(policy.initial_backoff, policy.max_backoff);
  }
  // A double holds initial × 2^n exactly, and infinity is capped like any
  // other.
  return AtMost(AsDouble(policy.initial_backoff) *
                    std::pow(policy.backoff_multiplier, retry - 1),
                policy.max_backoff);
}

Duration Backoff::Next(Random& random) {
  if (retry_ < std::numeric_limits<int>::max()) ++retry_;
  const Duration cap = policy_->max_backoff;
  const Duration delay = UnjitteredBackoff(*policy_, retry_);
  switch (policy_->jitter) {
    case Jitter::kNone:
      return delay;
    case Jitter::kFull:
      return UniformBetween(Duration::zero(), delay, random);
    case Jitter::kEqual:
      return UniformBetween(delay / 2, delay, random);
    case Jitter::kDecorrelated: {
      const Duration initial = policy_->initial_backoff;
      const Duration base = std::max(initial, previous_);
      previous_ = UniformBelowCap(initial, 3.0 * AsDouble(base), cap, random);
      return previous_;
    }
    case Jitter::kRatio: {
      const double low = AsDouble(delay) * (1.0 - policy_->jitter_ratio);
      const double high = AsDouble(delay) * (1.0 + policy_->jitter_ratio);
      return UniformBelowCap(AtMost(std::max(low, 0.0), cap), high, cap,
                             random);
    }
  }
  return delay;
}

void Backoff::Restart() {
  retry_ = 0;
  previous_ = Duration::zero();
}

}  // namespace grpc_resilience
