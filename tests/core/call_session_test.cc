#include "core/call_session.h"

#include <deque>
#include <vector>

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

using Starts = std::vector<Duration>;
using Limits = std::vector<std::optional<Duration>>;

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

// --- Deadlines
// -----------------------------------------------------------------

// B02
TEST_F(CallSessionTest, NothingIsTriedAfterTheDeadline) {
  retry_.max_attempts = 50;
  retry_.backoff.backoff_multiplier = 1;
  const CallRecord call =
      Run(milliseconds(300), Always(Fail(StatusCode::UNAVAILABLE)));
  // 0, 100, 200; the next would begin at the deadline
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.elapsed, milliseconds(200));
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
}

// B03
TEST_F(CallSessionTest, NeverWaitsForAnAttemptThatCannotFollow) {
  retry_.backoff.initial_backoff = milliseconds(200);
  const CallRecord call =
      Run(milliseconds(50), Always(Fail(StatusCode::UNAVAILABLE, "busy")));
  EXPECT_EQ(call.hits, 1);
  EXPECT_EQ(call.elapsed, milliseconds(0));
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_FALSE(call.local);
  EXPECT_EQ(call.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.message, "busy");
}

// B05
TEST_F(CallSessionTest, WithoutALimitOfItsOwnAnAttemptGetsTheCallsTime) {
  const CallRecord call = Run(seconds(10), Always(Answer()));
  EXPECT_EQ(call.limits, Limits{Duration(seconds(10))});
}

// B05
TEST_F(CallSessionTest, AnAttemptsLimitLeavesTheCallsDeadlineAlone) {
  retry_.per_attempt_timeout = milliseconds(200);
  const CallRecord call = Run(seconds(10), [](int attempt) {
    return After(attempt == 1 ? milliseconds(300) : milliseconds(10));
  });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(call.hits, 2);
  EXPECT_EQ(call.elapsed, milliseconds(200 + 100 + 10));
}

// B01
TEST_F(CallSessionTest, AnAttemptNeverGetsMoreThanIsLeft) {
  retry_.per_attempt_timeout = seconds(1);
  const CallRecord call =
      Run(milliseconds(300), Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(call.limits,
            (Limits{Duration(milliseconds(300)), Duration(milliseconds(200))}));
}

// B14
TEST_F(CallSessionTest, AnAttemptThatTimesOutIsRetried) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(
      seconds(1), [](int attempt) { return attempt == 1 ? Hang() : Answer(); });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(call.hits, 2);
}

// B14
TEST_F(CallSessionTest, TheCallsOwnDeadlineIsNeverRetried) {
  for (const bool limited : {false, true}) {
    if (limited) retry_.per_attempt_timeout = seconds(1);
    const CallRecord call = Run(seconds(1), Always(Hang()));
    EXPECT_EQ(call.hits, 1);
    EXPECT_EQ(call.reason, StopReason::kDeadlineExceeded);
    EXPECT_FALSE(call.local);
    EXPECT_EQ(call.code, StatusCode::DEADLINE_EXCEEDED);
  }
}

// B15
TEST_F(CallSessionTest, TheLastAttemptsOwnLimitIsNamed) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(seconds(10), Always(Hang()));
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(call.code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(call.message,
            "attempt 3 of 3 exceeded per_attempt_timeout (100 ms)");
}

// B15
TEST_F(CallSessionTest, TheLimitIsNamedTooWhenTimeRunsOut) {
  retry_.per_attempt_timeout = milliseconds(100);
  retry_.min_attempt_time = milliseconds(100);
  const CallRecord call = Run(milliseconds(350), Always(Hang()));
  // 100 on the wire, 100 of waiting, 100 on the wire, 50 left
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_EQ(call.message,
            "attempt 2 of 3 exceeded per_attempt_timeout (100 ms)");
}

TEST_F(CallSessionTest, AServersOwnDeadlineExceededIsNotRewritten) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(
      seconds(10),
      Always(After(milliseconds(20),
                   Fail(StatusCode::DEADLINE_EXCEEDED, "database too slow"))));
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_FALSE(call.local);
  EXPECT_EQ(call.message, "database too slow");
}

TEST_F(CallSessionTest, TheReserveIsKeptBackFromEveryAttempt) {
  retry_.reserve = milliseconds(20);
  const CallRecord call =
      Run(milliseconds(500), Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(call.limits,
            (Limits{Duration(milliseconds(480)), Duration(milliseconds(380)),
                    Duration(milliseconds(180))}));
}

TEST_F(CallSessionTest, TheReserveNeverTakesTheWholeAttempt) {
  retry_.reserve = milliseconds(20);
  // 24 - 20 < min_attempt_time
  EXPECT_EQ(Run(milliseconds(24), Always(Answer())).limits,
            Limits{Duration(milliseconds(24))});
}

TEST_F(CallSessionTest, ACallsOnlyAttemptKeepsNothingBack) {
  retry_.reserve = milliseconds(20);
  const auto limits = [this] {
    return Run(milliseconds(500), Always(Answer())).limits;
  };
  const Limits all{Duration(milliseconds(500))};
  ASSERT_NE(limits(), all);
  plan_.chain_stop = true;
  EXPECT_EQ(limits(), all);
  plan_.chain_stop = false;
  plan_.idempotent = false;  // and no codes listed
  EXPECT_EQ(limits(), all);
  plan_.idempotent = true;
  retry_.retryable_status_codes.emplace();
  EXPECT_EQ(limits(), all);
  retry_.retryable_status_codes.reset();
  retry_.max_attempts = 1;
  EXPECT_EQ(limits(), all);
}

TEST_F(CallSessionTest, AnAttemptCutByTheReserveIsNotRetried) {
  retry_.reserve = milliseconds(400);
  const CallRecord call = Run(seconds(1), Always(Hang()));
  EXPECT_EQ(call.hits, 1);
  EXPECT_EQ(call.elapsed, milliseconds(600));
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_FALSE(call.local);
}

TEST_F(CallSessionTest, AnExpiredCallCostsNoAttempt) {
  CallSession session(plan_, Deadline::At(clock_.Now()));
  EXPECT_EQ(session.Start().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kDeadlineExceeded);
  EXPECT_EQ(session.attempts(), 0);
  EXPECT_EQ(session.local_status()->code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(session.local_status()->message,
            "deadline exceeded before the first attempt");
}

TEST_F(CallSessionTest, AWaitThatTookTooLongEndsTheCall) {
  CallSession session(plan_, InTime(milliseconds(500)));
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  EXPECT_EQ(session.OnAttemptEnd(end).step, Step::kWait);
  clock_.Advance(milliseconds(496));
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kDeadlineWouldPass);
  EXPECT_FALSE(session.local_status().has_value());
}

TEST_F(CallSessionTest, ADeadlineLearntOfLaterCountsAsWell) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.LowerDeadline(Deadline::At(clock_.Now()));
  session.LowerDeadline(Deadline::None());
  AttemptEnd end;
  end.code = StatusCode::DEADLINE_EXCEEDED;
  EXPECT_EQ(session.OnAttemptEnd(end).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kDeadlineExceeded);
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
