// How much the streams of a process keep to send again, all together.

#pragma once

#include <atomic>
#include <cstdint>

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class ReplayBudget {
 public:
  static ReplayBudget& OfProcess();

  /// False: that would be more than `limit` in all, and nothing was taken.
  bool TryTake(std::int64_t bytes, std::int64_t limit) {
    std::int64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes,
                                          std::memory_order_relaxed));
    return true;
  }
  void Give(std::int64_t bytes) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  std::int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> used_{0};
};

}  // namespace grpc_resilience::internal
