// Time as a port: everything in the library that needs to know the time asks a
// Clock it was given, so tests run on a FakeClock and never sleep.
//
//   grpc_resilience::FakeClock clock;           // testing_util
//   clock.Advance(std::chrono::seconds(30));    // runs due timers as well
//
// Time source: the monotonic clock. The wall clock never decides anything.

#pragma once

#include <chrono>

namespace grpc_resilience {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// Reads the time. Implementations are safe to use from several threads at once
/// and must outlive everything they were given to.
class Clock {
 public:
  virtual ~Clock() = default;

  /// Never goes backwards.
  virtual TimePoint Now() const = 0;

  /// The same time read in a cheaper way: never later than Now, and less than
  /// kCoarseness earlier.
  virtual TimePoint CoarseNow() const { return Now(); }
  static constexpr Duration kCoarseness = std::chrono::milliseconds(20);

  /// The machine's monotonic clock; lives as long as the process.
  static const Clock& Real();
};

/// `from + length`, staying at the ends of the range instead of wrapping.
TimePoint SaturatingAdd(TimePoint from, Duration length);

}  // namespace grpc_resilience
