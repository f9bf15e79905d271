#include "grpc_resilience/breaker_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using BreakerPtr = std::shared_ptr<CircuitBreaker>;

class BreakerRegistryTest : public ::testing::Test {
 protected:
  static BreakerRegistry::Settings Touchy(const BreakerKey&) {
    return {TouchyPolicy(), {}};
  }
  static void Trip(CircuitBreaker& breaker) {
    breaker.TryAcquire()->Record(Outcome::kFailure);
    ASSERT_EQ(breaker.state(), State::kOpen);
  }
  /// Targets of List(), in its order.
  std::vector<std::string> Targets() const {
    std::vector<std::string> targets;
    for (const BreakerPtr& breaker : registry_.List()) {
      targets.push_back(breaker->key().target);
    }
    return targets;
  }
  BreakerPtr Get(const std::string& target, const std::string& method = "") {
    return registry_.GetOrCreate({target, method});
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
  RecordingSink sink_;
  BreakerRegistry registry_{Touchy, 3, clock_, random_, &sink_};
};

// E05
TEST_F(BreakerRegistryTest, OneKeyIsOneBreakerAndSpellingsAreKeys) {
  const BreakerPtr a = Get("localhost:1");
  EXPECT_EQ(a, Get("localhost:1"));
  EXPECT_NE(a, Get("dns:///localhost:1"));
  EXPECT_NE(a, Get("DNS:localhost:1"));
  EXPECT_EQ(registry_.size(), 3u);
}

TEST_F(BreakerRegistryTest, KeysCannotCollide) {
  EXPECT_NE(Get("a", "/b/c"), Get("a/b", "/c"));
  EXPECT_NE(Get("a", ""), Get("", "a"));
}

// D32
TEST_F(BreakerRegistryTest, MethodsWithOwnKeysDoNotBlockEachOther) {
  const BreakerPtr a = Get("x:1", "/S/A");
  const BreakerPtr b = Get("x:1", "/S/B");
  Trip(*a);
  EXPECT_EQ(b->state(), State::kClosed);
  const BreakerPtr shared = Get("x:1");  // the key of all methods
  Trip(*shared);
  EXPECT_TRUE(Get("x:1")->WouldReject());
}

TEST_F(BreakerRegistryTest, FindCreatesNothing) {
  EXPECT_EQ(registry_.Find({"a", ""}), nullptr);
  EXPECT_EQ(registry_.size(), 0u);
  const BreakerPtr a = Get("a");
  EXPECT_EQ(registry_.Find({"a", ""}), a);
}

TEST_F(BreakerRegistryTest, ListsInTheOrderOfKeys) {
  Get("b");
  Get("c");
  Get("a");
  EXPECT_EQ(Targets(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(BreakerRegistryTest, ListsAPartAfterAKeyThatNeedNotBeThere) {
  const auto targets_after = [&](const std::optional<BreakerKey>& after,
                                 std::size_t most) {
    std::vector<std::string> targets;
    for (const BreakerPtr& breaker : registry_.ListAfter(after, most)) {
      targets.push_back(breaker->key().target);
    }
    return targets;
  };
  using Targets = std::vector<std::string>;
  Get("c");
  Get("a");
  Get("b");
  EXPECT_EQ(targets_after(std::nullopt, 2), (Targets{"a", "b"}));
  EXPECT_EQ(targets_after(BreakerKey{"b", ""}, 2), Targets{"c"});
  EXPECT_EQ(targets_after(BreakerKey{"aa", ""}, 1), Targets{"b"});
  EXPECT_EQ(targets_after(BreakerKey{"c", ""}, 2), Targets{});
}

TEST_F(BreakerRegistryTest, ASnapshotMayLeaveTransitionsOut) {
  const BreakerPtr breaker = Get("a");
  Trip(*breaker);
  EXPECT_EQ(breaker->snapshot().transitions.size(), 1u);
  const BreakerSnapshot without =
      breaker->snapshot(SnapshotParts::kWithoutTransitions);
  EXPECT_EQ(without.transitions.size(), 0u);
  EXPECT_EQ(without.state, State::kOpen);
}

TEST_F(BreakerRegistryTest, DropsTheOldestIdleBreakerBeyondTheCap) {
  Get("a");
  Get("b");
  Get("c");
  Get("d");
  EXPECT_EQ(Targets(), (std::vector<std::string>{"b", "c", "d"}));
}

TEST_F(BreakerRegistryTest, NeverDropsWhatIsHeldOrNotClosed) {
  const BreakerPtr held = Get("a-held");
  Trip(*Get("b-open"));
  {
    const BreakerPtr half_open = Get("c-half-open");
    Trip(*half_open);
    clock_.Advance(seconds(1));
    half_open->TryAcquire();
    ASSERT_EQ(half_open->state(), State::kHalfOpen);
  }
  Get("d");  // over the cap: there is nothing else to drop but itself, later
  Get("e");
  EXPECT_EQ(Targets(),
            (std::vector<std::string>{"a-held", "b-open", "c-half-open", "e"}));
  EXPECT_EQ(registry_.Find({"b-open", ""})->state(), State::kOpen);
}

TEST_F(BreakerRegistryTest, StaysBoundedOverManyTargets) {
  BreakerRegistry registry(Touchy, 1000, clock_, random_, nullptr);
  for (int i = 0; i < 20'000; ++i) {
    registry.GetOrCreate({"target" + std::to_string(i), ""});
    ASSERT_LE(registry.size(), 1000u);
  }
}

TEST_F(BreakerRegistryTest, ADroppedBreakerBeginsAnewButHoldersKeepTheirs) {
  const BreakerPtr a = Get("a");
  Get("b");
  Get("c");
  Get("d");
  EXPECT_EQ(Get("a"), a);  // held, so it was spared
}

// E06
TEST_F(BreakerRegistryTest, ReconfigureReachesEveryBreakerAndKeepsStates) {
  const BreakerPtr a = Get("a");
  Trip(*a);
  clock_.Advance(milliseconds(300));
  registry_.Reconfigure(
      [](const BreakerKey& key) {
        BreakerPolicy policy = TouchyPolicy();
        policy.open_duration = seconds(key.target == "a" ? 60 : 1);
        return BreakerRegistry::Settings{policy, {}};
      },
      3);
  EXPECT_EQ(a->state(), State::kOpen);
  EXPECT_EQ(a->snapshot().retry_after, milliseconds(700));
  clock_.Advance(milliseconds(700));
  a->TryAcquire()->Record(Outcome::kFailure);
  EXPECT_EQ(a->snapshot().retry_after, seconds(60));
}

TEST_F(BreakerRegistryTest, ReconfigureToASmallerCapEvicts) {
  Get("a");
  Get("b");
  Get("c");
  registry_.Reconfigure(Touchy, 1);
  EXPECT_EQ(Targets(), (std::vector<std::string>{"c"}));
}

TEST_F(BreakerRegistryTest, AMuchSmallerCapHoldsAtOnce) {
  BreakerRegistry registry(Touchy, 20'000, clock_, random_, nullptr);
  for (int i = 0; i < 10'000; ++i) {
    registry.GetOrCreate({"target" + std::to_string(i), ""});
  }
  registry.Reconfigure(Touchy, 10);
  EXPECT_EQ(registry.size(), 10u);
}

TEST_F(BreakerRegistryTest, SettingsSourceMayUseTheRegistry) {
  registry_.Reconfigure(
      [this](const BreakerKey& key) {
        registry_.Find(key);
        EXPECT_LE(registry_.size(), 3u);
        return Touchy(key);
      },
      3);
  EXPECT_NE(Get("a"), nullptr);
}

TEST_F(BreakerRegistryTest, NeverDropsWhatAnOperatorHasForced) {
  Get("a-forced")->ForceMode(OperatorMode::kForcedClosed, seconds(60), "bob");
  for (int i = 0; i < 10; ++i) Get("b" + std::to_string(i));
  EXPECT_EQ(registry_.size(), 3u);
  EXPECT_NE(registry_.Find({"a-forced", ""}), nullptr);
  clock_.Advance(seconds(60));  // its time is over, though nobody called
  for (int i = 0; i < 10; ++i) Get("c" + std::to_string(i));
  EXPECT_EQ(registry_.Find({"a-forced", ""}), nullptr);
}

// E01
TEST_F(BreakerRegistryTest, DropsWhatNobodyAskedForInTheIdleTime) {
  registry_.Reconfigure(Touchy, {1000, seconds(60)});
  for (int i = 0; i < 100; ++i) Get("old" + std::to_string(i));
  const BreakerPtr held = Get("held");
  Trip(*Get("open"));
  clock_.Advance(seconds(59));
  Get("old7");
  EXPECT_EQ(registry_.size(), 102u);
  clock_.Advance(seconds(1));
  for (int i = 0; i < 40; ++i) Get("new" + std::to_string(i));
  EXPECT_EQ(registry_.size(), 43u);
  EXPECT_EQ(registry_.Find({"old8", ""}), nullptr);
  EXPECT_NE(registry_.Find({"old7", ""}), nullptr);  // asked for since
  EXPECT_NE(registry_.Find({"open", ""}), nullptr);
  EXPECT_EQ(registry_.Find({"held", ""}), held);
}

// E01
TEST_F(BreakerRegistryTest, AHundredThousandTargetsOnceEachStayUnderTheCap) {
  BreakerRegistry registry(Touchy, {1000, seconds(60)}, clock_, random_,
                           nullptr);
  for (int i = 0; i < 100'000; ++i) {
    registry.GetOrCreate({"target" + std::to_string(i), ""});
    if (i % 1000 == 0) {
      ASSERT_LE(registry.size(), 1000u);
      clock_.Advance(seconds(1));
    }
  }
  EXPECT_LE(registry.size(), 1000u);
}

// E08
TEST_F(BreakerRegistryTest, ABreakerThatWasDroppedServesItsHolders) {
  BreakerPtr a = Get("a");
  Permit permit = *a->TryAcquire();
  {
    BreakerRegistry other(Touchy, 1, clock_, random_, &sink_);
    a = other.GetOrCreate({"b", ""});
  }
  EXPECT_TRUE(a->TryAcquire().has_value());
  permit.Record(Outcome::kSuccess);
}

TEST_F(BreakerRegistryTest, ThreadsThatAskAtOnceShareOneBreaker) {
  BreakerRegistry registry(Touchy, 50, clock_, random_, nullptr);
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const BreakerKey key{std::to_string(i % 100), ""};
        const BreakerPtr a = registry.GetOrCreate(key);
        const BreakerPtr b = registry.GetOrCreate(key);
        if (a != b) different.fetch_add(1);
        if (t == 0 && i % 50 == 0) registry.Reconfigure(Touchy, 50);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different.load(), 0);
  registry.GetOrCreate({"last", ""});
  EXPECT_LE(registry.size(), 50u);
}

}  // namespace
}  // namespace grpc_resilience
