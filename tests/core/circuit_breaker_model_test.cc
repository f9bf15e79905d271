// Random histories, step for step against a plain model. The steps are taken by
// several threads in turn, so whatever a breaker keeps per thread would show; the
// order of the steps, hence the history, depends on the seed alone.
//
// GRPC_RESILIENCE_MODEL_SEED repeats a history, GRPC_RESILIENCE_MODEL_STEPS sets
// its length (default 1,000,000).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/breaker_model.h"
#include "core/circuit_breaker_fixture.h"
#include "core/legal_transitions.h"

namespace grpc_resilience {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Checks each event as it comes: legal, and one after the other.
class ChainSink : public TransitionSink {
 public:
  void OnTransition(const TransitionEvent& event) override {
    const bool chains = event.generation == last_.generation + 1 &&
                        event.from == last_.to && event.at >= last_.at &&
                        internal::IsLegal(event.from, event.to, event.reason) &&
                        !event.why.empty();
    if (!chains && faults_++ == 0) {
      ADD_FAILURE() << "event " << event.generation << " after "
                    << last_.generation << ": " << ToString(event.from)
                    << " -> " << ToString(event.to) << ": " << event.why;
    }
    last_ = event;
    ++seen_[static_cast<std::size_t>(event.reason)];
  }
  std::uint64_t generation() const { return last_.generation; }
  std::uint64_t seen(TransitionReason reason) const {
    return seen_[static_cast<std::size_t>(reason)];
  }

 private:
  TransitionEvent last_;
  int faults_ = 0;
  std::array<std::uint64_t, 8> seen_{};
};

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    policy_ = SomePolicy();
    throttle_ = SomeThrottle();
    breaker_ = std::make_unique<CircuitBreaker>(
        BreakerKey{"a", ""}, policy_, throttle_, clock_, no_jitter_, &sink_);
    model_ = std::make_unique<BreakerModel>(policy_, throttle_);
  }

  void Step() {
    const int dice = Below(1000);
    if (dice < 400) {
      Admit();
    } else if (dice < 880) {
      if (!held_.empty()) Finish(TakeHeld());
    } else if (dice < 970) {
      Advance();
    } else if (dice < 980) {
      Force();
    } else if (dice < 985) {
      breaker_->Reset();
      model_->Reset(clock_.Now());
    } else if (dice < 990) {
      breaker_->MakeProbeReady();
      model_->MakeProbeReady();
    } else {
      policy_ = SomePolicy();
      throttle_ = SomeThrottle();
      breaker_->Reconfigure(policy_, throttle_);
      model_->Reconfigure(policy_, throttle_, clock_.Now());
    }
    ++steps_;
    CompareQuickly();
    if (steps_ % 16 == 0) CompareAll();
  }

  bool failed() const { return ::testing::Test::HasFailure(); }
  const ChainSink& sink() const { return sink_; }

  /// However the history went: given time and good calls, it closes.
  void ExpectRecovery() {
    while (!held_.empty()) Finish(TakeHeld());
    BreakerPolicy enabled = policy_;
    enabled.mode = BreakerMode::kEnabled;
    breaker_->Reconfigure(enabled, throttle_);
    breaker_->ForceMode(OperatorMode::kAuto, std::nullopt, "end");
    for (int call = 0; call < 20'000; ++call) {
      if (breaker_->state() == State::kClosed) return;
      clock_.Advance(milliseconds(500));
      if (auto permit = breaker_->TryAcquire()) {
        permit->Record(Outcome::kSuccess);
      }
    }
    ADD_FAILURE() << "still " << ToString(breaker_->state());
  }

 private:
  struct Held {
    Permit permit;
    BreakerModel::Pass pass;
  };

  int Below(int limit) {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool OneIn(int n) { return Below(n) == 0; }

  BreakerPolicy SomePolicy() {
    BreakerPolicy policy;
    if (OneIn(20)) policy.mode = BreakerMode::kDisabled;
    if (OneIn(2)) {
      policy.failure_rate_threshold = (1 + Below(10)) / 10.0;
      policy.window_calls = 1 + Below(20);
      policy.minimum_calls = 1 + Below(policy.window_calls);
      if (OneIn(2)) {
        policy.window_buckets = 1 + Below(10);
        policy.window_duration =
            milliseconds(10 * policy.window_buckets * (1 + Below(20)));
      }
    }
    if (OneIn(3)) policy.consecutive_failures = 1 + Below(6);
    const bool other =
        policy.failure_rate_threshold || policy.consecutive_failures;
    if (other && OneIn(3)) policy.trip_on_empty_bucket = OneIn(2);
    policy.open_duration = milliseconds(50 * (1 + Below(20)));
    policy.open_duration_multiplier = 1 + Below(3);
    policy.max_open_duration = seconds(4);
    if (OneIn(2)) {
      policy.open_duration_reset_after = milliseconds(Below(2000));
    }
    if (OneIn(2)) policy.early_probe_after_rejections = Below(10);
    policy.half_open_calls = 1 + Below(5);
    if (OneIn(2)) {
      policy.half_open_max_in_flight = 1 + Below(policy.half_open_calls);
    }
    policy.half_open_max_wait = milliseconds(100 * (1 + Below(20)));
    return policy;
  }
  RetryThrottlePolicy SomeThrottle() {
    RetryThrottlePolicy throttle;
    throttle.limits_retries = !OneIn(4);
    throttle.max_tokens = 1 + Below(20);
    constexpr double kRatios[] = {0.125, 0.5, 1.0, 2.0, 5.0};
    throttle.token_ratio = kRatios[Below(5)];
    return throttle;
  }

  Held TakeHeld() {
    std::swap(
        held_[static_cast<std::size_t>(Below(static_cast<int>(held_.size())))],
        held_.back());
    Held held = std::move(held_.back());
    held_.pop_back();
    return held;
  }

  void Admit() {
    const TimePoint now = clock_.Now();
    ASSERT_EQ(breaker_->WouldReject(), model_->WouldReject(now)) << steps_;
    std::optional<Permit> permit = breaker_->TryAcquire();
    const std::optional<BreakerModel::Pass> pass = model_->Admit(now);
    ASSERT_EQ(permit.has_value(), pass.has_value()) << steps_;
    if (!permit) return;
    ASSERT_EQ(permit->is_probe(),
              pass->kind == BreakerModel::Pass::Kind::kProbe)
        << steps_;
    Held held{std::move(*permit), *pass};
    // Some are kept for long, so that late results come too.
    if (held_.size() < 30 && !OneIn(3)) {
      held_.push_back(std::move(held));
    } else {
      Finish(std::move(held));
    }
  }

  void Finish(Held held) {
    const TimePoint now = clock_.Now();
    if (OneIn(500)) failing_ = !failing_;  // good times and bad times
    const int dice = Below(100);
    if (dice < 5) {
      const auto cause = static_cast<IgnoredCause>(1 + Below(8));
      held.permit.Ignore(cause);
      model_->Record(held.pass, Outcome::kIgnored, cause, StatusCode::OK, now);
    } else if (dice < 10) {
      { const Permit dropped = std::move(held.permit); }
      model_->Record(held.pass, Outcome::kIgnored, IgnoredCause::kDropped,
                     StatusCode::OK, now);
    } else {
      const bool failure = Below(100) < (failing_ ? 80 : 8);
      const StatusCode code =
          OneIn(8) ? StatusCode::RESOURCE_EXHAUSTED : StatusCode::UNAVAILABLE;
      const Outcome outcome = failure ? Outcome::kFailure : Outcome::kSuccess;
      held.permit.Record(outcome, code, "down");
      model_->Record(held.pass, outcome, IgnoredCause::kNone, code, now);
    }
  }

  void Advance() {
    // Mostly by steps on which the edges of windows and open times lie.
    constexpr int kSteps[] = {1, 10, 10, 50, 50, 100, 500};
    clock_.Advance(milliseconds(OneIn(50) ? 10'000 : kSteps[Below(7)]));
  }

  void Force() {
    const auto mode =
        OneIn(2) ? OperatorMode::kAuto : static_cast<OperatorMode>(Below(4));
    std::optional<Duration> ttl;
    if (OneIn(2)) ttl = milliseconds(50 * (1 + Below(20)));
    breaker_->ForceMode(mode, ttl, "model");
    model_->ForceMode(mode, ttl, clock_.Now());
  }

  void CompareQuickly() {
    ASSERT_EQ(breaker_->state(), model_->state) << steps_;
    ASSERT_EQ(breaker_->RetryAllowed(), model_->RetryAllowed()) << steps_;
    ASSERT_EQ(sink_.generation(), model_->generation) << steps_;
    // Else nothing would ever end the round.
    const TimePoint now = clock_.Now();
    if (model_->state == State::kHalfOpen && model_->InFlight(now) == 0 &&
        model_->ModeAt(now) == OperatorMode::kAuto) {
      ASSERT_FALSE(breaker_->WouldReject()) << steps_;
    }
  }

  void CompareAll() {
    const TimePoint now = clock_.Now();
    const BreakerSnapshot s = breaker_->snapshot();
    ASSERT_EQ(s.generation, model_->generation) << steps_;
    ASSERT_EQ(s.mode, model_->ModeAt(now)) << steps_;
    ASSERT_DOUBLE_EQ(s.tokens, model_->Tokens()) << steps_;
    ASSERT_EQ(s.rejected, model_->rejected) << steps_;
    ASSERT_EQ(s.probes_in_flight, model_->InFlight(now)) << steps_;
    ASSERT_EQ(s.probes_succeeded, model_->succeeded) << steps_;
    ASSERT_EQ(s.ignored.by_cause, model_->ignored) << steps_;
    ASSERT_EQ(s.shadow.would_have_rejected, model_->shadow.would_have_rejected);
    ASSERT_EQ(s.shadow.then_succeeded, model_->shadow.then_succeeded);
    const auto [calls, failures] = model_->WindowAt(now);
    ASSERT_EQ(s.window_calls, calls) << steps_;
    ASSERT_EQ(s.window_failures, failures) << steps_;
    if (policy_.consecutive_failures) {
      ASSERT_EQ(s.consecutive_failures, model_->row) << steps_;
    }
    if (s.state == State::kOpen) {
      ASSERT_EQ(s.probe_ready, model_->ProbeReady(now)) << steps_;
      ASSERT_EQ(s.retry_after, model_->TimeUntilProbe(now)) << steps_;
    }
    ASSERT_LE(s.transitions.size(), 32u);
  }

  std::mt19937_64 random_;
  FakeClock clock_;
  FixedRandom no_jitter_{0.5};
  ChainSink sink_;
  BreakerPolicy policy_;
  RetryThrottlePolicy throttle_;
  std::unique_ptr<CircuitBreaker> breaker_;
  std::unique_ptr<BreakerModel> model_;
  std::vector<Held> held_;
  bool failing_ = false;
  std::uint64_t steps_ = 0;
};

class CircuitBreakerModelTest : public ::testing::TestWithParam<int> {};

TEST_P(CircuitBreakerModelTest, AgreesWithThePlainModelStepForStep) {
  const std::uint64_t seed =
      FromEnvironment("GRPC_RESILIENCE_MODEL_SEED", std::random_device{}());
  const std::uint64_t steps =
      FromEnvironment("GRPC_RESILIENCE_MODEL_STEPS", 1'000'000);
  std::cout << "GRPC_RESILIENCE_MODEL_SEED=" << seed << "\n";
  SCOPED_TRACE("GRPC_RESILIENCE_MODEL_SEED=" + std::to_string(seed));

  absl::Mutex turn;
  History history(seed);
  std::uint64_t done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < GetParam(); ++i) {
    threads.emplace_back([&] {
      while (true) {
        absl::MutexLock lock(&turn);
        for (int in_a_row = 0; in_a_row < 50; ++in_a_row) {
          if (done == steps || history.failed()) return;
          history.Step();
          ++done;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (history.failed()) return;
  history.ExpectRecovery();

  // A history in which a kind of transition hardly occurs would prove little.
  const std::uint64_t enough = steps / 10'000;
  for (const TransitionReason reason :
       {TransitionReason::kTripRule, TransitionReason::kOpenTimeOver,
        TransitionReason::kProbeFailed, TransitionReason::kProbesSucceeded,
        TransitionReason::kReset, TransitionReason::kModeForced,
        TransitionReason::kModeOver}) {
    EXPECT_GE(history.sink().seen(reason), enough) << ToString(reason);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CircuitBreakerModelTest,
                         ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace grpc_resilience
