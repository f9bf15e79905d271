// The library's breaker as one of the contestants, through its public interface.

#pragma once

#include <chrono>
#include <optional>

#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience::bench {

/// The default rule, or the count window of a hundred calls.
enum class Rule { kTokenBucket, kCountWindow };

inline BreakerPolicy PolicyOf(Rule rule, Duration open_duration) {
  BreakerPolicy policy;
  policy.open_duration = open_duration;
  if (rule == Rule::kCountWindow) {
    policy.failure_rate_threshold = 0.5;
    policy.window_calls = 100;
    policy.minimum_calls = 100;
  }
  return policy;
}

/// This type is safe to use from several threads at once.
class Ours {
 public:
  Ours(Rule rule, Duration open_duration)
      : breaker_({"payments:443", ""}, PolicyOf(rule, open_duration), {},
                 Clock::Real(), Random::Real(), nullptr) {}

  bool Call(bool failed) {
    std::optional<Permit> permit = breaker_.TryAcquire();
    if (!permit) return false;
    permit->Record(failed ? Outcome::kFailure : Outcome::kSuccess,
                   failed ? StatusCode::UNAVAILABLE : StatusCode::OK);
    return true;
  }

 private:
  CircuitBreaker breaker_;
};

}  // namespace grpc_resilience::bench
