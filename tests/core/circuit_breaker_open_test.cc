#include <cstdint>
#include <string>
#include <vector>

#include "core/circuit_breaker_fixture.h"
#include "core/open_period.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerOpenTest : public CircuitBreakerFixture {
 protected:
  void Reject(int times) {
    for (int i = 0; i < times; ++i) ASSERT_FALSE(Acquire().has_value());
  }
  /// Of an open breaker.
  Duration OpenTime() const { return Snapshot().retry_after; }
};

TEST_F(CircuitBreakerOpenTest, RejectsUntilTheTimeIsOverThenProbes) {
  Make(WindowPolicy());
  Fail(4);
  EXPECT_TRUE(breaker_->WouldReject());
  Reject(2);
  clock_.Advance(seconds(15) - Duration(1));
  Reject(1);
  clock_.Advance(Duration(1));
  EXPECT_FALSE(breaker_->WouldReject());
  const std::optional<Permit> probe = Acquire();
  ASSERT_TRUE(probe.has_value());
  EXPECT_TRUE(probe->is_probe());
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(LastWhy(), "15 s passed");
  EXPECT_EQ(Snapshot().rejected, 3u);
}

TEST_F(CircuitBreakerOpenTest, RejectionSaysHowLongAndWhy) {
  Make(WindowPolicy());
  Fail(4);
  clock_.Advance(seconds(3));
  const Rejection rejection = breaker_->rejection();
  EXPECT_EQ(rejection.retry_after, seconds(12));
  EXPECT_EQ(rejection.last_failure, "UNAVAILABLE: connection refused");
}

TEST_F(CircuitBreakerOpenTest, LongMessagesAreCutBetweenCharacters) {
  Make(TouchyPolicy());
  // "é" is two bytes: 99.5 of them fit behind the "x".
  std::string message = "x";
  for (int i = 0; i < 150; ++i) message += "\u00e9";
  Acquire()->Record(Outcome::kFailure, StatusCode::INTERNAL, message);
  EXPECT_EQ(breaker_->rejection().last_failure,
            "INTERNAL: " + message.substr(0, 199));
}

TEST_F(CircuitBreakerOpenTest, FailureWithoutMessageIsNamedByItsCode) {
  Make(TouchyPolicy());
  Acquire()->Record(Outcome::kFailure, StatusCode::DATA_LOSS);
  EXPECT_EQ(breaker_->rejection().last_failure, "DATA_LOSS");
}

// D31
TEST_F(CircuitBreakerOpenTest, RejectionsAreNoFailures) {
  Make(TouchyPolicy());
  Fail(1);
  Reject(1000);
  EXPECT_EQ(Snapshot().rejected, 1000u);
  EXPECT_EQ(Snapshot().window_failures, 0);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

// D14, D15
TEST_F(CircuitBreakerOpenTest, LookingChangesNothing) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(seconds(10));
  for (int i = 0; i < 1000; ++i) {
    const BreakerSnapshot snapshot = Snapshot();
    ASSERT_EQ(snapshot.state, State::kOpen);
    ASSERT_TRUE(snapshot.probe_ready);
    ASSERT_EQ(snapshot.retry_after, Duration::zero());
    ASSERT_EQ(snapshot.probes_in_flight, 0);
    ASSERT_EQ(breaker_->rejection().retry_after, Duration::zero());
    ASSERT_FALSE(breaker_->WouldReject());
    ASSERT_EQ(state(), State::kOpen);
  }
  EXPECT_EQ(sink_.events().size(), 1u);
  EXPECT_EQ(Snapshot().rejected, 0u);
  const std::optional<Permit> probe = Acquire();
  ASSERT_TRUE(probe.has_value());
  EXPECT_TRUE(probe->is_probe());
}

// D28
TEST_F(CircuitBreakerOpenTest, OpenTimeGrowsToTheCapAndStartsAgain) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration_multiplier = 2.0;
  policy.max_open_duration = seconds(8);
  Make(policy);
  std::vector<Duration> times;
  Fail(1);
  times.push_back(OpenTime());
  for (int round = 0; round < 4; ++round) {
    clock_.Advance(times.back());
    Fail(1);  // the probe
    times.push_back(OpenTime());
  }
  EXPECT_EQ(times, (std::vector<Duration>{seconds(1), seconds(2), seconds(4),
                                          seconds(8), seconds(8)}));
  clock_.Advance(seconds(8));
  Succeed(1);
  ASSERT_EQ(state(), State::kClosed);
  clock_.Advance(seconds(8));  // as long healthy as it was open
  Fail(1);
  EXPECT_EQ(OpenTime(), seconds(1));
  for (int trip = 0; trip < 1000; ++trip) {
    clock_.Advance(seconds(8));
    Fail(1);
  }
  EXPECT_EQ(OpenTime(), seconds(8));
}

// D28
TEST_F(CircuitBreakerOpenTest, OpenTimeGoesOnGrowingAfterAShortHealthySpell) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration_multiplier = 2.0;
  policy.max_open_duration = seconds(8);
  Make(policy);
  Fail(1);
  clock_.Advance(seconds(1));
  Succeed(1);
  clock_.Advance(seconds(1) - Duration(1));  // it had been open for 1 s
  Fail(1);
  EXPECT_EQ(OpenTime(), seconds(2));
  clock_.Advance(seconds(2));
  Succeed(1);
  clock_.Advance(seconds(2));
  Fail(1);
  EXPECT_EQ(OpenTime(), seconds(1));
}

TEST_F(CircuitBreakerOpenTest, TheHealthySpellCanBeSet) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration_multiplier = 2.0;
  policy.max_open_duration = seconds(8);
  policy.open_duration_reset_after = seconds(60);
  Make(policy);
  Fail(1);
  for (const Duration open : {seconds(2), seconds(4)}) {
    clock_.Advance(OpenTime());
    Succeed(1);
    clock_.Advance(seconds(59));
    Fail(1);
    EXPECT_EQ(OpenTime(), open);
  }
  policy.open_duration_reset_after = Duration::zero();
  breaker_->Reconfigure(policy, {});
  clock_.Advance(OpenTime());
  Succeed(1);
  Fail(1);
  EXPECT_EQ(OpenTime(), seconds(1));
}

TEST_F(CircuitBreakerOpenTest, ResetForgetsTheGrowth) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration_multiplier = 2.0;
  policy.max_open_duration = seconds(8);
  Make(policy);
  Fail(1);
  clock_.Advance(seconds(1));
  Fail(1);
  ASSERT_EQ(OpenTime(), seconds(2));
  breaker_->Reset();
  Fail(1);
  EXPECT_EQ(OpenTime(), seconds(1));
}

TEST_F(CircuitBreakerOpenTest, MadeReadyItProbesAtOnce) {
  Make(WindowPolicy());
  Fail(4);
  ASSERT_TRUE(breaker_->WouldReject());
  breaker_->MakeProbeReady();
  EXPECT_EQ(state(), State::kOpen);  // until somebody calls
  EXPECT_EQ(sink_.events().size(), 1u);
  EXPECT_TRUE(Snapshot().probe_ready);
  EXPECT_EQ(Snapshot().retry_after, Duration::zero());
  EXPECT_FALSE(breaker_->WouldReject());
  std::optional<Permit> probe = Acquire();
  ASSERT_TRUE(probe.has_value());
  EXPECT_TRUE(probe->is_probe());
  EXPECT_EQ(LastWhy(), "made ready for a probe");
  probe->Record(Outcome::kFailure);
  EXPECT_EQ(Snapshot().retry_after, seconds(15));  // once, not for good
}

TEST_F(CircuitBreakerOpenTest, MadeReadyInAnotherStateNothingChanges) {
  Make(WindowPolicy());
  breaker_->MakeProbeReady();
  Fail(4);  // CLOSED meanwhile
  EXPECT_EQ(Snapshot().retry_after, seconds(15));
  clock_.Advance(seconds(15));
  Permit first = *Acquire();
  Permit second = *Acquire();
  breaker_->MakeProbeReady();  // HALF_OPEN: no more slots for that
  EXPECT_FALSE(Acquire().has_value());
  EXPECT_EQ(Snapshot().generation, 2u);
}

TEST_F(CircuitBreakerOpenTest, ASetOpenTimeIsKeptToTheLetter) {
  FixedRandom low(0.0);
  breaker_ = std::make_unique<CircuitBreaker>(
      BreakerKey{"a", ""}, TouchyPolicy(), RetryThrottlePolicy(), clock_, low,
      nullptr);
  for (int round = 0; round < 10; ++round) {
    Fail(1);
    EXPECT_EQ(OpenTime(), seconds(1));
    Reject(500);  // no early probe either
    clock_.Advance(seconds(1));
  }
}

TEST_F(CircuitBreakerOpenTest, DefaultTimesGrowFrom100MsTo5S) {
  Make({});
  Fail(16);
  EXPECT_EQ(OpenTime(), milliseconds(100));
  clock_.Advance(milliseconds(100));
  Fail(1);
  EXPECT_EQ(OpenTime(), milliseconds(160));
  for (int round = 0; round < 20; ++round) {
    clock_.Advance(seconds(5));
    Fail(1);
  }
  // At the cap the range of the jitter is cut, so its middle is below 5 s.
  EXPECT_LE(OpenTime(), seconds(5));
  EXPECT_GE(OpenTime(), seconds(4));
}

TEST_F(CircuitBreakerOpenTest, JitterIsAFifthAndNeverExceedsTheCap) {
  for (const double chance : {0.0, 0.25, 0.999999}) {
    FixedRandom random(chance);
    breaker_ = std::make_unique<CircuitBreaker>(
        BreakerKey{"a", ""}, BreakerPolicy(), RetryThrottlePolicy(), clock_,
        random, nullptr);
    Fail(16);
    EXPECT_GE(OpenTime(), milliseconds(80));
    EXPECT_LE(OpenTime(), milliseconds(120));
    for (int round = 0; round < 20; ++round) {
      clock_.Advance(seconds(5));
      Fail(1);
    }
    EXPECT_LE(OpenTime(), seconds(5)) << chance;
  }
}

TEST_F(CircuitBreakerOpenTest, ProbesEarlyAfter100RejectedCallsAnd80Ms) {
  FixedRandom late(0.999999);  // open for nearly 120 ms
  breaker_ = std::make_unique<CircuitBreaker>(
      BreakerKey{"a", ""}, BreakerPolicy(), RetryThrottlePolicy(), clock_, late,
      &sink_);
  Fail(16);
  Reject(100);
  clock_.Advance(milliseconds(79));
  EXPECT_FALSE(Snapshot().probe_ready);
  clock_.Advance(milliseconds(1));
  EXPECT_TRUE(Snapshot().probe_ready);
  EXPECT_EQ(Snapshot().retry_after, Duration::zero());
  EXPECT_TRUE(Acquire().has_value());
  EXPECT_EQ(LastWhy(), "100 calls rejected");
}

TEST_F(CircuitBreakerOpenTest, NoEarlyProbeAfter99RejectedCalls) {
  Make({});
  Fail(16);
  Reject(99);
  clock_.Advance(milliseconds(90));
  EXPECT_FALSE(Snapshot().probe_ready);
  Reject(1);
  EXPECT_TRUE(Acquire().has_value());
}

TEST_F(CircuitBreakerOpenTest, EarlyProbeCountsThisOpenTimeOnly) {
  BreakerPolicy policy = TouchyPolicy();
  policy.early_probe_after_rejections = 1;
  Make(policy);
  Fail(1);
  clock_.Advance(milliseconds(80));
  Reject(1);
  EXPECT_TRUE(Fail());  // the early probe
  EXPECT_EQ(sink_.events()[1].why, "1 call rejected");
  clock_.Advance(milliseconds(500));
  EXPECT_FALSE(Snapshot().probe_ready);
}

TEST_F(CircuitBreakerOpenTest, RetriesAreRefusedWhileTheBucketIsEmpty) {
  Make({});
  Fail(16);
  EXPECT_FALSE(breaker_->RetryAllowed());
}

// D10
TEST_F(CircuitBreakerOpenTest, ResultsOfTheGenerationBeforeAreDropped) {
  Make({});
  Permit slow = *Acquire();
  Permit slower = *Acquire();
  Fail(16);
  const BreakerSnapshot before = Snapshot();
  slow.Record(Outcome::kSuccess);
  slower.Record(Outcome::kFailure);
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(Tokens(), 0);
  EXPECT_EQ(Snapshot().retry_after, before.retry_after);
  EXPECT_EQ(Snapshot().generation, before.generation);
}

TEST_F(CircuitBreakerOpenTest, AnEndlessOpenTimeDoesNotOverflow) {
  BreakerPolicy policy = TouchyPolicy();
  policy.open_duration = Duration::max();
  Make(policy);
  Fail(1);
  clock_.Advance(std::chrono::hours(24 * 365));
  EXPECT_FALSE(Acquire().has_value());
}

// D30
TEST_F(CircuitBreakerOpenTest, CountersHave64Bits) {
  static_assert(sizeof(BreakerSnapshot::rejected) == 8);
  static_assert(sizeof(BreakerSnapshot::generation) == 8);
  static_assert(sizeof(internal::OpenLine::rejected) == 8);
  SUCCEED();
}

}  // namespace
}  // namespace grpc_resilience
