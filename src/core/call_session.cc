#include "core/call_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/duration_text.h"

namespace grpc_resilience::internal {
namespace {

// To the next attempt to connect, about.
constexpr Duration kReconnectTime = std::chrono::milliseconds(125);

std::string LastAttemptText(const AttemptEnd& end) {
  std::string text = StatusCodeName(end.code);
  if (!end.message.empty()) text.append(": ").append(end.message);
  return text;
}

}  // namespace

Decision CallSession::Start() {
  if (cancelled_) return FinishCancelled();
  std::optional<TimePoint> now;
  if (!deadline_.is_none()) {
    now = plan_->clock->Now();
    if (deadline_.Expired(*now)) {
      return Finish(StopReason::kDeadlineExceeded,
                    StatusCode::DEADLINE_EXCEEDED,
                    "deadline exceeded before the first attempt");
    }
  }
  return Admit(now);
}

Decision CallSession::OnAttemptEnd(const AttemptEnd& end) {
  Judge(end);
  if (CountsCalls()) {
    last_code_ = end.code;
    last_message_ = end.message;
  } else {
    Report(classification_, end.code, end.message);
  }
  if (end.code == StatusCode::OK) return Finish(StopReason::kOk);
  if (cancelled_) return FinishCancelled();

  RetryFacts facts;
  facts.code = end.code;
  facts.origin = end.origin;
  facts.idempotent = plan_->idempotent;
  facts.chain_stop = plan_->chain_stop;
  facts.attempts_made = attempts_;
  facts.now = plan_->clock->Now();
  facts.deadline = deadline_;
  facts.backoff = backoff_.Next(*plan_->random);
  facts.pushback = end.pushback;
  facts.budget_allows = BudgetAllows();
  facts.no_retry = no_retry_;
  timed_out_ = end.code == StatusCode::DEADLINE_EXCEEDED &&
               ReachedAttemptLimit(facts.now);

  const RetryDecision decision = DecideRetry(*plan_->retry, facts);
  if (!decision.retry) {
    // Any other outcome says nothing against the target.
    if (plan_->breaker != nullptr && end.pushback && end.pushback->wait &&
        classification_.outcome == Outcome::kFailure) {
      plan_->breaker->OpenFor(*end.pushback->wait, end.code, end.message);
    }
    return FinishWithLast(decision.reason, facts.now);
  }
  last_failure_ = LastAttemptText(end);
  if (shutdown_) return FinishShutDown();
  // Waiting for an open breaker would only end in a rejection.
  if (!CountsCalls() && plan_->breaker != nullptr &&
      plan_->breaker->WouldReject()) {
    return FinishRejected();
  }
  if (end.pushback) backoff_.Restart();

  Decision wait;
  wait.step = Step::kWait;
  wait.wait_until = SaturatingAdd(facts.now, decision.wait);
  return wait;
}

Decision CallSession::OnWaitOver() {
  if (cancelled_) return FinishCancelled();
  if (shutdown_) return FinishShutDown();
  const TimePoint now = plan_->clock->Now();
  if (!HasTimeForAttempt(*plan_->retry, deadline_, now, Duration::zero())) {
    return FinishWithLast(StopReason::kDeadlineWouldPass, now);
  }
  if (!BudgetAllows()) return FinishWithLast(StopReason::kBudgetExhausted, now);
  return Admit(now);
}

Decision CallSession::GiveUp(StopReason reason) {
  return FinishWithLast(reason, plan_->clock->Now());
}

void CallSession::TakePermitOf(CallSession* other) {
  if (!CountsCalls() || other == this) return;
  permit_ = std::move(other->permit_);
  other->permit_.reset();
}

Decision CallSession::Admit(std::optional<TimePoint> now) {
  if (plan_->breaker != nullptr && !(CountsCalls() && attempts_ > 0)) {
    connected_ = !plan_->may_probe ||
                 plan_->breaker->state() == State::kClosed ||
                 plan_->may_probe();
    permit_ = plan_->breaker->TryAcquire(connected_);
    if (!permit_) return FinishRejected();
  }
  return Begin(now);
}

Decision CallSession::Begin(std::optional<TimePoint> now) {
  const RetryPolicy& retry = *plan_->retry;
  Decision attempt;
  attempt.step = Step::kAttempt;
  attempt.attempt = ++attempts_;
  fair_time_ = true;
  limited_ = false;
  timed_out_ = false;
  std::optional<Duration> limit = retry.per_attempt_timeout;
  probe_limit_ = permit_ && permit_->is_probe() && plan_->probe_timeout &&
                 (!limit || *plan_->probe_timeout < *limit);
  if (probe_limit_) limit = plan_->probe_timeout;
  if (deadline_.is_none() && !limit) return attempt;

  const TimePoint start = now ? *now : plan_->clock->Now();
  attempt.attempt_deadline = DeadlineLessReserve(start);
  if (limit) {
    const Deadline end = Deadline::After(start, *limit);
    if (Earlier(end, attempt.attempt_deadline) == end) {
      attempt.attempt_deadline = end;
      attempt_limit_ = *end.when();
      attempt_time_ = *limit;
      limited_ = end != deadline_;
      return attempt;  // its full time, hence a fair one
    }
  }
  fair_time_ = *attempt.attempt_deadline.Remaining(start) >=
               plan_->min_deadline_for_failure;
  return attempt;
}

Deadline CallSession::DeadlineLessReserve(TimePoint now) const {
  const RetryPolicy& retry = *plan_->retry;
  if (deadline_.is_none() || retry.reserve == Duration::zero() ||
      plan_->chain_stop || no_retry_ || !MayRetry(retry, plan_->idempotent) ||
      !HasTimeForAttempt(retry, deadline_, now, Duration::zero())) {
    return deadline_;
  }
  return Deadline::At(*deadline_.when() - retry.reserve);
}

void CallSession::OnFirstMessage() {
  limited_ = false;
  if (!permit_) return;
  if (permit_->is_probe() && !CountsCalls()) {
    Report({Outcome::kSuccess, IgnoredCause::kNone}, StatusCode::OK, {});
    return;
  }
  // Late, but nobody has said so yet.
  const auto slow_at = permit_->slow_at();
  if (slow_at && plan_->clock->Now() >= *slow_at) permit_->MarkSlow();
  permit_->StopTiming();
}

// A DEADLINE_EXCEEDED that comes much sooner is the server's own and stays as
// it is; 5 % allow for a server whose timer is ahead of ours.
bool CallSession::ReachedAttemptLimit(TimePoint now) const {
  return limited_ && now >= attempt_limit_ - attempt_time_ / 20;
}

// gRFC A6: each takes a token, whatever it says of the target.
bool CallSession::IsRetried(StatusCode code) const {
  return plan_->retry->max_attempts > 1 &&
         IsRetryableCode(*plan_->retry, plan_->idempotent, code);
}

bool CallSession::BudgetAllows() const {
  return plan_->breaker == nullptr || plan_->breaker->RetryAllowed();
}

void CallSession::Judge(const AttemptEnd& end) {
  AttemptResult result;
  result.code = end.code;
  result.message = end.message;
  result.origin = end.origin;
  result.cancelled_by_caller = cancelled_;
  result.had_fair_time = fair_time_;
  result.is_probe = permit_ && permit_->is_probe();
  result.response = end.response;
  classification_ = Classify(result);
  if (plan_->outcome_predicate != nullptr && *plan_->outcome_predicate) {
    try {
      const Outcome outcome =
          (*plan_->outcome_predicate)(result, classification_.outcome);
      if (outcome != classification_.outcome) {
        classification_ = {outcome, outcome == Outcome::kIgnored
                                        ? IgnoredCause::kUnspecified
                                        : IgnoredCause::kNone};
      }
    } catch (...) {
      // The table's verdict stays.
    }
  }
}

void CallSession::Report(const Classification& verdict, StatusCode code,
                         std::string_view message) {
  if (!permit_) return;
  if (verdict.outcome == Outcome::kIgnored) {
    permit_->Ignore(verdict.cause);
  } else if (verdict.outcome == Outcome::kSuccess && IsRetried(code)) {
    permit_->RecordRetried();
  } else {
    permit_->Record(verdict.outcome, code, message);
  }
  permit_.reset();
}

Decision CallSession::Finish(StopReason reason) {
  if (CountsCalls() && attempts_ > 0) {
    // Cancelled between two attempts, the call came to no end of its own.
    const bool cancelled = reason == StopReason::kCancelled;
    Report(cancelled
               ? Classification{Outcome::kIgnored, IgnoredCause::kCancelled}
               : classification_,
           last_code_, last_message_);
  }
  permit_.reset();
  reason_ = reason;
  return Decision();
}

Decision CallSession::Finish(StopReason reason, StatusCode code,
                             std::string message) {
  local_status_ = LocalStatus{code, std::move(message)};
  return Finish(reason);
}

Decision CallSession::FinishWithLast(StopReason reason, TimePoint now) {
  if (!timed_out_ || deadline_.Expired(now)) return Finish(reason);
  const RetryPolicy& retry = *plan_->retry;
  return Finish(reason, StatusCode::DEADLINE_EXCEEDED,
                absl::StrCat("attempt ", attempts_, " of ", retry.max_attempts,
                             " exceeded ",
                             probe_limit_ ? "half_open_per_attempt_timeout"
                                          : "per_attempt_timeout",
                             " (", DurationText(attempt_time_), ")"));
}

Decision CallSession::FinishCancelled() {
  return Finish(StopReason::kCancelled, StatusCode::CANCELLED,
                "call cancelled");
}

Decision CallSession::FinishShutDown() {
  return Finish(StopReason::kShutdown, StatusCode::UNAVAILABLE,
                absl::StrCat("shut down while waiting for attempt ",
                             attempts_ + 1, "; last attempt: ", last_failure_));
}

Decision CallSession::FinishRejected() {
  rejection_ = plan_->breaker->rejection();
  std::string message = "circuit breaker of target \"";
  message.append(plan_->target).append("\"");
  const BreakerKey key = plan_->breaker->key();
  if (!key.method.empty()) {
    absl::StrAppend(&message, " method \"", key.method, "\"");
  }
  if (!key.custom.empty()) {
    absl::StrAppend(&message, " key \"", key.custom, "\"");
  }
  if (rejection_->forced_open) {
    absl::StrAppend(&message, " is forced open by an operator");
    if (!rejection_->forced_reason.empty()) {
      absl::StrAppend(&message, ": ", rejection_->forced_reason);
    }
  } else if (!connected_) {
    absl::StrAppend(&message, " is open; waiting for a connection");
    rejection_->retry_after = std::max(rejection_->retry_after, kReconnectTime);
  } else if (rejection_->retry_after > Duration::zero()) {
    const auto in =
        std::chrono::ceil<std::chrono::milliseconds>(rejection_->retry_after);
    absl::StrAppend(&message, " is open; next probe in ", DurationText(in));
  } else {
    absl::StrAppend(&message, " is open; a probe is under way");
  }
  if (!rejection_->last_failure.empty()) {
    absl::StrAppend(&message, "; opened by ", rejection_->last_failure);
  }
  if (attempts_ > 0)
    absl::StrAppend(&message, "; last attempt: ", last_failure_);
  return Finish(StopReason::kBreakerOpen, StatusCode::UNAVAILABLE,
                std::move(message));
}

}  // namespace grpc_resilience::internal
