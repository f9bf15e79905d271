#include <vector>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CircuitBreakerHalfOpenTest : public CircuitBreakerFixture {
 protected:
  /// Open, and the next call is a probe.
  void MakeReady(const BreakerPolicy& policy) {
    Make(policy);
    const int failures =
        policy.failure_rate_threshold ? std::max(policy.minimum_calls, 1) : 16;
    Fail(failures);
    ASSERT_EQ(state(), State::kOpen);
    clock_.Advance(Snapshot().retry_after);
  }
  /// Takes every slot there is.
  std::vector<Permit> AcquireAll() {
    std::vector<Permit> permits;
    while (auto permit = Acquire()) permits.push_back(std::move(*permit));
    return permits;
  }
};

TEST_F(CircuitBreakerHalfOpenTest, EnoughSuccessesClose) {
  MakeReady(WindowPolicy());
  Succeed(1);
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_succeeded, 1);
  Succeed(1);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(LastWhy(), "2 probes succeeded");
  EXPECT_EQ(Snapshot().window_calls, 0);
  EXPECT_EQ(Tokens(), 16);  // the window closes with a full budget
}

TEST_F(CircuitBreakerHalfOpenTest, OneIsSaidInTheSingular) {
  MakeReady(TouchyPolicy());
  Succeed(1);
  EXPECT_EQ(LastWhy(), "1 probe succeeded");
  EXPECT_EQ(sink_.events()[0].why, "1 failure of the last 1 call");
}

// D09
TEST_F(CircuitBreakerHalfOpenTest, MinimumCallsMatterInClosedOnly) {
  BreakerPolicy policy = WindowPolicy();
  policy.window_calls = 100;
  policy.minimum_calls = 100;
  MakeReady(policy);
  EXPECT_TRUE(Fail());  // one failed probe
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "probe failed");
  clock_.Advance(seconds(15));
  Succeed(2);
  EXPECT_EQ(state(), State::kClosed);
}

// D06 (single thread; see the concurrency tests)
TEST_F(CircuitBreakerHalfOpenTest, NoMoreProbesThanSlots) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_calls = 3;
  MakeReady(policy);
  int admitted = 0;
  std::vector<Permit> permits;
  for (int caller = 0; caller < 64; ++caller) {
    const bool would_reject = breaker_->WouldReject();
    auto permit = Acquire();
    EXPECT_EQ(would_reject, !permit.has_value());
    if (permit) permits.push_back(std::move(*permit));
    admitted = static_cast<int>(permits.size());
  }
  EXPECT_EQ(admitted, 3);
  EXPECT_EQ(Snapshot().probes_in_flight, 3);
  EXPECT_EQ(Snapshot().rejected, 61u);
  EXPECT_EQ(breaker_->rejection().retry_after, Duration::zero());
}

// Also when no other call has come meanwhile and noticed.
TEST_F(CircuitBreakerHalfOpenTest, ALostProbesLateResultChangesNothing) {
  for (const Outcome outcome : {Outcome::kSuccess, Outcome::kFailure}) {
    BreakerPolicy policy = TouchyPolicy();
    policy.half_open_max_wait = seconds(30);
    MakeReady(policy);
    Permit probe = *Acquire();
    clock_.Advance(seconds(30) - Duration(1));
    EXPECT_EQ(Snapshot().probes_in_flight, 1);
    clock_.Advance(Duration(1));
    EXPECT_EQ(Snapshot().probes_in_flight, 0);
    probe.Record(outcome);
    EXPECT_EQ(state(), State::kHalfOpen);
    EXPECT_EQ(Snapshot().probes_succeeded, 0);
    EXPECT_EQ(Snapshot().ignored[IgnoredCause::kStale], 1u);
    Succeed(1);
    EXPECT_EQ(state(), State::kClosed);
  }
}

TEST_F(CircuitBreakerHalfOpenTest, SuccessesTakeSlotsAway) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_calls = 3;
  MakeReady(policy);
  Succeed(2);
  EXPECT_EQ(AcquireAll().size(), 1u);
}

TEST_F(CircuitBreakerHalfOpenTest, MaxInFlightLimitsProbesAtOnce) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_calls = 3;
  policy.half_open_max_in_flight = 1;
  MakeReady(policy);
  for (int probe = 0; probe < 3; ++probe) {
    std::vector<Permit> permits = AcquireAll();
    ASSERT_EQ(permits.size(), 1u);
    permits[0].Record(Outcome::kSuccess);
  }
  EXPECT_EQ(state(), State::kClosed);
}

// D01
TEST_F(CircuitBreakerHalfOpenTest, DroppedPermitReleasesItsSlotAtOnce) {
  MakeReady(TouchyPolicy());
  for (int i = 0; i < 100; ++i) {
    auto permit = Acquire();
    ASSERT_TRUE(permit.has_value());
    ASSERT_FALSE(Acquire().has_value());
  }
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

// D01
TEST_F(CircuitBreakerHalfOpenTest, IgnoredProbeReleasesItsSlot) {
  MakeReady(TouchyPolicy());
  EXPECT_TRUE(Call(Outcome::kIgnored));
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerHalfOpenTest, MovedOverPermitReleasesItsSlot) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_calls = 2;
  MakeReady(policy);
  Permit first = *Acquire();
  Permit second = *Acquire();
  first = std::move(second);  // the first probe is given up
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
  Permit& self = first;
  first = std::move(self);  // changes nothing
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
}

// D10
TEST_F(CircuitBreakerHalfOpenTest, ResultFromClosedIsNoVerdict) {
  Make(TouchyPolicy());
  Permit slow = *Acquire();
  Permit slower = *Acquire();
  Fail(1);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  slow.Record(Outcome::kSuccess);
  slower.Record(Outcome::kFailure);
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_succeeded, 0);
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
}

// D10
TEST_F(CircuitBreakerHalfOpenTest, ResultFromTheRoundBeforeIsNoVerdict) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_calls = 3;
  MakeReady(policy);
  Permit slow = *Acquire();
  Permit slower = *Acquire();
  EXPECT_TRUE(Fail());  // round 1 is over
  clock_.Advance(seconds(15));
  Permit probe = *Acquire();
  slow.Record(Outcome::kSuccess);
  slower.Record(Outcome::kFailure);
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_succeeded, 0);
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
}

TEST_F(CircuitBreakerHalfOpenTest, LostProbeGivesItsSlotBackAfterMaxWait) {
  BreakerPolicy policy = TouchyPolicy();
  policy.half_open_max_wait = seconds(30);
  MakeReady(policy);
  Permit lost = *Acquire();
  clock_.Advance(seconds(30) - Duration(1));
  EXPECT_TRUE(breaker_->WouldReject());
  EXPECT_FALSE(Acquire().has_value());
  clock_.Advance(Duration(1));
  EXPECT_FALSE(breaker_->WouldReject());
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  Permit probe = *Acquire();
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
  lost.Record(Outcome::kFailure);  // too late
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_in_flight, 1);
  probe.Record(Outcome::kSuccess);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(sink_.events().back().generation, 3u);  // no generation was skipped
}

TEST_F(CircuitBreakerHalfOpenTest, EachProbeHasItsOwnMaxWait) {
  BreakerPolicy policy = WindowPolicy();
  policy.half_open_max_wait = seconds(30);
  MakeReady(policy);
  Permit lost = *Acquire();
  clock_.Advance(seconds(20));
  Permit patient = *Acquire();
  clock_.Advance(seconds(10));
  Permit next = *Acquire();  // in the slot of the first
  EXPECT_EQ(Snapshot().probes_in_flight, 2);
  EXPECT_FALSE(Acquire().has_value());
  patient.Record(Outcome::kSuccess);
  EXPECT_EQ(Snapshot().probes_succeeded, 1);
  lost.Record(Outcome::kSuccess);
  EXPECT_EQ(Snapshot().probes_succeeded, 1);
}

TEST_F(CircuitBreakerHalfOpenTest, BucketStartsSlowly1357AndClosesAboveHalf) {
  MakeReady({});
  for (const std::size_t tokens : {1u, 3u, 5u, 7u}) {
    std::vector<Permit> permits = AcquireAll();
    EXPECT_EQ(permits.size(), tokens);
    EXPECT_EQ(Tokens(), tokens);
    EXPECT_EQ(state(), State::kHalfOpen);
    permits[0].Record(Outcome::kSuccess);
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Tokens(), 9);  // kept
  EXPECT_TRUE(breaker_->RetryAllowed());
  EXPECT_EQ(LastWhy(), "bucket more than half full");
  EXPECT_EQ(sink_.events().back().reason, TransitionReason::kProbesSucceeded);
}

TEST_F(CircuitBreakerHalfOpenTest, BucketOpensWhenEmptyNotOnEachFailure) {
  MakeReady({});
  Succeed(1);  // 3
  Fail(2);     // 1
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_TRUE(Fail());  // 0
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(LastWhy(), "probe failed");
  EXPECT_EQ(Snapshot().retry_after, milliseconds(160));
}

TEST_F(CircuitBreakerHalfOpenTest, BucketLeftWithAFractionOpensToo) {
  Make({}, {true, 10, 0.1});
  Fail(10);
  clock_.Advance(milliseconds(100));
  Succeed(1);  // 1.1
  EXPECT_EQ(AcquireAll().size(), 1u);
  EXPECT_TRUE(Fail());  // 0.1: no probe could follow
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(Tokens(), 0);
}

TEST_F(CircuitBreakerHalfOpenTest, ABucketOfOneTokenStillReachesAVerdict) {
  Make({}, {true, 1, 0.001});
  Fail(1);
  clock_.Advance(milliseconds(100));
  EXPECT_TRUE(Fail());
  EXPECT_EQ(state(), State::kOpen);
  clock_.Advance(seconds(5));
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerHalfOpenTest, RetriesWaitForTheBucket) {
  MakeReady({});
  Succeed(3);  // 7
  EXPECT_FALSE(breaker_->RetryAllowed());
  Succeed(1);
  EXPECT_TRUE(breaker_->RetryAllowed());
}

TEST_F(CircuitBreakerHalfOpenTest, ResetClosesAndForgets) {
  MakeReady({});
  Permit probe = *Acquire();
  breaker_->Reset();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Tokens(), 16);
  EXPECT_EQ(LastWhy(), "reset");
  EXPECT_TRUE(Snapshot().last_failure.empty());
  probe.Record(Outcome::kFailure);  // of an older generation
  EXPECT_EQ(Tokens(), 16);
}

}  // namespace
}  // namespace grpc_resilience
