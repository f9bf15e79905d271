// The arithmetic of what a stream keeps to send again. The messages themselves are
// the adapter's; here they are numbers and sizes.
//
//   ReplayBuffer buffer(limits, &ReplayBudget::OfProcess());
//   buffer.Add(bytes);                        // message 0
//   if (buffer.overflow() != kNone) ...       // not to be sent again
//   buffer.DropBelow(1);                      // message 0 is gone

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/replay_budget.h"

namespace grpc_resilience::internal {

/// What a kept message costs beside its bytes.
inline constexpr std::int64_t kReplayBytesPerMessage = 256;

/// Not safe for use from several threads at once. Gives back what it took.
class ReplayBuffer {
 public:
  struct Limits {
    std::int64_t stream = 0;
    std::int64_t process = 0;
  };
  enum class Overflow { kNone, kStream, kProcess };

  ReplayBuffer(const Limits& limits, ReplayBudget* budget)
      : limits_(limits), budget_(budget) {}
  ~ReplayBuffer() { budget_->Give(kept_); }
  ReplayBuffer(const ReplayBuffer&) = delete;
  ReplayBuffer& operator=(const ReplayBuffer&) = delete;

  /// The next message. Beyond a limit it is only held until it is sent, and
  /// nothing more is kept.
  void Add(std::int64_t bytes);
  /// Messages are only held until they are sent from now on.
  void StopKeeping() { keeping_ = false; }
  /// Those messages are needed no more. Only when nothing is kept any longer.
  void DropBelow(std::size_t index);

  /// Messages from begin() to end() - 1 are there.
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return begin_ + messages_.size(); }
  std::int64_t BytesOf(std::size_t index) const {
    return messages_[index - begin_].bytes;
  }
  /// Of all messages ever added, without what they cost beside.
  std::int64_t total_bytes() const { return total_; }

  /// What it was that ended the keeping.
  Overflow overflow() const { return overflow_; }
  bool keeping() const { return keeping_; }
  std::int64_t kept() const { return kept_; }
  /// The most that was kept at once.
  std::int64_t peak() const { return peak_; }

 private:
  struct Message {
    std::int64_t bytes;
    std::int64_t counted;  // of the budget
  };

  const Limits limits_;
  ReplayBudget* const budget_;
  std::deque<Message> messages_;
  std::size_t begin_ = 0;
  std::int64_t total_ = 0;
  std::int64_t kept_ = 0;
  std::int64_t peak_ = 0;
  bool keeping_ = true;
  Overflow overflow_ = Overflow::kNone;
};

}  // namespace grpc_resilience::internal
