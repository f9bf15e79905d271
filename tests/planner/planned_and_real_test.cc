// What the planner says against rules that are run: the breaker itself, and for
// the rule of consecutive failures the plainest count. 10'000'000 calls in all.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "grpc_resilience/trip_rule_planner.h"

namespace grpc_resilience {
namespace {

constexpr std::uint64_t kSeed = 17;
constexpr int kCallsPerCase = 1'000'000;
// Ten cases: all within four standard errors but once in 1'500 seeds.
constexpr double kStandardErrors = 4;

/// Opens after `limit` failures in a row.
class ConsecutiveFailures {
 public:
  explicit ConsecutiveFailures(int limit) : limit_(limit) {}
  /// True: this outcome opened, and the rule starts again.
  bool Record(bool failed) {
    in_a_row_ = failed ? in_a_row_ + 1 : 0;
    if (in_a_row_ < limit_) return false;
    in_a_row_ = 0;
    return true;
  }

 private:
  const int limit_;
  int in_a_row_ = 0;
};

/// The library's breaker, closed again by its operator whenever it opens.
class RealBreaker {
 public:
  explicit RealBreaker(const BreakerPolicy& policy,
                       const RetryThrottlePolicy& throttle = {})
      : breaker_({"payments:443", ""}, policy, throttle, clock_, random_,
                 nullptr) {}
  bool Record(bool failed) {
    breaker_.TryAcquire()->Record(failed ? Outcome::kFailure
                                         : Outcome::kSuccess);
    if (breaker_.state() == State::kClosed) return false;
    breaker_.Reset();
    return true;
  }

 private:
  FakeClock clock_;
  FixedRandom random_{0.5};
  CircuitBreaker breaker_;
};

template <typename Rule>
void ExpectAsPlanned(const PlannedRule& planned, double failure_rate,
                     Rule&& rule) {
  const CallsToOpen expected = MeanCallsToOpen(planned, failure_rate).value();
  std::mt19937_64 bits(kSeed);
  std::bernoulli_distribution fails(failure_rate);
  double opens = 0;
  double sum = 0;
  double squares = 0;
  int length = 0;
  for (int call = 0; call < kCallsPerCase; ++call) {
    ++length;
    if (!rule.Record(fails(bits))) continue;
    ++opens;
    sum += length;
    squares += static_cast<double>(length) * length;
    length = 0;
  }
  ASSERT_GT(opens, 100);
  const double mean = sum / opens;
  const double variance = squares / opens - mean * mean;
  const double error =
      std::hypot(std::sqrt(variance / opens), expected.standard_error);
  EXPECT_NEAR(mean, expected.mean, kStandardErrors * error + 1e-9)
      << opens << " opens";
}

BreakerPolicy WindowOf(const PlannedCountWindow& window) {
  BreakerPolicy policy;
  policy.failure_rate_threshold = window.failure_rate_threshold;
  policy.window_calls = window.window_calls;
  policy.minimum_calls = window.minimum_calls;
  return policy;
}

void ExpectWindowAsPlanned(const PlannedCountWindow& window,
                           double failure_rate) {
  ExpectAsPlanned(window, failure_rate, RealBreaker(WindowOf(window)));
}

void ExpectBucketAsPlanned(const PlannedTokenBucket& bucket,
                           double failure_rate) {
  ExpectAsPlanned(
      bucket, failure_rate,
      RealBreaker({}, {true, bucket.max_tokens, bucket.token_ratio}));
}

void ExpectConsecutiveAsPlanned(int failures, double failure_rate) {
  ExpectAsPlanned(PlannedConsecutiveFailures{failures}, failure_rate,
                  ConsecutiveFailures(failures));
}

TEST(PlannedAndRealTest, TokenBucketInAnOutage) {
  ExpectBucketAsPlanned({}, 0.9);
}
TEST(PlannedAndRealTest, TokenBucketInABrownOut) {
  ExpectBucketAsPlanned({}, 0.55);
}
TEST(PlannedAndRealTest, TokenBucketWithFractions) {
  ExpectBucketAsPlanned({10, 0.3}, 0.2);
}
TEST(PlannedAndRealTest, CountWindowInAnOutage) {
  ExpectWindowAsPlanned({0.5, 20, 10}, 0.9);
}
TEST(PlannedAndRealTest, CountWindowInABrownOut) {
  ExpectWindowAsPlanned({0.5, 10, 5}, 0.2);
}
TEST(PlannedAndRealTest, FullCountWindow) {
  ExpectWindowAsPlanned({0.5, 15, 15}, 0.25);
}
TEST(PlannedAndRealTest, LargeCountWindow) {
  ExpectWindowAsPlanned({0.5, 100, 20}, 0.4);
}
TEST(PlannedAndRealTest, ConsecutiveFailuresInAnOutage) {
  ExpectConsecutiveAsPlanned(5, 0.9);
}
TEST(PlannedAndRealTest, ConsecutiveFailuresInABrownOut) {
  ExpectConsecutiveAsPlanned(5, 0.3);
}
TEST(PlannedAndRealTest, ManyConsecutiveFailures) {
  ExpectConsecutiveAsPlanned(20, 0.75);
}

}  // namespace
}  // namespace grpc_resilience
