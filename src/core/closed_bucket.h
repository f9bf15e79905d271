// Counting on the bucket of a closed breaker without its lock.

#pragma once

#include <cstdint>

#include "core/breaker_word.h"
#include "core/token_bucket.h"
#include "grpc_resilience/breaker_hot_line.h"
#include "grpc_resilience/outcome.h"

namespace grpc_resilience::internal {

enum class BucketResult {
  kCounted,
  kStale,      ///< no longer that generation, or disabled: nothing to count
  kWouldTrip,  ///< this failure empties the bucket: not counted, take the lock
  kEmptied,    ///< counted, and the bucket, resized meanwhile, is now empty
  kNotAlone,   ///< not the bucket alone decides: not counted, take the lock
};

/// One success or failure of a call admitted in `generation` while CLOSED. Any
/// number of threads may be here at once, and one more that holds the lock.
/// `takes_token`: true for a failure, and for a success that is retried, which
/// may leave the bucket empty and the breaker CLOSED.
BucketResult CountOnBucket(BreakerHotLine& hot, std::uint64_t generation,
                           Outcome outcome, bool takes_token);

/// Shows the numbers of another bucket and how counting goes from now on; the
/// bucket stays as full in proportion. For the thread that holds the lock.
void ResizeBucket(BreakerHotLine& hot, const TokenBucket& bucket,
                  CountingPath path);

/// Puts back what a success puts back, while CLOSED in that generation, whatever
/// the path. Needs no lock.
void RefillBucket(BreakerHotLine& hot, std::uint64_t generation);

/// Changes the word although other threads may be counting.
template <typename Change>
BreakerWord ChangeWord(BreakerHotLine& hot, const Change& change) {
  std::uint64_t seen = hot.word.load(std::memory_order_acquire);
  while (true) {
    const BreakerWord changed = change(BreakerWord(seen));
    if (hot.word.compare_exchange_weak(seen, changed.bits(),
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      return changed;
    }
  }
}

inline BreakerWord LoadWord(const BreakerHotLine& hot) {
  return BreakerWord(hot.word.load(std::memory_order_acquire));
}

inline TokenBucket LoadBucket(const BreakerHotLine& hot) {
  return {
      hot.bucket_size.load(std::memory_order_relaxed) & ~kBreakerFlag,
      hot.bucket_per_success.load(std::memory_order_relaxed) & ~kBreakerFlag};
}

inline bool LimitsRetries(const BreakerHotLine& hot) {
  return (hot.bucket_size.load(std::memory_order_relaxed) & kBreakerFlag) != 0;
}

inline bool TimesCalls(const BreakerHotLine& hot) {
  return (hot.bucket_per_success.load(std::memory_order_relaxed) &
          kBreakerFlag) != 0;
}

/// For the thread that holds the lock.
void ShowBucket(BreakerHotLine& hot, const TokenBucket& bucket);
void ShowFlags(BreakerHotLine& hot, bool limits_retries, bool times_calls);

}  // namespace grpc_resilience::internal
