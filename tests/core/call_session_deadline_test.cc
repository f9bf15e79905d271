// Time: the call's deadline, the limit of an attempt and the reserve.

#include <vector>

#include "core/call_session.h"
#include "core/call_session_fixture.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Limits = std::vector<std::optional<Duration>>;

class CallSessionDeadlineTest : public CallSessionFixture {};

// B02
TEST_F(CallSessionDeadlineTest, NothingIsTriedAfterTheDeadline) {
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
TEST_F(CallSessionDeadlineTest, NeverWaitsForAnAttemptThatCannotFollow) {
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
TEST_F(CallSessionDeadlineTest,
       WithoutALimitOfItsOwnAnAttemptGetsTheCallsTime) {
  const CallRecord call = Run(seconds(10), Always(Answer()));
  EXPECT_EQ(call.limits, Limits{Duration(seconds(10))});
}

// B05
TEST_F(CallSessionDeadlineTest, AnAttemptsLimitLeavesTheCallsDeadlineAlone) {
  retry_.per_attempt_timeout = milliseconds(200);
  const CallRecord call = Run(seconds(10), [](int attempt) {
    return After(attempt == 1 ? milliseconds(300) : milliseconds(10));
  });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(call.hits, 2);
  EXPECT_EQ(call.elapsed, milliseconds(200 + 100 + 10));
}

// B01
TEST_F(CallSessionDeadlineTest, AnAttemptNeverGetsMoreThanIsLeft) {
  retry_.per_attempt_timeout = seconds(1);
  const CallRecord call =
      Run(milliseconds(300), Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(call.limits,
            (Limits{Duration(milliseconds(300)), Duration(milliseconds(200))}));
}

// B14
TEST_F(CallSessionDeadlineTest, AnAttemptThatTimesOutIsRetried) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(
      seconds(1), [](int attempt) { return attempt == 1 ? Hang() : Answer(); });
  EXPECT_EQ(call.reason, StopReason::kOk);
  EXPECT_EQ(call.hits, 2);
}

// B14
TEST_F(CallSessionDeadlineTest, TheCallsOwnDeadlineIsNeverRetried) {
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
TEST_F(CallSessionDeadlineTest, TheLastAttemptsOwnLimitIsNamed) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(seconds(10), Always(Hang()));
  EXPECT_EQ(call.hits, 3);
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(call.code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(call.message,
            "attempt 3 of 3 exceeded per_attempt_timeout (100 ms)");
}

// B15
TEST_F(CallSessionDeadlineTest, TheLimitIsNamedTooWhenTimeRunsOut) {
  retry_.per_attempt_timeout = milliseconds(100);
  retry_.min_attempt_time = milliseconds(100);
  const CallRecord call = Run(milliseconds(350), Always(Hang()));
  // 100 on the wire, 100 of waiting, 100 on the wire, 50 left
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_EQ(call.message,
            "attempt 2 of 3 exceeded per_attempt_timeout (100 ms)");
}

TEST_F(CallSessionDeadlineTest, AServersOwnDeadlineExceededIsNotRewritten) {
  retry_.per_attempt_timeout = milliseconds(100);
  const CallRecord call = Run(
      seconds(10),
      Always(After(milliseconds(20),
                   Fail(StatusCode::DEADLINE_EXCEEDED, "database too slow"))));
  EXPECT_EQ(call.reason, StopReason::kRetriesExhausted);
  EXPECT_FALSE(call.local);
  EXPECT_EQ(call.message, "database too slow");
}

TEST_F(CallSessionDeadlineTest, TheReserveIsKeptBackFromEveryAttempt) {
  retry_.reserve = milliseconds(20);
  const CallRecord call =
      Run(milliseconds(500), Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(call.limits,
            (Limits{Duration(milliseconds(480)), Duration(milliseconds(380)),
                    Duration(milliseconds(180))}));
}

TEST_F(CallSessionDeadlineTest, TheReserveNeverTakesTheWholeAttempt) {
  retry_.reserve = milliseconds(20);
  // 24 - 20 < min_attempt_time
  EXPECT_EQ(Run(milliseconds(24), Always(Answer())).limits,
            Limits{Duration(milliseconds(24))});
}

TEST_F(CallSessionDeadlineTest, ACallsOnlyAttemptKeepsNothingBack) {
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

TEST_F(CallSessionDeadlineTest, AnAttemptCutByTheReserveIsNotRetried) {
  retry_.reserve = milliseconds(400);
  const CallRecord call = Run(seconds(1), Always(Hang()));
  EXPECT_EQ(call.hits, 1);
  EXPECT_EQ(call.elapsed, milliseconds(600));
  EXPECT_EQ(call.reason, StopReason::kDeadlineWouldPass);
  EXPECT_FALSE(call.local);
}

TEST_F(CallSessionDeadlineTest, AnExpiredCallCostsNoAttempt) {
  CallSession session(plan_, Deadline::At(clock_.Now()));
  EXPECT_EQ(session.Start().step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kDeadlineExceeded);
  EXPECT_EQ(session.attempts(), 0);
  EXPECT_EQ(session.local_status()->code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(session.local_status()->message,
            "deadline exceeded before the first attempt");
}

TEST_F(CallSessionDeadlineTest, AWaitThatTookTooLongEndsTheCall) {
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

TEST_F(CallSessionDeadlineTest, ADeadlineLearntOfLaterCountsAsWell) {
  CallSession session(plan_, Deadline::None());
  session.Start();
  session.LowerDeadline(Deadline::At(clock_.Now()));
  session.LowerDeadline(Deadline::None());
  AttemptEnd end;
  end.code = StatusCode::DEADLINE_EXCEEDED;
  EXPECT_EQ(session.OnAttemptEnd(end).step, Step::kFinish);
  EXPECT_EQ(session.reason(), StopReason::kDeadlineExceeded);
}

}  // namespace
}  // namespace grpc_resilience::internal
