#include "core/closed_bucket.h"

namespace grpc_resilience::internal {
namespace {

// Only for the text of a trip, so it may be a little off under contention.
void CountFailures(BreakerHotLine& hot, bool takes_token, bool full) {
  if (takes_token) {
    hot.failures_since_full.fetch_add(1, std::memory_order_relaxed);
  } else if (full) {
    hot.failures_since_full.store(0, std::memory_order_relaxed);
  }
}

void StoreNumber(std::atomic<std::uint32_t>& place, std::uint32_t number) {
  const std::uint32_t before = place.load(std::memory_order_relaxed);
  place.store((before & kBreakerFlag) | number, std::memory_order_relaxed);
}

void StoreFlag(std::atomic<std::uint32_t>& place, bool flag) {
  const std::uint32_t before = place.load(std::memory_order_relaxed);
  place.store((before & ~kBreakerFlag) | (flag ? kBreakerFlag : 0),
              std::memory_order_relaxed);
}

}  // namespace

void ShowBucket(BreakerHotLine& hot, const TokenBucket& bucket) {
  StoreNumber(hot.bucket_size, bucket.size);
  StoreNumber(hot.bucket_per_success, bucket.per_success);
}

void ShowFlags(BreakerHotLine& hot, bool limits_retries, bool times_calls) {
  StoreFlag(hot.bucket_size, limits_retries);
  StoreFlag(hot.bucket_per_success, times_calls);
}

BucketResult CountOnBucket(BreakerHotLine& hot, std::uint64_t generation,
                           Outcome outcome, bool takes_token) {
  const bool failed = outcome == Outcome::kFailure;
  std::uint64_t seen = hot.word.load(std::memory_order_acquire);
  while (true) {
    const BreakerWord word(seen);
    if (word.path() == CountingPath::kForced) return BucketResult::kNotAlone;
    if (word.generation() != generation ||
        word.path() == CountingPath::kDisabled ||
        word.state() != State::kClosed) {
      return BucketResult::kStale;
    }
    if (word.path() != CountingPath::kBucket) return BucketResult::kNotAlone;
    const TokenBucket bucket = LoadBucket(hot);
    const std::uint32_t missing = takes_token
                                      ? bucket.AfterFailure(word.missing())
                                      : bucket.AfterSuccess(word.missing());
    if (failed && bucket.IsEmpty(missing)) return BucketResult::kWouldTrip;
    if (missing == word.missing()) return BucketResult::kCounted;
    if (hot.word.compare_exchange_weak(seen, word.WithMissing(missing).bits(),
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      CountFailures(hot, takes_token, missing == 0);
      // The same word may have come back with a smaller bucket.
      return failed && LoadBucket(hot).IsEmpty(missing)
                 ? BucketResult::kEmptied
                 : BucketResult::kCounted;
    }
  }
}

void RefillBucket(BreakerHotLine& hot, std::uint64_t generation) {
  std::uint64_t seen = hot.word.load(std::memory_order_acquire);
  while (true) {
    const BreakerWord word(seen);
    if (word.missing() == 0 || word.generation() != generation ||
        word.state() != State::kClosed) {
      return;
    }
    const std::uint32_t missing = LoadBucket(hot).AfterSuccess(word.missing());
    if (hot.word.compare_exchange_weak(seen, word.WithMissing(missing).bits(),
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      CountFailures(hot, /*takes_token=*/false, missing == 0);
      return;
    }
  }
}

void ResizeBucket(BreakerHotLine& hot, const TokenBucket& bucket,
                  CountingPath path) {
  // Counting stops meanwhile: by the size of one bucket and the fill of the
  // other it could leave an empty one CLOSED.
  const BreakerWord word = ChangeWord(hot, [](BreakerWord w) {
    return w.path() == CountingPath::kDisabled
               ? w
               : w.WithPath(CountingPath::kForced);
  });
  const std::uint32_t missing =
      LoadBucket(hot).MissingAfterResize(word.missing(), bucket.size);
  ShowBucket(hot, bucket);
  hot.word.store(word.WithMissing(missing).WithPath(path).bits(),
                 std::memory_order_release);
}

}  // namespace grpc_resilience::internal
