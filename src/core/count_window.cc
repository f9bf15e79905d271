#include "core/count_window.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace grpc_resilience::internal {

CountWindow::CountWindow(int size)
    : ring_(static_cast<std::size_t>(std::max(size, 0))) {}

CountWindow::Ticket CountWindow::Add(bool failed, bool slow) {
  ++last_ticket_;
  if (size() == 0) return last_ticket_;
  std::uint8_t& place = ring_[next_];
  if (count() == size()) {
    totals_.Subtract({1, (place & kFailed) != 0, (place & kSlow) != 0});
  }
  place =
      static_cast<std::uint8_t>((failed ? kFailed : 0) | (slow ? kSlow : 0));
  totals_.Add(failed, slow);
  next_ = next_ + 1 == size() ? 0 : next_ + 1;
  return last_ticket_;
}

void CountWindow::AddSuccesses(std::int64_t count) {
  // What wouldn't stay needn't come.
  const auto kept = std::min<std::int64_t>(count, size());
  last_ticket_ += static_cast<Ticket>(count - kept);
  for (std::int64_t i = 0; i < kept; ++i) Add(false);
}

void CountWindow::MarkFailed(Ticket ticket) {
  const std::uint64_t age = last_ticket_ - ticket;
  if (ticket > last_ticket_ || age >= static_cast<std::uint64_t>(count())) {
    return;
  }
  std::uint8_t& place = ring_[PlaceOf(static_cast<int>(age))];
  if ((place & kFailed) != 0) return;
  place |= kFailed;
  ++totals_.failures;
}

void CountWindow::Clear() {
  next_ = 0;
  totals_ = WindowTotals();
}

void CountWindow::Resize(int new_size) {
  if (new_size == size()) return;
  CountWindow resized(new_size);
  for (int age = std::min(count(), resized.size()) - 1; age >= 0; --age) {
    const std::uint8_t bits = ring_[PlaceOf(age)];
    resized.Add((bits & kFailed) != 0, (bits & kSlow) != 0);
  }
  // A ticket of before must never name an outcome of now.
  resized.last_ticket_ = last_ticket_ + static_cast<Ticket>(resized.size());
  *this = std::move(resized);
}

int CountWindow::PlaceOf(int age) const {
  const int place = next_ - 1 - age;
  return place < 0 ? place + size() : place;
}

}  // namespace grpc_resilience::internal
