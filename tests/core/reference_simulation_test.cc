// Whole outages in simulated time, with known figures: one object of each kind,
// as an application has them, and a fake clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/session_driver.h"
#include "grpc_resilience/resilience.h"
#include "grpc_resilience/testing/recording_observer.h"

namespace grpc_resilience::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kTarget[] = "backend:443";
constexpr char kMethod[] = "/pkg.Service/Method";

class ReferenceSimulationTest : public testing::Test {
 protected:
  void Build(Config config) {
    Resilience::Ports ports;
    ports.clock = clock_.get();
    ports.timer = clock_;
    auto resilience = Resilience::Create(std::move(config), ports);
    ASSERT_TRUE(resilience.ok()) << resilience.status();
    resilience_ = *std::move(resilience);
    resilience_->AddObserver(observer_);
    resolved_ = resilience_->Resolve(kTarget, kMethod);
    breaker_ = resilience_->registry().GetOrCreate({kTarget, ""});
    start_ = clock_->Now();
  }

  CallRecord Call(Deadline deadline, const Server& server) {
    SessionPlan plan;
    plan.target = kTarget;
    plan.retry = &resolved_.method.retry;
    plan.idempotent = true;
    if (resolved_.breaker.mode == BreakerMode::kEnabled) {
      plan.breaker = breaker_.get();
    }
    plan.min_deadline_for_failure = resolved_.breaker.min_deadline_for_failure;
    plan.clock = &resilience_->clock();
    plan.random = &resilience_->random();
    CallSession session(plan, deadline);
    return SessionDriver(*clock_).Run(session, server);
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<RecordingObserver> observer_ =
      std::make_shared<RecordingObserver>();
  std::shared_ptr<Resilience> resilience_;
  Resilience::ResolvedPolicy resolved_;
  std::shared_ptr<CircuitBreaker> breaker_;
  TimePoint start_;
};

// --- One call a second for a minute; the backend is down from second 3 to 39
// ------

struct OutageTransition {
  int second;
  State from;
  State to;
  std::string why;

  friend bool operator==(const OutageTransition& a, const OutageTransition& b) {
    return a.second == b.second && a.from == b.from && a.to == b.to &&
           a.why == b.why;
  }
  friend void PrintTo(const OutageTransition& t, std::ostream* out) {
    *out << t.second << " s " << ToString(t.from) << " -> " << ToString(t.to)
         << ": " << t.why;
  }
};

using Range = std::pair<int, int>;

// {6, 7, 8, 20} → {6, 8}, {20, 20}
std::vector<Range> AsRanges(const std::vector<int>& times) {
  std::vector<Range> ranges;
  for (const int second : times) {
    if (!ranges.empty() && ranges.back().second == second - 1) {
      ranges.back().second = second;
    } else {
      ranges.emplace_back(second, second);
    }
  }
  return ranges;
}

TEST_F(ReferenceSimulationTest, AnOutageIsNoticedSatOutAndRecoveredFrom) {
  Config config;
  config.DefaultMethod().retry.max_attempts = 1;
  BreakerPolicy& policy = config.Target(kTarget).breaker;
  policy.failure_rate_threshold = 0.5;
  policy.window_calls = 10;
  policy.minimum_calls = 5;
  policy.open_duration = seconds(15);
  policy.half_open_calls = 2;
  Build(std::move(config));

  int reached = 0;
  std::vector<int> rejected;
  for (int second = 0; second < 60; ++second) {
    const bool down = second >= 3 && second < 40;
    const CallRecord call = Call(Deadline::None(), [&](int) {
      return down ? Fail(StatusCode::UNAVAILABLE) : Answer();
    });
    reached += call.hits;
    if (call.reason == StopReason::kBreakerOpen) rejected.push_back(second);
    clock_->Advance(seconds(1));
  }

  std::vector<OutageTransition> transitions;
  for (const TransitionEvent& event : observer_->transitions()) {
    transitions.push_back({static_cast<int>((event.at - start_) / seconds(1)),
                           event.from, event.to, event.why});
  }
  constexpr State kClosed = State::kClosed;
  constexpr State kOpen = State::kOpen;
  constexpr State kHalfOpen = State::kHalfOpen;
  EXPECT_THAT(
      transitions,
      testing::ElementsAre(
          OutageTransition{5, kClosed, kOpen, "3 failures of the last 6 calls"},
          OutageTransition{20, kOpen, kHalfOpen, "15 s passed"},
          OutageTransition{20, kHalfOpen, kOpen, "probe failed"},
          OutageTransition{35, kOpen, kHalfOpen, "15 s passed"},
          OutageTransition{35, kHalfOpen, kOpen, "probe failed"},
          OutageTransition{50, kOpen, kHalfOpen, "15 s passed"},
          OutageTransition{51, kHalfOpen, kClosed, "2 probes succeeded"}));
  EXPECT_EQ(reached, 18);
  EXPECT_EQ(rejected.size(), 42u);
  EXPECT_EQ(AsRanges(rejected),
            (std::vector<Range>{{6, 19}, {21, 34}, {36, 49}}));
}

// --- Twenty calls, one after another, to a backend that hangs
// ---------------------

struct HangingBackendResult {
  int attempts = 0;
  int gave_up = 0;
  int rejected = 0;
  Duration elapsed{0};
};

class HangingBackendTest : public ReferenceSimulationTest {
 protected:
  HangingBackendResult RunTwentyCalls(BreakerMode mode) {
    Config config;
    RetryPolicy& retry = config.DefaultMethod().retry;
    retry.max_attempts = 3;
    retry.per_attempt_timeout = seconds(1);
    retry.backoff.initial_backoff = milliseconds(200);
    retry.backoff.backoff_multiplier = 2;
    retry.backoff.max_backoff = seconds(2);
    retry.backoff.jitter = Jitter::kFull;
    retry.min_attempt_time = seconds(1);
    TargetConfig& target = config.Target(kTarget);
    target.throttle.limits_retries = false;
    target.breaker.mode = mode;
    target.breaker.failure_rate_threshold = 0.5;
    target.breaker.window_calls = 10;
    target.breaker.minimum_calls = 5;
    target.breaker.open_duration = seconds(30);
    Build(std::move(config));

    HangingBackendResult result;
    for (int i = 0; i < 20; ++i) {
      const CallRecord call = Call(Deadline::After(clock_->Now(), seconds(5)),
                                   [](int) { return Hang(); });
      result.attempts += call.hits;
      if (call.reason == StopReason::kBreakerOpen) {
        ++result.rejected;
      } else {
        ++result.gave_up;
      }
    }
    result.elapsed = clock_->Now() - start_;
    return result;
  }
};

TEST_F(HangingBackendTest, RetriesAlonePayTheFullPriceForEveryCall) {
  const HangingBackendResult result = RunTwentyCalls(BreakerMode::kDisabled);
  EXPECT_EQ(result.attempts, 60);
  EXPECT_EQ(result.gave_up, 20);
  EXPECT_EQ(result.rejected, 0);
  EXPECT_GE(result.elapsed, seconds(60));
  EXPECT_LE(result.elapsed, seconds(75));
}

TEST_F(HangingBackendTest, WithTheBreakerFiveAttemptsAreEnough) {
  const HangingBackendResult result = RunTwentyCalls(BreakerMode::kEnabled);
  EXPECT_EQ(result.attempts, 5);
  EXPECT_EQ(result.gave_up, 1);
  EXPECT_EQ(result.rejected, 19);
  EXPECT_GE(result.elapsed, seconds(5));
  EXPECT_LE(result.elapsed, milliseconds(6500));
}

}  // namespace
}  // namespace grpc_resilience::internal
