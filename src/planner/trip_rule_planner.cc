#include "grpc_resilience/trip_rule_planner.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "planner/count_window_chain.h"
#include "planner/count_window_simulation.h"
#include "planner/planner_checks.h"
#include "planner/token_bucket_chain.h"

namespace grpc_resilience {
namespace {

using internal::FaultLines;
using internal::FaultsOf;
using internal::kMaxWindowCalls;

void Check(const PlannedTokenBucket& rule, FaultLines* lines) {
  FaultsOf faults("token bucket", lines);
  faults.InRange("max_tokens", rule.max_tokens, 1, 1000);
  faults.InRange("token_ratio", rule.token_ratio, internal::kTokenRatios);
}

void Check(const PlannedConsecutiveFailures& rule, FaultLines* lines) {
  FaultsOf("consecutive failures", lines)
      .InRange("consecutive_failures", rule.consecutive_failures, 1, 1'000'000);
}

void Check(const PlannedCountWindow& rule, FaultLines* lines) {
  FaultsOf faults("count window", lines);
  faults.InRange("failure_rate_threshold", rule.failure_rate_threshold,
                 internal::kThreshold);
  faults.InRange("window_calls", rule.window_calls, 1, kMaxWindowCalls);
  faults.InRange("minimum_calls", rule.minimum_calls, 1,
                 std::clamp(rule.window_calls, 1, kMaxWindowCalls));
}

FaultLines FaultsIn(const PlannedRule& rule, double failure_rate) {
  FaultLines lines;
  std::visit([&](const auto& r) { Check(r, &lines); }, rule);
  FaultsOf("calls", &lines)
      .InRange("failure_rate", failure_rate, internal::kProbability);
  return lines;
}

absl::StatusOr<CallsToOpen> Solve(const PlannedTokenBucket& rule, double p) {
  const std::optional<double> mean =
      internal::MeanCallsToEmpty(rule.max_tokens, rule.token_ratio, p);
  if (mean) return CallsToOpen{*mean};
  return absl::OutOfRangeError(absl::StrCat(
      "token bucket: token_ratio = ", rule.token_ratio, ": with max_tokens = ",
      rule.max_tokens, " too fine to be solved; must be a rounder number"));
}

absl::StatusOr<CallsToOpen> Solve(const PlannedConsecutiveFailures& rule,
                                  double p) {
  const double n = rule.consecutive_failures;
  if (p >= 1) return CallsToOpen{n};
  // (p^-n - 1) / (1 - p): a run starts anew after each success.
  return CallsToOpen{std::expm1(-n * std::log(p)) / (1 - p)};
}

absl::StatusOr<CallsToOpen> Solve(const PlannedCountWindow& rule, double p) {
  if (rule.window_calls <= internal::kMaxExactWindowCalls) {
    return CallsToOpen{internal::ExactCallsToOpen(rule, p)};
  }
  return internal::SimulatedCallsToOpen(rule, p);
}

}  // namespace

absl::StatusOr<PlannedCountWindow> AsCountWindow(
    const PlannedTimeWindow& window, double calls_per_second) {
  FaultLines lines;
  FaultsOf faults("time window", &lines);
  faults.InRange("failure_rate_threshold", window.failure_rate_threshold,
                 internal::kThreshold);
  faults.AtLeast("minimum_calls", window.minimum_calls, 1);
  const double seconds = std::chrono::duration<double>(window.window).count();
  faults.InRange("window in seconds", seconds,
                 internal::Interval{0, internal::kSecondsPerDay,
                                    /*low_open=*/true});
  faults.InRange("calls_per_second", calls_per_second,
                 internal::kCallsPerSecond);
  if (!lines.empty()) return internal::StatusOf(lines);
  // 0.1 s of 30 calls a second are 3 calls, though the product is a little less.
  const double calls = std::floor(seconds * calls_per_second * (1 + 1e-12));
  faults.InRange("window × calls_per_second", calls,
                 internal::Interval{static_cast<double>(window.minimum_calls),
                                    kMaxWindowCalls});
  if (!lines.empty()) return internal::StatusOf(lines);
  return PlannedCountWindow{window.failure_rate_threshold,
                            static_cast<int>(calls), window.minimum_calls};
}

absl::StatusOr<CallsToOpen> MeanCallsToOpen(const PlannedRule& rule,
                                            double failure_rate) {
  const FaultLines lines = FaultsIn(rule, failure_rate);
  if (!lines.empty()) return internal::StatusOf(lines);
  return std::visit([&](const auto& r) { return Solve(r, failure_rate); },
                    rule);
}

absl::StatusOr<OpensPerDay> FalseOpensPerDay(const PlannedRule& rule,
                                             double failure_rate,
                                             double calls_per_second) {
  FaultLines lines = FaultsIn(rule, failure_rate);
  FaultsOf("calls", &lines)
      .InRange("calls_per_second", calls_per_second, internal::kCallsPerSecond);
  if (!lines.empty()) return internal::StatusOf(lines);
  const absl::StatusOr<CallsToOpen> calls = MeanCallsToOpen(rule, failure_rate);
  if (!calls.ok()) return calls.status();
  if (std::isinf(calls->mean)) return OpensPerDay{};
  const double per_day =
      internal::kSecondsPerDay * calls_per_second / calls->mean;
  return OpensPerDay{per_day, per_day * calls->standard_error / calls->mean};
}

}  // namespace grpc_resilience
