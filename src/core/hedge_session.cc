#include "core/hedge_session.h"

#include <utility>

#include "core/retry_decision.h"

namespace grpc_resilience::internal {
namespace {

// Another attempt may give a better answer.
bool IsFatal(StopReason reason) {
  switch (reason) {
    case StopReason::kRetriesExhausted:
    case StopReason::kBudgetExhausted:
    case StopReason::kDeadlineWouldPass:
    case StopReason::kPushback:
    case StopReason::kBreakerOpen:
    case StopReason::kChainStop:
      return false;
    default:
      return true;
  }
}

}  // namespace

RetryPolicy HedgedRetry(const RetryPolicy& retry,
                        const HedgingPolicy& hedging) {
  RetryPolicy hedged = retry;
  hedged.max_attempts = hedging.max_hedged_attempts;
  hedged.retryable_status_codes = hedging.non_fatal_status_codes;
  hedged.backoff.initial_backoff = Duration::zero();
  hedged.backoff.max_backoff = Duration::zero();
  return hedged;
}

HedgeSession::HedgeSession(const SessionPlan& plan, Deadline deadline,
                           Duration delay, CallSession* first)
    : plan_(plan), deadline_(deadline), delay_(delay), first_(first) {
  if (plan.chain_stop) {
    stopped_ = StopReason::kChainStop;
  } else if (plan.retry->max_attempts > 1) {
    next_at_ = SaturatingAdd(plan.clock->Now(), delay_);
  }
}

HedgeStep HedgeSession::Next(TimePoint now) {
  if (finished()) return Finish(finished_);
  if (in_flight_ == 0 && (cancelled_ || shutdown_)) {
    // As at the end of any wait.
    if (shutdown_) session(ended_last_).OnShutdown();
    session(ended_last_).OnWaitOver();
    return Finish(ended_last_);
  }
  if (cancelled_ || shutdown_) next_at_.reset();
  if (next_at_ && *next_at_ <= now) return Begin(now);
  HedgeStep wait;
  wait.wait_until = next_at_;
  return wait;
}

HedgeStep HedgeSession::Begin(TimePoint now) {
  next_at_.reset();
  if (!HasTimeForAttempt(*plan_.retry, deadline_, now, Duration::zero())) {
    return StopHedging(StopReason::kDeadlineWouldPass, now);
  }
  if (!first_->BudgetAllows()) {
    return StopHedging(StopReason::kBudgetExhausted, now);
  }
  later_.push_back(std::make_unique<CallSession>(plan_, deadline_, started_));
  const int number = started_ + 1;
  const Decision decision = session(number).Start();
  if (decision.step != Step::kAttempt) {
    if (in_flight_ == 0) return Finish(number);
    const StopReason reason = session(number).reason();
    later_.pop_back();
    return StopHedging(reason, now);
  }
  ++started_;
  ++in_flight_;
  if (started() < plan_.retry->max_attempts) {
    next_at_ = SaturatingAdd(now, delay_);
  }
  HedgeStep attempt;
  attempt.step = Step::kAttempt;
  attempt.attempt = started();
  attempt.attempt_deadline = decision.attempt_deadline;
  return attempt;
}

HedgeStep HedgeSession::StopHedging(StopReason reason, TimePoint now) {
  stopped_ = reason;
  next_at_.reset();
  return in_flight_ > 0 ? Next(now) : GiveUp(reason);
}

HedgeStep HedgeSession::OnAttemptEnd(int number, const AttemptEnd& end,
                                     TimePoint now) {
  --in_flight_;
  CallSession& ended = session(number);
  if (finished()) {
    // Lost. Nobody but the breaker cares how, and it was cut off.
    ended.OnCancel();
    ended.OnAttemptEnd(end);
    return Finish(finished_);
  }
  ended.TakePermitOf(&session(ended_last_));
  ended_last_ = number;
  const Decision decision = ended.OnAttemptEnd(end);
  may_go_on_ = decision.step == Step::kWait;
  if (!may_go_on_ && IsFatal(ended.reason())) return Finish(number);
  if (cancelled_ || shutdown_) return Next(now);
  if (!may_go_on_) {
    stopped_ = ended.reason();
    next_at_.reset();
  } else if (!stopped_ && started() < plan_.retry->max_attempts) {
    next_at_ = decision.wait_until;
  }
  if (in_flight_ > 0 || next_at_) return Next(now);
  return GiveUp(stopped_.value_or(StopReason::kRetriesExhausted));
}

HedgeStep HedgeSession::GiveUp(StopReason reason) {
  if (may_go_on_) session(ended_last_).GiveUp(reason);
  return Finish(ended_last_);
}

HedgeStep HedgeSession::Finish(int number) {
  if (!finished()) {
    finished_ = number;
    session(number).set_attempts(started());
  }
  HedgeStep finish;
  finish.step = Step::kFinish;
  return finish;
}

void HedgeSession::OnCancel() {
  cancelled_ = true;
  for (int i = 1; i <= started(); ++i) session(i).OnCancel();
}

void HedgeSession::LowerDeadline(Deadline deadline) {
  deadline_ = Earlier(deadline_, deadline);
  for (int i = 1; i <= started(); ++i) session(i).LowerDeadline(deadline);
}

}  // namespace grpc_resilience::internal
