#include <chrono>
#include <vector>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerSlowCallsTest : public CircuitBreakerFixture {
 protected:
  /// Slow from 500 ms on; half of the last 20, from 10 on.
  static BreakerPolicy SlowPolicy() {
    BreakerPolicy policy;
    policy.slow_call_rate_threshold = 0.5;
    policy.slow_call_duration = milliseconds(500);
    policy.window_calls = 20;
    policy.minimum_calls = 10;
    policy.open_duration = seconds(15);
    return policy;
  }
  void CallFor(Duration time, Outcome outcome = Outcome::kSuccess) {
    std::optional<Permit> permit = Acquire();
    ASSERT_TRUE(permit.has_value());
    clock_.Advance(time);
    permit->Record(outcome, StatusCode::UNAVAILABLE, "down");
  }
};

// D23
TEST_F(CircuitBreakerSlowCallsTest, SlowIsNotFailedAndBothRatesAreReported) {
  Make(SlowPolicy());
  CallFor(milliseconds(900));
  CallFor(milliseconds(100));
  CallFor(milliseconds(100), Outcome::kFailure);
  CallFor(milliseconds(100));
  const BreakerSnapshot snapshot = Snapshot();
  EXPECT_EQ(snapshot.window_calls, 4);
  EXPECT_EQ(snapshot.window_slow, 1);
  EXPECT_EQ(snapshot.window_failures, 1);
  EXPECT_DOUBLE_EQ(*snapshot.slow_call_rate, 0.25);
  EXPECT_DOUBLE_EQ(*snapshot.failure_rate, 0.25);
}

TEST_F(CircuitBreakerSlowCallsTest, TheLimitItselfIsSlow) {
  Make(SlowPolicy());
  CallFor(milliseconds(500) - Duration(1));
  EXPECT_EQ(Snapshot().window_slow, 0);
  CallFor(milliseconds(500));
  EXPECT_EQ(Snapshot().window_slow, 1);
}

TEST_F(CircuitBreakerSlowCallsTest, OpensAtItsRateAlthoughNothingFailed) {
  Make(SlowPolicy());
  for (int i = 0; i < 5; ++i) CallFor(milliseconds(1));
  for (int i = 0; i < 4; ++i) CallFor(seconds(1));
  EXPECT_EQ(state(), State::kClosed);
  CallFor(seconds(1));
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "5 of the last 10 calls took 500 ms or longer");
  EXPECT_EQ(Snapshot().last_failure, "a call took 500 ms or longer");
}

TEST_F(CircuitBreakerSlowCallsTest, AFastSuccessNeverOpens) {
  BreakerPolicy policy = SlowPolicy();
  policy.slow_call_rate_threshold = 0.1;
  Make(policy);
  for (int i = 0; i < 9; ++i) CallFor(seconds(1));
  CallFor(milliseconds(1));
  EXPECT_EQ(state(), State::kClosed);
  CallFor(seconds(1));
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerSlowCallsTest, InATimeWindowTheTextSaysHowLong) {
  BreakerPolicy policy = SlowPolicy();
  policy.window_duration = seconds(60);
  Make(policy);
  for (int i = 0; i < 10; ++i) CallFor(seconds(1));
  EXPECT_EQ(LastWhy(), "10 of 10 took 500 ms or longer in 60 s");
}

// D23
TEST_F(CircuitBreakerSlowCallsTest, HungCallsOpenBeforeTheyEnd) {
  Make(SlowPolicy());
  std::vector<Permit> hung;
  for (int i = 0; i < 20; ++i) hung.push_back(*Acquire());
  EXPECT_EQ(*hung[0].slow_at(), clock_.Now() + milliseconds(500));
  clock_.Advance(milliseconds(499));
  EXPECT_FALSE(hung[0].MarkSlow());  // not yet
  clock_.Advance(milliseconds(1));
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(hung[i].MarkSlow());
  EXPECT_EQ(Snapshot().window_slow, 9);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_TRUE(hung[9].MarkSlow());
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(sink_.events().size(), 1u);
  EXPECT_FALSE(hung[10].MarkSlow());  // of the generation before
}

TEST_F(CircuitBreakerSlowCallsTest, AMarkedCallIsOneOutcome) {
  Make(SlowPolicy());
  Permit call = *Acquire();
  clock_.Advance(seconds(1));
  EXPECT_TRUE(call.MarkSlow());
  EXPECT_FALSE(call.MarkSlow());
  clock_.Advance(seconds(1));
  call.Record(Outcome::kFailure);
  EXPECT_EQ(Snapshot().window_calls, 1);
  EXPECT_EQ(Snapshot().window_slow, 1);
  EXPECT_EQ(Snapshot().window_failures, 1);
  EXPECT_EQ(Tokens(), 15);
}

TEST_F(CircuitBreakerSlowCallsTest, AMarkedCallThatFailsMayOpen) {
  BreakerPolicy policy = SlowPolicy();
  policy.slow_call_rate_threshold = 1.0;
  policy.failure_rate_threshold = 0.1;
  Make(policy);
  for (int i = 0; i < 9; ++i) CallFor(milliseconds(1));
  Permit call = *Acquire();
  clock_.Advance(seconds(1));
  ASSERT_TRUE(call.MarkSlow());
  EXPECT_EQ(state(), State::kClosed);
  call.Record(Outcome::kFailure);
  EXPECT_EQ(LastWhy(), "1 failure of the last 10 calls");
}

TEST_F(CircuitBreakerSlowCallsTest, AMarkedCallThatIsIgnoredStaysSlow) {
  Make(SlowPolicy());
  {
    Permit call = *Acquire();
    clock_.Advance(seconds(1));
    ASSERT_TRUE(call.MarkSlow());
  }  // dropped
  EXPECT_EQ(Snapshot().window_slow, 1);
  EXPECT_EQ(Snapshot().window_calls, 1);
  EXPECT_EQ(Snapshot().window_failures, 0);
}

TEST_F(CircuitBreakerSlowCallsTest, ASlowProbeDoesNotClose) {
  Make(SlowPolicy());
  for (int i = 0; i < 10; ++i) CallFor(seconds(1));
  ASSERT_EQ(state(), State::kOpen);
  clock_.Advance(seconds(15));
  Permit probe = *Acquire();
  clock_.Advance(seconds(1));
  EXPECT_FALSE(probe.MarkSlow());  // judged at its end
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "probe failed");
  clock_.Advance(seconds(15));
  Succeed(2);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerSlowCallsTest, WithoutTheRuleSlowCallsAreOnlyReported) {
  BreakerPolicy policy = WindowPolicy();
  policy.slow_call_duration = milliseconds(500);
  Make(policy);
  for (int i = 0; i < 6; ++i) CallFor(seconds(1));
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_slow, 6);
}

TEST_F(CircuitBreakerSlowCallsTest, NothingIsTimedByDefault) {
  Make({});
  Permit call = *Acquire();
  EXPECT_FALSE(call.slow_at().has_value());
  EXPECT_FALSE(call.MarkSlow());
}

}  // namespace
}  // namespace grpc_resilience
