#include "core/closed_bucket.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/circuit_breaker_fixture.h"

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
    return CountOnBucket(hot_, generation, outcome);
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
// closed breaker without tokens.
TEST_F(ClosedBucketTest, ResizingWhileFailuresAreCountedLeavesNoneEmptyClosed) {
  FakeClock clock;
  FixedRandom random{0.5};
  for (int round = 0; round < 300; ++round) {
    CircuitBreaker breaker({"a", ""}, {}, {true, 16, 1.0}, clock, random,
                           nullptr);
    std::atomic<bool> over{false};
    std::vector<std::thread> callers;
    for (int i = 0; i < 2; ++i) {
      callers.emplace_back([&] {
        for (int call = 0; call < 12 && !over; ++call) {
          if (auto permit = breaker.TryAcquire()) {
            permit->Record(Outcome::kFailure);
          }
        }
      });
    }
    for (const int size : {1000, 1, 7, 1000, 2}) {
      breaker.Reconfigure({}, {true, size, 1.0});
    }
    over = true;
    for (std::thread& caller : callers) caller.join();
    const BreakerSnapshot snapshot = breaker.snapshot();
    ASSERT_FALSE(snapshot.state == State::kClosed && snapshot.tokens <= 0)
        << round;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal
