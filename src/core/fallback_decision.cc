#include "core/fallback_decision.h"

#include <algorithm>

namespace grpc_resilience::internal {

bool IsCallersFault(StatusCode code) {
  switch (code) {
    case StatusCode::INVALID_ARGUMENT:
    case StatusCode::NOT_FOUND:
    case StatusCode::ALREADY_EXISTS:
    case StatusCode::PERMISSION_DENIED:
    case StatusCode::FAILED_PRECONDITION:
    case StatusCode::OUT_OF_RANGE:
    case StatusCode::UNAUTHENTICATED:
      return true;
    default:
      return false;
  }
}

bool FallbackApplies(const FallbackRules& rules, const EndedCall& call) {
  if (call.code == StatusCode::OK || call.code == StatusCode::CANCELLED) {
    return false;
  }
  if (call.local_error || IsCallersFault(call.code)) return false;
  switch (call.reason) {
    case StopReason::kBreakerOpen:
    case StopReason::kRetriesExhausted:
    case StopReason::kBudgetExhausted:
    case StopReason::kDeadlineWouldPass:
    case StopReason::kPushback:
    case StopReason::kChainStop:
    case StopReason::kNotIdempotent:
      return true;
    case StopReason::kDeadlineExceeded:
      return call.attempts > 0;
    case StopReason::kNotRetryable:
      return rules.also_on.count(call.code) > 0;
    case StopReason::kOk:
    case StopReason::kCancelled:
    case StopReason::kShutdown:
    // Of streams, which have no fallbacks.
    case StopReason::kCommitted:
    case StopReason::kReplayBufferFull:
      return false;
  }
  return false;
}

Deadline DeadlineLessReserve(const FallbackRules& rules,
                             const Deadline& overall, TimePoint now) {
  const std::optional<Duration> left = overall.Remaining(now);
  if (!left || rules.reserve <= Duration::zero()) return overall;
  return Deadline::At(*overall.when() - std::min(rules.reserve, *left / 2));
}

Deadline AnswerDeadline(const FallbackRules& rules, const Deadline& overall,
                        TimePoint now) {
  return Earlier(overall, Deadline::After(now, rules.timeout));
}

}  // namespace grpc_resilience::internal
