// What the breaker's rules and their validation both must know of unset fields.

#pragma once

#include <chrono>

#include "grpc_resilience/breaker_policy.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

inline constexpr Duration kDefaultOpenDuration = std::chrono::milliseconds(100);

/// The token bucket trips on its own only where no such rule is chosen.
inline bool SetsRuleBesideBucket(const BreakerPolicy& policy) {
  return policy.failure_rate_threshold || policy.slow_call_rate_threshold ||
         policy.consecutive_failures;
}

}  // namespace grpc_resilience::internal
