#include "core/closed_bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace grpc_resilience::internal {
namespace {

constexpr std::uint64_t kGeneration = 3;

class ClosedBucketTest : public ::testing::Test {
 protected:
  ClosedBucketTest() {
    hot_.bucket_size = 4 * kMilli;
    hot_.bucket_per_success = 2 * kMilli;
    Set(State::kClosed, CountingPath::kBucket, 0);
  }
  void Set(State state, CountingPath path, std::uint32_t missing) {
    hot_.word = BreakerWord(state, path, missing, kGeneration).bits();
  }
  BucketResult Count(Outcome outcome, std::uint64_t generation = kGeneration) {
    return CountOnBucket(hot_, generation, outcome,
                         outcome == Outcome::kFailure);
  }
  std::uint32_t missing() const { return LoadWord(hot_).missing(); }

  BreakerHotLine hot_;
};

TEST_F(ClosedBucketTest, CountsUpToTheLastTokenAndLeavesTheTripToTheLock) {
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kCounted);
    EXPECT_EQ(missing(), i * kMilli);
  }
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kWouldTrip);
  EXPECT_EQ(missing(), 3 * kMilli);
  EXPECT_EQ(Count(Outcome::kSuccess), BucketResult::kCounted);
  EXPECT_EQ(missing(), kMilli);
}

TEST_F(ClosedBucketTest, LeavesToTheLockWhatItCannotDecide) {
  EXPECT_EQ(Count(Outcome::kFailure, 2), BucketResult::kStale);
  Set(State::kOpen, CountingPath::kBucket, 0);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kStale);
  Set(State::kClosed, CountingPath::kDisabled, 0);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kStale);
  Set(State::kClosed, CountingPath::kLocked, 0);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kNotAlone);
  Set(State::kOpen, CountingPath::kForced, 0);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kNotAlone);
  EXPECT_EQ(missing(), 0u);
}

TEST_F(ClosedBucketTest, ASuccessThatIsRetriedTakesTheLastTokenAndNeverTrips) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(CountOnBucket(hot_, kGeneration, Outcome::kSuccess,
                            /*takes_token=*/true),
              BucketResult::kCounted);
  }
  EXPECT_EQ(missing(), 4 * kMilli);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kWouldTrip);
  EXPECT_EQ(Count(Outcome::kSuccess), BucketResult::kCounted);
  EXPECT_EQ(missing(), 2 * kMilli);
}

TEST_F(ClosedBucketTest, ResizingKeepsTheProportionAndTheRest) {
  Set(State::kClosed, CountingPath::kBucket, 3 * kMilli);
  ResizeBucket(hot_, {16 * kMilli, kMilli}, CountingPath::kLocked);
  EXPECT_EQ(LoadWord(hot_).bits(),
            BreakerWord(State::kClosed, CountingPath::kLocked, 12 * kMilli,
                        kGeneration)
                .bits());
  EXPECT_EQ(LoadBucket(hot_).per_success, kMilli);
}

// Counting by the size of one bucket and the fill of the other once left a
// closed breaker without tokens: a bucket of 16 with one left grows to 1000 or
// shrinks while a failure is counted.
TEST_F(ClosedBucketTest, ResizingWhileAFailureIsCountedLeavesNoneEmptyClosed) {
  constexpr int kRounds = 100'000;
  constexpr int kSizes[] = {1000, 1, 17, 2};
  std::atomic<int> round{-1};
  std::atomic<int> counted{-1};
  std::thread caller([&] {
    for (int i = 0; i < kRounds; ++i) {
      for (int spins = 0; round.load(std::memory_order_acquire) != i; ++spins) {
        if (spins % 1000 == 999) std::this_thread::yield();
      }
      BucketResult result =
          CountOnBucket(hot_, kGeneration, Outcome::kFailure, true);
      while (result == BucketResult::kNotAlone) {  // stands for the lock
        result = CountOnBucket(hot_, kGeneration, Outcome::kFailure, true);
      }
      // Both of these open the breaker.
      if (result == BucketResult::kEmptied ||
          result == BucketResult::kWouldTrip) {
        Set(State::kOpen, CountingPath::kBucket, 0);
      }
      counted.store(i, std::memory_order_release);
    }
  });
  int empty_and_closed = 0;
  for (int i = 0; i < kRounds; ++i) {
    hot_.bucket_size = 16 * kMilli;
    const bool full = i % 2 == 0;
    Set(State::kClosed, CountingPath::kBucket, full ? 0 : 15 * kMilli);
    round.store(i, std::memory_order_release);
    for (int wait = i % 64; wait > 0; --wait) round.load();
    ResizeBucket(hot_,
                 {static_cast<std::uint32_t>(kSizes[i / 2 % 4]) * kMilli, 2000},
                 CountingPath::kBucket);
    for (int spins = 0; counted.load(std::memory_order_acquire) != i; ++spins) {
      if (spins % 1000 == 999) std::this_thread::yield();
    }
    const BreakerWord word = LoadWord(hot_);
    if (word.state() == State::kClosed &&
        LoadBucket(hot_).IsEmpty(word.missing())) {
      ++empty_and_closed;
    }
  }
  caller.join();
  EXPECT_EQ(empty_and_closed, 0);
}

}  // namespace
}  // namespace grpc_resilience::internal
