// The trip rules beside the token bucket, together: whichever is met first opens.
//
//   TripRules trip(rules);
//   trip.Count({/*failed=*/true}, now, rules);
//   if (auto why = trip.Met(now, rules)) Open(*why);

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/breaker_rules.h"
#include "core/consecutive_failures.h"
#include "core/count_window.h"
#include "core/time_window.h"
#include "core/window_totals.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// One outcome as the rules see it.
struct Sample {
  bool failed = false;
  bool slow = false;
  /// Whether a failure makes a row of failures longer.
  bool in_row = true;
};

/// Not safe for use from several threads at once. `rules` are always those of
/// the constructor or the last Reconfigure.
class TripRules {
 public:
  explicit TripRules(const BreakerRules& rules);

  /// Counts; the answer names the outcome for MarkFailed.
  std::uint64_t Count(const Sample& sample, TimePoint now,
                      const BreakerRules& rules);
  /// Counts successes that came in that period of the time window, if there is
  /// one. They end no row: where rows matter they are counted one by one.
  void AddSuccesses(std::int64_t period, std::int64_t count,
                    const BreakerRules& rules);
  /// Length of a bucket of the time window; 0 without one.
  Duration BucketLength(const BreakerRules& rules) const;
  /// A call that is still under way; the rows of failures don't change.
  std::uint64_t CountSlow(TimePoint now, const BreakerRules& rules);
  /// A call that was counted as slow while under way has failed: no second
  /// outcome.
  void MarkFailed(std::uint64_t ticket, const Sample& sample, TimePoint now,
                  const BreakerRules& rules);
  /// Such a call has succeeded.
  void MarkSucceeded() { row_.AddSuccess(); }

  /// Why the breaker should open, in words; empty: it shouldn't. To be asked
  /// after a bad outcome only.
  std::optional<std::string> Met(TimePoint now,
                                 const BreakerRules& rules) const;

  void Clear();
  /// Keeps what the new windows can hold; a time window of another shape is
  /// empty.
  void Reconfigure(const BreakerRules& before, const BreakerRules& rules);

  WindowTotals Totals(TimePoint now, const BreakerRules& rules) const;
  int failures_in_row() const { return row_.count(); }

 private:
  std::uint64_t AddToWindow(const Sample& sample, TimePoint now,
                            const BreakerRules& rules);

  CountWindow last_calls_;
  TimeWindow last_time_;
  ConsecutiveFailures row_;
};

}  // namespace grpc_resilience::internal
