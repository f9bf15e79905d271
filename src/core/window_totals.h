// What is in a window of outcomes, whichever way the window is bounded.

#pragma once

#include <cstdint>

namespace grpc_resilience::internal {

/// A value type.
struct WindowTotals {
  std::int64_t calls = 0;
  std::int64_t failures = 0;
  std::int64_t slow = 0;

  /// Shares of the calls; 0 while the window is empty.
  double failure_rate() const { return Share(failures); }
  double slow_rate() const { return Share(slow); }

  void Add(bool failed, bool was_slow) {
    ++calls;
    failures += failed ? 1 : 0;
    slow += was_slow ? 1 : 0;
  }
  void Subtract(const WindowTotals& other) {
    calls -= other.calls;
    failures -= other.failures;
    slow -= other.slow;
  }

 private:
  double Share(std::int64_t part) const {
    return calls == 0 ? 0.0
                      : static_cast<double>(part) / static_cast<double>(calls);
  }
};

}  // namespace grpc_resilience::internal
