// Whether each attempt or each call asks the breaker and reports to it, and what
// a probe's attempt may take.

#include <chrono>
#include <stdexcept>

#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallSessionBreakerCountsTest : public CallSessionFixture {
 protected:
  void CountCalls() { plan_.breaker_counts = BreakerCounts::kCalls; }
  BreakerSnapshot Snapshot() const { return breaker_->snapshot(); }
  void Open() {
    while (breaker_->state() != State::kOpen) {
      breaker_->TryAcquire()->Record(Outcome::kFailure);
    }
  }
  static Server FailsFirst(int times) {
    return [times](int attempt) {
      return attempt <= times ? Fail(StatusCode::UNAVAILABLE, "down")
                              : Answer();
    };
  }
};

// C10
TEST_F(CallSessionBreakerCountsTest, ByDefaultEachAttemptIsAnOutcome) {
  UseWindow(1.0, 10, 10);
  UseBreaker();
  Run(seconds(10), FailsFirst(2));
  EXPECT_EQ(Snapshot().window_calls, 3);
  EXPECT_EQ(Snapshot().window_failures, 2);
}

TEST_F(CallSessionBreakerCountsTest, ACallThatRetryingSavedIsOneSuccess) {
  UseWindow(1.0, 10, 10);
  UseBreaker();
  CountCalls();
  const CallRecord call = Run(seconds(10), FailsFirst(2));
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.code, StatusCode::OK);
  EXPECT_EQ(Snapshot().window_calls, 1);
  EXPECT_EQ(Snapshot().window_failures, 0);
}

TEST_F(CallSessionBreakerCountsTest, ACallThatFailedIsOneFailure) {
  UseWindow(1.0, 10, 1);
  UseBreaker();
  CountCalls();
  const CallRecord call = Run(seconds(10), FailsFirst(99));
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(breaker_->state(), State::kOpen);
  EXPECT_EQ(Snapshot().last_failure, "UNAVAILABLE: down");
  EXPECT_EQ(Snapshot().transitions[0].why, "1 failure of the last 1 call");
}

TEST_F(CallSessionBreakerCountsTest, ABreakerThatOpensDoesNotStopItsRetries) {
  UseWindow(1.0, 10, 1);
  UseBreaker();
  CountCalls();
  const CallRecord call = Run(seconds(10), [&](int attempt) {
    if (attempt == 1) Open();
    return attempt == 1 ? Fail(StatusCode::UNAVAILABLE) : Answer();
  });
  EXPECT_EQ(call.hits, 2);
  EXPECT_EQ(call.code, StatusCode::OK);
  EXPECT_EQ(Snapshot().rejected, 0u);
}

TEST_F(CallSessionBreakerCountsTest, ARejectionEndsTheCall) {
  UseWindow(1.0, 10, 1);
  UseBreaker();
  CountCalls();
  Open();
  const CallRecord call = Run(seconds(10), Always(Answer()));
  EXPECT_EQ(call.hits, 0);
  EXPECT_EQ(call.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(Snapshot().rejected, 1u);
}

TEST_F(CallSessionBreakerCountsTest, ACallCancelledWhileWaitingIsIgnored) {
  UseWindow(1.0, 10, 1);
  UseBreaker();
  CountCalls();
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  ASSERT_EQ(session.OnAttemptEnd(end).step, Step::kWait);
  session.OnCancel();
  EXPECT_EQ(session.OnWaitOver().step, Step::kFinish);
  EXPECT_EQ(breaker_->state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_EQ(Snapshot().ignored[IgnoredCause::kCancelled], 1u);
  // What the observers hear of the attempt is its own outcome.
  EXPECT_EQ(session.classification().outcome, Outcome::kFailure);
}

TEST_F(CallSessionBreakerCountsTest, AProbingCallIsOneProbe) {
  UseWindow(1.0, 10, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  CountCalls();
  Open();
  clock_.Advance(milliseconds(80));
  CallSession probing(plan_, Deadline::None());
  ASSERT_EQ(probing.Start().step, Step::kAttempt);
  AttemptEnd end;
  end.code = StatusCode::UNAVAILABLE;
  ASSERT_EQ(probing.OnAttemptEnd(end).step, Step::kWait);
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);  // no verdict yet
  ASSERT_EQ(probing.OnWaitOver().step, Step::kAttempt);
  probing.OnAttemptEnd(AttemptEnd());
  EXPECT_EQ(breaker_->state(), State::kClosed);
}

// --- Causes

TEST_F(CallSessionBreakerCountsTest, CausesReachTheBreaker) {
  UseBreaker();
  const auto ignored = [&](IgnoredCause cause) {
    return Snapshot().ignored[cause];
  };
  retry_.max_attempts = 1;
  Run(milliseconds(10), Always(Hang()));
  EXPECT_EQ(ignored(IgnoredCause::kDeadlineTooShort), 1u);
  Answer too_large = Fail(StatusCode::RESOURCE_EXHAUSTED);
  too_large.origin = ErrorOrigin::kLocal;
  Run(seconds(1), Always(too_large));
  EXPECT_EQ(ignored(IgnoredCause::kLocalError), 1u);
  Answer nested = Fail(StatusCode::UNAVAILABLE);
  nested.origin = ErrorOrigin::kOwnRejection;
  Run(seconds(1), Always(nested));
  EXPECT_EQ(ignored(IgnoredCause::kOwnRejection), 1u);
  CallSession cancelled(plan_, Deadline::None());
  cancelled.Start();
  cancelled.OnCancel();
  AttemptEnd end;
  end.code = StatusCode::CANCELLED;
  cancelled.OnAttemptEnd(end);
  EXPECT_EQ(ignored(IgnoredCause::kCancelled), 1u);
  EXPECT_EQ(Snapshot().tokens, 16);
}

TEST_F(CallSessionBreakerCountsTest, ThePredicateSeesTheResponse) {
  UseWindow(1.0, 1, 1);
  UseBreaker();
  const int response = 42;
  const OutcomePredicate predicate = [&](const AttemptResult& result,
                                         Outcome by_default) {
    return result.response == &response ? Outcome::kFailure : by_default;
  };
  plan_.outcome_predicate = &predicate;
  CallSession session(plan_, Deadline::None());
  session.Start();
  AttemptEnd end;
  end.response = &response;
  session.OnAttemptEnd(end);
  EXPECT_EQ(breaker_->state(), State::kOpen);
}

// D27: a channel that isn't connected tells nothing about a probe.
TEST_F(CallSessionBreakerCountsTest, AProbeWithoutAConnectionIsNoVerdict) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  retry_.max_attempts = 1;
  Answer refused = Fail(StatusCode::UNAVAILABLE);
  refused.origin = ErrorOrigin::kNotConnected;
  Run(seconds(1), Always(refused));
  ASSERT_EQ(breaker_->state(), State::kOpen);  // refused calls do count
  clock_.Advance(milliseconds(80));
  Run(seconds(1), Always(refused));
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().ignored[IgnoredCause::kNeutralProbe], 1u);
  Run(seconds(1), Always(Answer()));
  EXPECT_EQ(breaker_->state(), State::kClosed);
}

// --- Time

// D34
TEST_F(CallSessionBreakerCountsTest, AProbeHasItsOwnShorterLimit) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  retry_.max_attempts = 1;
  retry_.per_attempt_timeout = seconds(2);
  plan_.probe_timeout = milliseconds(100);
  const CallRecord normal = Run(seconds(10), Always(Hang()));
  EXPECT_EQ(normal.elapsed, seconds(2));
  ASSERT_EQ(breaker_->state(), State::kOpen);
  clock_.Advance(milliseconds(80));
  const CallRecord probe = Run(seconds(10), Always(Hang()));
  EXPECT_EQ(probe.elapsed, milliseconds(100));
  EXPECT_EQ(probe.message,
            "attempt 1 of 1 exceeded half_open_per_attempt_timeout (100 ms)");
  EXPECT_EQ(breaker_->state(), State::kOpen);  // its full time: a verdict
}

TEST_F(CallSessionBreakerCountsTest, TheShorterLimitOfAProbeHolds) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  retry_.max_attempts = 1;
  retry_.per_attempt_timeout = milliseconds(50);
  plan_.probe_timeout = milliseconds(100);
  Open();
  clock_.Advance(milliseconds(80));
  const CallRecord probe = Run(seconds(10), Always(Hang()));
  EXPECT_EQ(probe.elapsed, milliseconds(50));
  EXPECT_EQ(probe.message,
            "attempt 1 of 1 exceeded per_attempt_timeout (50 ms)");
}

TEST_F(CallSessionBreakerCountsTest, AProbeWithoutAnyDeadlineIsLimitedToo) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 1;
  UseBreaker();
  plan_.probe_timeout = milliseconds(100);
  Open();
  clock_.Advance(milliseconds(80));
  CallSession session(plan_, Deadline::None());
  EXPECT_EQ(session.Start().attempt_deadline,
            Deadline::After(clock_.Now(), milliseconds(100)));
  EXPECT_TRUE(session.attempt_limited());
}

// D23
TEST_F(CallSessionBreakerCountsTest, AHungCallIsCountedAsSlowWhileItHangs) {
  UseWindow(1.0, 10, 1);
  breaker_policy_.slow_call_rate_threshold = 1.0;
  breaker_policy_.slow_call_duration = milliseconds(500);
  UseBreaker();
  CallSession session(plan_, Deadline::None());
  session.Start();
  ASSERT_EQ(session.slow_at(), clock_.Now() + milliseconds(500));
  clock_.Advance(milliseconds(500));
  session.OnSlow();
  EXPECT_EQ(breaker_->state(), State::kOpen);
  EXPECT_EQ(Snapshot().transitions[0].why,
            "1 of the last 1 call took 500 ms or longer");
}

TEST_F(CallSessionBreakerCountsTest, AnOperatorsWordIsInTheRejection) {
  UseBreaker();
  breaker_->ForceMode(OperatorMode::kForcedOpen, std::nullopt, "alice: move");
  const CallRecord call = Run(seconds(1), Always(Answer()));
  EXPECT_EQ(call.reason, StopReason::kBreakerOpen);
  EXPECT_EQ(call.message,
            "circuit breaker of target \"payments:443\" is forced open by an "
            "operator: alice: move");
}

TEST_F(CallSessionBreakerCountsTest, ABreakerOfACustomKeyIsNamedWithIt) {
  UseBreaker({"", "", "shard-7"});
  Open();
  EXPECT_THAT(Run(seconds(1), Always(Answer())).message,
              testing::StartsWith("circuit breaker of target \"payments:443\" "
                                  "key \"shard-7\" is open;"));
}

}  // namespace
}  // namespace grpc_resilience::internal
