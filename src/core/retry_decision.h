// The retry decision: one pure function from what is known after an attempt to
// "wait this long" or "stop, for this reason".

#pragma once

#include <optional>

#include "grpc_resilience/clock.h"
#include "grpc_resilience/deadline.h"
#include "grpc_resilience/outcome.h"
#include "grpc_resilience/retry_policy.h"
#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience::internal {

/// What the server said about trying again (gRFC A6, grpc-retry-pushback-ms;
/// google.rpc.RetryInfo).
struct Pushback {
  /// Empty: don't retry.
  std::optional<Duration> wait;
};

struct RetryFacts {
  StatusCode code = StatusCode::OK;
  ErrorOrigin origin = ErrorOrigin::kPeerOrTransport;
  bool cancelled_by_caller = false;
  /// Known to be idempotent (proto, policy or key header).
  bool idempotent = false;
  /// Made while an inbound call that was itself a retry is served.
  bool chain_stop = false;
  int attempts_made = 1;
  TimePoint now;
  /// Of the call, not of the attempt.
  Deadline deadline;
  /// The wait that the backoff asks for.
  Duration backoff{0};
  std::optional<Pushback> pushback;
  bool budget_allows = true;
  /// Why nothing can be sent again, whatever the policy says (streams).
  std::optional<StopReason> no_retry;
};

struct RetryDecision {
  bool retry = false;
  /// Only with retry.
  Duration wait{0};
  /// Only without retry.
  StopReason reason = StopReason::kOk;
};

/// True when `code` may be retried under the policy, by the rules of
/// RetryPolicy::retryable_status_codes.
bool IsRetryableCode(const RetryPolicy& policy, bool idempotent,
                     StatusCode code);

/// True when the policy retries some code, so that there may be two attempts.
bool MayRetry(const RetryPolicy& policy, bool idempotent);

/// True when an attempt that begins after `wait` has min_attempt_time before the
/// deadline, the reserve aside.
bool HasTimeForAttempt(const RetryPolicy& policy, const Deadline& deadline,
                       TimePoint now, Duration wait);

/// The first that applies: kOk, kCancelled, kNotRetryable (made locally or by
/// code), kNotIdempotent, kDeadlineExceeded, no_retry, kRetriesExhausted, kChainStop,
/// kPushback, kBudgetExhausted, kDeadlineWouldPass; otherwise retry.
RetryDecision DecideRetry(const RetryPolicy& policy, const RetryFacts& facts);

}  // namespace grpc_resilience::internal
