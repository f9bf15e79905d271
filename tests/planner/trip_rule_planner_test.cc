#include "grpc_resilience/trip_rule_planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "planner/count_window_chain.h"
#include "planner/count_window_rarely.h"
#include "planner/count_window_simulation.h"

namespace grpc_resilience {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double ExactMean(const PlannedRule& rule, double failure_rate) {
  const auto calls = MeanCallsToOpen(rule, failure_rate);
  EXPECT_TRUE(calls.ok()) << calls.status();
  EXPECT_EQ(calls->standard_error, 0);
  return calls->mean;
}

// Failures step up by one token, so the mean time to the next fuller step is
// known from those below: an independent way to the same figure.
double ByRecursion(int tokens, int per_success, double p) {
  std::vector<double> up;
  for (int missing = 0; missing < tokens; ++missing) {
    double again = 0;
    for (int i = std::max(0, missing - per_success); i < missing; ++i) {
      again += up[i];
    }
    up.push_back((1 + (1 - p) * again) / p);
  }
  double sum = 0;
  for (const double calls : up) sum += calls;
  return sum;
}

TEST(PlannedTokenBucketTest, DefaultFindsADeadBackendInSixteenAttempts) {
  EXPECT_DOUBLE_EQ(ExactMean(PlannedTokenBucket(), 1.0), 16);
}

TEST(PlannedTokenBucketTest, DefaultOpensOnceInADayAtThirtyPercent) {
  const OpensPerDay opens =
      FalseOpensPerDay(PlannedTokenBucket(), 0.3, 1417).value();
  EXPECT_NEAR(24 / opens.per_day, 25.5, 0.05);  // hours
  EXPECT_EQ(opens.standard_error, 0);
}

TEST(PlannedTokenBucketTest, AgreesWithTheRecursion) {
  for (const int tokens : {1, 2, 16, 100}) {
    for (const int ratio : {1, 2, 7, 1000}) {
      for (const double p : {0.01, 0.05, 0.3, 0.7, 0.999, 1.0}) {
        const double expected = ByRecursion(tokens, ratio, p);
        const PlannedTokenBucket bucket{tokens, static_cast<double>(ratio)};
        EXPECT_NEAR(ExactMean(bucket, p) / expected, 1, 1e-10)
            << tokens << " tokens, " << ratio << ", " << p;
      }
    }
  }
}

// By hand: 2 tokens, half a token a success. Mean calls to go with nothing (f),
// 0.5 (h), 1 (a) and 1.5 (b) tokens missing:
//   f = 1/p + a    h = 1 + q f + p b    a = 1 + q h    b = 1 + q a
TEST(PlannedTokenBucketTest, FractionsOfATokenCount) {
  constexpr double p = 0.6;
  constexpr double q = 1 - p;
  const double a = (1 + q * (1 + p) + q * q / p) / (1 - q * q - p * q * q);
  EXPECT_NEAR(ExactMean(PlannedTokenBucket{2, 0.5}, p), 1 / p + a, 1e-12);
  EXPECT_NEAR(ExactMean(PlannedTokenBucket{1, 0.5}, 0.25), 4, 1e-12);
}

TEST(PlannedTokenBucketTest, BeyondADoubleIsInfinite) {
  EXPECT_EQ(ExactMean(PlannedTokenBucket{100, 1}, 1e-6), kInfinity);
}

TEST(PlannedTokenBucketTest, RatioKeepsThreeDecimals) {
  EXPECT_DOUBLE_EQ(ExactMean(PlannedTokenBucket{4, 0.2509}, 0.4),
                   ExactMean(PlannedTokenBucket{4, 0.25}, 0.4));
}

TEST(PlannedTokenBucketTest, TooManyStepsAreOutOfRange) {
  const auto calls = MeanCallsToOpen(PlannedTokenBucket{1000, 999.999}, 0.5);
  EXPECT_EQ(calls.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(calls.status().message(),
            "token bucket: token_ratio = 999.999: with max_tokens = 1000 too "
            "fine to be solved; must be a rounder number");
}

TEST(PlannedConsecutiveFailuresTest, ClosedForm) {
  EXPECT_DOUBLE_EQ(ExactMean(PlannedConsecutiveFailures{5}, 1), 5);
  EXPECT_DOUBLE_EQ(ExactMean(PlannedConsecutiveFailures{1}, 0.25), 4);
  // 2 + 4 + 8 + 16 + 32
  EXPECT_DOUBLE_EQ(ExactMean(PlannedConsecutiveFailures{5}, 0.5), 62);
  // One million calls of which nearly all fail: nothing cancels.
  EXPECT_NEAR(ExactMean(PlannedConsecutiveFailures{3}, 1 - 1e-12), 3, 1e-3);
}

TEST(PlannedCountWindowTest, ByHand) {
  // Any failure opens.
  EXPECT_NEAR(ExactMean(PlannedCountWindow{0.1, 10, 1}, 0.2), 5, 1e-9);
  // The same, but not before the fourth call: a failure that's still in the
  // window then doesn't open, only a new one.
  EXPECT_NEAR(ExactMean(PlannedCountWindow{0.1, 10, 4}, 0.2), 3 + 5, 1e-9);
  // All of the last three: three in a row.
  EXPECT_NEAR(ExactMean(PlannedCountWindow{1.0, 3, 3}, 0.5), 14, 1e-9);
  EXPECT_NEAR(ExactMean(PlannedCountWindow{0.5, 20, 10}, 1), 10, 1e-12);
}

// Three in a row at one in a thousand: (p^-3 - 1) / (1 - p).
TEST(PlannedCountWindowTest, RareOpeningsKeepTheirDigits) {
  const double expected = (1e9 - 1) / (1 - 1e-3);
  EXPECT_NEAR(ExactMean(PlannedCountWindow{1.0, 3, 3}, 1e-3) / expected, 1,
              1e-9);
  EXPECT_NEAR(ExactMean(PlannedCountWindow{1.0, 3, 3}, 1e-30) / 1e90, 1, 1e-9);
}

struct Sampled {
  const char* name;
  PlannedCountWindow window;
  double failure_rate;
};

TEST(PlannedCountWindowTest, SimulationAgreesWithTheChain) {
  for (const Sampled& c : {
           Sampled{"outage", {0.5, 15, 5}, 0.9},
           Sampled{"even", {0.5, 15, 10}, 0.5},
           Sampled{"seldom", {0.5, 10, 10}, 0.15},
       }) {
    SCOPED_TRACE(c.name);
    const double exact = internal::ExactCallsToOpen(c.window, c.failure_rate);
    const CallsToOpen simulated =
        internal::SimulatedCallsToOpen(c.window, c.failure_rate);
    EXPECT_LT(simulated.standard_error, 0.06 * simulated.mean);
    EXPECT_NEAR(simulated.mean, exact, 4 * simulated.standard_error);
  }
}

TEST(PlannedCountWindowTest, RareOpeningsAgreeWithTheChain) {
  for (const Sampled& c : {
           Sampled{"full", {0.5, 14, 14}, 0.03},
           Sampled{"early", {0.5, 14, 4}, 0.03},
           Sampled{"two", {0.2, 10, 10}, 0.0005},
       }) {
    SCOPED_TRACE(c.name);
    const double exact = internal::ExactCallsToOpen(c.window, c.failure_rate);
    const CallsToOpen rarely =
        internal::CallsToOpenRarely(c.window, c.failure_rate);
    EXPECT_LT(rarely.standard_error, 0.05 * rarely.mean);
    EXPECT_NEAR(rarely.mean, exact, 4 * rarely.standard_error);
  }
}

TEST(PlannedCountWindowTest, LargeWindowsSayTheirError) {
  const CallsToOpen outage =
      MeanCallsToOpen(PlannedCountWindow{0.5, 100, 100}, 1.0).value();
  EXPECT_EQ(outage.mean, 100);
  const CallsToOpen well =
      MeanCallsToOpen(PlannedCountWindow{0.5, 50, 50}, 0.01).value();
  EXPECT_GT(well.mean, 1e35);
  EXPECT_GT(well.standard_error, 0);
  EXPECT_LT(well.standard_error, 0.05 * well.mean);
}

TEST(PlannedTimeWindowTest, IsACountWindowOfTheCallsItHolds) {
  PlannedTimeWindow window{0.25, std::chrono::milliseconds(100), 2};
  const PlannedCountWindow count = AsCountWindow(window, 30).value();
  EXPECT_EQ(count.window_calls, 3);
  EXPECT_EQ(count.minimum_calls, 2);
  EXPECT_EQ(count.failure_rate_threshold, 0.25);
  EXPECT_EQ(AsCountWindow(window, 19).status().message(),
            "time window: window × calls_per_second = 1: must be in "
            "[2, 100000]");
}

TEST(TripRulePlannerTest, NothingOpensWhereNothingFails) {
  for (const PlannedRule& rule :
       {PlannedRule(PlannedTokenBucket()),
        PlannedRule(PlannedConsecutiveFailures()),
        PlannedRule(PlannedCountWindow()),
        PlannedRule(PlannedCountWindow{0.5, 1000, 10})}) {
    EXPECT_EQ(ExactMean(rule, 0), kInfinity);
    EXPECT_EQ(FalseOpensPerDay(rule, 0, 1000)->per_day, 0);
  }
  EXPECT_EQ(FalseOpensPerDay(PlannedTokenBucket(), 0.5, 0)->per_day, 0);
}

TEST(TripRulePlannerTest, ErrorOfOpensIsInProportion) {
  const PlannedCountWindow window{0.5, 40, 10};
  const CallsToOpen calls = MeanCallsToOpen(window, 0.3).value();
  const OpensPerDay opens = FalseOpensPerDay(window, 0.3, 10).value();
  EXPECT_GT(calls.standard_error, 0);
  EXPECT_DOUBLE_EQ(opens.per_day, 864'000 / calls.mean);
  EXPECT_DOUBLE_EQ(opens.standard_error / opens.per_day,
                   calls.standard_error / calls.mean);
}

TEST(TripRulePlannerTest, SaysWhatIsOutOfRange) {
  struct Case {
    PlannedRule rule;
    double failure_rate;
    const char* message;
  };
  for (const Case& c : {
           Case{PlannedTokenBucket{0, kNan}, 0.5,
                "token bucket: max_tokens = 0: must be in [1, 1000]\n"
                "token bucket: token_ratio = nan: must be in [0.001, 1000]"},
           Case{PlannedTokenBucket{16, 0.0009}, 0.5,
                "token bucket: token_ratio = 0.0009: must be in [0.001, "
                "1000]"},
           Case{PlannedTokenBucket(), 1.5,
                "calls: failure_rate = 1.5: must be in [0, 1]"},
           Case{PlannedTokenBucket(), kNan,
                "calls: failure_rate = nan: must be in [0, 1]"},
           Case{PlannedConsecutiveFailures{0}, 0.5,
                "consecutive failures: consecutive_failures = 0: must be in "
                "[1, 1000000]"},
           Case{PlannedCountWindow{0, 20, 21}, 0.5,
                "count window: failure_rate_threshold = 0: must be in (0, 1]\n"
                "count window: minimum_calls = 21: must be in [1, 20]"},
           Case{PlannedCountWindow{0.5, 0, 1}, 0.5,
                "count window: window_calls = 0: must be in [1, 100000]"},
       }) {
    for (const absl::Status& status :
         {MeanCallsToOpen(c.rule, c.failure_rate).status(),
          FalseOpensPerDay(c.rule, c.failure_rate, 1).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(status.message(), c.message);
    }
  }
  EXPECT_EQ(
      FalseOpensPerDay(PlannedTokenBucket(), 0.5, kInfinity).status().message(),
      "calls: calls_per_second = inf: must be in [0, 1e+09]");
  EXPECT_EQ(AsCountWindow({2, Duration(-1), 0}, kNan).status().message(),
            "time window: failure_rate_threshold = 2: must be in (0, 1]\n"
            "time window: minimum_calls = 0: must be >= 1\n"
            "time window: window in seconds = -1e-09: must be in (0, 86400]\n"
            "time window: calls_per_second = nan: must be in [0, 1e+09]");
}

}  // namespace
}  // namespace grpc_resilience
