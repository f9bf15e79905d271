// What a failure_rate_threshold means for a window of so many calls: how many
// failures open, and how likely that is while the target is well.
//
//   WindowThreshold window{/*window_calls=*/10, /*failure_rate_threshold=*/0.5};
//   FailuresToOpen(window);                 // 5
//   OpenProbability(window, 0.05);          // 6.37e-05
//   FalseOpensOfSeparateWindowsPerDay(window, 0.05, 20);  // 11.0
//
// Every call fails independently of the others with the same probability, the
// failure_rate. Arguments out of range are INVALID_ARGUMENT, with one line for
// each: field, value, allowed range. All functions are pure, so safe to use
// from several threads at once.

#pragma once

#include "absl/status/statusor.h"

namespace grpc_resilience {

/// The count window of BreakerPolicy, when it is full. A value type.
struct WindowThreshold {
  /// Outcomes in the window. Range: [1, 100000]. Default: 20.
  int window_calls = 20;
  /// Share of failures that opens. Range: (0, 1]. Default: 0.5.
  double failure_rate_threshold = 0.5;
};

/// The fewest failures among `window_calls` outcomes that open.
absl::StatusOr<int> FailuresToOpen(const WindowThreshold& window);

/// Probability that a full window, looked at once, has that many failures.
/// `failure_rate` in [0, 1].
absl::StatusOr<double> OpenProbability(const WindowThreshold& window,
                                       double failure_rate);

/// Opens a day at a steady `failure_rate` when the calls are cut into separate
/// windows, each looked at once: a rule of thumb, which needs nothing but a
/// binomial tail. The real window moves on with each call and opens more often;
/// FalseOpensPerDay of trip_rule_planner.h accounts for that.
/// `calls_per_second` in [0, 1e9].
absl::StatusOr<double> FalseOpensOfSeparateWindowsPerDay(
    const WindowThreshold& window, double failure_rate,
    double calls_per_second);

}  // namespace grpc_resilience
