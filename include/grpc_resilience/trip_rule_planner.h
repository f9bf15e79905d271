// How soon a trip rule notices an outage, and how often it opens for nothing.
//
//   PlannedTokenBucket bucket;                     // the default: 16 tokens, 2
//   MeanCallsToOpen(bucket, 1.0)->mean;            // dead backend: 16 attempts
//   FalseOpensPerDay(bucket, 0.3, 1417)->per_day;  // brown-out: 0.94
//
// Every call fails independently of the others with the same probability, the
// failure_rate; each begins after the one before has ended; the rule starts with
// nothing counted. Mean values are exact where the rule's Markov chain can be
// solved, else simulated (always with the same seed), and say with what error.
// Arguments out of range are INVALID_ARGUMENT, with one line for each: field,
// value, allowed range. All functions are pure, so safe to use from several
// threads at once; the slowest take about a second.

#pragma once

#include <chrono>
#include <variant>

#include "absl/status/statusor.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience {

/// RetryThrottlePolicy as a trip rule: opens when the bucket is empty. Exact.
/// A value type.
struct PlannedTokenBucket {
  /// Range: [1, 1000]. Default: 16.
  int max_tokens = 16;
  /// Tokens per success; decimals beyond the third are dropped. Range:
  /// [0.001, 1000]. Default: 2.
  double token_ratio = 2.0;
};

/// Opens after that many failures in a row. Exact. A value type.
struct PlannedConsecutiveFailures {
  /// Range: [1, 1000000]. Default: 5.
  int consecutive_failures = 5;
};

/// BreakerPolicy's count window. Exact up to a window of 20 calls. A value type.
struct PlannedCountWindow {
  /// Range: (0, 1]. Default: 0.5.
  double failure_rate_threshold = 0.5;
  /// Range: [1, 100000]. Default: 20.
  int window_calls = 20;
  /// Range: [1, window_calls]. Default: 10.
  int minimum_calls = 10;
};

using PlannedRule = std::variant<PlannedTokenBucket, PlannedConsecutiveFailures,
                                 PlannedCountWindow>;

/// A window of the last seconds instead of the last calls. A value type.
struct PlannedTimeWindow {
  /// Range: (0, 1]. Default: 0.5.
  double failure_rate_threshold = 0.5;
  /// Range: > 0, at most a day. Default: 10 s.
  Duration window = std::chrono::seconds(10);
  /// Range: ≥ 1. Default: 10.
  int minimum_calls = 10;
};

/// The count window that a time window is when calls come evenly, so many a
/// second: window × calls_per_second calls. That product must be in
/// [minimum_calls, 100000]; with fewer calls the time window never opens.
absl::StatusOr<PlannedCountWindow> AsCountWindow(
    const PlannedTimeWindow& window, double calls_per_second);

/// A value type.
struct CallsToOpen {
  /// Up to and including the failure that opens; infinite when none ever does.
  double mean = 0;
  /// Of `mean`, in calls; 0: exact.
  double standard_error = 0;
};

/// `failure_rate` in [0, 1]. OUT_OF_RANGE: a token bucket of more steps than can
/// be solved (more than about 1000 tokens × 1000 steps × 1000 steps a success).
absl::StatusOr<CallsToOpen> MeanCallsToOpen(const PlannedRule& rule,
                                            double failure_rate);

/// A value type.
struct OpensPerDay {
  double per_day = 0;
  double standard_error = 0;  ///< of `per_day`; 0: exact
};

/// At a steady failure rate that should not open; time spent open isn't counted.
/// `calls_per_second` in [0, 1e9].
absl::StatusOr<OpensPerDay> FalseOpensPerDay(const PlannedRule& rule,
                                             double failure_rate,
                                             double calls_per_second);

}  // namespace grpc_resilience
