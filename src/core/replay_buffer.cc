#include "core/replay_buffer.h"

#include <algorithm>

namespace grpc_resilience::internal {

void ReplayBuffer::Add(std::int64_t bytes) {
  total_ += bytes;
  std::int64_t counted = 0;
  if (keeping_) {
    const std::int64_t cost = bytes + kReplayBytesPerMessage;
    if (cost > limits_.stream - kept_) {
      overflow_ = Overflow::kStream;
      keeping_ = false;
    } else if (!budget_->TryTake(cost, limits_.process)) {
      overflow_ = Overflow::kProcess;
      keeping_ = false;
    } else {
      counted = cost;
      kept_ += cost;
      peak_ = std::max(peak_, kept_);
    }
  }
  messages_.push_back({bytes, counted});
}

void ReplayBuffer::DropBelow(std::size_t index) {
  std::int64_t given = 0;
  while (begin_ < index && !messages_.empty()) {
    given += messages_.front().counted;
    messages_.pop_front();
    ++begin_;
  }
  kept_ -= given;
  budget_->Give(given);
}

}  // namespace grpc_resilience::internal
