// Counts every allocation of its program, so it is a program of its own.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "support/allocation/counting_allocator.h"

namespace grpc_resilience {
namespace {

using test::AllocationsOfThisThread;

/// Fails the test when it is read.
class ForbiddenClock : public Clock {
 public:
  TimePoint Now() const override {
    if (forbidden) ADD_FAILURE() << "read the clock";
    return TimePoint(std::chrono::hours(1));
  }
  bool forbidden = false;
};

class CircuitBreakerAllocationTest : public ::testing::Test {
 protected:
  /// Allocations of 1,000 calls with that outcome.
  std::int64_t AllocationsOf(CircuitBreaker& breaker, Outcome outcome) {
    const std::int64_t before = AllocationsOfThisThread();
    for (int i = 0; i < 1000; ++i) {
      std::optional<Permit> permit = breaker.TryAcquire();
      if (permit) permit->Record(outcome, StatusCode::UNAVAILABLE, "refused");
    }
    return AllocationsOfThisThread() - before;
  }

  ForbiddenClock clock_;
  FixedRandom random_{0.5};
};

TEST_F(CircuitBreakerAllocationTest, CountingWorks) {
  const std::int64_t before = AllocationsOfThisThread();
  int* volatile kept = new int(1);  // volatile: or the pair may be left out
  delete kept;
  EXPECT_EQ(AllocationsOfThisThread() - before, 1);
}

TEST_F(CircuitBreakerAllocationTest,
       HealthyCallsAllocateNothingAndNeedNoClock) {
  CircuitBreaker breaker({"a", ""}, {}, {}, clock_, random_, nullptr);
  clock_.forbidden = true;
  EXPECT_EQ(AllocationsOf(breaker, Outcome::kSuccess), 0);
  clock_.forbidden = false;
}

// What an idle breaker doesn't need is made by the first call that does, once.
TEST_F(CircuitBreakerAllocationTest, OnlyTheFirstIgnoredCallAllocates) {
  CircuitBreaker breaker({"a", ""}, {}, {}, clock_, random_, nullptr);
  EXPECT_EQ(AllocationsOf(breaker, Outcome::kIgnored), 1);
  clock_.forbidden = true;
  EXPECT_EQ(AllocationsOf(breaker, Outcome::kIgnored), 0);
  EXPECT_EQ(AllocationsOf(breaker, Outcome::kSuccess), 0);
  clock_.forbidden = false;
}

TEST_F(CircuitBreakerAllocationTest, FailuresThatDoNotOpenAllocateNothing) {
  CircuitBreaker breaker({"a", ""}, {}, {true, 1000, 1.0}, clock_, random_,
                         nullptr);
  clock_.forbidden = true;
  const std::int64_t before = AllocationsOfThisThread();
  for (int i = 0; i < 999; ++i) {
    breaker.TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE,
                                 "refused");
  }
  EXPECT_EQ(AllocationsOfThisThread() - before, 0);
  EXPECT_EQ(breaker.state(), State::kClosed);
  clock_.forbidden = false;
}

TEST_F(CircuitBreakerAllocationTest, OnlyTheFirstCallOfARateRuleAllocates) {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 1.0;
  policy.slow_call_rate_threshold = 1.0;
  policy.slow_call_duration = std::chrono::seconds(1);
  policy.consecutive_failures = 1'000'000;
  for (const bool by_time : {false, true}) {
    if (by_time) policy.window_duration = std::chrono::seconds(10);
    CircuitBreaker breaker({"a", ""}, policy, {}, clock_, random_, nullptr);
    EXPECT_EQ(AllocationsOf(breaker, Outcome::kSuccess), 2);  // and its window
    EXPECT_EQ(AllocationsOf(breaker, Outcome::kSuccess), 0);
    EXPECT_EQ(AllocationsOf(breaker, Outcome::kIgnored), 0);
    const std::int64_t before = AllocationsOfThisThread();
    for (int i = 0; i < 5; ++i) breaker.TryAcquire()->Record(Outcome::kFailure);
    EXPECT_EQ(AllocationsOfThisThread() - before, 0);
    EXPECT_EQ(breaker.state(), State::kClosed);
  }
}

TEST_F(CircuitBreakerAllocationTest, RejectionsAllocateNothing) {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 1.0;
  policy.minimum_calls = 1;
  CircuitBreaker breaker({"a", ""}, policy, {}, clock_, random_, nullptr);
  breaker.TryAcquire()->Record(Outcome::kFailure);
  ASSERT_EQ(breaker.state(), State::kOpen);
  EXPECT_EQ(AllocationsOf(breaker, Outcome::kSuccess), 0);
  EXPECT_EQ(breaker.state(), State::kOpen);
}

}  // namespace
}  // namespace grpc_resilience
