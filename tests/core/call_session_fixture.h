// A call of an idempotent method with predictable backoffs (100 ms, 200 ms, …).

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "core/session_driver.h"
#include "grpc_resilience/testing/fixed_random.h"

namespace grpc_resilience::internal {

class CallSessionFixture : public testing::Test {
 protected:
  CallSessionFixture() {
    retry_.backoff.initial_backoff = std::chrono::milliseconds(100);
    retry_.backoff.max_backoff = std::chrono::seconds(10);
    retry_.backoff.jitter = Jitter::kNone;
    breaker_policy_.open_duration = std::chrono::milliseconds(80);
    throttle_.limits_retries = false;
    plan_.target = "payments:443";
    plan_.retry = &retry_;
    plan_.idempotent = true;
    plan_.min_deadline_for_failure = std::chrono::milliseconds(50);
    plan_.clock = &clock_;
    plan_.random = &random_;
  }

  /// From now on calls go through a breaker with breaker_policy_ and throttle_.
  CircuitBreaker& UseBreaker(BreakerKey key = {"payments:443", ""}) {
    breaker_.emplace(key, breaker_policy_, throttle_, clock_, random_, nullptr);
    plan_.breaker = &*breaker_;
    return *breaker_;
  }

  /// Opens on the first failure after `minimum_calls` - 1 others.
  void UseWindow(double failure_rate, int window_calls, int minimum_calls) {
    breaker_policy_.failure_rate_threshold = failure_rate;
    breaker_policy_.window_calls = window_calls;
    breaker_policy_.minimum_calls = minimum_calls;
  }

  CallRecord Run(std::optional<Duration> time, const Server& server) {
    CallSession session(plan_, InTime(time));
    return SessionDriver(clock_).Run(session, server);
  }

  Deadline InTime(std::optional<Duration> time) const {
    return time ? Deadline::After(clock_.Now(), *time) : Deadline::None();
  }

  static Server Always(Answer answer) {
    return [answer](int) { return answer; };
  }

  FakeClock clock_;
  FixedRandom random_{0.5};
  RetryPolicy retry_;
  BreakerPolicy breaker_policy_;
  RetryThrottlePolicy throttle_;
  std::optional<CircuitBreaker> breaker_;
  SessionPlan plan_;
};

}  // namespace grpc_resilience::internal
