#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/circuit_breaker_fixture.h"
#include "grpc_resilience/operator_mode.h"

namespace grpc_resilience {
namespace {

using std::chrono::seconds;

class CircuitBreakerModeTest : public CircuitBreakerFixture {
 protected:
  void Force(OperatorMode mode, std::optional<Duration> ttl = std::nullopt,
             std::string_view reason = "alice: test") {
    breaker_->ForceMode(mode, ttl, reason);
  }
  OperatorMode mode() const { return Snapshot().mode; }
};

TEST_F(CircuitBreakerModeTest, ForcedOpenRejectsEverything) {
  Make({});
  Permit before = *Acquire();
  Force(OperatorMode::kForcedOpen);
  EXPECT_TRUE(breaker_->WouldReject());
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Acquire().has_value());
  const BreakerSnapshot snapshot = Snapshot();
  EXPECT_EQ(snapshot.rejected, 10u);
  EXPECT_EQ(snapshot.state, State::kClosed);  // kept for later
  EXPECT_EQ(snapshot.mode, OperatorMode::kForcedOpen);
  EXPECT_EQ(snapshot.mode_reason, "alice: test");
  EXPECT_FALSE(snapshot.mode_ends_in.has_value());
  before.Record(Outcome::kFailure);
  EXPECT_EQ(Tokens(), 16);
  Force(OperatorMode::kAuto);
  EXPECT_TRUE(Succeed());
}

TEST_F(CircuitBreakerModeTest, ARejectionSaysThatAnOperatorWantsIt) {
  Make({});
  Force(OperatorMode::kForcedOpen, seconds(60));
  clock_.Advance(seconds(20));
  EXPECT_TRUE(breaker_->rejection().forced_open);
  EXPECT_EQ(breaker_->rejection().forced_reason, "alice: test");
  EXPECT_EQ(breaker_->rejection().retry_after, seconds(40));
}

TEST_F(CircuitBreakerModeTest, ForcedClosedAdmitsEverythingAndNeverOpens) {
  Make(TouchyPolicy());
  Force(OperatorMode::kForcedClosed);
  Fail(100);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Tokens(), 0);  // still the retry budget
  EXPECT_FALSE(breaker_->RetryAllowed());
  Force(OperatorMode::kAuto);
  EXPECT_EQ(Tokens(), 16);  // nothing counted
  Succeed(1);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerModeTest, ForcedClosedWithTheBucketRuleNeverOpensEither) {
  Make({});
  Force(OperatorMode::kForcedClosed);
  Fail(100);
  EXPECT_EQ(Tokens(), 0);
  Force(OperatorMode::kAuto);
  EXPECT_EQ(Tokens(), 16);
  Fail(15);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, RenewingForcedClosedKeepsTheBudgetAsItIs) {
  Make({});
  Force(OperatorMode::kForcedClosed, seconds(60));
  Fail(100);
  Force(OperatorMode::kForcedClosed, seconds(60));
  EXPECT_EQ(Tokens(), 0);
  EXPECT_FALSE(breaker_->RetryAllowed());
  Force(OperatorMode::kShadow);
  EXPECT_EQ(Tokens(), 16);
}

// Half-open with one token, which failures then take away while they can open
// nothing: without it no probe could ever give the verdict.
TEST_F(CircuitBreakerModeTest, AHalfOpenRoundOutlivesFailuresInForcedClosed) {
  BreakerPolicy policy;
  policy.open_duration = seconds(10);
  Make(policy);
  Fail(16);
  clock_.Advance(seconds(10));
  Permit probe = *Acquire();
  Force(OperatorMode::kForcedClosed, seconds(60));
  Fail(20);
  probe.Ignore(IgnoredCause::kCancelled);
  clock_.Advance(seconds(60));
  EXPECT_FALSE(breaker_->WouldReject());
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(Tokens(), 3);
  EXPECT_EQ(state(), State::kHalfOpen);
  Succeed(4);  // 5, 7, 9 tokens: more than half; then CLOSED
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, SuccessesInForcedClosedAreNoProbes) {
  BreakerPolicy policy;
  policy.open_duration = seconds(10);
  Make(policy);
  Fail(16);
  clock_.Advance(seconds(10));
  Acquire()->Ignore(IgnoredCause::kCancelled);
  Force(OperatorMode::kForcedClosed);
  Succeed(20);
  EXPECT_EQ(Tokens(), 16);
  Force(OperatorMode::kAuto);
  EXPECT_EQ(Tokens(), 1);
  EXPECT_EQ(state(), State::kHalfOpen);
}

TEST_F(CircuitBreakerModeTest, ForcedClosedOverAnOpenBreakerLetsAllThrough) {
  Make(TouchyPolicy());
  Fail(1);
  Force(OperatorMode::kForcedClosed);
  EXPECT_FALSE(breaker_->WouldReject());
  Succeed(5);
  EXPECT_EQ(state(), State::kOpen);
  Force(OperatorMode::kAuto);
  EXPECT_FALSE(Acquire().has_value());  // its time isn't over
  clock_.Advance(seconds(1));
  Succeed(1);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, ShadowChangesStatesButRejectsNothing) {
  Make(TouchyPolicy());
  Force(OperatorMode::kShadow);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_FALSE(breaker_->WouldReject());
  Succeed(7);
  Fail(2);
  EXPECT_TRUE(Call(Outcome::kIgnored));
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(Snapshot().shadow.would_have_rejected, 10u);
  EXPECT_EQ(Snapshot().shadow.then_succeeded, 7u);
  EXPECT_EQ(Snapshot().rejected, 0u);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  EXPECT_TRUE(probe.is_probe());
  Succeed(1);  // beside the probe: 11 and 8
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().shadow.would_have_rejected, 11u);
  EXPECT_EQ(Snapshot().shadow.then_succeeded, 8u);
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, ShadowWithTheBucketOpensAsAutoDoes) {
  Make({});
  Force(OperatorMode::kShadow);
  Fail(15);
  EXPECT_EQ(state(), State::kClosed);
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "token bucket empty: 16 failures");
  EXPECT_EQ(Snapshot().shadow.would_have_rejected, 0u);
}

TEST_F(CircuitBreakerModeTest, ProbesUnderWayStayValid) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  Force(OperatorMode::kShadow);
  Force(OperatorMode::kAuto);
  EXPECT_FALSE(Acquire().has_value());
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, AProbeThatEndsWhileForcedGivesItsSlotBack) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  Force(OperatorMode::kForcedOpen);
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  Force(OperatorMode::kAuto);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerModeTest, EachChangeIsAnEventWithItsReason) {
  Make({});
  Force(OperatorMode::kForcedOpen, seconds(60), "alice: database is moved");
  Force(OperatorMode::kShadow, std::nullopt, "");
  Force(OperatorMode::kAuto, seconds(5), "alice: done");
  EXPECT_EQ(sink_.lines(),
            (std::vector<std::string>{
                "CLOSED -> CLOSED: FORCED_OPEN for 60 s: alice: database is "
                "moved",
                "CLOSED -> CLOSED: SHADOW",
                "CLOSED -> CLOSED: AUTO: alice: "
                "done"}));
  const auto events = sink_.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].generation, i + 1);
    EXPECT_EQ(events[i].reason, TransitionReason::kModeForced);
  }
  EXPECT_EQ(events[0].mode, OperatorMode::kForcedOpen);
  EXPECT_EQ(events[2].mode, OperatorMode::kAuto);
  EXPECT_EQ(Snapshot().transitions.size(), 3u);
}

TEST_F(CircuitBreakerModeTest, AutoOverAutoIsNoEvent) {
  Make({});
  Force(OperatorMode::kAuto);
  EXPECT_TRUE(sink_.events().empty());
  EXPECT_EQ(Snapshot().generation, 0u);
}

TEST_F(CircuitBreakerModeTest, ATimeThatIsNotPositiveDoesNothing) {
  Make({});
  Force(OperatorMode::kForcedOpen, seconds(0));
  Force(OperatorMode::kForcedOpen, seconds(-1));
  EXPECT_EQ(mode(), OperatorMode::kAuto);
  EXPECT_TRUE(sink_.events().empty());
}

TEST_F(CircuitBreakerModeTest, TheTimeEndsItAndTheNextCallTells) {
  Make({});
  Force(OperatorMode::kForcedOpen, seconds(60));
  clock_.Advance(seconds(60) - Duration(1));
  EXPECT_EQ(*Snapshot().mode_ends_in, Duration(1));
  EXPECT_FALSE(Acquire().has_value());
  clock_.Advance(Duration(1));
  for (int i = 0; i < 100; ++i) {  // looking shows it and tells nobody
    EXPECT_EQ(mode(), OperatorMode::kAuto);
    EXPECT_EQ(Snapshot().mode_reason, "");
    EXPECT_FALSE(breaker_->WouldReject());
    EXPECT_FALSE(breaker_->rejection().forced_open);
  }
  EXPECT_EQ(sink_.events().size(), 1u);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(sink_.events().size(), 2u);
  EXPECT_EQ(LastWhy(), "FORCED_OPEN is over");
  EXPECT_EQ(sink_.events()[1].reason, TransitionReason::kModeOver);
  EXPECT_EQ(sink_.events()[1].mode, OperatorMode::kAuto);
}

TEST_F(CircuitBreakerModeTest, TheEndOfForcedClosedIsNoticedByAResultToo) {
  Make(TouchyPolicy());
  Force(OperatorMode::kForcedClosed, seconds(60));
  Permit late = *Acquire();
  clock_.Advance(seconds(60));
  late.Record(Outcome::kFailure);  // admitted in another mode
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "FORCED_CLOSED is over");
  Fail(1);
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(CircuitBreakerModeTest, AnEndlessTimeDoesNotOverflow) {
  Make({});
  Force(OperatorMode::kForcedOpen, Duration::max());
  clock_.Advance(std::chrono::hours(24 * 365));
  EXPECT_EQ(mode(), OperatorMode::kForcedOpen);
}

TEST_F(CircuitBreakerModeTest, ResetKeepsTheMode) {
  Make(TouchyPolicy());
  Fail(1);
  Force(OperatorMode::kForcedOpen);
  breaker_->Reset();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(mode(), OperatorMode::kForcedOpen);
  EXPECT_FALSE(Acquire().has_value());
}

TEST_F(CircuitBreakerModeTest, NewSettingsKeepTheMode) {
  Make({});
  Force(OperatorMode::kForcedOpen);
  breaker_->Reconfigure(TouchyPolicy(), {});
  EXPECT_FALSE(Acquire().has_value());
  BreakerPolicy disabled;
  disabled.mode = BreakerMode::kDisabled;
  breaker_->Reconfigure(disabled, {});
  EXPECT_TRUE(Acquire().has_value());  // no effect while disabled
  breaker_->Reconfigure({}, {});
  EXPECT_FALSE(Acquire().has_value());
}

TEST_F(CircuitBreakerModeTest, BackInAutoTheHealthyPathIsTheHealthyPath) {
  Make({});
  Force(OperatorMode::kShadow);
  Force(OperatorMode::kAuto);
  Succeed(10);
  EXPECT_EQ(Snapshot().ignored[IgnoredCause::kStale], 0u);
  Fail(3);
  EXPECT_EQ(Tokens(), 13);
}

TEST(OperatorModeTest, NamesAreThoseOfTheDocumentation) {
  EXPECT_EQ(ToString(OperatorMode::kAuto), "AUTO");
  EXPECT_EQ(ToString(OperatorMode::kForcedOpen), "FORCED_OPEN");
  EXPECT_EQ(ToString(OperatorMode::kForcedClosed), "FORCED_CLOSED");
  EXPECT_EQ(ToString(OperatorMode::kShadow), "SHADOW");
  EXPECT_EQ(ToString(static_cast<OperatorMode>(42)), "UNKNOWN");
}

}  // namespace
}  // namespace grpc_resilience
