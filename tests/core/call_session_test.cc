#include "core/call_session.h"

#include <deque>
#include <vector>

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Starts = std::vector<Duration>;

class CallSessionTest : public CallSessionFixture {};

// --- Attempts
// ------------------------------------------------------------------

class ForbiddenClock : public Clock {
 public:
  TimePoint Now() const override {
    ADD_FAILURE() << "the clock was read";
    return TimePoint();
  }
};

TEST_F(CallSessionTest, ACallThatSucceedsAtOnceReadsNoClock) {
  ForbiddenClock clock;
  plan_.clock = &clock;
  CallSession session(plan_, Deadline::None());
  const Decision first = session.Start();
  EXPECT_EQ(first.step, Step::kAttempt);
  EXPECT_EQ(first.attempt, 1);
  EXPECT_TRUE(first.attempt_deadline.is_none());
  EXPECT_EQ(session.OnAttemptEnd(AttemptEnd()).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kOk);
  EXPECT_EQ(session.attempts(), 1);
  EXPECT_FALSE(session.local_status().has_value());
}

TEST_F(CallSessionTest, RetriesUntilAnAttemptSucceeds) {
  retry_.max_attempts = 4;
  const CallRecord call = Run(std::nullopt, [](int attempt) {
    return attempt < 3 ? Fail(StatusCode::UNAVAILABLE) : Answer();
  });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(call.starts,
            (Starts{milliseconds(0), milliseconds(100), milliseconds(300)}));
}

// B13, B18
TEST_F(CallSessionTest, MaxAttemptsIsHonouredExactly) {
  UseBreaker();
  for (const int attempts : {1, 2, 5, 10}) {
    breaker_->Reset();
    retry_.max_attempts = attempts;
    const CallRecord call =
        Run(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE, "down")));
    EXPECT_EQ(call.hits, attempts);
    EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
    EXPECT_FALSE(call.local);
    EXPECT_EQ(call.message, "down");
  }
}

TEST_F(CallSessionTest, OtherCodesEndTheCallAtOnce) {
  EXPECT_EQ(Run(std::nullopt, Always(Fail(StatusCode::NOT_FOUND))).reason,
            StopReason::kNotRetryable);
  Answer too_large = Fail(StatusCode::UNAVAILABLE);
  too_large.origin = ErrorOrigin::kLocal;
  EXPECT_EQ(Run(std::nullopt, Always(too_large)).reason,
            StopReason::kNotRetryable);
  plan_.idempotent = false;
  const CallRecord call =
      Run(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(call.reason, StopReason::kNotIdempotent);
  EXPECT_EQ(call.hits, 1);  // C01
}

TEST_F(CallSessionTest, AWaitOfNothingIsStillAWait) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  end.pushback = Pushback{Duration::zero()};
  const Decision decision = session.OnAttemptEnd(end);
  EXPECT_EQ(decision.step, Step::kWait);
  EXPECT_EQ(decision.wait_until, clock_.Now());
}

// --- Pushback
// ------------------------------------------------------------------

// C03
TEST_F(CallSessionTest, APushbackReplacesTheBackoffAndRestartsIt) {
  retry_.max_attempts = 5;
  const CallRecord call = Run(std::nullopt, [](int attempt) {
    Answer answer = Fail(StatusCode::UNAVAILABLE);
    if (attempt == 3) answer.pushback = Pushback{milliseconds(150)};
    return answer;
  });
  // +100, +200, pushback +150, +100 again
  EXPECT_EQ(call.starts,
            (Starts{milliseconds(0), milliseconds(100), milliseconds(300),
                    milliseconds(450), milliseconds(550)}));
}

// C03
TEST_F(CallSessionTest, AServerMayAskNotToBeRetried) {
  Answer answer = Fail(StatusCode::UNAVAILABLE, "overloaded");
  answer.pushback = Pushback{};
  const CallRecord call = Run(std::nullopt, Always(answer));
  EXPECT_EQ(call.hits, 1);
  EXPECT_EQ(call.reason, StopReason::kPushback);
  EXPECT_EQ(call.message, "overloaded");
}

// --- Cancellation and shutdown
// ---------------------------------------------------

TEST_F(CallSessionTest, ACallCancelledBeforehandCostsNoAttempt) {
  CallSession session(plan_, InTime(seconds(-1)));
  session.OnCancel();
  EXPECT_EQ(session.Start().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kCancelled);
  EXPECT_EQ(session.attempts(), 0);
  EXPECT_EQ(session.local_status()->code, StatusCode::CANCELLED);
}

TEST_F(CallSessionTest, CancellingAnAttemptEndsTheCall) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.OnCancel();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  EXPECT_EQ(session.OnAttemptEnd(end).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kCancelled);
  EXPECT_EQ(session.local_status()->code, StatusCode::CANCELLED);
  EXPECT_EQ(session.classification().cause, IgnoredCause::kCancelled);
}

TEST_F(CallSessionTest, AnAnswerThatBeatTheCancellationCounts) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.OnCancel();
  EXPECT_EQ(session.OnAttemptEnd(AttemptEnd()).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kOk);
  EXPECT_FALSE(session.local_status().has_value());
}

TEST_F(CallSessionTest, CancellingAWaitEndsTheCall) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  session.OnAttemptEnd(end);
  session.OnCancel();
  session.OnShutdown();
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kCancelled);
  EXPECT_EQ(session.attempts(), 1);
}

// A29
TEST_F(CallSessionTest, ShutdownEndsAWait) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  end.message = "refused";
  session.OnAttemptEnd(end);
  session.OnShutdown();
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kShutdown);
  EXPECT_EQ(session.local_status()->code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(session.local_status()->message,
            "shut down while waiting for attempt 2; last attempt: "
            "UNAVAILABLE: refused");
}

// A29
TEST_F(CallSessionTest, AfterShutdownNoWaitBegins) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.OnShutdown();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  EXPECT_EQ(session.OnAttemptEnd(end).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kShutdown);
}

// A28
TEST_F(CallSessionTest, AThousandCallsWaitWithoutAThread) {
  constexpr int kCalls = 1000;
  std::deque<CallSession> sessions;
  int second_attempts = 0;
  for (int i = 0; i < kCalls; ++i) {
    CallSession& session = sessions.emplace_back(plan_, InTime(seconds(60)));
    session.Start();
    AttemptEnd end;
    end.code = StatusCode::UNAVAILABLE;
    const Decision wait = session.OnAttemptEnd(end);
    clock_.Schedule(
        wait.wait_until,
        [&session, &second_attempts] {
          if (session.OnWaitOver().step == Step::kAttempt) ++second_attempts;
        },
        this);
  }
  EXPECT_EQ(clock_.pending(), 1000u);
  EXPECT_EQ(clock_.Advance(milliseconds(100)), 1000u);
  EXPECT_EQ(second_attempts, kCalls);
  EXPECT_EQ(clock_.pending(), 0u);
}

}  // namespace
}  // namespace grpc_resilience::internal
