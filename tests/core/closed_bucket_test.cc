#include "core/closed_bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace grpc_resilience::internal {
namespace {

constexpr std::uint64_t kGeneration = 5;

class ClosedBucketTest : public testing::Test {
 protected:
  /// Size 4, two tokens a success.
  ClosedBucketTest() {
    hot_.bucket_size.store(4 * kMilli);
    hot_.bucket_per_success.store(2 * kMilli);
    Set(State::kClosed, TripRule::kTokenBucket, 0);
  }

  void Set(State state, TripRule rule, std::uint32_t missing) {
    hot_.word.store(BreakerWord(state, rule, missing, kGeneration).bits());
  }
  BucketResult Count(Outcome outcome, std::uint64_t generation = kGeneration) {
    return CountOnBucket(hot_, generation, outcome);
  }
  std::uint32_t missing() const { return LoadWord(hot_).missing(); }

  BreakerHotLine hot_;
};

TEST_F(ClosedBucketTest, CountsFailuresAndSuccesses) {
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kCounted);  // 3 left
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kCounted);  // 2 left
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kCounted);  // 1 left
  EXPECT_EQ(missing(), 3 * kMilli);
  EXPECT_EQ(Count(Outcome::kSuccess), BucketResult::kCounted);  // 3 left
  EXPECT_EQ(missing(), 1 * kMilli);
  EXPECT_EQ(Count(Outcome::kSuccess), BucketResult::kCounted);  // full
  EXPECT_EQ(missing(), 0u);
}

// The lock is for the transition, and the failure is counted there.
TEST_F(ClosedBucketTest, LeavesTheLastTokenToTheLock) {
  Set(State::kClosed, TripRule::kTokenBucket, 3 * kMilli);
  EXPECT_EQ(Count(Outcome::kFailure), BucketResult::kWouldTrip);
  EXPECT_EQ(missing(), 3 * kMilli);
}

TEST_F(ClosedBucketTest, SuccessOnAFullBucketWritesNothing) {
  const std::uint64_t before = hot_.word.load();
  EXPECT_EQ(Count(Outcome::kSuccess), BucketResult::kCounted);
  EXPECT_EQ(hot_.word.load(), before);
}

TEST_F(ClosedBucketTest, OtherWordsAreLeftAlone) {
  struct Case {
    const char* name;
    State state;
    TripRule rule;
    std::uint64_t generation;
    BucketResult expected;
  };
  for (const Case& c : {
           Case{"older generation", State::kClosed, TripRule::kTokenBucket,
                kGeneration - 1, BucketResult::kStale},
           Case{"open", State::kOpen, TripRule::kTokenBucket, kGeneration,
                BucketResult::kStale},
           Case{"half-open", State::kHalfOpen, TripRule::kTokenBucket,
                kGeneration, BucketResult::kStale},
           Case{"disabled", State::kClosed, TripRule::kNone, kGeneration,
                BucketResult::kStale},
           Case{"window", State::kClosed, TripRule::kCountWindow, kGeneration,
                BucketResult::kNoBucket},
       }) {
    SCOPED_TRACE(c.name);
    Set(c.state, c.rule, 1 * kMilli);
    const std::uint64_t before = hot_.word.load();
    for (const Outcome outcome : {Outcome::kSuccess, Outcome::kFailure}) {
      EXPECT_EQ(Count(outcome, c.generation), c.expected);
    }
    EXPECT_EQ(hot_.word.load(), before);
  }
}

TEST_F(ClosedBucketTest, FailuresAreNamedSinceTheBucketWasFull) {
  Count(Outcome::kFailure);
  Count(Outcome::kFailure);
  Count(Outcome::kFailure);
  Count(Outcome::kSuccess);
  EXPECT_EQ(hot_.failures_since_full.load(), 3u);  // 3 left of 4
  Count(Outcome::kFailure);
  EXPECT_EQ(hot_.failures_since_full.load(), 4u);
  Count(Outcome::kSuccess);
  EXPECT_EQ(hot_.failures_since_full.load(), 0u);  // full
}

TEST_F(ClosedBucketTest, ThreadsLoseNoCount) {
  constexpr int kPerThread = 400;
  hot_.bucket_size.store(1000 * kMilli);
  std::atomic<int> uncounted{0};
  const auto fail = [&] {
    for (int i = 0; i < kPerThread; ++i) {
      if (Count(Outcome::kFailure) != BucketResult::kCounted) ++uncounted;
    }
  };
  std::thread other(fail);
  fail();
  other.join();
  EXPECT_EQ(uncounted.load(), 0);
  EXPECT_EQ(missing(), 2u * kPerThread * kMilli);
}

}  // namespace
}  // namespace grpc_resilience::internal
