// Sixteen threads on one breaker and every operation at once, on a fake clock
// that another thread moves. Worth most under ThreadSanitizer.
// GRPC_RESILIENCE_STRESS_SECONDS sets how long it runs (default 1).

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "core/circuit_breaker_fixture.h"
#include "core/legal_transitions.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kThreads = 16;
constexpr Duration kOpen = milliseconds(20);
constexpr Duration kFlip = milliseconds(50);

int StressSeconds() {
  const char* const text = std::getenv("GRPC_RESILIENCE_STRESS_SECONDS");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

class CircuitBreakerStressTest
    : public CircuitBreakerFixture,
      public ::testing::WithParamInterface<BreakerPolicy> {
 protected:
  static void ExpectChain(const std::vector<TransitionEvent>& events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const TransitionEvent& e = events[i];
      ASSERT_EQ(e.generation, i + 1);
      ASSERT_TRUE(internal::IsLegal(e.from, e.to, e.reason)) << e.why;
      if (i == 0) continue;
      ASSERT_EQ(e.from, events[i - 1].to);
      ASSERT_GE(e.at, events[i - 1].at);
    }
  }

  /// Moves the clock and flips the server until the time is up; `also` is done
  /// with each step.
  void RunWorld(const std::function<void(int step)>& also) {
    std::thread world([&] {
      using std::chrono::steady_clock;
      const auto end = steady_clock::now() + seconds(StressSeconds());
      // Under a sanitizer the callers may leave this thread little time.
      const auto latest = end + seconds(60);
      const auto goes_on = [&] {
        const auto now = steady_clock::now();
        return now < end || (now < latest && sink_.events().size() <= 2);
      };
      for (int step = 0; goes_on(); ++step) {
        clock_.Advance(milliseconds(1));
        if (step % (kFlip / milliseconds(1)) == 0) healthy_ = !healthy_;
        also(step);
        std::this_thread::yield();
      }
      healthy_ = true;
      over_ = true;
    });
    std::vector<std::thread> callers;
    for (int i = 0; i < kThreads; ++i) {
      callers.emplace_back([this, i] { CallUntilOver(i); });
    }
    world.join();
    for (std::thread& caller : callers) caller.join();
  }

  void CallUntilOver(int thread) {
    std::optional<Permit> kept;
    for (int call = thread; !over_; ++call) {
      std::optional<Permit> permit = breaker_->TryAcquire();
      if (!permit) {
        breaker_->rejection();
        std::this_thread::yield();
        continue;
      }
      if (call % 7 == 0) {
        permit->MarkSlow();
        std::this_thread::yield();
      }
      if (call % 11 == 0) {  // one result comes late, another never
        kept = std::move(permit);
        continue;
      }
      permit->Record(healthy_ ? Outcome::kSuccess : Outcome::kFailure,
                     StatusCode::UNAVAILABLE, "down");
    }
  }

  /// Exactly one state with figures that belong to it.
  void ExpectSound(const BreakerSnapshot& s, int max_probes) {
    EXPECT_GE(s.probes_in_flight, 0);
    EXPECT_LE(s.probes_in_flight, max_probes);
    EXPECT_TRUE(s.state == State::kHalfOpen || s.probes_in_flight == 0);
    EXPECT_TRUE(s.state == State::kOpen || !s.probe_ready);
    EXPECT_LE(s.window_failures, s.window_calls);
    EXPECT_LE(s.transitions.size(), 32u);
  }

  std::atomic<bool> healthy_{true};
  std::atomic<bool> over_{false};
};

std::vector<BreakerPolicy> Policies() {
  std::vector<BreakerPolicy> policies(4);
  for (BreakerPolicy& policy : policies) policy.open_duration = kOpen;
  policies[1].failure_rate_threshold = 0.5;
  policies[2].failure_rate_threshold = 0.5;
  policies[2].window_duration = milliseconds(40);
  policies[2].slow_call_rate_threshold = 0.9;
  policies[2].slow_call_duration = milliseconds(5);
  policies[2].half_open_ramp = {0.1, 0.5};
  policies[2].half_open_ramp_step = milliseconds(2);
  policies[3].consecutive_failures = 5;
  policies[3].trip_on_empty_bucket = true;
  return policies;
}

// D13
TEST_P(CircuitBreakerStressTest, ClosesWithinOneOpenTimeOnceTheServerIsWell) {
  Make(GetParam());
  // By the bucket there may be as many probes as tokens, 7 below half full; on
  // the ramp only the share limits them.
  const int max_probes = GetParam().half_open_ramp.empty() ? 8 : 1'000'000;
  RunWorld([&](int step) {
    if (step % 10 == 0) ExpectSound(Snapshot(), max_probes);
  });
  const std::size_t transitions = sink_.events().size();
  EXPECT_GT(transitions, 2u);
  ExpectChain(sink_.events());

  // From now on: one open time (grown by no multiplier), the probes, the ramp.
  clock_.Advance(kOpen);
  for (int call = 0; call < 40 && state() != State::kClosed; ++call) {
    Succeed();
    clock_.Advance(milliseconds(1));
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().generation, sink_.events().size());
}

// No permit is lost and nothing gets stuck, whatever an operator does meanwhile.
TEST_P(CircuitBreakerStressTest, SurvivesOperatorsAndNewSettings) {
  Make(GetParam());
  const std::vector<BreakerPolicy> policies = Policies();
  RunWorld([&](int step) {
    if (step % 23 == 0) {
      BreakerPolicy policy = policies[static_cast<std::size_t>(step) % 4];
      if (step % 5 == 0) policy.mode = BreakerMode::kDisabled;
      breaker_->Reconfigure(policy, {true, 1 + step % 30, 0.5});
    }
    if (step % 31 == 0) {
      breaker_->ForceMode(static_cast<OperatorMode>(step % 4),
                          milliseconds(1 + step % 20), "stress");
    }
    if (step % 17 == 0) breaker_->MakeProbeReady();
    if (step % 101 == 0) breaker_->Reset();
    ExpectSound(Snapshot(), 1'000'000);
    breaker_->WouldReject();
    breaker_->RetryAllowed();
  });
  breaker_->Reconfigure(GetParam(), {});
  breaker_->ForceMode(OperatorMode::kAuto, std::nullopt, "end");
  clock_.Advance(seconds(60));  // every lost probe has given its slot back
  for (int call = 0; call < 100 && state() != State::kClosed; ++call) {
    Succeed();
    clock_.Advance(milliseconds(1));
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().probes_in_flight, 0);
  ExpectChain(sink_.events());
  EXPECT_EQ(Snapshot().generation, sink_.events().size());
}

INSTANTIATE_TEST_SUITE_P(Rules, CircuitBreakerStressTest,
                         ::testing::ValuesIn(Policies()));

}  // namespace
}  // namespace grpc_resilience
