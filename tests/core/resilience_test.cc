#include "grpc_resilience/resilience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"
#include "grpc_resilience/testing/recording_observer.h"

namespace grpc_resilience {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class ResilienceTest : public testing::Test {
 protected:
  std::shared_ptr<Resilience> Create(Config config) {
    Resilience::Ports ports;
    ports.clock = clock_.get();
    ports.random = &random_;
    ports.timer = clock_;
    auto resilience = Resilience::Create(std::move(config), ports);
    EXPECT_TRUE(resilience.ok()) << resilience.status();
    return *std::move(resilience);
  }

  // Opens after 2 failures, for 1 s.
  static Config QuickToOpen() {
    Config config;
    BreakerPolicy& breaker = config.DefaultTarget().breaker;
    breaker.failure_rate_threshold = 0.5;
    breaker.minimum_calls = 2;
    breaker.open_duration = seconds(1);
    return config;
  }

  static void Fail(CircuitBreaker& breaker, int times) {
    for (int i = 0; i < times; ++i) {
      breaker.TryAcquire()->Record(Outcome::kFailure, StatusCode::UNAVAILABLE);
    }
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  FixedRandom random_{0.5};
};

// --- Creation and policies
// -------------------------------------------------------

TEST_F(ResilienceTest, NothingHasToBeSet) {
  const auto resilience = Resilience::Create(Config());
  ASSERT_TRUE(resilience.ok());
  const auto policy = (*resilience)->Resolve("any", "/pkg.S/M");
  EXPECT_EQ(policy.method.retry.max_attempts, 3);
  EXPECT_EQ(policy.throttle.max_tokens, 16);
  EXPECT_EQ(policy.rule, "library defaults");
  EXPECT_EQ((*resilience)->timer(), nullptr);
  EXPECT_EQ(&(*resilience)->clock(), &Clock::Real());
}

TEST_F(ResilienceTest, ABadConfigIsRefusedWithEveryFault) {
  Config config;
  config.DefaultMethod().retry.max_attempts = 0;
  config.Target("t:1").breaker.half_open_calls = 0;
  const auto resilience = Resilience::Create(config);
  ASSERT_FALSE(resilience.ok());
  EXPECT_TRUE(absl::IsInvalidArgument(resilience.status()));
  const std::string faults(resilience.status().message());
  EXPECT_THAT(faults, HasSubstr("default method: retry.max_attempts = 0"));
  EXPECT_THAT(faults, HasSubstr("target \"t:1\": breaker.half_open_calls = 0"));
}

TEST_F(ResilienceTest, PortsWithoutAClockOrRandomAreRefused) {
  Resilience::Ports ports;
  ports.clock = nullptr;
  EXPECT_TRUE(
      absl::IsInvalidArgument(Resilience::Create(Config(), ports).status()));
  ports = Resilience::Ports();
  ports.random = nullptr;
  EXPECT_TRUE(
      absl::IsInvalidArgument(Resilience::Create(Config(), ports).status()));
}

TEST_F(ResilienceTest, ResolveJoinsTheTargetsAndTheMethodsPolicy) {
  Config config;
  config.Method("/pkg.S/M").retry.max_attempts = 4;
  config.Target("own").breaker.window_calls = 50;
  config.Target("own").throttle.max_tokens = 7;
  const auto resilience = Create(std::move(config));
  const auto policy = resilience->Resolve("own", "/pkg.S/M");
  EXPECT_EQ(policy.method.retry.max_attempts, 4);
  EXPECT_EQ(policy.breaker.window_calls, 50);
  EXPECT_EQ(policy.throttle.max_tokens, 7);
  EXPECT_EQ(policy.rule, "method /pkg.S/M");
  EXPECT_EQ(resilience->Resolve("other", "/pkg.S/M").breaker.window_calls, 20);
}

TEST_F(ResilienceTest, UpdateReplacesThePolicies) {
  const auto resilience = Create(Config());
  const auto version = resilience->version();
  Config config;
  config.DefaultMethod().retry.max_attempts = 5;
  EXPECT_TRUE(resilience->Update(std::move(config)).ok());
  EXPECT_GT(resilience->version(), version);
  EXPECT_EQ(resilience->Resolve("t", "/pkg.S/M").method.retry.max_attempts, 5);
}

TEST_F(ResilienceTest, ABadUpdateChangesNothing) {
  Config good;
  good.DefaultMethod().retry.max_attempts = 5;
  const auto resilience = Create(std::move(good));
  const auto version = resilience->version();
  Config bad;
  bad.DefaultMethod().retry.max_attempts = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(resilience->Update(std::move(bad))));
  EXPECT_EQ(resilience->version(), version);
  EXPECT_EQ(resilience->Resolve("t", "/pkg.S/M").method.retry.max_attempts, 5);
}

// E06
TEST_F(ResilienceTest, UpdateLeavesAnOpenBreakerOpen) {
  const auto resilience = Create(QuickToOpen());
  const auto breaker = resilience->registry().GetOrCreate({"t", ""});
  Fail(*breaker, 2);
  clock_->Advance(milliseconds(300));
  Config config = QuickToOpen();
  config.DefaultTarget().breaker.failure_rate_threshold = 0.9;
  config.DefaultTarget().breaker.open_duration = hours(1);
  ASSERT_TRUE(resilience->Update(std::move(config)).ok());
  EXPECT_EQ(breaker->state(), State::kOpen);
  EXPECT_EQ(breaker->snapshot().retry_after, milliseconds(700));
  // New breakers are made with the new settings.
  const auto other = resilience->registry().GetOrCreate({"u", ""});
  Fail(*other, 2);
  EXPECT_EQ(other->snapshot().retry_after, hours(1));
}

// --- Breakers
// --------------------------------------------------------------------

TEST_F(ResilienceTest, BreakersAreListedAndFoundButNeverMadeByAsking) {
  const auto resilience = Create(QuickToOpen());
  EXPECT_FALSE(resilience->FindBreaker("b").has_value());
  EXPECT_TRUE(resilience->Breakers().empty());
  resilience->registry().GetOrCreate({"b", "/pkg.S/M"});
  resilience->registry().GetOrCreate({"b", ""});
  resilience->registry().GetOrCreate({"a", ""});
  std::vector<BreakerKey> keys;
  for (const auto& snapshot : resilience->Breakers()) {
    keys.push_back(snapshot.key);
  }
  EXPECT_EQ(keys,
            (std::vector<BreakerKey>{{"a", ""}, {"b", ""}, {"b", "/pkg.S/M"}}));
  EXPECT_EQ(resilience->FindBreaker("b", "/pkg.S/M")->key.method, "/pkg.S/M");
  EXPECT_FALSE(resilience->FindBreaker("a", "/pkg.S/M").has_value());
}

TEST_F(ResilienceTest, ResetClosesABreaker) {
  const auto resilience = Create(QuickToOpen());
  const auto breaker = resilience->registry().GetOrCreate({"t", ""});
  Fail(*breaker, 2);
  EXPECT_TRUE(resilience->ResetBreaker("t").ok());
  EXPECT_EQ(resilience->FindBreaker("t")->state, State::kClosed);
  const absl::Status missing = resilience->ResetBreaker("u", "/pkg.S/M");
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_EQ(std::string(missing.message()),
            "no breaker of target \"u\" method \"/pkg.S/M\"");
}

// --- Observers
// ---------------------------------------------------------------------

TEST_F(ResilienceTest, ObserversHearOfTransitionsAndNotices) {
  const auto resilience = Create(QuickToOpen());
  const auto observer = std::make_shared<RecordingObserver>();
  const auto version = resilience->version();
  resilience->AddObserver(observer);
  resilience->AddObserver(nullptr);
  EXPECT_EQ(resilience->version(), version + 1);
  EXPECT_EQ(resilience->observers()->size(), 1u);

  const auto breaker = resilience->registry().GetOrCreate({"t", ""});
  Fail(*breaker, 2);
  resilience->Notify({"t", "/pkg.S/M", "not retried"});

  ASSERT_EQ(observer->transitions().size(), 1u);
  EXPECT_EQ(observer->transitions()[0].key, (BreakerKey{"t", ""}));
  EXPECT_EQ(observer->transitions()[0].to, State::kOpen);
  ASSERT_EQ(observer->notices().size(), 1u);
  EXPECT_EQ(observer->notices()[0].text, "not retried");
}

TEST_F(ResilienceTest, WithAnExecutorObserversRunThere) {
  const auto resilience = Create(QuickToOpen());
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(observer);
  std::deque<std::function<void()>> tasks;
  resilience->UseExecutor(
      [&](std::function<void()> task) { tasks.push_back(std::move(task)); });
  const auto breaker = resilience->registry().GetOrCreate({"t", ""});
  Fail(*breaker, 2);
  EXPECT_TRUE(observer->transitions().empty());
  ASSERT_EQ(tasks.size(), 1u);
  tasks.front()();
  EXPECT_EQ(observer->transitions().size(), 1u);
}

// D16
class MeddlingObserver : public CallObserver {
 public:
  explicit MeddlingObserver(Resilience* resilience) : resilience_(resilience) {}
  void OnTransition(const TransitionEvent& event) override {
    if (event.to == State::kOpen) {
      (void)resilience_->Breakers();
      (void)resilience_->Resolve("t", "/pkg.S/M");
      EXPECT_TRUE(resilience_->Update(Config()).ok());
      EXPECT_TRUE(resilience_->ResetBreaker(event.key.target).ok());
    }
    throw std::runtime_error("observer");
  }

 private:
  Resilience* resilience_;
};

// D16
TEST_F(ResilienceTest, AnObserverMayUseEverythingAndThrow) {
  const auto resilience = Create(QuickToOpen());
  const auto observer = std::make_shared<RecordingObserver>();
  resilience->AddObserver(std::make_shared<MeddlingObserver>(resilience.get()));
  resilience->AddObserver(observer);
  const auto breaker = resilience->registry().GetOrCreate({"t", ""});
  Fail(*breaker, 2);
  EXPECT_EQ(breaker->state(), State::kClosed);
  ASSERT_EQ(observer->transitions().size(), 2u);
  EXPECT_EQ(observer->transitions()[0].to, State::kOpen);
  EXPECT_EQ(observer->transitions()[1].reason, TransitionReason::kReset);
}

// --- Shutdown
// ----------------------------------------------------------------------

// A29
TEST_F(ResilienceTest, ShutdownMakesItsWaitsDue) {
  const auto resilience = Create(Config());
  const auto adapter_timer = std::make_shared<FakeClock>();
  resilience->ExpireOnShutdown(adapter_timer);
  resilience->ExpireOnShutdown(adapter_timer);
  resilience->ExpireOnShutdown(nullptr);
  int ended = 0;
  const auto end = [&] { ++ended; };
  clock_->Schedule(clock_->Now() + seconds(60), end, resilience.get());
  clock_->Schedule(clock_->Now() + seconds(60), end, this);
  adapter_timer->Schedule(clock_->Now() + seconds(60), end, resilience.get());

  EXPECT_FALSE(resilience->is_shut_down());
  resilience->Shutdown();
  resilience->Shutdown();

  EXPECT_TRUE(resilience->is_shut_down());
  EXPECT_EQ(clock_->Advance(seconds(0)), 1u);
  EXPECT_EQ(adapter_timer->Advance(seconds(0)), 1u);
  EXPECT_EQ(ended, 2);
}

// --- Threads
// -------------------------------------------------------------------------

TEST_F(ResilienceTest, UpdatesAndReadersDoNotDisturbEachOther) {
  const auto resilience = Create(QuickToOpen());
  resilience->AddObserver(std::make_shared<RecordingObserver>());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string target = "t" + std::to_string(t % 2);
      const auto breaker = resilience->registry().GetOrCreate({target, ""});
      while (!stop) {
        const auto policy = resilience->Resolve(target, "/pkg.S/M");
        EXPECT_GE(policy.method.retry.max_attempts, 3);
        if (auto permit = breaker->TryAcquire()) {
          permit->Record(Outcome::kFailure);
        }
        (void)resilience->Breakers();
        (void)resilience->ResetBreaker(target);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    Config config = QuickToOpen();
    config.DefaultMethod().retry.max_attempts = 3 + i;
    EXPECT_TRUE(resilience->Update(std::move(config)).ok());
    if (i % 50 == 0) {
      resilience->AddObserver(std::make_shared<RecordingObserver>());
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(resilience->Resolve("t0", "/pkg.S/M").method.retry.max_attempts,
            202);
}

}  // namespace
}  // namespace grpc_resilience
