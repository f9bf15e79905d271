// A server's hint when to come back, as an open time.

#include <gtest/gtest.h>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerHintTest : public CircuitBreakerFixture {
 protected:
  static BreakerPolicy HintPolicy() {
    BreakerPolicy policy;  // the bucket
    policy.max_hinted_open_duration = seconds(30);
    return policy;
  }

  void Hint(Duration hinted) {
    breaker_->OpenFor(hinted, StatusCode::UNAVAILABLE, "overloaded");
  }
};

TEST_F(CircuitBreakerHintTest, OpensForTheHintedTime) {
  Make(HintPolicy());
  Hint(seconds(7));
  EXPECT_EQ(state(), State::kOpen);
  ASSERT_EQ(sink_.lines().size(), 1u);
  EXPECT_EQ(sink_.lines()[0], "CLOSED -> OPEN: the server asked for 7 s");
  EXPECT_EQ(sink_.events()[0].reason, TransitionReason::kServerHint);
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(7));
  EXPECT_EQ(breaker_->rejection().last_failure, "UNAVAILABLE: overloaded");
  clock_.Advance(seconds(7) - Duration(1));
  EXPECT_FALSE(Acquire().has_value());
  clock_.Advance(Duration(1));
  EXPECT_TRUE(Acquire().has_value());
  EXPECT_EQ(LastWhy(), "7 s passed");
}

// The policy's own 100 ms, and the 100 rejections, don't end it.
TEST_F(CircuitBreakerHintTest, RejectionsDoNotCutItShort) {
  Make(HintPolicy());
  Hint(seconds(7));
  clock_.Advance(seconds(6));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(Acquire().has_value());
}

TEST_F(CircuitBreakerHintTest, NeverLongerThanAllowed) {
  Make(HintPolicy());
  Hint(std::chrono::hours(24));
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(30));
}

TEST_F(CircuitBreakerHintTest, IgnoredUnlessAllowed) {
  Make(BreakerPolicy());
  Hint(seconds(7));
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerHintTest, NoTimeIsNoHint) {
  Make(HintPolicy());
  Hint(Duration::zero());
  Hint(milliseconds(-5));
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerHintTest, AnOpenBreakerStaysSoAtLeastThatLong) {
  BreakerPolicy policy = TouchyPolicy();  // open for 1 s
  policy.max_hinted_open_duration = seconds(30);
  Make(policy);
  Fail(1);
  Hint(milliseconds(500));
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(1));
  Hint(seconds(7));
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(7));
  EXPECT_EQ(sink_.events().size(), 1u);
}

TEST_F(CircuitBreakerHintTest, ASignOfRecoveryDoesNotCutItShort) {
  Make(HintPolicy());
  Hint(seconds(30));
  breaker_->MakeProbeReady();
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(30));
  clock_.Advance(seconds(30) - Duration(1));
  EXPECT_FALSE(Acquire().has_value());
  clock_.Advance(Duration(1));
  EXPECT_TRUE(Acquire().has_value());
}

TEST_F(CircuitBreakerHintTest, AfterTheHintASignOfRecoveryEndsTheOpenTime) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration = seconds(20);
  policy.max_hinted_open_duration = seconds(30);
  Make(policy);
  Fail(1);
  Hint(seconds(7));
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(20));
  breaker_->MakeProbeReady();
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(7));
  clock_.Advance(seconds(7));
  EXPECT_TRUE(Acquire().has_value());
  EXPECT_EQ(LastWhy(), "made ready for a probe");
}

TEST_F(CircuitBreakerHintTest, TheNextOpenTimeIsFreeOfTheHint) {
  BreakerPolicy policy = TouchyPolicy();
  policy.max_hinted_open_duration = seconds(30);
  Make(policy);
  Hint(seconds(7));
  breaker_->Reset();
  Fail(1);
  breaker_->MakeProbeReady();
  EXPECT_TRUE(Acquire().has_value());
}

TEST_F(CircuitBreakerHintTest, AHintInHalfOpenOpensAgain) {
  BreakerPolicy policy = TouchyPolicy();
  policy.max_hinted_open_duration = seconds(30);
  Make(policy);
  Fail(1);
  clock_.Advance(seconds(1));
  std::optional<Permit> probe = Acquire();
  ASSERT_TRUE(probe.has_value());
  Hint(seconds(7));
  EXPECT_EQ(state(), State::kOpen);
  probe->Record(Outcome::kSuccess);  // of the generation before
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(7));
}

TEST_F(CircuitBreakerHintTest, AnOperatorsModeWins) {
  Make(HintPolicy());
  breaker_->ForceMode(OperatorMode::kForcedClosed, std::nullopt, "test");
  Hint(seconds(7));
  EXPECT_EQ(state(), State::kClosed);
}

}  // namespace
}  // namespace grpc_resilience
