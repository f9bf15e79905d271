#include <vector>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerReconfigureTest : public CircuitBreakerFixture {
 protected:
  static BreakerPolicy Disabled(BreakerPolicy policy) {
    policy.mode = BreakerMode::kDisabled;
    return policy;
  }
  void Reconfigure(const BreakerPolicy& policy,
                   const RetryThrottlePolicy& throttle = {}) {
    breaker_->Reconfigure(policy, throttle);
  }
};

// E06
TEST_F(CircuitBreakerReconfigureTest, OpenKeepsWhatIsLeftOfItsTime) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(milliseconds(300));
  for (const auto open_duration : {milliseconds(50), milliseconds(60'000)}) {
    BreakerPolicy policy = TouchyPolicy();
    policy.failure_rate_threshold = 0.9;
    policy.open_duration = open_duration;
    Reconfigure(policy);
    EXPECT_EQ(state(), State::kOpen);
    EXPECT_EQ(Snapshot().retry_after, milliseconds(700));
    EXPECT_EQ(Snapshot().generation, 1u);
  }
  EXPECT_EQ(sink_.events().size(), 1u);
  clock_.Advance(milliseconds(700));
  Fail(1);
  EXPECT_EQ(Snapshot().retry_after, seconds(60));  // the new one from now on
}

// E06
TEST_F(CircuitBreakerReconfigureTest, PermitsInFlightStayValid) {
  Make({});
  Permit call = *Acquire();
  Reconfigure({}, {true, 100, 1.0});
  call.Record(Outcome::kFailure);
  EXPECT_EQ(Tokens(), 99);

  Make(WindowPolicy());
  Fail(4);
  clock_.Advance(seconds(15));
  Permit probe = *Acquire();
  Reconfigure(TouchyPolicy());
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kClosed);
}

// E06
TEST_F(CircuitBreakerReconfigureTest, FewerProbesWhileSomeAreInFlight) {
  BreakerPolicy three = WindowPolicy();
  three.half_open_calls = 3;
  Make(three);
  Fail(4);
  clock_.Advance(seconds(15));
  std::vector<Permit> probes;
  for (int i = 0; i < 3; ++i) probes.push_back(*Acquire());
  BreakerPolicy one = three;
  one.half_open_calls = 1;
  Reconfigure(one);
  EXPECT_EQ(Snapshot().probes_in_flight, 3);
  EXPECT_FALSE(Acquire().has_value());
  probes[0].Record(Outcome::kIgnored);
  probes[1].Record(Outcome::kIgnored);
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
  EXPECT_FALSE(Acquire().has_value());
  probes[2].Record(Outcome::kIgnored);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

// E06
TEST_F(CircuitBreakerReconfigureTest, FewerProbesThanHaveSucceededClose) {
  BreakerPolicy three = WindowPolicy();
  three.half_open_calls = 3;
  Make(three);
  Fail(4);
  clock_.Advance(seconds(15));
  Succeed(1);
  BreakerPolicy one = three;
  one.half_open_calls = 1;
  Reconfigure(one);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "1 probe succeeded");
}

TEST_F(CircuitBreakerReconfigureTest, SmallerWindowKeepsTheNewestOutcomes) {
  Make(WindowPolicy());
  Fail(1);
  Succeed(3);
  Fail(1);  // F S S S F
  BreakerPolicy smaller = WindowPolicy();
  smaller.window_calls = 2;
  smaller.minimum_calls = 2;
  smaller.failure_rate_threshold = 1.0;
  Reconfigure(smaller);  // S F
  EXPECT_EQ(Snapshot().window_calls, 2);
  EXPECT_EQ(Snapshot().window_failures, 1);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);  // F F
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerReconfigureTest, StricterRuleWaitsForABadOutcome) {
  Make(WindowPolicy());
  Succeed(4);
  Fail(2);
  BreakerPolicy strict = WindowPolicy();
  strict.failure_rate_threshold = 0.1;
  Reconfigure(strict);
  Succeed(1);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerReconfigureTest, BucketStaysAsFullInProportion) {
  Make({}, {true, 100, 1.0});
  Fail(25);  // 75 %
  Reconfigure({}, {true, 8, 1.0});
  EXPECT_EQ(Tokens(), 6);
  Reconfigure({}, {true, 1000, 1.0});
  EXPECT_EQ(Tokens(), 750);
}

TEST_F(CircuitBreakerReconfigureTest, HalfOpenBucketKeepsAWholeToken) {
  Make({});
  Fail(16);
  clock_.Advance(milliseconds(100));
  ASSERT_TRUE(Call(Outcome::kIgnored));  // half-open with 1 of 16
  Reconfigure({}, {true, 4, 2.0});       // not 0.25
  EXPECT_EQ(Tokens(), 1);
  EXPECT_TRUE(Succeed());  // 3 of 4
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerReconfigureTest, FromWindowToBucketWhileHalfOpen) {
  Make(WindowPolicy());
  Fail(4);
  clock_.Advance(seconds(15));
  Permit probe = *Acquire();
  Reconfigure({});
  EXPECT_EQ(Tokens(), 1);
  EXPECT_FALSE(Acquire().has_value());
  probe.Record(Outcome::kSuccess);  // 3
  EXPECT_EQ(state(), State::kHalfOpen);
  Succeed(3);  // 9
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerReconfigureTest, FromBucketToWindowWhileHalfOpen) {
  Make({});
  Fail(16);
  clock_.Advance(milliseconds(100));
  Succeed(2);  // 5 tokens
  ASSERT_EQ(state(), State::kHalfOpen);
  Reconfigure(WindowPolicy());  // 2 successes are enough
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerReconfigureTest, FromBucketToWindowWhileClosed) {
  Make({});
  Fail(10);
  Reconfigure(WindowPolicy());
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_EQ(Tokens(), 6);
  Fail(3);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerReconfigureTest, DisablingAnOpenBreakerLetsAllThrough) {
  Make(TouchyPolicy());
  Fail(1);
  Reconfigure(Disabled(TouchyPolicy()));
  EXPECT_EQ(state(), State::kOpen);  // kept for when it is enabled again
  EXPECT_FALSE(breaker_->WouldReject());
  EXPECT_TRUE(breaker_->RetryAllowed());
  Succeed(10);
  EXPECT_EQ(state(), State::kOpen);
  clock_.Advance(milliseconds(400));
  Reconfigure(TouchyPolicy());
  EXPECT_EQ(Snapshot().retry_after, milliseconds(600));
  EXPECT_FALSE(Acquire().has_value());
}

TEST_F(CircuitBreakerReconfigureTest, PermitsOfDisabledTimesCountNothing) {
  Make(Disabled(TouchyPolicy()));
  Permit call = *Acquire();
  Reconfigure(TouchyPolicy());
  call.Record(Outcome::kFailure);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().window_calls, 0);
}

TEST_F(CircuitBreakerReconfigureTest, ProbesInFlightWhileDisabled) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  Reconfigure(Disabled(TouchyPolicy()));
  probe.Record(Outcome::kFailure);  // frees its slot, no more
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  Reconfigure(TouchyPolicy());
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerReconfigureTest, ResetWorksWhileDisabled) {
  Make(TouchyPolicy());
  Fail(1);
  Reconfigure(Disabled(TouchyPolicy()));
  breaker_->Reset();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "reset");
}

}  // namespace
}  // namespace grpc_resilience
