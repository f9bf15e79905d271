// Which outcomes open a closed breaker, by each of the trip rules beside the
// bucket and by several together.

#include <chrono>
#include <string>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

using CircuitBreakerRulesTest = CircuitBreakerFixture;

BreakerPolicy TimeWindowPolicy() {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 0.5;
  policy.window_duration = seconds(10);
  policy.minimum_calls = 10;
  policy.open_duration = seconds(15);
  return policy;
}

BreakerPolicy ConsecutivePolicy(int failures) {
  BreakerPolicy policy;
  policy.consecutive_failures = failures;
  policy.open_duration = seconds(15);
  return policy;
}

// D21
TEST_F(CircuitBreakerRulesTest, ATimeWindowForgetsWhatIsOlder) {
  Make(TimeWindowPolicy());
  Fail(9);
  EXPECT_EQ(Snapshot().window_calls, 9);
  clock_.Advance(seconds(11));
  Fail(1);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_calls, 1);
  EXPECT_EQ(Snapshot().window_failures, 1);
}

TEST_F(CircuitBreakerRulesTest, ATimeWindowOpensAtItsRate) {
  Make(TimeWindowPolicy());
  Succeed(8);
  clock_.Advance(seconds(3));
  Fail(7);  // 7 of 15
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_DOUBLE_EQ(*Snapshot().failure_rate, 7.0 / 15);
  Fail(1);  // 8 of 16
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "8 of 16 failed in 10 s");
  EXPECT_EQ(Snapshot().window_calls, 0);
}

// D21
TEST_F(CircuitBreakerRulesTest, LookingAtATimeWindowAfterAPauseShowsZeros) {
  Make(TimeWindowPolicy());
  Fail(9);
  clock_.Advance(seconds(10'000));
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_FALSE(Snapshot().failure_rate.has_value());
}

TEST_F(CircuitBreakerRulesTest, OnlyABadOutcomeOpensByTheTimeWindow) {
  BreakerPolicy policy = TimeWindowPolicy();
  policy.failure_rate_threshold = 0.1;
  Make(policy);
  Fail(9);
  Succeed(1);  // 9 of 10
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_TRUE(Call(Outcome::kIgnored));
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

// D19
TEST_F(CircuitBreakerRulesTest, AFewCallsThatAllFailOpenByTheRow) {
  BreakerPolicy policy = TimeWindowPolicy();
  policy.minimum_calls = 20;
  policy.consecutive_failures = 5;
  Make(policy);
  for (int call = 1; call <= 5; ++call) {
    EXPECT_EQ(state(), State::kClosed) << call;
    Fail(1);
    clock_.Advance(seconds(19));
  }
  EXPECT_EQ(sink_.lines(),
            std::vector<std::string>{"CLOSED -> OPEN: 5 failures in a row"});
}

// D20
TEST_F(CircuitBreakerRulesTest, ScatteredFailuresNeverAddUp) {
  Make(ConsecutivePolicy(5));
  for (int hour = 0; hour < 24 * 30; ++hour) {
    Fail(1);
    Succeed(1);
    clock_.Advance(hours(1));
  }
  EXPECT_EQ(state(), State::kClosed);
  Fail(4);
  EXPECT_EQ(Snapshot().consecutive_failures, 4);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerRulesTest, IgnoredOutcomesDoNotEndARow) {
  Make(ConsecutivePolicy(3));
  Fail(2);
  EXPECT_TRUE(Call(Outcome::kIgnored));
  EXPECT_EQ(Snapshot().consecutive_failures, 2);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

// An overloaded server has answered: it isn't dead.
TEST_F(CircuitBreakerRulesTest, ResourceExhaustedCountsToRatesNotToRows) {
  BreakerPolicy policy = ConsecutivePolicy(3);
  policy.failure_rate_threshold = 0.9;
  policy.window_calls = 20;
  policy.minimum_calls = 20;
  Make(policy);
  for (int i = 0; i < 10; ++i) {
    Acquire()->Record(Outcome::kFailure, StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_failures, 10);
  EXPECT_EQ(Snapshot().consecutive_failures, 0);
  Fail(2);
  Acquire()->Record(Outcome::kFailure, StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Snapshot().consecutive_failures, 2);  // nor does it end one
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerRulesTest, ResourceExhaustedFailsAProbe) {
  Make(ConsecutivePolicy(1));
  Fail(1);
  clock_.Advance(seconds(15));
  Acquire()->Record(Outcome::kFailure, StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerRulesTest, ASetRuleReplacesTheBucket) {
  Make(ConsecutivePolicy(100));
  Fail(16);  // the bucket is empty
  EXPECT_EQ(Tokens(), 0);
  EXPECT_FALSE(breaker_->RetryAllowed());
  EXPECT_EQ(state(), State::kClosed);
  Fail(84);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerRulesTest, TheBucketMayBeKeptAmongTheRules) {
  BreakerPolicy policy = ConsecutivePolicy(100);
  policy.trip_on_empty_bucket = true;
  Make(policy);
  Succeed(3);
  Fail(15);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "token bucket empty: 16 failures");
  // The set rule brings the classic half-open round.
  clock_.Advance(seconds(15));
  Succeed(2);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "2 probes succeeded");
  EXPECT_EQ(Tokens(), 16);
}

TEST_F(CircuitBreakerRulesTest, WhicheverRuleIsMetFirstOpens) {
  BreakerPolicy policy = WindowPolicy();  // 3 of the last 6, from 4 on
  policy.consecutive_failures = 3;
  Make(policy);
  Fail(3);  // too few calls for the rate
  EXPECT_EQ(LastWhy(), "3 failures in a row");
  breaker_->Reset();
  Succeed(1);
  Fail(1);
  Succeed(1);
  Fail(1);  // 2 of 4
  EXPECT_EQ(LastWhy(), "2 failures of the last 4 calls");
}

TEST_F(CircuitBreakerRulesTest, ChangingTheRuleKeepsWhatFits) {
  Make(TimeWindowPolicy());
  Fail(5);
  BreakerPolicy stricter = TimeWindowPolicy();
  stricter.minimum_calls = 6;
  breaker_->Reconfigure(stricter, {});
  EXPECT_EQ(Snapshot().window_calls, 5);
  BreakerPolicy longer = stricter;
  longer.window_duration = seconds(20);
  breaker_->Reconfigure(longer, {});
  EXPECT_EQ(Snapshot().window_calls, 0);  // another shape begins empty
  Fail(5);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(LastWhy(), "6 of 6 failed in 20 s");
}

}  // namespace
}  // namespace grpc_resilience
