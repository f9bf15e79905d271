#include "grpc_resilience/window_threshold.h"

#include <cmath>

#include "planner/binomial.h"
#include "planner/planner_checks.h"
#include "planner/window_rule.h"

namespace grpc_resilience {
namespace {

using internal::FaultLines;
using internal::FaultsOf;

FaultLines FaultsIn(const WindowThreshold& window) {
  FaultLines lines;
  FaultsOf faults("window", &lines);
  faults.InRange("window_calls", window.window_calls, 1,
                 internal::kMaxWindowCalls);
  faults.InRange("failure_rate_threshold", window.failure_rate_threshold,
                 internal::kThreshold);
  return lines;
}

int ValidFailuresToOpen(const WindowThreshold& window) {
  return internal::FailuresThatOpen(window.window_calls,
                                    window.failure_rate_threshold);
}

double ValidOpenProbability(const WindowThreshold& window,
                            double failure_rate) {
  return internal::BinomialUpperTail(window.window_calls,
                                     ValidFailuresToOpen(window), failure_rate);
}

}  // namespace

absl::StatusOr<int> FailuresToOpen(const WindowThreshold& window) {
  const FaultLines lines = FaultsIn(window);
  if (!lines.empty()) return internal::StatusOf(lines);
  return ValidFailuresToOpen(window);
}

absl::StatusOr<double> OpenProbability(const WindowThreshold& window,
                                       double failure_rate) {
  FaultLines lines = FaultsIn(window);
  FaultsOf("calls", &lines)
      .InRange("failure_rate", failure_rate, internal::kProbability);
  if (!lines.empty()) return internal::StatusOf(lines);
  return ValidOpenProbability(window, failure_rate);
}

absl::StatusOr<double> FalseOpensOfSeparateWindowsPerDay(
    const WindowThreshold& window, double failure_rate,
    double calls_per_second) {
  FaultLines lines = FaultsIn(window);
  FaultsOf faults("calls", &lines);
  faults.InRange("failure_rate", failure_rate, internal::kProbability);
  faults.InRange("calls_per_second", calls_per_second,
                 internal::kCallsPerSecond);
  if (!lines.empty()) return internal::StatusOf(lines);
  const double windows_per_day =
      internal::kSecondsPerDay * calls_per_second / window.window_calls;
  return windows_per_day * ValidOpenProbability(window, failure_rate);
}

}  // namespace grpc_resilience
