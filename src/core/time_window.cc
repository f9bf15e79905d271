#include "core/time_window.h"

#include <algorithm>
#include <cstddef>

namespace grpc_resilience::internal {

TimeWindow::TimeWindow(Duration length, int buckets)
    : bucket_length_(
          std::max<std::int64_t>(length.count() / std::max(buckets, 1), 1)),
      ring_(static_cast<std::size_t>(std::max(buckets, 0))) {}

TimeWindow::Ticket TimeWindow::Add(TimePoint now, bool failed, bool slow) {
  if (ring_.empty()) return 1;
  MoveTo(PeriodOf(now));
  ring_[PlaceOf(newest_)].Add(failed, slow);
  totals_.Add(failed, slow);
  // Periods may be negative; a ticket is never 0.
  return (static_cast<Ticket>(newest_) << 1) | 1;
}

void TimeWindow::AddSuccesses(std::int64_t period, std::int64_t count) {
  if (ring_.empty()) return;
  MoveTo(period);
  if (period <= newest_ - static_cast<std::int64_t>(ring_.size())) return;
  ring_[PlaceOf(period)].calls += count;
  totals_.calls += count;
}

void TimeWindow::MarkFailed(TimePoint now, Ticket ticket) {
  if (ring_.empty()) return;
  MoveTo(PeriodOf(now));
  const auto age = (static_cast<Ticket>(newest_) << 1 | 1) - ticket;
  const Ticket periods_ago = age >> 1;
  if (periods_ago >= ring_.size()) return;
  WindowTotals& bucket =
      ring_[PlaceOf(newest_ - static_cast<std::int64_t>(periods_ago))];
  if (bucket.failures >= bucket.calls) return;
  ++bucket.failures;
  ++totals_.failures;
}

void TimeWindow::Clear() {
  std::fill(ring_.begin(), ring_.end(), WindowTotals());
  totals_ = WindowTotals();
}

WindowTotals TimeWindow::TotalsAt(TimePoint now) const {
  if (ring_.empty()) return {};
  const std::int64_t gone = PeriodOf(now) - newest_;
  if (gone <= 0) return totals_;
  const auto size = static_cast<std::int64_t>(ring_.size());
  if (gone >= size) return {};
  WindowTotals left = totals_;
  for (std::int64_t i = 1; i <= gone; ++i) {
    left.Subtract(ring_[PlaceOf(newest_ - size + i)]);
  }
  return left;
}

std::int64_t TimeWindow::PeriodOf(TimePoint now, Duration bucket_length) {
  const std::int64_t time = now.time_since_epoch().count();
  const std::int64_t period = time / bucket_length.count();
  return time % bucket_length.count() < 0 ? period - 1 : period;
}

std::size_t TimeWindow::PlaceOf(std::int64_t period) const {
  const auto size = static_cast<std::int64_t>(ring_.size());
  const std::int64_t rest = period % size;
  return static_cast<std::size_t>(rest < 0 ? rest + size : rest);
}

void TimeWindow::MoveTo(std::int64_t period) {
  if (period <= newest_) return;
  const auto size = static_cast<std::int64_t>(ring_.size());
  if (period - newest_ >= size) {
    Clear();
  } else {
    for (std::int64_t p = newest_ + 1; p <= period; ++p) {
      WindowTotals& oldest = ring_[PlaceOf(p)];
      totals_.Subtract(oldest);
      oldest = WindowTotals();
    }
  }
  newest_ = period;
}

}  // namespace grpc_resilience::internal
