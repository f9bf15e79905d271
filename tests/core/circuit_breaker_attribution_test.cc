// What is no verdict on the target is counted as such, with its cause.

#include <chrono>
#include <numeric>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::seconds;

class CircuitBreakerAttributionTest : public CircuitBreakerFixture {
 protected:
  std::uint64_t Ignored(IgnoredCause cause) const {
    return Snapshot().ignored[cause];
  }
  std::uint64_t IgnoredInAll() const {
    const auto counts = Snapshot().ignored.by_cause;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
};

// D24
TEST_F(CircuitBreakerAttributionTest, CallersThatCancelOpenNothing) {
  for (const bool by_window : {false, true}) {
    Make(by_window ? WindowPolicy() : BreakerPolicy());
    for (int i = 0; i < 100; ++i) Acquire()->Ignore(IgnoredCause::kCancelled);
    EXPECT_EQ(state(), State::kClosed);
    EXPECT_EQ(Tokens(), 16);
    EXPECT_EQ(Snapshot().window_calls, 0);
    EXPECT_EQ(Ignored(IgnoredCause::kCancelled), 100u);
    EXPECT_EQ(IgnoredInAll(), 100u);
  }
}

TEST_F(CircuitBreakerAttributionTest, EachCauseHasItsOwnCount) {
  Make({});
  const IgnoredCause causes[] = {
      IgnoredCause::kCancelled,    IgnoredCause::kDeadlineTooShort,
      IgnoredCause::kLocalError,   IgnoredCause::kOwnRejection,
      IgnoredCause::kNeutralProbe, IgnoredCause::kUnspecified};
  std::uint64_t times = 0;
  for (const IgnoredCause cause : causes) {
    ++times;
    for (std::uint64_t i = 0; i < times; ++i) Acquire()->Ignore(cause);
  }
  times = 0;
  for (const IgnoredCause cause : causes) {
    EXPECT_EQ(Ignored(cause), ++times) << ToString(cause);
  }
  EXPECT_EQ(IgnoredInAll(), 21u);
}

TEST_F(CircuitBreakerAttributionTest, WithoutACauseItIsUnspecified) {
  Make({});
  Call(Outcome::kIgnored);
  EXPECT_EQ(Ignored(IgnoredCause::kUnspecified), 1u);
}

TEST_F(CircuitBreakerAttributionTest, DroppedPermitsAreCounted) {
  Make({});
  { const Permit dropped = *Acquire(); }
  Permit moved_over = *Acquire();
  moved_over = *Acquire();
  EXPECT_EQ(Ignored(IgnoredCause::kDropped), 2u);
  moved_over.Record(Outcome::kSuccess);
  moved_over.Ignore(IgnoredCause::kCancelled);  // it has been recorded
  EXPECT_EQ(IgnoredInAll(), 2u);
}

TEST_F(CircuitBreakerAttributionTest, LateResultsAreCountedAsStale) {
  Make(TouchyPolicy());
  Permit late = *Acquire();
  Permit later = *Acquire();
  Fail(1);
  late.Record(Outcome::kSuccess);
  later.Record(Outcome::kFailure);
  EXPECT_EQ(Ignored(IgnoredCause::kStale), 2u);
  clock_.Advance(seconds(1));
  Permit probe = *Acquire();
  breaker_->Reset();
  probe.Record(Outcome::kFailure);
  EXPECT_EQ(Ignored(IgnoredCause::kStale), 3u);
}

TEST_F(CircuitBreakerAttributionTest, ANeutralProbeGivesItsSlotBack) {
  Make(TouchyPolicy());
  Fail(1);
  clock_.Advance(seconds(1));
  Acquire()->Ignore(IgnoredCause::kNeutralProbe);
  EXPECT_EQ(state(), State::kHalfOpen);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  EXPECT_EQ(Ignored(IgnoredCause::kNeutralProbe), 1u);
  EXPECT_TRUE(Succeed());
  EXPECT_EQ(state(), State::kClosed);
}

TEST_F(CircuitBreakerAttributionTest, RejectedCallsAreNoIgnoredOutcomes) {
  Make(TouchyPolicy());
  Fail(1);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Acquire().has_value());
  EXPECT_EQ(Snapshot().rejected, 10u);
  EXPECT_EQ(IgnoredInAll(), 0u);
}

TEST_F(CircuitBreakerAttributionTest, DisabledCountsNothing) {
  BreakerPolicy policy;
  policy.mode = BreakerMode::kDisabled;
  Make(policy);
  Call(Outcome::kIgnored);
  Call(Outcome::kFailure);
  EXPECT_EQ(IgnoredInAll(), 0u);
}

}  // namespace
}  // namespace grpc_resilience
