// What streams add to a call: their first message, and what can't be sent again.

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallSessionStreamTest : public CallSessionFixture {};

AttemptEnd Unavailable() {
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  return end;
}

TEST_F(CallSessionStreamTest, WhatCantBeSentAgainIsTheReason) {
  for (const StopReason reason :
       {StopReason::kCommitted, StopReason::kReplayBufferFull}) {
    CallSession session(plan_, Deadline::None());
    EXPECT_EQ(session.Start().step, Step::kAttempt);
    session.ForbidRetry(reason);
    EXPECT_EQ(session.OnAttemptEnd(Unavailable()).step, Step::kFinish);
    EXPECT_EQ(session.reason(), reason);
    EXPECT_FALSE(session.local_status().has_value());
  }
}

TEST_F(CallSessionStreamTest, ACodeThatIsNeverRetriedStaysTheReason) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.ForbidRetry(StopReason::kCommitted);
  AttemptEnd end;
  end.code = StatusCode::NOT_FOUND;
  session.OnAttemptEnd(end);
  EXPECT_EQ(session.reason(), StopReason::kNotRetryable);
}

// A stream is as slow as its first message.
TEST_F(CallSessionStreamTest, ALongStreamIsntSlow) {
  breaker_policy_.slow_call_rate_threshold = 1.0;
  breaker_policy_.slow_call_duration = milliseconds(100);
  breaker_policy_.window_calls = breaker_policy_.minimum_calls = 1;
  UseBreaker();
  CallSession session(plan_, Deadline::None());
  session.Start();
  EXPECT_TRUE(session.slow_at().has_value());
  clock_.Advance(milliseconds(99));
  session.OnFirstMessage();
  EXPECT_FALSE(session.slow_at().has_value());
  clock_.Advance(seconds(100));
  session.OnAttemptEnd({});
  EXPECT_EQ(breaker_->state(), State::kClosed);
}

TEST_F(CallSessionStreamTest, ALateFirstMessageIsSlow) {
  breaker_policy_.slow_call_rate_threshold = 1.0;
  breaker_policy_.slow_call_duration = milliseconds(100);
  breaker_policy_.window_calls = breaker_policy_.minimum_calls = 1;
  UseBreaker();
  CallSession session(plan_, Deadline::None());
  session.Start();
  clock_.Advance(milliseconds(100));
  session.OnFirstMessage();
  EXPECT_EQ(breaker_->state(), State::kOpen);
}

// A probe that goes on for hours has shown with its first message what it should.
TEST_F(CallSessionStreamTest, AProbesFirstMessageEndsTheRound) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  breaker_->TryAcquire()->Record(Outcome::kFailure);
  clock_.Advance(milliseconds(80));
  CallSession session(plan_, Deadline::None());
  EXPECT_EQ(session.Start().step, Step::kAttempt);
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);
  session.OnFirstMessage();
  EXPECT_EQ(breaker_->state(), State::kClosed);
  // Its end is no second outcome.
  session.ForbidRetry(StopReason::kCommitted);
  session.OnAttemptEnd(Unavailable());
  EXPECT_EQ(breaker_->state(), State::kClosed);
  EXPECT_EQ(breaker_->snapshot().window_failures, 0);
}

TEST_F(CallSessionStreamTest, TheAttemptsLimitEndsWithTheFirstMessage) {
  retry_.per_attempt_timeout = milliseconds(100);
  CallSession session(plan_, Deadline::None());
  session.Start();
  EXPECT_TRUE(session.attempt_limited());
  session.OnFirstMessage();
  EXPECT_FALSE(session.attempt_limited());
  clock_.Advance(seconds(1));
  session.ForbidRetry(StopReason::kCommitted);
  AttemptEnd end;
  end.code = StatusCode::DEADLINE_EXCEEDED;
  session.OnAttemptEnd(end);
  // The server's own, not said to be of our limit.
  EXPECT_FALSE(session.local_status().has_value());
}

}  // namespace
}  // namespace grpc_resilience::internal
