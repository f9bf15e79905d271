#include "core/count_window.h"

#include <algorithm>

namespace grpc_resilience::internal {

CountWindow::CountWindow(int size) : ring_(std::max(size, 0)) {}

void CountWindow::Add(bool failed) {
  if (size() == 0) return;
  if (count_ == size()) {
    failures_ -= ring_[next_] ? 1 : 0;
  } else {
    ++count_;
  }
  ring_[next_] = failed;
  failures_ += failed ? 1 : 0;
  next_ = next_ + 1 == size() ? 0 : next_ + 1;
}

void CountWindow::Clear() {
  next_ = 0;
  count_ = 0;
  failures_ = 0;
}

void CountWindow::Resize(int new_size) {
  if (new_size == size()) return;
  CountWindow resized(new_size);
  for (int age = std::min(count_, resized.size()) - 1; age >= 0; --age) {
    resized.Add(ring_[PlaceOf(age)]);
  }
  *this = std::move(resized);
}

double CountWindow::failure_rate() const {
  return count_ == 0 ? 0.0 : static_cast<double>(failures_) / count_;
}

int CountWindow::PlaceOf(int age) const {
  const int place = next_ - 1 - age;
  return place < 0 ? place + size() : place;
}

}  // namespace grpc_resilience::internal
