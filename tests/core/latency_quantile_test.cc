#include "core/latency_quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

namespace grpc_resilience::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LatencyQuantileTest, NothingBeforeTheMinimum) {
  LatencyQuantile quantile(0.5, 3);
  quantile.Record(milliseconds(1));
  quantile.Record(milliseconds(1));
  EXPECT_EQ(quantile.Estimate(), std::nullopt);
  quantile.Record(milliseconds(1));
  EXPECT_TRUE(quantile.Estimate().has_value());
}

TEST(LatencyQuantileTest, AtMostThreePercentTooLongNeverTooShort) {
  for (const double q : {0.05, 0.5, 0.95, 0.99}) {
    std::mt19937 random(7);
    std::lognormal_distribution<double> latency_ms(1.5, 1.0);
    LatencyQuantile quantile(q, 1);
    std::vector<Duration> all;
    for (int i = 0; i < 992; ++i) {  // estimated after every 16th
      const auto latency = microseconds(
          static_cast<std::int64_t>(latency_ms(random) * 1000) + 100);
      quantile.Record(latency);
      all.emplace_back(latency);
    }
    std::sort(all.begin(), all.end());
    const auto rank = static_cast<std::size_t>(
        std::ceil(q * static_cast<double>(all.size())));
    const Duration exact = all[rank - 1];
    EXPECT_GT(*quantile.Estimate(), exact) << q;
    EXPECT_LE(*quantile.Estimate(), exact * 104 / 100) << q;
  }
}

TEST(LatencyQuantileTest, FollowsAChange) {
  LatencyQuantile quantile(0.95, 100);
  for (int i = 0; i < 5000; ++i) quantile.Record(milliseconds(10));
  EXPECT_LT(*quantile.Estimate(), milliseconds(11));
  for (int i = 0; i < 2000; ++i) quantile.Record(milliseconds(100));
  EXPECT_GE(*quantile.Estimate(), milliseconds(100));
}

// What is cut off at the estimate stays above it.
TEST(LatencyQuantileTest, CutOffAttemptsDoNotPullItDown) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> latency_us(1000, 2000);
  LatencyQuantile quantile(0.95, 100);
  int cut_off = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Duration latency = microseconds(latency_us(random));
    const auto estimate = quantile.Estimate();
    if (estimate && latency > *estimate) {
      ++cut_off;
      quantile.Record(*estimate);
    } else {
      quantile.Record(latency);
    }
  }
  EXPECT_NEAR(cut_off / 20'000.0, 0.05, 0.02);
}

TEST(LatencyQuantileTest, TakesAnyLatency) {
  LatencyQuantile quantile(0.5, 1);
  for (const Duration latency :
       {Duration::min(), Duration(-1), Duration::zero(), Duration(1),
        Duration::max()}) {
    quantile.Record(latency);
  }
  EXPECT_GT(*quantile.Estimate(), Duration::zero());
}

}  // namespace
}  // namespace grpc_resilience::internal
