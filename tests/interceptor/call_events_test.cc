#include "interceptor/call_events.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "grpc_resilience/testing/recording_observer.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;

class CallEventsTest : public testing::Test {
 protected:
  /// One retry, 100 ms after the first attempt.
  CallEventsTest() {
    plan_.method = "/pkg.Service/Method";
    plan_.policy.retry.max_attempts = 2;
    plan_.policy.retry.backoff.jitter = Jitter::kNone;
    plan_.session.retry = &plan_.policy.retry;
    plan_.session.idempotent = true;
    plan_.session.clock = &clock_;
    plan_.session.random = &random_;
  }

  void Observe(Resilience::Observers observers) {
    plan_.observers =
        std::make_shared<const Resilience::Observers>(std::move(observers));
  }

  AttemptEnd Unavailable() const {
    AttemptEnd end;
    end.code = StatusCode::UNAVAILABLE;
    return end;
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
  CallPlan plan_{"payments:443"};
  std::shared_ptr<RecordingObserver> observer_ =
      std::make_shared<RecordingObserver>();
};

class ThrowingObserver : public CallObserver {
 public:
  void OnAttemptEnd(const AttemptEvent&) override {
    throw std::runtime_error("attempt");
  }
  void OnCallEnd(const CallEvent&) override {
    throw std::runtime_error("call");
  }
};

TEST_F(CallEventsTest, TellsAttemptsWithTheirNumberAndDuration) {
  Observe({observer_});
  CallSession session(plan_.session, Deadline::None());
  session.Start();
  TimePoint start = clock_.Now();
  clock_.Advance(milliseconds(30));
  ASSERT_EQ(session.OnAttemptEnd(Unavailable()).step, Step::kWait);
  TellAttemptEnd(plan_, session, StatusCode::UNAVAILABLE, start);

  ASSERT_EQ(session.OnWaitOver().step, Step::kAttempt);
  start = clock_.Now();
  clock_.Advance(milliseconds(7));
  session.OnAttemptEnd({});
  TellAttemptEnd(plan_, session, StatusCode::OK, start);

  const auto attempts = observer_->attempts();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].target, "payments:443");
  EXPECT_EQ(attempts[0].method, "/pkg.Service/Method");
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[0].code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(attempts[0].classification.outcome, Outcome::kFailure);
  EXPECT_EQ(attempts[0].duration, milliseconds(30));
  EXPECT_EQ(attempts[1].number, 2);
  EXPECT_EQ(attempts[1].code, StatusCode::OK);
  EXPECT_EQ(attempts[1].classification.outcome, Outcome::kSuccess);
  EXPECT_EQ(attempts[1].duration, milliseconds(7));
  EXPECT_TRUE(observer_->calls().empty());
}

TEST_F(CallEventsTest, ARefusalThatEndsTheCallIsToldOfItsOwn) {
  Observe({observer_});
  CircuitBreaker breaker({"payments:443", ""}, BreakerPolicy(),
                         RetryThrottlePolicy(), clock_, random_, nullptr);
  plan_.session.breaker = &breaker;
  int refused = 0;
  for (int call = 0; call < 12 && refused == 0; ++call) {
    CallSession session(plan_.session, Deadline::None());
    session.Start();
    if (session.OnAttemptEnd(Unavailable()).step == Step::kWait) continue;
    ASSERT_EQ(session.reason(), StopReason::kBudgetExhausted);
    TellCallEnd(plan_, session, StatusCode::UNAVAILABLE, clock_.Now());
    ++refused;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(observer_->budget_refusals(), 1);
  EXPECT_EQ(observer_->calls().size(), 1u);
}

TEST_F(CallEventsTest, TellsTheEndWithItsReason) {
  Observe({observer_});
  const TimePoint start = clock_.Now();
  CallSession session(plan_.session, Deadline::None());
  session.Start();
  session.OnAttemptEnd(Unavailable());
  session.OnWaitOver();
  clock_.Advance(milliseconds(250));
  ASSERT_EQ(session.OnAttemptEnd(Unavailable()).step, Step::kFinish);
  TellCallEnd(plan_, session, StatusCode::UNAVAILABLE, start);

  const auto calls = observer_->calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].target, "payments:443");
  EXPECT_EQ(calls[0].method, "/pkg.Service/Method");
  EXPECT_EQ(calls[0].attempts, 2);
  EXPECT_EQ(calls[0].code, StatusCode::UNAVAILABLE);
  EXPECT_EQ(calls[0].reason, StopReason::kRetriesExhausted);
  EXPECT_EQ(calls[0].duration, milliseconds(250));
  EXPECT_TRUE(observer_->attempts().empty());
}

TEST_F(CallEventsTest, AnObserverThatThrowsHidesNothingFromTheOthers) {
  Observe({std::make_shared<ThrowingObserver>(), observer_});
  CallSession session(plan_.session, Deadline::None());
  session.Start();
  session.OnAttemptEnd({});
  TellAttemptEnd(plan_, session, StatusCode::OK, clock_.Now());
  TellCallEnd(plan_, session, StatusCode::OK, clock_.Now());
  EXPECT_EQ(observer_->attempts().size(), 1u);
  EXPECT_EQ(observer_->calls().size(), 1u);
}

/// Fails the test when it is read.
class UnreadClock : public Clock {
 public:
  TimePoint Now() const override {
    ADD_FAILURE() << "read the clock";
    return {};
  }
};

TEST_F(CallEventsTest, WithoutObserversTheClockIsNotRead) {
  CallSession session(plan_.session, Deadline::None());
  session.Start();
  session.OnAttemptEnd({});
  const UnreadClock unread;
  plan_.session.clock = &unread;
  TellAttemptEnd(plan_, session, StatusCode::OK, {});
  TellCallEnd(plan_, session, StatusCode::OK, {});
}

}  // namespace
}  // namespace grpc_resilience::internal
