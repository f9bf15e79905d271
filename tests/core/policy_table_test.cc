#include "core/policy_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace grpc_resilience::internal {
namespace {

// max_attempts tells the policies apart.
int AttemptsFor(const PolicyTable& table, std::string_view target,
                std::string_view method) {
  return table.ForMethod(target, method).policy->retry.max_attempts;
}

// E07
TEST(PolicyTableTest, TheMostSpecificMethodWinsInAnyOrderOfSetting) {
  std::vector<int> order = {0, 1, 2};
  const std::function<void(Config&)> settings[] = {
      [](Config& c) { c.DefaultMethod().retry.max_attempts = 1; },
      [](Config& c) { c.Method("/pkg.S/*").retry.max_attempts = 2; },
      [](Config& c) { c.Method("/pkg.S/M").retry.max_attempts = 4; },
  };
  do {
    Config config;
    for (const int i : order) settings[i](config);
    const PolicyTable table(std::move(config));
    EXPECT_EQ(AttemptsFor(table, "any", "/pkg.S/M"), 4);
    EXPECT_EQ(AttemptsFor(table, "any", "/pkg.S/Other"), 2);
    EXPECT_EQ(AttemptsFor(table, "any", "/pkg.S/MM"), 2);
    EXPECT_EQ(AttemptsFor(table, "any", "/pkg.S2/M"), 1);
    EXPECT_EQ(AttemptsFor(table, "any", "/other.T/M"), 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

class SpecificityTest : public testing::Test {
 protected:
  SpecificityTest() : table_(MakeConfig()) {}

  static Config MakeConfig() {
    Config config;
    config.DefaultMethod().retry.max_attempts = 1;
    config.Method("/pkg.S/*").retry.max_attempts = 2;
    config.Method("/pkg.S/M").retry.max_attempts = 4;
    config.Target("own").Method("/pkg.S/*").retry.max_attempts = 5;
    config.Target("own").Method("/pkg.S/N").retry.max_attempts = 6;
    config.Target("whole").DefaultMethod().retry.max_attempts = 7;
    config.Target("bare").breaker.window_calls = 50;
    return config;
  }

  std::string Rule(std::string_view target, std::string_view method) const {
    return table_.ForMethod(target, method).rule;
  }

  PolicyTable table_;
};

TEST_F(SpecificityTest, TheTargetsOwnPoliciesComeBeforeTheGeneral) {
  EXPECT_EQ(AttemptsFor(table_, "own", "/pkg.S/N"), 6);
  EXPECT_EQ(AttemptsFor(table_, "own", "/pkg.S/M"), 5);  // own wildcard
  EXPECT_EQ(AttemptsFor(table_, "own", "/pkg.T/M"), 1);
  EXPECT_EQ(AttemptsFor(table_, "whole", "/pkg.S/M"), 7);
}

TEST_F(SpecificityTest, ATargetWithoutADefaultMethodUsesTheGeneralPolicies) {
  EXPECT_EQ(AttemptsFor(table_, "bare", "/pkg.S/M"), 4);
  EXPECT_EQ(AttemptsFor(table_, "bare", "/pkg.T/M"), 1);
}

TEST_F(SpecificityTest, RulesNameWhereAPolicyCameFrom) {
  EXPECT_EQ(Rule("own", "/pkg.S/N"), "target own, method /pkg.S/N");
  EXPECT_EQ(Rule("own", "/pkg.S/M"), "target own, method /pkg.S/*");
  EXPECT_EQ(Rule("whole", "/pkg.S/M"), "target whole, default method");
  EXPECT_EQ(Rule("other", "/pkg.S/M"), "method /pkg.S/M");
  EXPECT_EQ(Rule("other", "/pkg.S/N"), "method /pkg.S/*");
  EXPECT_EQ(Rule("other", "/pkg.T/N"), "default method");
}

TEST(PolicyTableTest, WithoutPoliciesTheLibrarysDefaultsApply) {
  const PolicyTable table{Config()};
  const PolicyTable::Match match = table.ForMethod("any", "/pkg.S/M");
  EXPECT_EQ(match.policy->retry.max_attempts, RetryPolicy().max_attempts);
  EXPECT_EQ(match.rule, "library defaults");
}

TEST(PolicyTableTest, TargetsWithoutTheirOwnUseTheDefaultTarget) {
  Config config;
  config.DefaultTarget().breaker.window_calls = 30;
  config.DefaultTarget().Method("/pkg.S/M").retry.max_attempts = 8;
  config.Method("/pkg.S/M").retry.max_attempts = 4;
  config.Target("own").breaker.window_calls = 50;
  const PolicyTable table(std::move(config));

  EXPECT_EQ(table.ForTarget("own").breaker.window_calls, 50);
  EXPECT_EQ(table.ForTarget("dns:///own").breaker.window_calls, 30);  // E05
  EXPECT_EQ(AttemptsFor(table, "own", "/pkg.S/M"), 4);
  EXPECT_EQ(AttemptsFor(table, "other", "/pkg.S/M"), 8);
  EXPECT_EQ(table.ForMethod("other", "/pkg.S/M").rule,
            "default target, method /pkg.S/M");
}

TEST(PolicyTableTest, MalformedMethodNamesGetADefault) {
  Config config;
  config.Method("/pkg.S/*").retry.max_attempts = 2;
  config.DefaultMethod().retry.max_attempts = 1;
  const PolicyTable table(std::move(config));
  for (const char* method : {"", "/", "M", "pkg.S/M", "/pkg.S", "/pkg.S/a/b"}) {
    EXPECT_EQ(AttemptsFor(table, "any", method), 1) << method;
  }
}

}  // namespace
}  // namespace grpc_resilience::internal
