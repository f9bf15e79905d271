// A server's hint when to come back that opens the breaker.

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;

class CallSessionHintTest : public CallSessionFixture {};

TEST_F(CallSessionHintTest, AHintThatNobodyWaitsForOpensTheBreaker) {
  breaker_policy_.max_hinted_open_duration = seconds(30);
  const CircuitBreaker& breaker = UseBreaker();
  Answer busy = Fail(StatusCode::UNAVAILABLE, "busy");
  busy.pushback = Pushback{seconds(5)};
  const CallRecord call = Run(seconds(1), Always(busy));
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_EQ(call.message, "busy");
  EXPECT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(breaker.rejection().retry_after, seconds(5));
}

TEST_F(CallSessionHintTest, AHintThatIsWaitedForOpensNothing) {
  breaker_policy_.max_hinted_open_duration = seconds(30);
  const CircuitBreaker& breaker = UseBreaker();
  const CallRecord call = Run(seconds(10), [](int attempt) {
    if (attempt > 1) return Answer();
    Answer busy = Fail(StatusCode::UNAVAILABLE, "busy");
    busy.pushback = Pushback{seconds(5)};
    return busy;
  });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(breaker.state(), State::kClosed);
}

// What doesn't count against the target can't open its breaker.
TEST_F(CallSessionHintTest, OnlyAFailureMayOpen) {
  breaker_policy_.max_hinted_open_duration = seconds(30);
  const CircuitBreaker& breaker = UseBreaker();
  Answer answer = Fail(StatusCode::FAILED_PRECONDITION, "not yet");
  answer.pushback = Pushback{seconds(5)};
  EXPECT_EQ(Run(seconds(1), Always(answer)).reason, StopReason::kNotRetryable);
  EXPECT_EQ(breaker.state(), State::kClosed);

  answer.code = StatusCode::RESOURCE_EXHAUSTED;
  answer.origin = ErrorOrigin::kLocal;
  Run(seconds(1), Always(answer));
  EXPECT_EQ(breaker.state(), State::kClosed);

  answer.code = StatusCode::UNAVAILABLE;
  answer.origin = ErrorOrigin::kOwnRejection;
  EXPECT_EQ(Run(seconds(1), Always(answer)).reason, StopReason::kPushback);
  EXPECT_EQ(breaker.state(), State::kClosed);

  answer.origin = ErrorOrigin::kPeerOrTransport;
  const OutcomePredicate ignores = [](const AttemptResult&, Outcome) {
    return Outcome::kIgnored;
  };
  plan_.outcome_predicate = &ignores;
  EXPECT_EQ(Run(seconds(1), Always(answer)).reason,
            StopReason::kDeadlineWouldPass);
  EXPECT_EQ(breaker.state(), State::kClosed);
  plan_.outcome_predicate = nullptr;
  Run(seconds(1), Always(answer));
  EXPECT_EQ(breaker.state(), State::kOpen);
}

TEST_F(CallSessionHintTest, ARefusalWithoutATimeIsNoHint) {
  breaker_policy_.max_hinted_open_duration = seconds(30);
  const CircuitBreaker& breaker = UseBreaker();
  Answer busy = Fail(StatusCode::UNAVAILABLE, "busy");
  busy.pushback = Pushback{};
  EXPECT_EQ(Run(seconds(1), Always(busy)).reason, StopReason::kPushback);
  EXPECT_EQ(breaker.state(), State::kClosed);
}

}  // namespace
}  // namespace grpc_resilience::internal
