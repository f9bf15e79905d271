// Worth most under ThreadSanitizer. GRPC_RESILIENCE_STRESS_SECONDS sets how
// long the stress test runs (default 3).

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "core/circuit_breaker_fixture.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Lets `threads` of them go on together, again and again.
class RoundBarrier {
 public:
  explicit RoundBarrier(int threads) : threads_(threads) {}
  void Wait() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round) {
      std::this_thread::yield();
    }
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

void InThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

void ExpectChain(const std::vector<TransitionEvent>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].generation, i + 1);
    if (i > 0) {
      ASSERT_EQ(events[i].from, events[i - 1].to);
      ASSERT_GE(events[i].at, events[i - 1].at);
    }
  }
}

int StressSeconds() {
  const char* const text = std::getenv("GRPC_RESILIENCE_STRESS_SECONDS");
  return text == nullptr ? 3 : std::max(1, std::atoi(text));
}

using CircuitBreakerConcurrencyTest = CircuitBreakerFixture;

// D07
TEST_F(CircuitBreakerConcurrencyTest, OneOfManyIsAdmittedAtExpiry) {
  constexpr int kThreads = 16;
  constexpr int kRounds = 10'000;
  Make(TouchyPolicy());
  Fail(1);
  RoundBarrier barrier(kThreads);
  std::atomic<int> admitted{0};
  std::atomic<int> bad_rounds{0};
  InThreads(kThreads, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      if (thread == 0) {
        clock_.Advance(seconds(1));  // exactly the expiry
        admitted.store(0);
      }
      barrier.Wait();
      std::optional<Permit> permit = breaker_->TryAcquire();
      if (permit) admitted.fetch_add(1);
      barrier.Wait();
      if (thread == 0 && admitted.load() != 1) bad_rounds.fetch_add(1);
      if (permit) permit->Record(Outcome::kFailure);
      barrier.Wait();
    }
  });
  EXPECT_EQ(bad_rounds.load(), 0);
  EXPECT_EQ(Snapshot().generation, 1u + 2u * kRounds);
  EXPECT_EQ(Snapshot().rejected, std::uint64_t{kRounds} * (kThreads - 1));
  ExpectChain(sink_.events());
}

// D06
TEST_F(CircuitBreakerConcurrencyTest, ThreeOf64AreAdmittedWhileProbesLast) {
  BreakerPolicy policy = TouchyPolicy();
  policy.half_open_calls = 3;
  Make(policy);
  Fail(1);
  clock_.Advance(seconds(1));
  RoundBarrier all_asked(64);
  std::atomic<int> admitted{0};
  InThreads(64, [&](int) {
    std::optional<Permit> permit = breaker_->TryAcquire();
    if (permit) admitted.fetch_add(1);
    all_asked.Wait();
    if (permit) permit->Record(Outcome::kSuccess);
  });
  EXPECT_EQ(admitted.load(), 3);
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Snapshot().rejected, 61u);
}

TEST_F(CircuitBreakerConcurrencyTest, BucketLosesNoCountAndOpensOnce) {
  Make({}, {true, 1000, 1.0});
  InThreads(4, [&](int) {
    for (int i = 0; i < 249; ++i) Fail();
  });
  EXPECT_EQ(Tokens(), 4);  // 1000 - 4 * 249
  InThreads(4, [&](int) {
    for (int i = 0; i < 100; ++i) Fail();
  });
  EXPECT_EQ(state(), State::kOpen);
  EXPECT_EQ(sink_.events().size(), 1u);
}

TEST_F(CircuitBreakerConcurrencyTest, BucketBalancesFailuresAndSuccesses) {
  Make({}, {true, 1000, 1.0});
  Fail(500);
  InThreads(4, [&](int thread) {
    const Outcome outcome =
        thread % 2 == 0 ? Outcome::kFailure : Outcome::kSuccess;
    for (int i = 0; i < 200; ++i) Call(outcome);
  });
  EXPECT_EQ(Tokens(), 500);
}

TEST_F(CircuitBreakerConcurrencyTest, EventsChainWhenAllThreadsTransition) {
  Make(TouchyPolicy());
  InThreads(8, [&](int thread) {
    for (int i = 0; i < 500; ++i) {
      if (thread == 0) {
        breaker_->Reset();
      } else {
        Call(i % 3 == 0 ? Outcome::kFailure : Outcome::kSuccess);
      }
      if (thread == 1) clock_.Advance(milliseconds(500));
    }
  });
  const auto events = sink_.events();
  ExpectChain(events);
  EXPECT_EQ(events.size(), Snapshot().generation);
}

TEST_F(CircuitBreakerConcurrencyTest, ReconfigureAmidCallsLeavesItUsable) {
  Make({});
  InThreads(4, [&](int thread) {
    for (int i = 0; i < 2000; ++i) {
      if (thread != 0) {
        Call(i % 5 == 0 ? Outcome::kFailure : Outcome::kSuccess);
        breaker_->RetryAllowed();
        breaker_->WouldReject();
        continue;
      }
      BreakerPolicy policy = i % 2 == 0 ? TouchyPolicy() : BreakerPolicy();
      if (i % 7 == 0) policy.mode = BreakerMode::kDisabled;
      breaker_->Reconfigure(policy, {true, 1 + i % 20, 0.5});
      clock_.Advance(milliseconds(100));
    }
  });
  breaker_->Reconfigure({}, {});
  breaker_->Reset();
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(Tokens(), 16);
  ExpectChain(sink_.events());
}

// D13
TEST_F(CircuitBreakerConcurrencyTest, StressClosesSoonAfterTheServerIsWell) {
  constexpr int kThreads = 16;
  constexpr int kCallsPerStep = 4;
  constexpr int kStepsPerFlip = 10;
  constexpr milliseconds kStep(5);
  constexpr milliseconds kOpen(20);
  BreakerPolicy policy = WindowPolicy();
  policy.open_duration = kOpen;
  Make(policy);
  std::atomic<bool> healthy{true};
  std::atomic<int> last_step{std::numeric_limits<int>::max()};
  std::atomic<int> odd_snapshots{0};
  // Fake time goes on in step with the calls, but amid them.
  RoundBarrier step_over(kThreads + 1);

  std::thread world([&] {
    const auto end =
        std::chrono::steady_clock::now() + seconds(StressSeconds());
    for (int step = 0; step <= last_step; ++step) {
      clock_.Advance(kStep);
      if (step % kStepsPerFlip == 0) healthy = !healthy;
      const BreakerSnapshot s = Snapshot();
      const bool odd = s.probes_in_flight < 0 || s.probes_in_flight > 2 ||
                       (s.probe_ready && s.state != State::kOpen) ||
                       (s.state != State::kHalfOpen && s.probes_in_flight > 0);
      odd_snapshots += odd ? 1 : 0;
      // Not this one: a thread may have begun it already, or not yet.
      if (std::chrono::steady_clock::now() >= end && last_step > step + 1) {
        last_step = step + 1;
      }
      step_over.Wait();
    }
  });
  InThreads(kThreads, [&](int thread) {
    std::optional<Permit> held;  // until the next call, be it steps later
    for (int step = 0; step <= last_step; ++step) {
      for (int call = 0; call < kCallsPerStep; ++call) {
        std::optional<Permit> permit = breaker_->TryAcquire();
        const bool drops = thread == 5;
        if (held && !drops) {
          held->Record(healthy ? Outcome::kSuccess : Outcome::kFailure);
        }
        held = std::move(permit);
      }
      step_over.Wait();
    }
  });
  world.join();

  // Well from now on: at most one open time and its probes to go.
  clock_.Advance(kOpen);
  for (int i = 0; i < 2 && breaker_->state() != State::kClosed; ++i) {
    std::optional<Permit> probe = breaker_->TryAcquire();
    ASSERT_TRUE(probe.has_value());
    probe->Record(Outcome::kSuccess);
  }
  EXPECT_EQ(state(), State::kClosed);
  EXPECT_EQ(odd_snapshots.load(), 0);
  EXPECT_GT(sink_.events().size(), 2u);
  ExpectChain(sink_.events());
}

}  // namespace
}  // namespace grpc_resilience
