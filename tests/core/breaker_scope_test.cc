// Which breaker a call belongs to.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/circuit_breaker_fixture.h"
#include "core/custom_keys.h"
#include "grpc_resilience/resilience.h"

namespace grpc_resilience {
namespace {

using std::chrono::seconds;

class BreakerScopeTest : public ::testing::Test {
 protected:
  void Build(Config config) {
    Resilience::Ports ports;
    ports.clock = &clock_;
    ports.random = &random_;
    auto resilience = Resilience::Create(std::move(config), ports);
    ASSERT_TRUE(resilience.ok()) << resilience.status();
    resilience_ = *std::move(resilience);
  }
  static void UseFunction(TargetConfig& target, BreakerKeyFunction function) {
    target.breaker.scope = BreakerScope::kKeyFunction;
    target.breaker.key_function = std::move(function);
  }
  std::shared_ptr<CircuitBreaker> Get(std::string_view target,
                                      std::string_view method) {
    return resilience_->registry().GetOrCreate(
        resilience_->BreakerKeyFor(target, method));
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
  std::shared_ptr<Resilience> resilience_;
};

// D32
TEST_F(BreakerScopeTest, PerTargetOneBadMethodOpensForAll) {
  Config config;
  config.DefaultTarget().breaker = TouchyPolicy();
  Build(std::move(config));
  Get("x:1", "/S/A")->TryAcquire()->Record(Outcome::kFailure);
  EXPECT_TRUE(Get("x:1", "/S/B")->WouldReject());
  EXPECT_FALSE(Get("y:1", "/S/A")->WouldReject());
}

// D32
TEST_F(BreakerScopeTest, PerMethodTheOthersStayClosed) {
  Config config;
  config.DefaultTarget().breaker = TouchyPolicy();
  config.DefaultTarget().breaker.scope = BreakerScope::kTargetAndMethod;
  Build(std::move(config));
  Get("x:1", "/S/A")->TryAcquire()->Record(Outcome::kFailure);
  EXPECT_TRUE(Get("x:1", "/S/A")->WouldReject());
  EXPECT_FALSE(Get("x:1", "/S/B")->WouldReject());
}

// E05
TEST_F(BreakerScopeTest, AKeyFunctionMayJoinTargetsAndSplitMethods) {
  Config config;
  UseFunction(config.DefaultTarget(), [](auto target, auto method) {
    return std::string(target.substr(target.rfind('/') + 1)) + "#" +
           std::string(method.substr(0, 2));
  });
  Build(std::move(config));
  EXPECT_EQ(Get("localhost:1", "/a"), Get("dns:///localhost:1", "/a"));
  EXPECT_NE(Get("localhost:1", "/a"), Get("localhost:1", "/b"));
  EXPECT_EQ(Get("localhost:1", "/a")->key(),
            (BreakerKey{"", "", "localhost:1#/a"}));
}

TEST_F(BreakerScopeTest, ACustomKeyIsNoTargetOfThatName) {
  Config config;
  UseFunction(config.Target("x:1"),
              [](auto, auto) { return std::string("y:1"); });
  Build(std::move(config));
  EXPECT_NE(Get("x:1", "/a"), Get("y:1", "/a"));
}

TEST_F(BreakerScopeTest, TheTargetThatCameFirstGivesTheSettings) {
  Config config;
  const auto same = [](auto, auto) { return std::string("k"); };
  config.Target("touchy:1").breaker = TouchyPolicy();
  UseFunction(config.Target("touchy:1"), same);
  UseFunction(config.Target("patient:1"), same);
  Config later = config;
  Build(std::move(config));
  const auto breaker = Get("touchy:1", "/a");
  EXPECT_EQ(Get("patient:1", "/a"), breaker);
  ASSERT_TRUE(resilience_->Update(std::move(later)).ok());
  breaker->TryAcquire()->Record(Outcome::kFailure);
  EXPECT_EQ(breaker->state(), State::kOpen);
}

TEST_F(BreakerScopeTest, BeyondTheCapCallsShareOneBreaker) {
  Config config;
  config.max_custom_keys = 3;
  UseFunction(config.DefaultTarget(),
              [](auto, auto method) { return std::string(method); });
  Build(std::move(config));
  for (int i = 0; i < 100; ++i) Get("x:1", "/m" + std::to_string(i));
  EXPECT_EQ(resilience_->registry().size(), 4u);
  EXPECT_EQ(resilience_->BreakerKeyFor("x:1", "/m2").custom, "/m2");
  EXPECT_EQ(resilience_->BreakerKeyFor("x:1", "/m3").custom, kOverflowKey);
  EXPECT_EQ(Get("x:1", "/m3"), Get("x:1", "/m99"));
}

TEST_F(BreakerScopeTest, AFunctionThatThrowsOrSaysNothingMeansTheTarget) {
  Config config;
  UseFunction(config.DefaultTarget(), [](auto, auto method) -> std::string {
    if (method == "/throws") throw std::runtime_error("no");
    return "";
  });
  Build(std::move(config));
  EXPECT_EQ(resilience_->BreakerKeyFor("x:1", "/throws"),
            (BreakerKey{"x:1", ""}));
  EXPECT_EQ(resilience_->BreakerKeyFor("x:1", "/empty"),
            (BreakerKey{"x:1", ""}));
}

TEST_F(BreakerScopeTest, OperatorsReachABreakerByItsKey) {
  Build(Config());
  const BreakerKey key{"x:1", ""};
  EXPECT_EQ(resilience_
                ->ForceBreakerMode(key, OperatorMode::kForcedOpen, std::nullopt,
                                   "bob")
                .code(),
            absl::StatusCode::kNotFound);
  const auto breaker = Get("x:1", "/a");
  EXPECT_EQ(
      resilience_
          ->ForceBreakerMode(key, OperatorMode::kForcedOpen, seconds(0), "bob")
          .code(),
      absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(breaker->WouldReject());
  ASSERT_TRUE(
      resilience_
          ->ForceBreakerMode(key, OperatorMode::kForcedOpen, seconds(1), "bob")
          .ok());
  EXPECT_TRUE(breaker->WouldReject());
  EXPECT_EQ(resilience_->FindBreaker(key)->mode_reason, "bob");
  EXPECT_TRUE(resilience_->ResetBreaker(key).ok());
  EXPECT_EQ(
      std::string(resilience_->ResetBreaker(BreakerKey{"", "", "k"}).message()),
      "no breaker of custom key \"k\"");
}

TEST(CustomKeysTest, KeepsWhatItHasWhenTheLimitShrinks) {
  internal::CustomKeys keys(2);
  keys.KeyOf("a", "t1");
  keys.KeyOf("b", "t2");
  keys.SetLimit(1);
  EXPECT_EQ(keys.KeyOf("b", "t3").custom, "b");
  EXPECT_EQ(keys.TargetOf("b"), "t2");
  EXPECT_EQ(keys.KeyOf("c", "t4").custom, kOverflowKey);
  EXPECT_EQ(keys.TargetOf(std::string(kOverflowKey)), "t4");
  EXPECT_EQ(keys.TargetOf("c"), "");
}

}  // namespace
}  // namespace grpc_resilience
