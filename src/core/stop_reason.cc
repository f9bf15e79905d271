#include "grpc_resilience/stop_reason.h"

namespace grpc_resilience {

std::string_view ToString(StopReason reason) {
  switch (reason) {
    case StopReason::kOk:
      return "OK";
    case StopReason::kNotRetryable:
      return "NOT_RETRYABLE";
    case StopReason::kNotIdempotent:
      return "NOT_IDEMPOTENT";
    case StopReason::kRetriesExhausted:
      return "RETRIES_EXHAUSTED";
    case StopReason::kBudgetExhausted:
      return "BUDGET_EXHAUSTED";
    case StopReason::kDeadlineWouldPass:
      return "DEADLINE_WOULD_PASS";
    case StopReason::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StopReason::kPushback:
      return "PUSHBACK";
    case StopReason::kBreakerOpen:
      return "BREAKER_OPEN";
    case StopReason::kCancelled:
      return "CANCELLED";
    case StopReason::kShutdown:
      return "SHUTDOWN";
    case StopReason::kChainStop:
      return "CHAIN_STOP";
    case StopReason::kCommitted:
      return "COMMITTED";
    case StopReason::kReplayBufferFull:
      return "REPLAY_BUFFER_FULL";
  }
  return "UNKNOWN";
}

}  // namespace grpc_resilience
