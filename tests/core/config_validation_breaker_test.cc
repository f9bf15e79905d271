// What is wrong with the settings of a breaker is named, each fault by itself.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/config_validation.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Change = std::function<void(BreakerPolicy&)>;

std::string FaultsOf(const Change& change) {
  Config config;
  change(config.Target("t:1").breaker);
  return std::string(ValidateConfig(config).message());
}

struct Case {
  Change change;
  std::string fault;
};

void ExpectFaults(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(FaultsOf(c.change), "target \"t:1\": breaker." + c.fault);
  }
}

// A share that is out of range in each of the ways there are.
std::vector<double> BadShares() {
  return {0.0, -1.0, 1.01, kNaN, kInfinity, -kInfinity};
}

std::string Text(double value) {
  std::string text = std::to_string(value);
  if (value == 0.0) text = "0";
  if (value == -1.0) text = "-1";
  if (value == 1.01) text = "1.01";
  return text;
}

// D18
TEST(ConfigValidationBreakerTest, RatesAreShares) {
  for (const double bad : BadShares()) {
    EXPECT_EQ(FaultsOf([&](auto& b) { b.failure_rate_threshold = bad; }),
              "target \"t:1\": breaker.failure_rate_threshold = " + Text(bad) +
                  ": must be in (0, 1]");
    EXPECT_EQ(FaultsOf([&](auto& b) {
                b.slow_call_rate_threshold = bad;
                b.slow_call_duration = seconds(1);
              }),
              "target \"t:1\": breaker.slow_call_rate_threshold = " +
                  Text(bad) + ": must be in (0, 1]");
  }
}

// D18
TEST(ConfigValidationBreakerTest, RulesAndWindows) {
  ExpectFaults({
      {[](auto& b) { b.consecutive_failures = 0; },
       "consecutive_failures = 0: must be in [1, 1000000]"},
      {[](auto& b) { b.consecutive_failures = -1; },
       "consecutive_failures = -1: must be in [1, 1000000]"},
      {[](auto& b) { b.consecutive_failures = 1'000'001; },
       "consecutive_failures = 1000001: must be in [1, 1000000]"},
      {[](auto& b) { b.slow_call_rate_threshold = 0.5; },
       "slow_call_rate_threshold: needs breaker.slow_call_duration"},
      {[](auto& b) { b.slow_call_duration = seconds(0); },
       "slow_call_duration = 0 s: must be > 0"},
      {[](auto& b) { b.slow_call_duration = milliseconds(-5); },
       "slow_call_duration = -5 ms: must be > 0"},
      {[](auto& b) { b.window_duration = seconds(0); },
       "window_duration = 0 s: must be > 0"},
      {[](auto& b) { b.window_duration = seconds(-1); },
       "window_duration = -1 s: must be > 0"},
      {[](auto& b) { b.window_duration = Duration(9); },
       "window_duration = 9 ns: must be >= 1 ns for each of "
       "breaker.window_buckets (10 ns)"},
      {[](auto& b) { b.window_buckets = 0; },
       "window_buckets = 0: must be in [1, 1000]"},
      {[](auto& b) { b.window_buckets = 1001; },
       "window_buckets = 1001: must be in [1, 1000]"},
      {[](auto& b) {
         b.window_duration = seconds(1);
         b.minimum_calls = 0;
       },
       "minimum_calls = 0: must be in [1, 1000000]"},
      {[](auto& b) { b.trip_on_empty_bucket = false; },
       "trip_on_empty_bucket = false: must be true when no other trip rule is "
       "set (mode = kDisabled switches the breaker off)"},
  });
}

TEST(ConfigValidationBreakerTest, OpenAndHalfOpen) {
  ExpectFaults({
      {[](auto& b) { b.open_duration_reset_after = Duration(-1); },
       "open_duration_reset_after = -1 ns: must be >= 0"},
      {[](auto& b) { b.half_open_per_attempt_timeout = seconds(0); },
       "half_open_per_attempt_timeout = 0 s: must be > 0"},
      {[](auto& b) { b.half_open_per_attempt_timeout = seconds(-1); },
       "half_open_per_attempt_timeout = -1 s: must be > 0"},
      {[](auto& b) { b.half_open_ramp_step = seconds(0); },
       "half_open_ramp_step = 0 s: must be > 0"},
      {[](auto& b) { b.half_open_ramp = {0.5}; },
       "half_open_ramp: must be empty when the token bucket is the only trip "
       "rule, which starts slowly by itself"},
  });
}

TEST(ConfigValidationBreakerTest, TheRampGrowsBetween0And1) {
  const auto ramp = [](std::vector<double> shares) {
    return FaultsOf([&](auto& b) {
      b.consecutive_failures = 5;
      b.half_open_ramp = shares;
    });
  };
  const std::string place = "target \"t:1\": breaker.half_open_ramp ";
  EXPECT_EQ(ramp({0.05, 0.25}), "");
  EXPECT_EQ(ramp({0.0}), place + "contains 0: must be in (0, 1)");
  EXPECT_EQ(ramp({-0.5}), place + "contains -0.5: must be in (0, 1)");
  EXPECT_EQ(ramp({1.0}), place + "contains 1: must be in (0, 1)");
  EXPECT_EQ(ramp({kNaN}), place + "contains nan: must be in (0, 1)");
  EXPECT_EQ(ramp({kInfinity}), place + "contains inf: must be in (0, 1)");
  EXPECT_EQ(
      ramp({0.5, 0.5}),
      place + "contains 0.5: must be greater than the share before (0.5)");
  std::vector<double> eleven;
  for (int i = 1; i <= 11; ++i) eleven.push_back(i / 100.0);
  EXPECT_EQ(ramp(eleven),
            "target \"t:1\": breaker.half_open_ramp = 11 shares: must be at "
            "most 10");
}

TEST(ConfigValidationBreakerTest, ScopeAndCounts) {
  ExpectFaults({
      {[](auto& b) { b.scope = BreakerScope::kKeyFunction; },
       "key_function: must be set with scope = kKeyFunction"},
      {[](auto& b) {
         b.key_function = [](auto, auto) { return std::string("k"); };
       },
       "key_function: is set, but scope isn't kKeyFunction"},
      {[](auto& b) { b.scope = static_cast<BreakerScope>(3); },
       "scope = 3: not a value of its enum"},
      {[](auto& b) { b.counts = static_cast<BreakerCounts>(2); },
       "counts = 2: not a value of its enum"},
      {[](auto& b) { b.mode = static_cast<BreakerMode>(-1); },
       "mode = -1: not a value of its enum"},
  });
}

TEST(ConfigValidationBreakerTest, LimitsOfTheWholeConfig) {
  const auto faults = [](const std::function<void(Config&)>& change) {
    Config config;
    change(config);
    return std::string(ValidateConfig(config).message());
  };
  EXPECT_EQ(faults([](Config& c) { c.max_custom_keys = 0; }),
            "config: max_custom_keys = 0: must be in [1, 1000000]");
  EXPECT_EQ(faults([](Config& c) { c.max_custom_keys = -1; }),
            "config: max_custom_keys = -1: must be in [1, 1000000]");
  EXPECT_EQ(faults([](Config& c) { c.breaker_idle_time = milliseconds(999); }),
            "config: breaker_idle_time = 999 ms: must be >= 1 s");
  EXPECT_EQ(faults([](Config& c) { c.breaker_idle_time = seconds(1); }), "");
}

TEST(ConfigValidationBreakerTest, TheEndsOfEveryRangeAreAllowed) {
  EXPECT_EQ(FaultsOf([](BreakerPolicy& b) {
              b.scope = BreakerScope::kKeyFunction;
              b.key_function = [](auto, auto) { return std::string("k"); };
              b.counts = BreakerCounts::kCalls;
              b.trip_on_empty_bucket = false;
              b.failure_rate_threshold = 1.0;
              b.slow_call_rate_threshold = 1.0;
              b.slow_call_duration = Duration(1);
              b.consecutive_failures = 1'000'000;
              b.window_duration = Duration(1000);
              b.window_buckets = 1000;
              b.minimum_calls = 1'000'000;
              b.open_duration_reset_after = Duration::zero();
              b.half_open_per_attempt_timeout = Duration(1);
              b.half_open_ramp = {0.001, 0.999};
              b.half_open_ramp_step = Duration(1);
            }),
            "");
}

TEST(ConfigValidationBreakerTest, AllFaultsComeAtOnce) {
  EXPECT_EQ(FaultsOf([](BreakerPolicy& b) {
              b.failure_rate_threshold = 0.0;
              b.consecutive_failures = 0;
              b.window_buckets = 0;
              b.half_open_ramp_step = seconds(0);
            }),
            "target \"t:1\": breaker.failure_rate_threshold = 0: must be in "
            "(0, 1]\n"
            "target \"t:1\": breaker.consecutive_failures = 0: must be in [1, "
            "1000000]\n"
            "target \"t:1\": breaker.window_buckets = 0: must be in [1, 1000]\n"
            "target \"t:1\": breaker.half_open_ramp_step = 0 s: must be > 0");
}

}  // namespace
}  // namespace grpc_resilience::internal
