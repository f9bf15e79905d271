// Successes of a closed breaker that are counted without its lock, until someone
// who holds it takes them into the windows. A success can't open anything, so
// nobody needs to know of it before the next failure.
//
// One word: which generation they belong to, in which bucket of a time window
// (0 without one) they came, and how many there are.
//
// | bits  | 63…48              | 47…24          | 23…0  |
// |-------|--------------------|----------------|-------|
// | field | generation, its end | period, its end | count |

#pragma once

#include <atomic>
#include <cstdint>

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class PendingSuccesses {
 public:
  /// False: not those that are being counted, or too many: take the lock.
  bool Add(std::uint64_t generation, std::int64_t period) {
    const std::uint64_t kind = KindOf(generation, period);
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    while ((seen & ~kCountMask) == kind && (seen & kCountMask) < kMaxCount) {
      if (word_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }

  /// How many there were; from now on it counts for that generation and period.
  /// For the thread that holds the breaker's lock.
  std::int64_t Take(std::uint64_t generation, std::int64_t period) {
    return Exchange(KindOf(generation, period));
  }
  /// How many there were; from now on it counts none.
  std::int64_t TakeAndClose() { return Exchange(kClosed); }

 private:
  static constexpr std::uint64_t kCountMask = (1u << 24) - 1;
  static constexpr std::uint64_t kClosed = kCountMask;
  static constexpr std::uint64_t kMaxCount = kCountMask - 1;

  std::int64_t Exchange(std::uint64_t word) {
    const std::uint64_t count =
        word_.exchange(word, std::memory_order_acq_rel) & kCountMask;
    return count == kClosed ? 0 : static_cast<std::int64_t>(count);
  }

  static std::uint64_t KindOf(std::uint64_t generation, std::int64_t period) {
    return generation << 48 | (static_cast<std::uint64_t>(period) & kCountMask)
                                  << 24;
  }

  std::atomic<std::uint64_t> word_{kClosed};
};

}  // namespace grpc_resilience::internal
