#include "grpc_resilience/config.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace grpc_resilience {
namespace {

TEST(ConfigTest, NothingHasToBeSet) {
  const Config config;
  EXPECT_TRUE(config.Validate().ok()) << config.Validate();
  EXPECT_TRUE(config.by_pattern().empty());
  EXPECT_FALSE(config.default_method().has_value());
  EXPECT_TRUE(config.targets().empty());
}

TEST(ConfigTest, AskingAgainGivesTheSamePolicy) {
  Config config;
  MethodPolicy& method = config.Method("/pkg.S/M");
  method.retry.max_attempts = 7;
  MethodPolicy& fallback = config.DefaultMethod();
  fallback.retry.max_attempts = 2;
  TargetConfig& target = config.Target("payments:443");
  target.breaker.window_calls = 50;
  for (int i = 0; i < 100; ++i) {
    config.Method("/pkg.S/M" + std::to_string(i));
    config.Target("target" + std::to_string(i));
  }
  EXPECT_EQ(&config.Method("/pkg.S/M"), &method);
  EXPECT_EQ(&config.DefaultMethod(), &fallback);
  EXPECT_EQ(&config.Target("payments:443"), &target);
  EXPECT_EQ(method.retry.max_attempts, 7);
}

TEST(ConfigTest, PoliciesBeginWithTheLibrarysDefaults) {
  Config config;
  config.DefaultMethod().retry.max_attempts = 9;
  config.DefaultTarget().breaker.window_calls = 50;
  EXPECT_EQ(config.Method("/pkg.S/M").retry.max_attempts, 3);
  EXPECT_EQ(config.Target("payments:443").breaker.window_calls, 20);
  EXPECT_FALSE(config.Target("payments:443").default_method().has_value());
}

TEST(ConfigTest, CopiesAreIndependent) {
  Config config;
  config.Method("/pkg.S/M").retry.max_attempts = 4;
  Config copy = config;
  copy.Method("/pkg.S/M").retry.max_attempts = 5;
  EXPECT_EQ(config.Method("/pkg.S/M").retry.max_attempts, 4);
  const Config moved = std::move(copy);
  EXPECT_EQ(moved.by_pattern().at("/pkg.S/M").retry.max_attempts, 5);
}

// E05
TEST(ConfigTest, TargetsAreLiteralStrings) {
  Config config;
  EXPECT_NE(&config.Target("localhost:1"),
            &config.Target("dns:///localhost:1"));
}

}  // namespace
}  // namespace grpc_resilience
