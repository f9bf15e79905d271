// What the tests of the breaker share: a breaker on a fake clock, with a sink
// that remembers.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/testing/fake_clock.h"
#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience {

/// This type is safe to use from several threads at once.
class RecordingSink : public TransitionSink {
 public:
  void OnTransition(const TransitionEvent& event) override {
    absl::MutexLock lock(&mu_);
    events_.push_back(event);
  }
  std::vector<TransitionEvent> events() const {
    absl::MutexLock lock(&mu_);
    return events_;
  }
  /// "CLOSED -> OPEN: 16 failures", …
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const TransitionEvent& e : events()) {
      lines.push_back(std::string(ToString(e.from)) + " -> " +
                      std::string(ToString(e.to)) + ": " + e.why);
    }
    return lines;
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<TransitionEvent> events_ ABSL_GUARDED_BY(mu_);
};

/// 3 of the last 6, open for 15 s, 2 probes.
inline BreakerPolicy WindowPolicy() {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 0.5;
  policy.window_calls = 6;
  policy.minimum_calls = 4;
  policy.open_duration = std::chrono::seconds(15);
  policy.half_open_calls = 2;
  return policy;
}

/// One failure opens, one good probe closes, open for 1 s.
inline BreakerPolicy TouchyPolicy() {
  BreakerPolicy policy;
  policy.failure_rate_threshold = 1.0;
  policy.window_calls = 1;
  policy.minimum_calls = 1;
  policy.open_duration = std::chrono::seconds(1);
  policy.half_open_calls = 1;
  return policy;
}

class CircuitBreakerFixture : public ::testing::Test {
 protected:
  void Make(const BreakerPolicy& policy,
            const RetryThrottlePolicy& throttle = {}) {
    breaker_ =
        std::make_unique<CircuitBreaker>(BreakerKey{"payments:443", ""}, policy,
                                         throttle, clock_, random_, &sink_);
  }

  std::optional<Permit> Acquire() { return breaker_->TryAcquire(); }

  /// One call from beginning to end; false: rejected.
  bool Call(Outcome outcome) {
    std::optional<Permit> permit = Acquire();
    if (!permit) return false;
    permit->Record(outcome, StatusCode::UNAVAILABLE, "connection refused");
    return true;
  }
  bool Succeed() { return Call(Outcome::kSuccess); }
  bool Fail() { return Call(Outcome::kFailure); }
  void Fail(int times) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(Fail()) << "failure " << i;
  }
  void Succeed(int times) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(Succeed()) << "success " << i;
  }

  State state() const { return breaker_->state(); }
  BreakerSnapshot Snapshot() const { return breaker_->snapshot(); }
  double Tokens() const { return Snapshot().tokens; }
  std::string LastWhy() const {
    const auto events = sink_.events();
    return events.empty() ? "" : events.back().why;
  }

  FakeClock clock_;
  FixedRandom random_{0.5};  // the middle: jitter changes nothing
  RecordingSink sink_;
  std::unique_ptr<CircuitBreaker> breaker_;
};

}  // namespace grpc_resilience
