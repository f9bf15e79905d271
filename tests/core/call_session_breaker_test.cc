// A call and the breaker of its target: rejections and outcomes.

#include <stdexcept>

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallSessionBreakerTest : public CallSessionFixture {
 protected:
  /// Opens the breaker from outside, "UNAVAILABLE: connection refused".
  void Open() {
    while (breaker_->state() != State::kOpen) {
      breaker_->TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE,
                                     "connection refused");
    }
  }
};

// --- Rejection
// -----------------------------------------------------------------

TEST_F(CallSessionBreakerTest, AnOpenBreakerRejectsTheCall) {
  UseBreaker();
  Open();
  const CallRecord call = Run(seconds(1), Always(Answer()));
  EXPECT_EQ(call.hits, 0);
  EXPECT_EQ(call.elapsed, milliseconds(0));
  EXPECT_EQ(call.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(call.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.message,
            "circuit breaker of target \"payments:443\" is open; next probe in "
            "80 ms; opened by UNAVAILABLE: connection refused");
}

TEST_F(CallSessionBreakerTest, ARejectionSaysWhenToComeBack) {
  UseBreaker();
  Open();
  clock_.Advance(milliseconds(30));
  CallSession session(plan_, Deadline::None());
  EXPECT_EQ(session.Start().step, Step::kFinish);
  ASSERT_TRUE(session.rejection().has_value());
  EXPECT_EQ(session.rejection()->retry_after, milliseconds(50));
  EXPECT_EQ(session.attempts(), 0);
  EXPECT_EQ(breaker_->snapshot().rejected, 1u);  // C10
}

TEST_F(CallSessionBreakerTest, ABreakerOfOneMethodIsNamedWithIt) {
  UseBreaker({"payments:443", "/pay.Payments/Charge"});
  Open();
  EXPECT_THAT(Run(seconds(1), Always(Answer())).message,
              testing::StartsWith("circuit breaker of target \"payments:443\" "
                                  "method \"/pay.Payments/Charge\" is open;"));
}

TEST_F(CallSessionBreakerTest, WhileProbesAreUnderWayOthersAreRejected) {
  UseWindow(0.5, 10, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  Open();
  clock_.Advance(milliseconds(80));
  CallSession probe(plan_, Deadline::None());
  EXPECT_EQ(probe.Start().step, Step::kAttempt);
  const CallRecord other = Run(seconds(1), Always(Answer()));
  EXPECT_EQ(other.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(other.message,
            "circuit breaker of target \"payments:443\" is open; a probe is "
            "under way; opened by UNAVAILABLE: connection refused");
  probe.OnAttemptEnd(AttemptEnd());
  EXPECT_EQ(breaker_->state(), State::kClosed);
}

TEST_F(CallSessionBreakerTest, NoProbeWhileItWouldSayNothing) {
  UseBreaker();
  int asked = 0;
  bool connected = false;
  plan_.may_probe = [&] {
    ++asked;
    return connected;
  };
  EXPECT_EQ(Run(seconds(1), Always(Answer())).hits, 1);
  EXPECT_EQ(asked, 0);  // CLOSED: everybody may
  Open();
  clock_.Advance(seconds(10));
  const CallRecord call = Run(seconds(1), Always(Answer()));
  EXPECT_EQ(call.hits, 0);
  EXPECT_EQ(call.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(call.message,
            "circuit breaker of target \"payments:443\" is open; waiting for a "
            "connection; opened by UNAVAILABLE: connection refused");
  EXPECT_EQ(breaker_->state(), State::kOpen);
  EXPECT_EQ(breaker_->snapshot().rejected, 1u);
  connected = true;
  EXPECT_EQ(Run(seconds(1), Always(Answer())).hits, 1);
  EXPECT_EQ(asked, 2);
}

// C09
TEST_F(CallSessionBreakerTest, ABreakerThatOpensEndsTheRetriesAtOnce) {
  UseWindow(0.5, 10, 2);
  UseBreaker();
  retry_.max_attempts = 5;
  const CallRecord call =
      Run(seconds(10), Always(Fail(StatusCode::UNAVAILABLE, "went away")));
  EXPECT_EQ(call.hits, 2);
  EXPECT_EQ(call.elapsed, milliseconds(100));  // the first backoff only
  EXPECT_EQ(call.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(call.code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.message,
            "circuit breaker of target \"payments:443\" is open; next probe in "
            "80 ms; opened by UNAVAILABLE: went away; last attempt: "
            "UNAVAILABLE: went away");
  // The call's own end was no rejected attempt.
  EXPECT_EQ(breaker_->snapshot().rejected, 0u);
}

TEST_F(CallSessionBreakerTest, ABreakerThatOpensDuringTheWaitEndsTheCall) {
  breaker_policy_.open_duration = seconds(1);
  UseBreaker();
  CallSession session(plan_, InTime(seconds(10)));
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  end.message = "mine";
  ASSERT_EQ(session.OnAttemptEnd(end).step, Step::kWait);
  clock_.Advance(milliseconds(100));
  Open();
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kBreakerOpen);
  EXPECT_EQ(session.attempts(), 1);
  EXPECT_EQ(session.local_status()->message,
            "circuit breaker of target \"payments:443\" is open; next probe in "
            "1 s; opened by UNAVAILABLE: connection refused; last attempt: "
            "UNAVAILABLE: mine");
}

// --- Outcomes
// ------------------------------------------------------------------

// C10
TEST_F(CallSessionBreakerTest, EveryAttemptIsOneOutcome) {
  UseWindow(1.0, 10, 10);
  UseBreaker();
  Run(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(breaker_->snapshot().window_failures, 3);
  Run(std::nullopt, Always(Fail(StatusCode::NOT_FOUND)));
  EXPECT_EQ(breaker_->snapshot().window_failures, 3);
  EXPECT_EQ(breaker_->snapshot().window_calls, 4);
}

// D24
TEST_F(CallSessionBreakerTest, CallersThatCancelDoNotOpenAHealthyTarget) {
  UseWindow(0.5, 10, 5);
  UseBreaker();
  for (int i = 0; i < 100; ++i) {
    CallSession session(plan_, InTime(seconds(1)));
    ASSERT_EQ(session.Start().step, Step::kAttempt);
    session.OnCancel();
    AttemptEnd end;
    end.code = StatusCode::CANCELLED;
    session.OnAttemptEnd(end);
  }
  EXPECT_EQ(breaker_->state(), State::kClosed);
  EXPECT_EQ(breaker_->snapshot().window_calls, 0);
  EXPECT_EQ(breaker_->snapshot().window_failures, 0);
}

// D01
TEST_F(CallSessionBreakerTest, ACancelledProbeGivesItsSlotBack) {
  UseWindow(0.5, 10, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  Open();
  clock_.Advance(milliseconds(80));
  {
    CallSession probe(plan_, Deadline::None());
    ASSERT_EQ(probe.Start().step, Step::kAttempt);
    probe.OnCancel();
    AttemptEnd end;
    end.code = StatusCode::CANCELLED;
    probe.OnAttemptEnd(end);
    CallSession abandoned(plan_, Deadline::None());
    ASSERT_EQ(abandoned.Start().step, Step::kAttempt);
  }
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);
  EXPECT_EQ(Run(std::nullopt, Always(Answer())).reason, StopReason::kOk);
  EXPECT_EQ(breaker_->state(), State::kClosed);
}

TEST_F(CallSessionBreakerTest, AnExpiredOrCancelledCallTakesNoPermit) {
  UseWindow(0.5, 10, 1);
  UseBreaker();
  Open();
  clock_.Advance(milliseconds(80));
  CallSession expired(plan_, InTime(milliseconds(0)));
  expired.Start();
  CallSession cancelled(plan_, InTime(seconds(1)));
  cancelled.OnCancel();
  cancelled.Start();
  EXPECT_EQ(breaker_->state(), State::kOpen);  // no half-open round began
}

struct TimeoutCase {
  const char* name;
  std::optional<Duration> per_attempt_timeout;
  std::optional<Duration> call_time;
  Outcome outcome;
};

class TimeoutOutcomeTest : public CallSessionFixture,
                           public testing::WithParamInterface<TimeoutCase> {};

// D26 and its opposite: callers in a hurry say nothing about the target.
TEST_P(TimeoutOutcomeTest, CountsWhenTheAttemptHadAFairTime) {
  retry_.max_attempts = 1;
  retry_.per_attempt_timeout = GetParam().per_attempt_timeout;
  CallSession session(plan_, InTime(GetParam().call_time));
  SessionDriver(clock_).Run(
      session, Always(After(seconds(5), Fail(StatusCode::DEADLINE_EXCEEDED))));
  EXPECT_EQ(session.classification().outcome, GetParam().outcome);
  EXPECT_EQ(session.classification().cause,
            GetParam().outcome == Outcome::kIgnored
                ? IgnoredCause::kDeadlineTooShort
                : IgnoredCause::kNone);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TimeoutOutcomeTest,
    testing::ValuesIn(std::vector<TimeoutCase>{
        {"NoLimitAtAll", std::nullopt, std::nullopt, Outcome::kFailure},
        {"LongCall", std::nullopt, milliseconds(50), Outcome::kFailure},
        {"ShortCall", std::nullopt, milliseconds(49), Outcome::kIgnored},
        {"ItsFullLimit", milliseconds(20), seconds(1), Outcome::kFailure},
        {"ItsFullLimitWithoutADeadline", milliseconds(20), std::nullopt,
         Outcome::kFailure},
        {"ItsFullLimitJustFits", milliseconds(20), milliseconds(20),
         Outcome::kFailure},
        {"LimitCutByTheCall", milliseconds(100), milliseconds(20),
         Outcome::kIgnored},
    }),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_F(CallSessionBreakerTest, APredicateOverridesTheOutcome) {
  UseWindow(1.0, 10, 10);
  UseBreaker();
  std::string seen;
  const OutcomePredicate predicate = [&](const AttemptResult& result,
                                         Outcome by_default) {
    seen = StatusCodeName(result.code) + " " + std::string(result.message) +
           " " + std::string(ToString(by_default));
    return Outcome::kFailure;
  };
  plan_.outcome_predicate = &predicate;
  const CallRecord call =
      Run(std::nullopt, Always(Fail(StatusCode::ABORTED, "contention")));
  EXPECT_EQ(seen, "ABORTED contention SUCCESS");
  EXPECT_EQ(call.reason, StopReason::kNotRetryable);  // decides no retry
  EXPECT_EQ(breaker_->snapshot().window_failures, 1);
}

TEST_F(CallSessionBreakerTest, APredicateThatThrowsLeavesTheDefault) {
  UseWindow(1.0, 10, 10);
  UseBreaker();
  const OutcomePredicate predicate = [](const AttemptResult&,
                                        Outcome) -> Outcome {
    throw std::runtime_error("predicate");
  };
  plan_.outcome_predicate = &predicate;
  Run(std::nullopt, Always(Fail(StatusCode::INTERNAL)));
  Run(std::nullopt, Always(Answer()));
  EXPECT_EQ(breaker_->snapshot().window_failures, 1);
  EXPECT_EQ(breaker_->snapshot().window_calls, 2);
}

TEST_F(CallSessionBreakerTest, AnEmptyPredicateIsNone) {
  const OutcomePredicate predicate;
  plan_.outcome_predicate = &predicate;
  EXPECT_EQ(Run(std::nullopt, Always(Answer())).reason, StopReason::kOk);
}

}  // namespace
}  // namespace grpc_resilience::internal
