#include "core/hedge_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/call_session_fixture.h"
#include "core/hedge_driver.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class HedgeSessionTest : public CallSessionFixture {
 protected:
  HedgeSessionTest() {
    hedging_.max_hedged_attempts = 3;
    hedging_.hedging_delay = milliseconds(100);
  }

  HedgeRecord RunHedged(std::optional<Duration> time, const Server& server) {
    hedged_ = HedgedRetry(retry_, hedging_);
    plan_.retry = &hedged_;
    return driver_.Run(plan_, InTime(time), hedging_.hedging_delay, server);
  }

  static Server Each(std::vector<Answer> answers) {
    return [answers](int number) {
      return answers[static_cast<std::size_t>(number - 1)];
    };
  }

  HedgingPolicy hedging_;
  RetryPolicy hedged_;
  HedgeDriver driver_{clock_};
};

TEST_F(HedgeSessionTest, AnAnswerInTimeIsTheOnlyAttempt) {
  const HedgeRecord record =
      RunHedged(std::nullopt, Always(After(milliseconds(99))));
  EXPECT_THAT(record.starts, ElementsAre(milliseconds(0)));
  EXPECT_EQ(record.reason, StopReason::kOk);
  EXPECT_EQ(record.attempts, 1);
}

TEST_F(HedgeSessionTest, TheFirstGoodAnswerWins) {
  const HedgeRecord record = RunHedged(
      std::nullopt,
      Each({Hang(), After(milliseconds(500)), After(milliseconds(20))}));
  EXPECT_THAT(record.starts, ElementsAre(milliseconds(0), milliseconds(100),
                                         milliseconds(200)));
  EXPECT_EQ(record.result, 3);
  EXPECT_EQ(record.elapsed, milliseconds(220));
  EXPECT_EQ(record.cut_off, 2);
  EXPECT_EQ(record.attempts, 3);
}

TEST_F(HedgeSessionTest, NeverMoreThanAllowed) {
  const HedgeRecord record = RunHedged(seconds(5), Always(After(seconds(4))));
  EXPECT_EQ(record.starts.size(), 3u);
  EXPECT_EQ(record.result, 1);
  EXPECT_EQ(record.elapsed, seconds(4));
}

TEST_F(HedgeSessionTest, WithoutDelayAllAtOnce) {
  hedging_.hedging_delay = Duration::zero();
  const HedgeRecord record = RunHedged(
      std::nullopt, Each({After(milliseconds(30)), After(milliseconds(10)),
                          After(milliseconds(20))}));
  EXPECT_THAT(record.starts,
              ElementsAre(milliseconds(0), milliseconds(0), milliseconds(0)));
  EXPECT_EQ(record.result, 2);
  EXPECT_EQ(record.elapsed, milliseconds(10));
}

// gRFC A6: "the next hedged request is sent immediately".
TEST_F(HedgeSessionTest, AFailureBringsTheNextAtOnce) {
  const HedgeRecord record = RunHedged(
      std::nullopt,
      Each({After(milliseconds(10), Fail(StatusCode::UNAVAILABLE, "1st")),
            After(milliseconds(30), Fail(StatusCode::UNAVAILABLE, "2nd")),
            After(milliseconds(5))}));
  EXPECT_THAT(record.starts,
              ElementsAre(milliseconds(0), milliseconds(10), milliseconds(40)));
  EXPECT_EQ(record.result, 3);
  EXPECT_EQ(record.reason, StopReason::kOk);
}

TEST_F(HedgeSessionTest, WhenAllFailTheLastOneIsTold) {
  const HedgeRecord record = RunHedged(
      std::nullopt,
      Each({After(milliseconds(300), Fail(StatusCode::UNAVAILABLE, "1st")),
            After(milliseconds(10), Fail(StatusCode::UNAVAILABLE, "2nd")),
            After(milliseconds(10), Fail(StatusCode::UNAVAILABLE, "3rd"))}));
  EXPECT_EQ(record.result, 1);
  EXPECT_EQ(record.message, "1st");
  EXPECT_EQ(record.reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(record.attempts, 3);
}

TEST_F(HedgeSessionTest, AnyOtherCodeEndsTheCall) {
  const HedgeRecord record = RunHedged(
      std::nullopt, Each({Hang(), After(milliseconds(10),
                                        Fail(StatusCode::NOT_FOUND, "none"))}));
  EXPECT_EQ(record.result, 2);
  EXPECT_EQ(record.code, StatusCode::NOT_FOUND);
  EXPECT_EQ(record.reason, StopReason::kNotRetryable);
  EXPECT_EQ(record.cut_off, 1);
}

TEST_F(HedgeSessionTest, PushbackPutsTheNextOff) {
  Answer busy = After(milliseconds(10), Fail(StatusCode::UNAVAILABLE));
  busy.pushback = Pushback{milliseconds(400)};
  const HedgeRecord record =
      RunHedged(std::nullopt, Each({busy, After(milliseconds(5))}));
  EXPECT_THAT(record.starts, ElementsAre(milliseconds(0), milliseconds(410)));
  EXPECT_EQ(record.reason, StopReason::kOk);
}

TEST_F(HedgeSessionTest, PushbackMayForbidAnyMore) {
  Answer busy = After(milliseconds(150), Fail(StatusCode::UNAVAILABLE, "no"));
  busy.pushback = Pushback{};
  // What is on the wire already may still answer.
  const HedgeRecord saved =
      RunHedged(std::nullopt, Each({busy, After(milliseconds(300))}));
  EXPECT_THAT(saved.starts, ElementsAre(milliseconds(0), milliseconds(100)));
  EXPECT_EQ(saved.reason, StopReason::kOk);

  const HedgeRecord lost = RunHedged(
      std::nullopt, Each({busy, After(milliseconds(300),
                                      Fail(StatusCode::UNAVAILABLE, "2nd"))}));
  EXPECT_EQ(lost.starts.size(), 2u);
  EXPECT_EQ(lost.message, "2nd");
  EXPECT_EQ(lost.reason, StopReason::kPushback);
}

TEST_F(HedgeSessionTest, ThrottleRefusesHedges) {
  throttle_ = {true, 4, 0.1};
  breaker_policy_.failure_rate_threshold = 1.0;
  UseBreaker();
  for (int i = 0; i < 2; ++i) {
    breaker_->TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE);
  }
  ASSERT_FALSE(breaker_->RetryAllowed());
  const HedgeRecord slow =
      RunHedged(std::nullopt, Always(After(milliseconds(300))));
  EXPECT_EQ(slow.starts.size(), 1u);
  EXPECT_EQ(slow.reason, StopReason::kOk);
  EXPECT_TRUE(slow.budget_refused);

  const HedgeRecord failed = RunHedged(
      std::nullopt, Always(Fail(StatusCode::UNAVAILABLE, "overloaded")));
  EXPECT_EQ(failed.starts.size(), 1u);
  EXPECT_EQ(failed.message, "overloaded");
  EXPECT_EQ(failed.reason, StopReason::kBudgetExhausted);
}

TEST_F(HedgeSessionTest, AnOpenBreakerRefusesHedges) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.open_duration = seconds(1);
  UseBreaker();
  const HedgeRecord record = RunHedged(std::nullopt, [&](int number) {
    EXPECT_EQ(number, 1);
    // Others fail meanwhile.
    breaker_->TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE);
    return After(milliseconds(300));
  });
  EXPECT_EQ(record.starts.size(), 1u);
  EXPECT_EQ(record.reason, StopReason::kOk);
}

// C09's kind: who fails against a breaker that is open by then stops.
TEST_F(HedgeSessionTest, ABreakerThatOpensEndsTheCall) {
  UseWindow(1.0, 1, 1);
  UseBreaker();
  const HedgeRecord record =
      RunHedged(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE, "refused")));
  EXPECT_EQ(record.starts.size(), 1u);
  EXPECT_EQ(record.reason, StopReason::kBreakerOpen);
  EXPECT_THAT(record.message, testing::HasSubstr("UNAVAILABLE: refused"));
}

TEST_F(HedgeSessionTest, LosersCountNeitherWay) {
  breaker_policy_.failure_rate_threshold = 1.0;
  UseBreaker();
  RunHedged(std::nullopt, Each({Hang(), After(milliseconds(10))}));
  const BreakerSnapshot snapshot = breaker_->snapshot();
  EXPECT_EQ(snapshot.window_calls, 1);
  EXPECT_EQ(snapshot.window_failures, 0);
}

// D01's kind. A probe that loses gives its slot back.
TEST_F(HedgeSessionTest, AProbeThatLosesGivesItsSlotBack) {
  UseWindow(1.0, 1, 1);
  breaker_policy_.half_open_calls = 2;
  UseBreaker();
  breaker_->TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE);
  clock_.Advance(milliseconds(80));
  // Two probes: the first hangs, the second succeeds.
  const HedgeRecord record =
      RunHedged(std::nullopt, Each({Hang(), After(milliseconds(10))}));
  EXPECT_EQ(record.result, 2);
  EXPECT_EQ(breaker_->state(), State::kHalfOpen);
  EXPECT_TRUE(breaker_->TryAcquire().has_value());
}

// With kCalls the call asks once and reports once.
TEST_F(HedgeSessionTest, ACountedCallIsOneOutcome) {
  plan_.breaker_counts = BreakerCounts::kCalls;
  breaker_policy_.failure_rate_threshold = 1.0;
  UseBreaker();
  RunHedged(std::nullopt, Each({Hang(), Fail(StatusCode::UNAVAILABLE),
                                After(milliseconds(5))}));
  EXPECT_EQ(breaker_->snapshot().window_calls, 1);
  EXPECT_EQ(breaker_->snapshot().window_failures, 0);
  RunHedged(std::nullopt, Always(Fail(StatusCode::UNAVAILABLE)));
  EXPECT_EQ(breaker_->snapshot().window_calls, 2);
  EXPECT_EQ(breaker_->snapshot().window_failures, 1);
}

TEST_F(HedgeSessionTest, EachAttemptHasItsLimitWithinTheDeadline) {
  retry_.per_attempt_timeout = milliseconds(250);
  const HedgeRecord record = RunHedged(milliseconds(400), Always(Hang()));
  EXPECT_THAT(record.limits, ElementsAre(milliseconds(250), milliseconds(250),
                                         milliseconds(200)));
  EXPECT_EQ(record.code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(record.elapsed, milliseconds(400));
}

// B15's kind.
TEST_F(HedgeSessionTest, ALimitIsNamedWithTheNumberOfAttempts) {
  retry_.per_attempt_timeout = milliseconds(50);
  const HedgeRecord record = RunHedged(seconds(10), Always(Hang()));
  EXPECT_EQ(record.attempts, 3);
  EXPECT_EQ(record.code, StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(record.message,
            "attempt 3 of 3 exceeded per_attempt_timeout (50 ms)");
}

// B03's kind.
TEST_F(HedgeSessionTest, NoHedgeWithoutTimeForIt) {
  const HedgeRecord record = RunHedged(milliseconds(103), Always(Hang()));
  EXPECT_EQ(record.starts.size(), 1u);
  EXPECT_EQ(record.code, StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(HedgeSessionTest, CancelledWithSeveralOnTheWire) {
  driver_.CancelAfter(milliseconds(150));
  const HedgeRecord record = RunHedged(std::nullopt, Always(Hang()));
  EXPECT_EQ(record.starts.size(), 2u);
  EXPECT_EQ(record.reason, StopReason::kCancelled);
  EXPECT_EQ(record.code, StatusCode::CANCELLED);
}

TEST_F(HedgeSessionTest, CancelledWhileNothingIsOnTheWire) {
  Answer busy = Fail(StatusCode::UNAVAILABLE);
  busy.pushback = Pushback{seconds(60)};
  driver_.CancelAfter(milliseconds(150));
  const HedgeRecord record = RunHedged(std::nullopt, Always(busy));
  EXPECT_EQ(record.starts.size(), 1u);
  EXPECT_EQ(record.elapsed, milliseconds(150));
  EXPECT_EQ(record.code, StatusCode::CANCELLED);
}

TEST_F(HedgeSessionTest, ShutDownEndsAWaitButNoAttempt) {
  hedged_ = HedgedRetry(retry_, hedging_);
  plan_.retry = &hedged_;
  CallSession first(plan_, Deadline::None());
  first.Start();
  HedgeSession session(plan_, Deadline::None(), milliseconds(100), &first);
  session.OnShutdown();
  clock_.Advance(milliseconds(200));
  EXPECT_EQ(session.Next(clock_.Now()).step, Step::kWait);
  EXPECT_EQ(
      session
          .OnAttemptEnd(1, SessionDriver::EndOf(Fail(StatusCode::UNAVAILABLE)),
                        clock_.Now())
          .step,
      Step::kFinish);
  EXPECT_EQ(session.session(session.result()).reason(), StopReason::kShutdown);
}

TEST_F(HedgeSessionTest, ChainStopHedgesNothing) {
  plan_.chain_stop = true;
  const HedgeRecord record =
      RunHedged(std::nullopt, Always(After(milliseconds(300))));
  EXPECT_EQ(record.starts.size(), 1u);
  EXPECT_EQ(record.reason, StopReason::kOk);
}

// Whatever the server does: at most max_hedged_attempts, none after the deadline or
// in no time, never a second result, no permit lost.
TEST_F(HedgeSessionTest, HoldsForRandomCalls) {
  const StatusCode codes[] = {StatusCode::OK, StatusCode::UNAVAILABLE,
                              StatusCode::DEADLINE_EXCEEDED,
                              StatusCode::NOT_FOUND};
  breaker_policy_.failure_rate_threshold = 0.9;
  UseBreaker();
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    std::mt19937 random(seed);
    const auto up_to = [&random](int most) {
      return static_cast<int>(random() % static_cast<unsigned>(most + 1));
    };
    hedging_.max_hedged_attempts = 2 + up_to(3);
    hedging_.hedging_delay = milliseconds(up_to(100));
    retry_.per_attempt_timeout.reset();
    if (up_to(1) == 0)
      retry_.per_attempt_timeout = milliseconds(1 + up_to(100));
    std::optional<Duration> time;
    if (up_to(3) > 0) time = milliseconds(1 + up_to(300));
    if (up_to(9) == 0) driver_.CancelAfter(milliseconds(up_to(200)));
    const HedgeRecord record = RunHedged(time, [&](int) {
      Answer answer = Fail(codes[up_to(3)], "answer");
      answer.takes = milliseconds(up_to(150));
      if (up_to(9) == 0) answer.pushback = Pushback{milliseconds(up_to(50))};
      if (up_to(29) == 0) answer.pushback = Pushback{};
      return answer;
    });
    SCOPED_TRACE(seed);
    ASSERT_LE(record.starts.size(),
              static_cast<std::size_t>(hedging_.max_hedged_attempts));
    ASSERT_EQ(static_cast<std::size_t>(record.attempts), record.starts.size());
    for (std::size_t i = 0; i < record.starts.size(); ++i) {
      if (!time) continue;
      ASSERT_LT(record.starts[i], *time);
      ASSERT_LE(record.starts[i] + *record.limits[i], *time);
      if (i > 0) {
        ASSERT_GE(*time - record.starts[i], retry_.min_attempt_time);
      }
    }
    if (time) {
      ASSERT_LE(record.elapsed, *time);
    }
    // The breaker would hear of a permit that is used twice or lost.
    ASSERT_EQ(breaker_->snapshot().probes_in_flight, 0);
  }
}

}  // namespace
}  // namespace grpc_resilience::internal
