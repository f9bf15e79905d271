// What the lock-free peers share: closed, open until a time, one probe.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace grpc_resilience::bench {

constexpr double kThreshold = 0.5;
constexpr int kMinimumCalls = 100;

inline std::int64_t NowNanoseconds() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// This type is safe to use from several threads at once.
class TripSwitch {
 public:
  explicit TripSwitch(std::chrono::nanoseconds open_duration)
      : open_duration_(open_duration.count()) {}

  bool Admit() {
    std::int64_t until = open_until_.load(std::memory_order_acquire);
    if (until == kClosed) return true;
    if (NowNanoseconds() < until) return false;
    return open_until_.compare_exchange_strong(until, kProbing);
  }
  bool closed() const {
    return open_until_.load(std::memory_order_acquire) == kClosed;
  }
  void Open() { open_until_ = NowNanoseconds() + open_duration_; }
  /// The result of the probe.
  void Judge(bool failed) {
    if (failed) {
      Open();
    } else {
      open_until_ = kClosed;
    }
  }

 private:
  static constexpr std::int64_t kClosed = 0;
  static constexpr std::int64_t kProbing =
      std::numeric_limits<std::int64_t>::max();

  const std::int64_t open_duration_;
  std::atomic<std::int64_t> open_until_{kClosed};
};

}  // namespace grpc_resilience::bench
