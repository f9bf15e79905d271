// The default bucket, as retry budget and trip rule, under simulated traffic. The
// expected figures are those of a separate simulation of the same rules, made
// before there was a library, with seeds of its own.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/traffic_simulation.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// As gRPC's retryPolicy is mostly written; else the defaults: 50 ms -> 1 s x2,
// full jitter.
RetryPolicy FourAttempts() {
  RetryPolicy retry;
  retry.max_attempts = 4;
  return retry;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double AsSeconds(Duration length) {
  return std::chrono::duration<double>(length).count();
}

// --- Brown-outs: a steady share of the attempts fails
// ----------------------------

struct BrownOut {
  std::vector<double> success_percent;
  std::vector<double> attempts_per_call;
};

BrownOut RunBrownOut(double failure_rate, int runs,
                     const RetryPolicy& retry = FourAttempts()) {
  BrownOut result;
  for (int seed = 1; seed <= runs; ++seed) {
    Traffic traffic;
    traffic.failure_rate = [failure_rate](Duration) { return failure_rate; };
    TrafficSimulation simulation(traffic, retry, seed);
    const TrafficCount count = simulation.RunToTheEnd(seconds(20));
    result.success_percent.push_back(count.success_percent());
    result.attempts_per_call.push_back(count.attempts_per_call());
  }
  return result;
}

double Worst(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Elsewhere: 99.17 % [worst 99.05] at 1.416. Without any limit 4 attempts reach
// 1 - 0.3^4 = 99.19 % at 1 + 0.3 + 0.3^2 + 0.3^3 = 1.417.
TEST(RetryBudgetSimulationTest, ThirtyPercentFail) {
  const BrownOut result = RunBrownOut(0.3, 12);
  EXPECT_NEAR(MeanOf(result.success_percent), 99.17, 0.05);
  EXPECT_GE(Worst(result.success_percent), 98.95);
  EXPECT_NEAR(MeanOf(result.attempts_per_call), 1.416, 0.005);
}

// Elsewhere: 97.3 % and 99.74 %.
TEST(RetryBudgetSimulationTest, ThirtyPercentFailWithOtherMaxAttempts) {
  RetryPolicy retry = FourAttempts();
  retry.max_attempts = 3;
  EXPECT_NEAR(MeanOf(RunBrownOut(0.3, 3, retry).success_percent), 97.3, 0.1);
  retry.max_attempts = 5;
  EXPECT_NEAR(MeanOf(RunBrownOut(0.3, 3, retry).success_percent), 99.74, 0.06);
}

// Elsewhere: 100 % at 1.052.
TEST(RetryBudgetSimulationTest, FivePercentFail) {
  const BrownOut result = RunBrownOut(0.05, 6);
  EXPECT_GE(Worst(result.success_percent), 99.99);
  EXPECT_NEAR(MeanOf(result.attempts_per_call), 1.0525, 0.0025);
}

// Elsewhere: 87 % and 27 %. Runs differ widely where the breaker flaps.
TEST(RetryBudgetSimulationTest, FiftyAndSixtyPercentFail) {
  EXPECT_NEAR(MeanOf(RunBrownOut(0.5, 5).success_percent), 87, 3);
  EXPECT_NEAR(MeanOf(RunBrownOut(0.6, 5).success_percent), 27, 5);
}

// --- Outages: from the third second on every attempt fails
// -----------------------

Traffic WithOutage(Duration length) {
  Traffic traffic;
  traffic.failure_rate = [length](Duration at) {
    return at >= seconds(2) && at < seconds(2) + length ? 1.0 : 0.0;
  };
  return traffic;
}

struct Outage {
  std::vector<double> attempts_per_call;  // while it lasts
  std::vector<double> seconds_to_close;   // after it
};

Outage RunOutage(Duration length, int runs) {
  Outage result;
  for (int seed = 1; seed <= runs; ++seed) {
    TrafficSimulation simulation(WithOutage(length), FourAttempts(), seed);
    simulation.Run(seconds(2));
    const TrafficCount count = simulation.Run(length);
    result.attempts_per_call.push_back(count.attempts_per_call());
    result.seconds_to_close.push_back(AsSeconds(simulation.TimeUntil(
        [&] { return simulation.closed_breakers() == 1; })));
  }
  return result;
}

// Elsewhere: 0.014 [0.015] attempts per call; closed after 0.06 s [0.10].
TEST(RetryBudgetSimulationTest, AnOutageOfFourSeconds) {
  const Outage result = RunOutage(seconds(4), 14);
  EXPECT_NEAR(MeanOf(result.attempts_per_call), 0.014, 0.001);
  EXPECT_LE(MeanOf(result.seconds_to_close), 0.1);
  for (const double time : result.seconds_to_close) EXPECT_LE(time, 0.15);
}

// Elsewhere: 0.010.
TEST(RetryBudgetSimulationTest, AnOutageOfAMinute) {
  const Outage result = RunOutage(seconds(60), 3);
  EXPECT_NEAR(MeanOf(result.attempts_per_call), 0.010, 0.0005);
  EXPECT_LE(MeanOf(result.seconds_to_close), 0.1);
}

// Each client sees too little to find out soon. Elsewhere: 0.49 attempts per call,
// 0.17 in the last 20 s; healed after 5.2 s.
TEST(RetryBudgetSimulationTest, AThousandClientsInAnOutageOfAMinute) {
  Traffic traffic = WithOutage(seconds(60));
  traffic.clients = 1000;
  TrafficSimulation simulation(traffic, FourAttempts(), /*seed=*/1);
  simulation.Run(seconds(2));
  const TrafficCount first = simulation.Run(seconds(40));
  const TrafficCount last = simulation.Run(seconds(20));
  EXPECT_NEAR(
      1.0 * (first.attempts + last.attempts) / (first.calls + last.calls), 0.49,
      0.02);
  EXPECT_NEAR(last.attempts_per_call(), 0.17, 0.02);
  // 99 % of the calls of a quarter of a second.
  int quarters = 1;
  while (quarters < 100 &&
         simulation.Run(milliseconds(250)).success_percent() < 99) {
    ++quarters;
  }
  EXPECT_NEAR(0.25 * quarters, 5.2, 0.8);
}

}  // namespace
}  // namespace grpc_resilience::internal
