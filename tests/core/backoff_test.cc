#include "grpc_resilience/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kSamples = 100000;

BackoffPolicy Policy(Duration initial, double multiplier, Duration cap,
                     Jitter jitter) {
  BackoffPolicy policy;
  policy.initial_backoff = initial;
  policy.backoff_multiplier = multiplier;
  policy.max_backoff = cap;
  policy.jitter = jitter;
  return policy;
}

std::vector<Duration> Delays(const BackoffPolicy& policy, double uniform,
                             int count) {
  FixedRandom random(uniform);
  Backoff backoff(policy);
  std::vector<Duration> delays;
  for (int i = 0; i < count; ++i) delays.push_back(backoff.Next(random));
  return delays;
}

// B08
TEST(UnjitteredBackoffTest, DoublesExactlyUpToTheCapAndStaysThere) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(10), Jitter::kNone);
  const int expected_ms[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000};
  for (int retry = 1; retry <= 8; ++retry) {
    EXPECT_EQ(UnjitteredBackoff(policy, retry),
              milliseconds(expected_ms[retry - 1]))
        << retry;
  }
  for (const int retry : {9, 40, 64, 65, 1024, 2147483647}) {
    EXPECT_EQ(UnjitteredBackoff(policy, retry), seconds(10)) << retry;
  }
}

// B08
TEST(UnjitteredBackoffTest, MultiplierOneNeverGrows) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 1, seconds(10), Jitter::kNone);
  for (const int retry : {1, 2, 9, 64, 1024, 2147483647}) {
    EXPECT_EQ(UnjitteredBackoff(policy, retry), milliseconds(100)) << retry;
  }
}

// B08: the longest cap there is
TEST(UnjitteredBackoffTest, SaturatesAtTheEndOfTheRange) {
  const BackoffPolicy policy =
      Policy(hours(1), 1000, Duration::max(), Jitter::kNone);
  EXPECT_EQ(UnjitteredBackoff(policy, 3), hours(1000000));
  for (const int retry : {10, 400, 2147483647}) {
    EXPECT_EQ(UnjitteredBackoff(policy, retry), Duration::max()) << retry;
  }
}

TEST(UnjitteredBackoffTest, RoundsFractionalMultipliersToTheNearest) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 1.15, seconds(10), Jitter::kNone);
  EXPECT_EQ(UnjitteredBackoff(policy, 2), milliseconds(115));
}

TEST(UnjitteredBackoffTest, NeverFallsWithTheRetryNumber) {
  const BackoffPolicy policy =
      Policy(nanoseconds(7), 1.01, hours(1), Jitter::kNone);
  Duration last{0};
  for (int retry = 1; retry < 5000; ++retry) {
    const Duration delay = UnjitteredBackoff(policy, retry);
    ASSERT_GE(delay, last) << retry;
    last = delay;
  }
  EXPECT_EQ(last, hours(1));
}

TEST(BackoffTest, FullJitterSpansZeroToTheDelay) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(1), Jitter::kFull);
  EXPECT_EQ(Delays(policy, 0.0, 2), (std::vector<Duration>(2, Duration(0))));
  EXPECT_EQ(Delays(policy, 0.5, 3),
            (std::vector<Duration>{milliseconds(50), milliseconds(100),
                                   milliseconds(200)}));
}

TEST(BackoffTest, EqualJitterSpansHalfTheDelayToTheDelay) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(1), Jitter::kEqual);
  EXPECT_EQ(Delays(policy, 0.0, 2),
            (std::vector<Duration>{milliseconds(50), milliseconds(100)}));
  EXPECT_EQ(Delays(policy, 0.5, 2),
            (std::vector<Duration>{milliseconds(75), milliseconds(150)}));
}

TEST(BackoffTest, DecorrelatedJitterGrowsFromThePreviousDelay) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(1), Jitter::kDecorrelated);
  // [100, 300] → 200, [100, 600] → 350, [100, 1050 cut to 1000] → 550
  EXPECT_EQ(Delays(policy, 0.5, 3),
            (std::vector<Duration>{milliseconds(200), milliseconds(350),
                                   milliseconds(550)}));
  EXPECT_EQ(Delays(policy, 0.0, 2),
            (std::vector<Duration>(2, milliseconds(100))));
}

TEST(BackoffTest, RatioJitterSpansBothSidesOfTheDelay) {
  BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(10), Jitter::kRatio);
  policy.jitter_ratio = 0.5;
  EXPECT_EQ(Delays(policy, 0.0, 2),
            (std::vector<Duration>{milliseconds(50), milliseconds(100)}));
  EXPECT_EQ(Delays(policy, 0.5, 2),
            (std::vector<Duration>{milliseconds(100), milliseconds(200)}));
}

// B09
TEST(BackoffTest, JitterLargerThanTheDelayIsNeverNegative) {
  BackoffPolicy policy =
      Policy(milliseconds(100), 1, seconds(10), Jitter::kRatio);
  policy.jitter_ratio = 2.0;
  Backoff backoff(policy);
  Duration least = Duration::max();
  Duration most{0};
  for (int i = 0; i < kSamples; ++i) {
    const Duration delay = backoff.Next(Random::Real());
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  EXPECT_GE(least, Duration::zero());
  EXPECT_GT(most, milliseconds(290));
  EXPECT_LE(most, milliseconds(300));
}

class CappedJitterTest : public testing::TestWithParam<Jitter> {};

// B10
TEST_P(CappedJitterTest, StaysBelowTheCapAndStillVariesThere) {
  BackoffPolicy policy = Policy(milliseconds(400), 2, seconds(1), GetParam());
  policy.jitter_ratio = 0.5;
  Backoff backoff(policy);
  for (int i = 0; i < 10; ++i) backoff.Next(Random::Real());
  std::set<Duration> values;
  int at_the_cap = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Duration delay = backoff.Next(Random::Real());
    ASSERT_GE(delay, Duration::zero());
    ASSERT_LE(delay, seconds(1));
    values.insert(delay);
    if (delay == seconds(1)) ++at_the_cap;
  }
  EXPECT_GT(values.size(), 1000u);
  EXPECT_LT(at_the_cap, kSamples / 100);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CappedJitterTest,
                         testing::Values(Jitter::kFull, Jitter::kEqual,
                                         Jitter::kDecorrelated,
                                         Jitter::kRatio));

// B12
TEST(BackoffTest, CallsFailingTogetherSpreadOverTheDelay) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, seconds(1), Jitter::kFull);
  absl::Mutex mu;
  std::map<int, int> retries_by_bucket;  // of 5 ms
  constexpr int kThreads = 16;
  constexpr int kCalls = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int call = 0; call < kCalls; ++call) {
        Backoff backoff(policy);
        const Duration delay = backoff.Next(Random::Real());
        absl::MutexLock lock(&mu);
        ++retries_by_bucket[static_cast<int>(delay / milliseconds(5))];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [bucket, retries] : retries_by_bucket) {
    EXPECT_LE(retries, kThreads * kCalls * 12 / 100) << bucket;
  }
}

TEST(BackoffTest, RestartBeginsAgainAtTheInitialBackoff) {
  for (const Jitter jitter : {Jitter::kNone, Jitter::kDecorrelated}) {
    const BackoffPolicy policy = Policy(milliseconds(100), 2, hours(1), jitter);
    FixedRandom random(0.5);
    Backoff backoff(policy);
    const Duration first = backoff.Next(random);
    EXPECT_GT(backoff.Next(random), first);
    backoff.Restart();
    EXPECT_EQ(backoff.Next(random), first);
  }
}

TEST(BackoffTest, CopiesContinueFromTheSamePlace) {
  const BackoffPolicy policy =
      Policy(milliseconds(100), 2, hours(1), Jitter::kNone);
  FixedRandom random(0.5);
  Backoff backoff(policy);
  backoff.Next(random);
  Backoff copy = backoff;
  EXPECT_EQ(copy.Next(random), milliseconds(200));
  EXPECT_EQ(backoff.Next(random), milliseconds(200));
}

}  // namespace
}  // namespace grpc_resilience
