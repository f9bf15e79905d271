// The outcomes of the last time, in a ring of buckets that moves on with the
// clock: nothing is kept per call, and a pause of any length costs no more than
// clearing the ring once.
//
//   TimeWindow window(std::chrono::seconds(10), 10);
//   window.Add(now, /*failed=*/true);
//   window.TotalsAt(now).failures;  // 1
//
// An outcome leaves between (buckets - 1) / buckets of the length and the whole
// length after it came.

#pragma once

#include <cstdint>
#include <vector>

#include "core/window_totals.h"
#include "grpc_resilience/clock.h"

namespace grpc_resilience::internal {

/// Not safe for use from several threads at once.
class TimeWindow {
 public:
  /// Names the bucket of an outcome; never 0.
  using Ticket = std::uint64_t;

  /// Holds nothing when `buckets` is 0. The length is at least 1 ns per bucket.
  TimeWindow(Duration length, int buckets);

  /// Numbers the times that belong to one bucket.
  static std::int64_t PeriodOf(TimePoint now, Duration bucket_length);
  Duration bucket_length() const { return Duration(bucket_length_); }

  /// Counts that many successes in the bucket of `period`, if it is there.
  void AddSuccesses(std::int64_t period, std::int64_t count);
  Ticket Add(TimePoint now, bool failed, bool slow = false);
  /// An outcome of that bucket was a failure after all; nothing when the bucket
  /// has left the window.
  void MarkFailed(TimePoint now, Ticket ticket);
  void Clear();

  /// What the window holds at `now`. Changes nothing.
  WindowTotals TotalsAt(TimePoint now) const;

 private:
  std::int64_t PeriodOf(TimePoint now) const {
    return PeriodOf(now, bucket_length());
  }
  std::size_t PlaceOf(std::int64_t period) const;
  /// Makes the bucket of `period` the newest; time never goes back.
  void MoveTo(std::int64_t period);

  std::int64_t bucket_length_;
  std::vector<WindowTotals> ring_;
  std::int64_t newest_ = 0;  // its period: time divided by bucket_length_
  WindowTotals totals_;
};

}  // namespace grpc_resilience::internal
