#include <string>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using CircuitBreakerClosedTest = CircuitBreakerFixture;

TEST_F(CircuitBreakerClosedTest, StartsClosedWithAFullBucket) {
  Make({});
  const BreakerSnapshot snapshot = Snapshot();
  EXPECT_EQ(snapshot.state, State::kClosed);
  EXPECT_EQ(snapshot.generation, 0u);
  EXPECT_EQ(snapshot.tokens, 16);
  EXPECT_FALSE(snapshot.probe_ready);
  EXPECT_EQ(snapshot.retry_after, Duration::zero());
  EXPECT_EQ(snapshot.since, clock_.Now());
  EXPECT_EQ(snapshot.rejected, 0u);
  EXPECT_TRUE(snapshot.transitions.empty());
  EXPECT_TRUE(snapshot.last_failure.empty());
}

TEST_F(CircuitBreakerClosedTest, BucketOpensWhenEmptyAndNotBefore) {
  Make({});
  Fail(15);  // 16 -> 1
  EXPECT_EQ(Tokens(), 1);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);  // 1 -> 0
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "token bucket empty: 16 failures");
}

TEST_F(CircuitBreakerClosedTest, SuccessPutsTwoTokensBackUpToTheBrim) {
  Make({});
  Fail(5);  // 11
  Succeed(1);
  EXPECT_EQ(Tokens(), 13);
  Succeed(100);
  EXPECT_EQ(Tokens(), 16);
}

TEST_F(CircuitBreakerClosedTest, BucketTextCountsSinceItWasLastFull) {
  Make({});
  Fail(4);
  Succeed(2);  // full again
  Fail(16);
  EXPECT_EQ(LastWhy(), "token bucket empty: 16 failures");
}

// C08
TEST_F(CircuitBreakerClosedTest, BudgetOfA6AllowsRetriesAboveHalfFull) {
  Make({}, {true, 10, 0.1});
  for (int i = 0; i < 1'000'000; ++i) Succeed();
  EXPECT_EQ(Tokens(), 10);
  Fail(4);  // 6
  EXPECT_TRUE(breaker_->RetryAllowed());
  Fail(1);  // 5
  EXPECT_FALSE(breaker_->RetryAllowed());
  EXPECT_TRUE(Acquire().has_value());  // first attempts are always allowed
  Succeed(1);                          // 5.1
  EXPECT_TRUE(breaker_->RetryAllowed());
  EXPECT_DOUBLE_EQ(Tokens(), 5.1);
}

TEST_F(CircuitBreakerClosedTest, RetriesAreNeverRefusedWhenNotLimited) {
  Make({}, {false, 10, 0.1});
  Fail(9);
  EXPECT_TRUE(breaker_->RetryAllowed());
  Fail(1);  // the trip rule stays
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerClosedTest, AFractionOfATokenIsNotEmptyWhileClosed) {
  Make({}, {true, 2, 0.5});
  Fail(1);  // 1
  Succeed(1);
  EXPECT_EQ(Tokens(), 1.5);
  Fail(1);
  EXPECT_EQ(Tokens(), 0.5);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerClosedTest, WindowOpensOnceEnoughOfEnoughCallsFailed) {
  Make(WindowPolicy());
  Fail(3);  // 3 of 3, below minimum_calls
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);  // 4 of 4
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "4 failures of the last 4 calls");
}

TEST_F(CircuitBreakerClosedTest, WindowOpensWhenTheThresholdIsMetExactly) {
  Make(WindowPolicy());
  Succeed(3);
  Fail(2);
  EXPECT_EQ(state(), State::kClosed);  // 2 of 5
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);  // 3 of 6
  EXPECT_EQ(LastWhy(), "3 failures of the last 6 calls");
}

TEST_F(CircuitBreakerClosedTest, WindowThresholdHasNoRoundingErrors) {
  BreakerPolicy policy = WindowPolicy();
  policy.failure_rate_threshold = 0.3;
  policy.window_calls = 10;
  policy.minimum_calls = 10;
  Make(policy);
  Succeed(7);
  Fail(2);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerClosedTest, OnlyAFailureOpensTheWindow) {
  Make(WindowPolicy());
  Fail(3);     // 3 of 3
  Succeed(1);  // 3 of 4, over the threshold, but the outcome is good
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_failures, 3);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerClosedTest, WindowForgetsTheOldestOutcome) {
  Make(WindowPolicy());
  Fail(2);
  Succeed(5);  // the first failure has left
  EXPECT_EQ(Snapshot().window_calls, 6);
  EXPECT_EQ(Snapshot().window_failures, 1);
  Fail(1);  // the second has left as well
  EXPECT_EQ(Snapshot().window_failures, 1);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerClosedTest, BucketIsTheBudgetButNoTripRuleBesideAWindow) {
  BreakerPolicy policy = WindowPolicy();
  policy.window_calls = 100;
  policy.minimum_calls = 100;
  Make(policy);
  EXPECT_TRUE(breaker_->RetryAllowed());
  Fail(8);  // 8 tokens left: half
  EXPECT_FALSE(breaker_->RetryAllowed());
  Fail(22);
  EXPECT_EQ(Tokens(), 0);
  EXPECT_EQ(state(), State::kClosed);
}

// D24
TEST_F(CircuitBreakerClosedTest, IgnoredAndDroppedPermitsAreNoSamples) {
  Make(WindowPolicy());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Call(Outcome::kIgnored));
    ASSERT_TRUE(Acquire().has_value());  // dropped
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_EQ(Snapshot().window_failures, 0);
  EXPECT_EQ(Tokens(), 16);
}

TEST_F(CircuitBreakerClosedTest, APermitIsRecordedOnce) {
  Make({});
  std::optional<Permit> permit = Acquire();
  permit->Record(Outcome::kFailure);
  permit->Record(Outcome::kFailure);
  EXPECT_EQ(Tokens(), 15);
}

TEST_F(CircuitBreakerClosedTest, AMovedPermitIsRecordedOnce) {
  Make({});
  Permit first = *Acquire();
  Permit second = std::move(first);
  first.Record(Outcome::kFailure);  // NOLINT: it holds nothing any more
  EXPECT_EQ(Tokens(), 16);
  second.Record(Outcome::kFailure);
  EXPECT_EQ(Tokens(), 15);
}

TEST_F(CircuitBreakerClosedTest, DisabledAdmitsAllAndCountsNothing) {
  BreakerPolicy policy;
  policy.mode = BreakerMode::kDisabled;
  Make(policy);
  Fail(1000);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Tokens(), 16);
  EXPECT_TRUE(breaker_->RetryAllowed());
  EXPECT_FALSE(breaker_->WouldReject());
}

TEST_F(CircuitBreakerClosedTest, ResetEmptiesTheWindowAndFillsTheBucket) {
  Make(WindowPolicy());
  Fail(3);
  breaker_->Reset();
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_EQ(Tokens(), 16);
  EXPECT_TRUE(sink_.events().empty());  // no change of state
  EXPECT_EQ(Snapshot().generation, 0u);
}

TEST_F(CircuitBreakerClosedTest, InvalidNumbersNeitherDivideByZeroNorThrow) {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 0.5;
  policy.window_calls = 0;
  policy.minimum_calls = -1;
  policy.half_open_calls = 0;
  policy.half_open_max_in_flight = 0;
  Make(policy, {true, 0, -1.0});
  Fail();
  clock_.Advance(std::chrono::seconds(1));
  Succeed();
  EXPECT_EQ(state(), State::kClosed);
}

}  // namespace
}  // namespace grpc_resilience
