#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/circuit_breaker_fixture.h"
#include "core/pending_successes.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::seconds;

TEST(PendingSuccessesTest, CountsOneGenerationAndPeriodAtATime) {
  PendingSuccesses pending;
  EXPECT_FALSE(pending.Add(0, 0));  // nothing before the first Take
  EXPECT_EQ(pending.Take(7, 3), 0);
  EXPECT_TRUE(pending.Add(7, 3));
  EXPECT_TRUE(pending.Add(7, 3));
  EXPECT_FALSE(pending.Add(6, 3));
  EXPECT_FALSE(pending.Add(8, 3));
  EXPECT_FALSE(pending.Add(7, 4));
  EXPECT_EQ(pending.Take(7, 4), 2);
  EXPECT_TRUE(pending.Add(7, 4));
  EXPECT_EQ(pending.TakeAndClose(), 1);
  EXPECT_FALSE(pending.Add(7, 4));
  EXPECT_EQ(pending.TakeAndClose(), 0);
}

// D30
TEST(PendingSuccessesTest, TheCountNeverRunsIntoThePeriod) {
  PendingSuccesses pending;
  pending.Take(1, 1);
  std::int64_t added = 0;
  while (pending.Add(1, 1)) ++added;
  EXPECT_EQ(added, (1 << 24) - 2);
  EXPECT_EQ(pending.Take(1, 1), added);
}

class QuickSuccessTest : public CircuitBreakerFixture {};

TEST_F(QuickSuccessTest, TheyAreInTheWindowWhenItIsLookedAt) {
  Make(WindowPolicy());
  Fail(1);
  Succeed(3);
  EXPECT_EQ(Snapshot().window_calls, 4);
  EXPECT_EQ(Snapshot().window_failures, 1);
  Succeed(5);  // the failure leaves
  EXPECT_EQ(Snapshot().window_calls, 6);
  EXPECT_EQ(Snapshot().window_failures, 0);
}

TEST_F(QuickSuccessTest, TheyCountInTheBucketInWhichTheyCame) {
  BreakerPolicy policy = WindowPolicy();
  policy.window_duration = seconds(10);
  Make(policy);
  Succeed(5);  // in second 0
  clock_.Advance(seconds(4));
  Succeed(3);  // in second 4
  clock_.Advance(seconds(5));
  EXPECT_EQ(Snapshot().window_calls, 8);
  clock_.Advance(seconds(1));
  EXPECT_EQ(Snapshot().window_calls, 3);
  clock_.Advance(seconds(4));
  EXPECT_EQ(Snapshot().window_calls, 0);
}

TEST_F(QuickSuccessTest, LongSuccessDoesNotHideAFreshOutage) {
  BreakerPolicy policy = WindowPolicy();
  policy.window_duration = seconds(10);
  Make(policy);
  Succeed(100'000);
  clock_.Advance(seconds(10));
  Fail(4);  // of 4
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(QuickSuccessTest, TheyRefillTheRetryBudget) {
  Make(WindowPolicy());
  Succeed(5);
  Fail(2);
  EXPECT_EQ(Tokens(), 14);
  Succeed(1);
  EXPECT_EQ(Tokens(), 16);
}

TEST_F(QuickSuccessTest, TheySurviveNewSettingsOfTheSameWindow) {
  Make(WindowPolicy());
  Succeed(3);
  BreakerPolicy policy = WindowPolicy();
  policy.failure_rate_threshold = 0.25;
  breaker_->Reconfigure(policy, {});
  EXPECT_EQ(Snapshot().window_calls, 3);
  Fail(1);  // 1 of 4
  EXPECT_EQ(state(), State::kOpen);
}

TEST_F(QuickSuccessTest, ResetForgetsThem) {
  Make(WindowPolicy());
  Succeed(3);
  breaker_->Reset();
  EXPECT_EQ(Snapshot().window_calls, 0);
}

TEST_F(QuickSuccessTest, NoneIsLostAmongThreads) {
  BreakerPolicy policy = WindowPolicy();
  policy.window_calls = 100'000;
  policy.minimum_calls = 100'000;
  Make(policy);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        Call(i % 10 == 0 ? Outcome::kFailure : Outcome::kSuccess);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Snapshot().window_calls, 80'000);
  EXPECT_EQ(Snapshot().window_failures, 8'000);
}

}  // namespace
}  // namespace grpc_resilience::internal
