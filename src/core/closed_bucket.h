// Counting on the bucket of a closed breaker without its lock.

#pragma once

#include <cstdint>

#include "core/breaker_word.h"
#include "core/token_bucket.h"
#include "grpc_resilience/circuit_breaker.h"

namespace grpc_resilience::internal {

enum class BucketResult {
  kCounted,
  kStale,      ///< no longer that generation, or disabled: nothing to count
  kWouldTrip,  ///< this failure empties the bucket: not counted, take the lock
  kNoBucket,   ///< another rule decides: not counted, take the lock
};

/// One success or failure of a call admitted in `generation` while CLOSED. Any
/// number of threads may be here at once, and one more that holds the lock.
BucketResult CountOnBucket(BreakerHotLine& hot, std::uint64_t generation,
                           Outcome outcome);

inline BreakerWord LoadWord(const BreakerHotLine& hot) {
  return BreakerWord(hot.word.load(std::memory_order_acquire));
}

inline TokenBucket LoadBucket(const BreakerHotLine& hot) {
  return {hot.bucket_size.load(std::memory_order_relaxed),
          hot.bucket_per_success.load(std::memory_order_relaxed)};
}

}  // namespace grpc_resilience::internal
