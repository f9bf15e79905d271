// How long the retries of a call can take at most, before anybody waits for it.
//
//   RetryPolicy retry;
//   retry.max_attempts = 4;
//   retry.per_attempt_timeout = std::chrono::seconds(2);
//   retry.backoff.initial_backoff = std::chrono::milliseconds(100);
//   WorstCaseOf(retry).time;                             // 8.7 s
//   AttemptsThatFit(retry, std::chrono::seconds(10));    // 4
//
// The worst case: each attempt fails at the end of its time, and each wait is the
// longest that its jitter allows. A wait that the server asks for (pushback) isn't
// in it. Policies must be valid (Config::Validate). All functions are pure, so
// safe to use from several threads at once.

#pragma once

#include <optional>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/retry_policy.h"

namespace grpc_resilience {

/// A value type.
struct RetryWorstCase {
  /// Attempts made. Faster failures lead to more of them, up to max_attempts.
  int attempts = 1;
  /// Until the last attempt ends. Empty: no limit, for want of both
  /// per_attempt_timeout and deadline.
  std::optional<Duration> time;
};

/// `deadline`: time that the call has, range > 0; unset: any. Times that can't be
/// counted in nanoseconds are Duration::max(). With a backoff_multiplier so near
/// to 1 that waits grow for more than 10,000 attempts, further ones count as
/// max_backoff.
RetryWorstCase WorstCaseOf(const RetryPolicy& retry,
                           std::optional<Duration> deadline = std::nullopt);

/// The largest max_attempts, whatever the policy's own, whose worst case ends
/// within `budget` with every attempt given its full time; 0: not even one.
/// Without per_attempt_timeout one attempt takes everything: 1.
int AttemptsThatFit(const RetryPolicy& retry, Duration budget);

}  // namespace grpc_resilience
