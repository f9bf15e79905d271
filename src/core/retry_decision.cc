#include "core/retry_decision.h"

#include <algorithm>

namespace grpc_resilience::internal {
namespace {

// These say that the request had no effect; any other code may come after it
// had.
bool TookNoEffect(StatusCode code) {
  return code == StatusCode::UNAVAILABLE ||
         code == StatusCode::RESOURCE_EXHAUSTED;
}

RetryDecision Stop(StopReason reason) {
  return {/*retry=*/false, Duration::zero(), reason};
}

bool Refused(const Pushback& pushback) {
  return !pushback.wait || *pushback.wait < Duration::zero();
}

}  // namespace

bool IsRetryableCode(const RetryPolicy& policy, bool idempotent,
                     StatusCode code) {
  if (code == StatusCode::OK || code == StatusCode::CANCELLED) return false;
  if (!policy.retryable_status_codes) {
    return idempotent && (code == StatusCode::UNAVAILABLE ||
                          code == StatusCode::DEADLINE_EXCEEDED);
  }
  return policy.retryable_status_codes->count(code) > 0 &&
         (idempotent || TookNoEffect(code));
}

bool MayRetry(const RetryPolicy& policy, bool idempotent) {
  if (policy.max_attempts <= 1) return false;
  const auto& codes = policy.retryable_status_codes;
  if (!codes) return idempotent;
  return std::any_of(codes->begin(), codes->end(), [&](StatusCode code) {
    return IsRetryableCode(policy, idempotent, code);
  });
}

bool HasTimeForAttempt(const RetryPolicy& policy, const Deadline& deadline,
                       TimePoint now, Duration wait) {
  const std::optional<Duration> left = deadline.Remaining(now);
  if (!left) return true;
  // Subtracting keeps every intermediate value in range.
  if (*left <= wait) return false;
  const Duration after_wait = *left - wait;
  return after_wait > policy.reserve &&
         after_wait - policy.reserve >= policy.min_attempt_time;
}

RetryDecision DecideRetry(const RetryPolicy& policy, const RetryFacts& facts) {
  if (facts.code == StatusCode::OK) return Stop(StopReason::kOk);
  if (facts.cancelled_by_caller) return Stop(StopReason::kCancelled);
  if (facts.origin == ErrorOrigin::kLocal ||
      !IsRetryableCode(policy, /*idempotent=*/true, facts.code)) {
    return Stop(StopReason::kNotRetryable);
  }
  if (!IsRetryableCode(policy, facts.idempotent, facts.code)) {
    return Stop(StopReason::kNotIdempotent);
  }
  if (facts.deadline.Expired(facts.now)) {
    return Stop(StopReason::kDeadlineExceeded);
  }
  if (facts.no_retry) return Stop(*facts.no_retry);
  if (facts.attempts_made >= policy.max_attempts) {
    return Stop(StopReason::kRetriesExhausted);
  }
  if (facts.chain_stop) return Stop(StopReason::kChainStop);
  // A breaker behind the peer rejects: it knows when to come back.
  if (facts.origin == ErrorOrigin::kOwnRejection ||
      (facts.pushback && Refused(*facts.pushback))) {
    return Stop(StopReason::kPushback);
  }
  if (!facts.budget_allows) return Stop(StopReason::kBudgetExhausted);
  const Duration wait = facts.pushback ? *facts.pushback->wait : facts.backoff;
  if (!HasTimeForAttempt(policy, facts.deadline, facts.now, wait)) {
    return Stop(StopReason::kDeadlineWouldPass);
  }
  return {/*retry=*/true, wait, StopReason::kOk};
}

}  // namespace grpc_resilience::internal
