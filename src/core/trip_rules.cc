#include "core/trip_rules.h"

#include "core/transition_text.h"

namespace grpc_resilience::internal {

TripRules::TripRules(const BreakerRules& rules)
    : last_calls_(rules.window_calls),
      last_time_(rules.window_duration, rules.window_buckets) {}

std::uint64_t TripRules::Count(const Sample& sample, TimePoint now,
                               const BreakerRules& rules) {
  if (!sample.failed) {
    row_.AddSuccess();
  } else if (sample.in_row && rules.consecutive_failures > 0) {
    row_.AddFailure();
  }
  return AddToWindow(sample, now, rules);
}

void TripRules::AddSuccesses(std::int64_t period, std::int64_t count,
                             const BreakerRules& rules) {
  if (count == 0) return;
  if (rules.window_buckets > 0) {
    last_time_.AddSuccesses(period, count);
  } else {
    last_calls_.AddSuccesses(count);
  }
}

Duration TripRules::BucketLength(const BreakerRules& rules) const {
  return rules.window_buckets > 0 ? last_time_.bucket_length()
                                  : Duration::zero();
}

std::uint64_t TripRules::CountSlow(TimePoint now, const BreakerRules& rules) {
  return AddToWindow({/*failed=*/false, /*slow=*/true}, now, rules);
}

std::uint64_t TripRules::AddToWindow(const Sample& sample, TimePoint now,
                                     const BreakerRules& rules) {
  return rules.window_buckets > 0
             ? last_time_.Add(now, sample.failed, sample.slow)
             : last_calls_.Add(sample.failed, sample.slow);
}

void TripRules::MarkFailed(std::uint64_t ticket, const Sample& sample,
                           TimePoint now, const BreakerRules& rules) {
  if (sample.in_row && rules.consecutive_failures > 0) row_.AddFailure();
  if (rules.window_buckets > 0) {
    last_time_.MarkFailed(now, ticket);
  } else {
    last_calls_.MarkFailed(ticket);
  }
}

std::optional<std::string> TripRules::Met(TimePoint now,
                                          const BreakerRules& rules) const {
  if (rules.consecutive_failures > 0 &&
      row_.count() >= rules.consecutive_failures) {
    return FailuresInRowText(row_.count());
  }
  if (!rules.HasWindow()) return std::nullopt;
  const WindowTotals totals = Totals(now, rules);
  if (totals.calls < rules.minimum_calls) return std::nullopt;
  if (rules.failure_rate_threshold > 0 && totals.failures > 0 &&
      totals.failure_rate() >= rules.failure_rate_threshold) {
    return FailureRateText(totals, rules.window_duration);
  }
  if (rules.slow_call_rate_threshold > 0 && totals.slow > 0 &&
      totals.slow_rate() >= rules.slow_call_rate_threshold) {
    return SlowRateText(totals, rules.slow_call_duration,
                        rules.window_duration);
  }
  return std::nullopt;
}

void TripRules::Clear() {
  last_calls_.Clear();
  last_time_.Clear();
  row_.Clear();
}

void TripRules::Reconfigure(const BreakerRules& before,
                            const BreakerRules& rules) {
  last_calls_.Resize(rules.window_calls);
  if (rules.window_duration != before.window_duration ||
      rules.window_buckets != before.window_buckets) {
    last_time_ = TimeWindow(rules.window_duration, rules.window_buckets);
  }
  if (rules.consecutive_failures == 0) row_.Clear();
}

WindowTotals TripRules::Totals(TimePoint now, const BreakerRules& rules) const {
  return rules.window_buckets > 0 ? last_time_.TotalsAt(now)
                                  : last_calls_.totals();
}

}  // namespace grpc_resilience::internal
