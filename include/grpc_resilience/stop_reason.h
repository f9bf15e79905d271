// Why a call ended as it did; the value of the trailing metadata
// "grpc-resilience-reason" and of the observer's events.

#pragma once

#include <string_view>

namespace grpc_resilience {

enum class StopReason {
  kOk,             ///< an attempt succeeded
  kNotRetryable,   ///< the code isn't retried
  kNotIdempotent,  ///< the code would be retried if the method were idempotent
  kRetriesExhausted,   ///< max_attempts made
  kBudgetExhausted,    ///< the retry throttle refused
  kDeadlineWouldPass,  ///< no time for the wait and another attempt
  kDeadlineExceeded,   ///< the call's own deadline
  kPushback,           ///< the server, or a breaker behind it, says not now
  kBreakerOpen,        ///< the target's breaker rejects
  kCancelled,          ///< by the caller
  kShutdown,           ///< Resilience::Shutdown
  kChainStop,  ///< made while serving an inbound call that was itself a retry
  kCommitted,  ///< a stream whose caller has seen something of the attempt
  kReplayBufferFull,  ///< a stream that has sent more than is kept to send again
};

/// "OK", "NOT_RETRYABLE", "NOT_IDEMPOTENT", "RETRIES_EXHAUSTED",
/// "BUDGET_EXHAUSTED", "DEADLINE_WOULD_PASS", "DEADLINE_EXCEEDED", "PUSHBACK",
/// "BREAKER_OPEN", "CANCELLED", "SHUTDOWN", "CHAIN_STOP", "COMMITTED",
/// "REPLAY_BUFFER_FULL". The view lives for ever.
std::string_view ToString(StopReason reason);

}  // namespace grpc_resilience
