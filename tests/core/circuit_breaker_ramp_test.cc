#include <chrono>
#include <vector>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerRampTest : public CircuitBreakerFixture {
 protected:
  /// 2 probes, then 5 % and 25 % for a second each.
  static BreakerPolicy RampPolicy() {
    BreakerPolicy policy = WindowPolicy();
    policy.half_open_ramp = {0.05, 0.25};
    policy.half_open_ramp_step = seconds(1);
    return policy;
  }
  void EnterRamp() {
    Make(RampPolicy());
    Fail(4);
    clock_.Advance(seconds(15));
    Succeed(2);
    ASSERT_EQ(state(), State::kHalfOpen);
  }
  /// Numbers (from 0) of those of `calls` that were let through; they succeed.
  std::vector<int> Admitted(int calls) {
    std::vector<int> admitted;
    for (int i = 0; i < calls; ++i) {
      const bool would_reject = breaker_->WouldReject();
      const bool went = Succeed();
      EXPECT_EQ(would_reject, !went) << i;
      if (went) admitted.push_back(i);
    }
    return admitted;
  }
};

TEST_F(CircuitBreakerRampTest, SharesAreCountedNotDrawn) {
  EnterRamp();
  EXPECT_DOUBLE_EQ(*Snapshot().ramp_share, 0.05);
  EXPECT_EQ(Admitted(60), (std::vector<int>{0, 20, 40}));
  clock_.Advance(seconds(1));
  EXPECT_DOUBLE_EQ(*Snapshot().ramp_share, 0.25);
  EXPECT_EQ(Admitted(12), (std::vector<int>{0, 4, 8}));
  EXPECT_EQ(state(), State::kHalfOpen);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Admitted(5).size(), 5u);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "2 probes succeeded");
  EXPECT_FALSE(Snapshot().ramp_share.has_value());
  EXPECT_EQ(Tokens(), 16);
}

TEST_F(CircuitBreakerRampTest, WithoutTrafficTheNextCallCloses) {
  EnterRamp();
  clock_.Advance(seconds(100));
  EXPECT_FALSE(breaker_->WouldReject());
  EXPECT_DOUBLE_EQ(*Snapshot().ramp_share, 1.0);
  EXPECT_EQ(state(), State::kHalfOpen);  // looking changes nothing
  std::optional<Permit> call = Acquire();
  ASSERT_TRUE(call.has_value());
  EXPECT_FALSE(call->is_probe());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerRampTest, AFailureBeforeAnySuccessAtAShareOpens) {
  EnterRamp();
  EXPECT_TRUE(Fail());
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "failed at 5 % of the calls");
  clock_.Advance(seconds(15));
  Succeed(2);
  EXPECT_EQ(Admitted(1).size(), 1u);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(Fail());  // the first at 25 %
  EXPECT_EQ(LastWhy(), "failed at 25 % of the calls");
}

TEST_F(CircuitBreakerRampTest, LaterFailuresAreJudgedByTheTripRules) {
  EnterRamp();
  clock_.Advance(seconds(1));
  const auto next_admitted = [&] {
    std::optional<Permit> permit;
    while (!permit) permit = Acquire();
    return std::move(*permit);
  };
  next_admitted().Record(Outcome::kSuccess);
  next_admitted().Record(Outcome::kSuccess);
  next_admitted().Record(Outcome::kFailure);  // 1 of 3
  EXPECT_EQ(state(), State::kHalfOpen);
  next_admitted().Record(Outcome::kFailure);  // 2 of 4
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "2 failures of the last 4 calls");
  EXPECT_EQ(sink_.events().back().reason, TransitionReason::kTripRule);
}

TEST_F(CircuitBreakerRampTest, ResultsOfTheRampEndWithIt) {
  EnterRamp();
  Permit slow = *Acquire();
  clock_.Advance(seconds(2));
  Succeed(1);
  ASSERT_EQ(state(), State::kClosed);
  slow.Record(Outcome::kFailure);
  EXPECT_EQ(Snapshot().window_failures, 0);
  EXPECT_EQ(Snapshot().ignored[IgnoredCause::kStale], 1u);
}

TEST_F(CircuitBreakerRampTest, SettingsWithoutARampEndItWithTheNextCall) {
  EnterRamp();
  breaker_->Reconfigure(WindowPolicy(), {});
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerRampTest, SettingsByTheBucketGoOnWithItsSlowStart) {
  EnterRamp();
  breaker_->Reconfigure({}, {});
  EXPECT_EQ(Tokens(), 1);
  Permit probe = *Acquire();
  EXPECT_FALSE(Acquire().has_value());
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(Tokens(), 3);
  EXPECT_EQ(state(), State::kHalfOpen);
}

TEST_F(CircuitBreakerRampTest, ResetEndsIt) {
  EnterRamp();
  breaker_->Reset();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Admitted(10).size(), 10u);
}

}  // namespace
}  // namespace grpc_resilience
