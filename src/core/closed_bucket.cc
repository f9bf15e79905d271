#include "core/closed_bucket.h"

namespace grpc_resilience::internal {
namespace {

// Only for the text of a trip, so it may be a little off under contention.
void CountFailures(BreakerHotLine& hot, bool failed, bool full) {
  if (failed) {
    hot.failures_since_full.fetch_add(1, std::memory_order_relaxed);
  } else if (full) {
    hot.failures_since_full.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

BucketResult CountOnBucket(BreakerHotLine& hot, std::uint64_t generation,
                           Outcome outcome) {
  const bool failed = outcome == Outcome::kFailure;
  std::uint64_t seen = hot.word.load(std::memory_order_acquire);
  while (true) {
    const BreakerWord word(seen);
    if (word.generation() != generation || !word.enabled() ||
        word.state() != State::kClosed) {
      return BucketResult::kStale;
    }
    if (word.rule() != TripRule::kTokenBucket) return BucketResult::kNoBucket;
    const TokenBucket bucket = LoadBucket(hot);
    const std::uint32_t missing = failed ? bucket.AfterFailure(word.missing())
                                         : bucket.AfterSuccess(word.missing());
    if (failed && bucket.IsEmpty(missing)) return BucketResult::kWouldTrip;
    if (missing == word.missing()) return BucketResult::kCounted;
    if (hot.word.compare_exchange_weak(seen, word.WithMissing(missing).bits(),
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      CountFailures(hot, failed, missing == 0);
      return BucketResult::kCounted;
    }
  }
}

}  // namespace grpc_resilience::internal
