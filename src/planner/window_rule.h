// When a count window opens, by the breaker's own arithmetic.

#pragma once

#include <cmath>

namespace grpc_resilience::internal {

/// The fewest failures of `count` outcomes that reach the threshold.
inline int FailuresThatOpen(int count, double failure_rate_threshold) {
  // The breaker divides, so rounding must be that of the quotient.
  const auto opens = [&](int failures) {
    return static_cast<double>(failures) / count >= failure_rate_threshold;
  };
  int failures = static_cast<int>(std::ceil(failure_rate_threshold * count));
  while (failures > 1 && opens(failures - 1)) --failures;
  while (!opens(failures)) ++failures;
  return failures;
}

}  // namespace grpc_resilience::internal
