#include "core/breaker_validation.h"

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/breaker_defaults.h"
#include "core/method_pattern.h"

namespace grpc_resilience::internal {
namespace {

void CheckShare(absl::string_view field, const std::optional<double>& share,
                FaultsOf faults) {
  if (share) faults.InRange(field, *share, Interval{0, 1, /*low_open=*/true});
}

void CheckWindow(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.InRange("breaker.window_calls", breaker.window_calls, 1, 100000);
  faults.InRange("breaker.window_buckets", breaker.window_buckets, 1, 1000);
  if (!breaker.window_duration) {
    if (breaker.minimum_calls < 1 ||
        breaker.minimum_calls > breaker.window_calls) {
      faults.Add("breaker.minimum_calls", absl::StrCat(breaker.minimum_calls),
                 absl::StrCat("must be in [1, breaker.window_calls (",
                              breaker.window_calls, ")]"));
    }
    return;
  }
  faults.InRange("breaker.minimum_calls", breaker.minimum_calls, 1, 1000000);
  if (*breaker.window_duration <= Duration::zero()) {
    faults.Positive("breaker.window_duration", *breaker.window_duration);
  } else {
    faults.NotBelow("breaker.window_duration", *breaker.window_duration,
                    "1 ns for each of breaker.window_buckets",
                    Duration(breaker.window_buckets));
  }
}

void CheckTripRule(const BreakerPolicy& breaker, FaultsOf faults) {
  CheckShare("breaker.failure_rate_threshold", breaker.failure_rate_threshold,
             faults);
  CheckShare("breaker.slow_call_rate_threshold",
             breaker.slow_call_rate_threshold, faults);
  if (breaker.slow_call_duration) {
    faults.Positive("breaker.slow_call_duration", *breaker.slow_call_duration);
  } else if (breaker.slow_call_rate_threshold) {
    faults.Add(
        "breaker.slow_call_rate_threshold: needs breaker.slow_call_duration");
  }
  if (breaker.consecutive_failures) {
    faults.InRange("breaker.consecutive_failures",
                   *breaker.consecutive_failures, 1, 1000000);
  }
  CheckWindow(breaker, faults);
  if (!breaker.trip_on_empty_bucket.value_or(true) &&
      !SetsRuleBesideBucket(breaker)) {
    faults.Add("breaker.trip_on_empty_bucket", "false",
               "must be true when no other trip rule is set (mode = kDisabled "
               "switches the breaker off)");
  }
}

void CheckScope(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.Defined("breaker.scope", breaker.scope, BreakerScope::kKeyFunction);
  const bool by_function = breaker.scope == BreakerScope::kKeyFunction;
  if (by_function && !breaker.key_function) {
    faults.Add("breaker.key_function: must be set with scope = kKeyFunction");
  } else if (!by_function && breaker.key_function) {
    faults.Add("breaker.key_function: is set, but scope isn't kKeyFunction");
  }
}

void CheckRamp(const BreakerPolicy& breaker, FaultsOf faults) {
  constexpr char kField[] = "breaker.half_open_ramp";
  faults.Positive("breaker.half_open_ramp_step", breaker.half_open_ramp_step);
  if (breaker.half_open_ramp.size() > 10) {
    faults.Add(kField, absl::StrCat(breaker.half_open_ramp.size(), " shares"),
               "must be at most 10");
  }
  double before = 0;
  for (const double share : breaker.half_open_ramp) {
    if (!Interval{0, 1, true, true}.Contains(share)) {
      faults.Add(
          absl::StrCat(kField, " contains ", share, ": must be in (0, 1)"));
    } else if (share <= before) {
      faults.Add(absl::StrCat(kField, " contains ", share,
                              ": must be greater than the share before (",
                              before, ")"));
    }
    before = share;
  }
  if (!breaker.half_open_ramp.empty() && !SetsRuleBesideBucket(breaker)) {
    faults.Add(absl::StrCat(kField,
                            ": must be empty when the token bucket is the only "
                            "trip rule, which starts slowly by itself"));
  }
}

void CheckOpenTime(const BreakerPolicy& breaker, FaultsOf faults) {
  if (breaker.open_duration) {
    faults.Positive("breaker.open_duration", *breaker.open_duration);
  }
  if (breaker.open_duration_multiplier) {
    faults.InRange("breaker.open_duration_multiplier",
                   *breaker.open_duration_multiplier, kMultipliers);
  }
  if (breaker.max_open_duration) {
    faults.NotBelow("breaker.max_open_duration", *breaker.max_open_duration,
                    "breaker.open_duration",
                    breaker.open_duration.value_or(kDefaultOpenDuration));
  }
  if (breaker.max_hinted_open_duration) {
    faults.Positive("breaker.max_hinted_open_duration",
                    *breaker.max_hinted_open_duration);
  }
  if (breaker.open_duration_reset_after) {
    faults.NotNegative("breaker.open_duration_reset_after",
                       *breaker.open_duration_reset_after);
  }
  if (breaker.open_duration_jitter) {
    faults.InRange("breaker.open_duration_jitter",
                   *breaker.open_duration_jitter,
                   Interval{0, 1, /*low_open=*/false, /*high_open=*/true});
  }
  if (breaker.early_probe_after_rejections) {
    faults.AtLeast("breaker.early_probe_after_rejections",
                   *breaker.early_probe_after_rejections, 0);
  }
}

void CheckRecovery(const RecoveryPolicy& recovery, FaultsOf faults) {
  if (!recovery.background_probe) return;
  const BackgroundProbe& probe = *recovery.background_probe;
  const std::string field = "breaker.recovery.background_probe";
  if (!IsMethodPattern(probe.method) || IsWildcard(probe.method)) {
    faults.Add(absl::StrCat(field, ".method"),
               absl::StrCat("\"", probe.method, "\""),
               "must be of the form /pkg.Service/Method");
  }
  faults.Positive(absl::StrCat(field, ".timeout"), probe.timeout);
  if (!recovery.watch_channel) {
    faults.Add(absl::StrCat(
        field, ": is set, but breaker.recovery.watch_channel is false"));
  }
}

void CheckHalfOpen(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.InRange("breaker.half_open_calls", breaker.half_open_calls, 1, 10000);
  if (breaker.half_open_max_in_flight) {
    const int in_flight = *breaker.half_open_max_in_flight;
    if (in_flight < 1 || in_flight > breaker.half_open_calls) {
      faults.Add("breaker.half_open_max_in_flight", absl::StrCat(in_flight),
                 absl::StrCat("must be in [1, breaker.half_open_calls (",
                              breaker.half_open_calls, ")]"));
    }
  }
  faults.Positive("breaker.half_open_max_wait", breaker.half_open_max_wait);
  if (breaker.half_open_per_attempt_timeout) {
    faults.Positive("breaker.half_open_per_attempt_timeout",
                    *breaker.half_open_per_attempt_timeout);
  }
  CheckRamp(breaker, faults);
}

}  // namespace

void CheckBreakerPolicy(const BreakerPolicy& breaker, FaultsOf faults) {
  faults.Defined("breaker.mode", breaker.mode, BreakerMode::kDisabled);
  CheckScope(breaker, faults);
  faults.Defined("breaker.counts", breaker.counts, BreakerCounts::kCalls);
  CheckTripRule(breaker, faults);
  CheckOpenTime(breaker, faults);
  CheckRecovery(breaker.recovery, faults);
  CheckHalfOpen(breaker, faults);
  faults.NotNegative("breaker.min_deadline_for_failure",
                     breaker.min_deadline_for_failure);
}

}  // namespace grpc_resilience::internal
