// The token bucket as the retry budget of calls.

#include <algorithm>
#include <chrono>

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;

class CallSessionBudgetTest : public CallSessionFixture {};

// C08
TEST_F(CallSessionBudgetTest, RetriesEndWhereTheBudgetDoes) {
  throttle_.limits_retries = true;
  throttle_.max_tokens = 6;
  UseBreaker();
  retry_.max_attempts = 10;
  const CallRecord call =
      Run(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE, "down")));
  // 5 tokens left, 4, 3: no longer more than half
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.reason, StopReason::kBudgetExhausted);
  EXPECT_FALSE(call.local);
  EXPECT_EQ(call.message, "down");
  // First attempts are always allowed.
  EXPECT_EQ(Run(std::nullopt, Always(Answer())).reason, StopReason::kOk);
}

// C08, gRFC A6: the code says that the attempt failed, not whose fault it is.
TEST_F(CallSessionBudgetTest, EveryRetriedCodeTakesATokenFromTheBudget) {
  throttle_.limits_retries = true;
  retry_.max_attempts = 4;
  retry_.retryable_status_codes = {StatusCode::UNAVAILABLE, StatusCode::ABORTED,
                                   StatusCode::NOT_FOUND};
  const auto run_50 = [&](StatusCode code) {
    breaker_policy_ = BreakerPolicy();
    breaker_policy_.failure_rate_threshold = 1.0;
    breaker_policy_.window_calls = breaker_policy_.minimum_calls = 1000;
    UseBreaker();
    int hits = 0;
    int exhausted = 0;
    for (int call = 0; call < 50; ++call) {
      const CallRecord record = Run(std::nullopt, Always(Fail(code)));
      hits += record.hits;
      exhausted += record.reason == StopReason::kBudgetExhausted ? 1 : 0;
    }
    EXPECT_EQ(breaker_->snapshot().tokens, 0);
    EXPECT_GT(exhausted, 40);
    return hits;
  };
  EXPECT_EQ(run_50(StatusCode::UNAVAILABLE), 56);
  EXPECT_EQ(run_50(StatusCode::ABORTED), 56);
  EXPECT_EQ(run_50(StatusCode::NOT_FOUND), 56);
}

TEST_F(CallSessionBudgetTest, ARetriedCodeAloneNeverOpens) {
  throttle_.limits_retries = true;
  retry_.retryable_status_codes = {StatusCode::ABORTED};
  UseBreaker();  // the bucket decides
  for (int call = 0; call < 100; ++call) {
    Run(std::nullopt, Always(Fail(StatusCode::ABORTED)));
  }
  EXPECT_EQ(breaker_->state(), State::kClosed);
  EXPECT_EQ(breaker_->snapshot().tokens, 0);
  EXPECT_EQ(breaker_->snapshot().ignored[IgnoredCause::kStale], 0u);
  Run(std::nullopt, Always(Answer()));
  EXPECT_EQ(breaker_->snapshot().tokens, 2);
}

TEST_F(CallSessionBudgetTest, ARetriedCodeIsAGoodProbe) {
  throttle_.limits_retries = true;
  retry_.retryable_status_codes = {StatusCode::ABORTED};
  breaker_policy_.open_duration = seconds(10);
  UseBreaker();
  for (int i = 0; i < 16; ++i) {
    breaker_->TryAcquire()->Record(Outcome::kFailure);
  }
  clock_.Advance(seconds(10));
  Run(std::nullopt, Always(Fail(StatusCode::ABORTED)));
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);
  EXPECT_EQ(breaker_->snapshot().tokens, 3);  // 1 and 2 of the probe
}

// C08
TEST_F(CallSessionBudgetTest, OtherCodesTakeNoTokens) {
  throttle_.limits_retries = true;
  UseBreaker();
  for (int call = 0; call < 1000; ++call) {
    EXPECT_EQ(Run(std::nullopt, Always(Fail(StatusCode::NOT_FOUND))).hits, 1);
    ASSERT_EQ(breaker_->snapshot().tokens, 16);
  }
  EXPECT_EQ(breaker_->state(), State::kClosed);
  // Nothing is retried, so nothing is saved up for.
  retry_.max_attempts = 1;
  retry_.retryable_status_codes = {StatusCode::NOT_FOUND};
  Run(std::nullopt, Always(Fail(StatusCode::NOT_FOUND)));
  EXPECT_EQ(breaker_->snapshot().tokens, 16);
}

// C08
TEST_F(CallSessionBudgetTest, TheBudgetEndsAtNothingAndAtFull) {
  throttle_.limits_retries = true;
  UseWindow(1.0, 1000, 1000);
  UseBreaker();
  for (int call = 0; call < 100; ++call) {
    Run(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE)));
  }
  EXPECT_EQ(breaker_->snapshot().tokens, 0);
  EXPECT_EQ(breaker_->state(), State::kClosed);
  for (int success = 1; success <= 100; ++success) {
    Run(std::nullopt, Always(Answer()));
    ASSERT_EQ(breaker_->snapshot().tokens, std::min(2 * success, 16));
  }
}

TEST_F(CallSessionBudgetTest, TheBudgetIsAskedAgainAfterTheWait) {
  throttle_.limits_retries = true;
  throttle_.max_tokens = 4;
  UseBreaker();
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  ASSERT_EQ(session.OnAttemptEnd(end).step, Step::kWait);  // 3 tokens
  breaker_->TryAcquire()->Record(Outcome::kFailure);       // 2 tokens
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kBudgetExhausted);
  EXPECT_FALSE(session.local_status().has_value());
}

}  // namespace
}  // namespace grpc_resilience::internal
