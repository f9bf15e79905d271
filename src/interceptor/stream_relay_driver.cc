// The driving half of StreamRelay: from one attempt to the next, until the status
// is known.

#include <utility>

#include "interceptor/attempt_end.h"
#include "interceptor/call_events.h"
#include "interceptor/context_access.h"
#include "interceptor/parent_deadline.h"
#include "interceptor/reaction.h"
#include "interceptor/stream_relay.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {

Timer::Id StreamRelay::Schedule(TimePoint when, const void* owner,
                                std::function<void(StreamRelay*)> run) {
  return plan_->timer->Schedule(
      when,
      [self = shared_from_this(), run = std::move(run)] { run(self.get()); },
      owner);
}

void StreamRelay::CancelTimerLocked(Timer::Id* id) {
  if (*id != 0) plan_->timer->Cancel(std::exchange(*id, 0));
}

bool StreamRelay::Prepare(std::unique_ptr<OwnPlan> own_plan, bool may_retry,
                          std::optional<Duration> timeout) {
  {
    CallLock lock(&mu_);
    if (begun_) return false;
    begun_ = true;
    CancelTimerLocked(&deadline_timer_);
  }
  own_plan_ = std::move(own_plan);
  if (own_plan_ != nullptr && !may_retry) own_plan_->retry.max_attempts = 1;
  if (timeout) {
    deadline_ = Earlier(deadline_, Deadline::After(start_, *timeout));
  }
  const SessionPlan& plan = own_plan_ != nullptr ? own_plan_->session
                            : may_retry          ? plan_->stream_session
                                                 : plan_->single_session;
  session_.emplace(plan, deadline_);
  return true;
}

void StreamRelay::FinishWith(CallSession session) {
  {
    CallLock lock(&mu_);
    begun_ = true;
  }
  session_.emplace(std::move(session));
  Finish();
}

void StreamRelay::Begin() {
  {
    CallLock lock(&mu_);
    if (cancelled_) session_->OnCancel();
  }
  Drive(session_->Start());
}

const SessionPlan& StreamRelay::session_plan() const {
  return own_plan_ != nullptr ? own_plan_->session : plan_->stream_session;
}

void StreamRelay::Drive(const Decision& decision) {
  switch (decision.step) {
    case Step::kAttempt:
      return Launch(decision);
    case Step::kWait:
      return Wait(decision);
    case Step::kFinish:
      return Finish();
  }
}

void StreamRelay::Launch(const Decision& decision) {
  const TimePoint now = plan_->session.clock->Now();
  attempt_start_ = now;
  // A limit of the attempt holds up to its first message only, so the server isn't
  // told of it. The caller's own deadline goes on unchanged, bit for bit.
  const bool limited = session_->attempt_limited();
  const Deadline end = limited ? deadline_ : decision.attempt_deadline;
  auto attempt = std::make_shared<StreamAttempt>(
      &route_, decision.attempt,
      end == callers_deadline_ ? raw_deadline_ : ToGprDeadline(end, now));
  if (const auto slow_at = session_->slow_at()) {
    slow_mark_ = SlowMark::Arm(plan_->timer, *slow_at, &*session_);
  }
  bool cancelled = false;
  {
    CallLock lock(&mu_);
    attempt_.swap(attempt);  // the one before goes without the lock
    attempt_number_ = decision.attempt;
    heard_message_ = false;
    stream_.OnAttemptStart();
    cancelled = cancelled_;
    if (cancelled) attempt = attempt_;
    if (limited) {
      const int number = decision.attempt;
      // Of no group: a shutdown ends waits, never a call in flight.
      limit_timer_ =
          Schedule(*decision.attempt_deadline.when(), nullptr,
                   [number](StreamRelay* relay) { relay->OnLimit(number); });
    }
  }
  if (cancelled) attempt->Cancel();
  Advance();
}

void StreamRelay::OnLimit(int attempt) {
  std::shared_ptr<StreamAttempt> running;
  {
    CallLock lock(&mu_);
    limit_timer_ = 0;
    if (attempt != attempt_number_ || heard_message_ || !stream_.in_attempt()) {
      return;
    }
    running = attempt_;
  }
  running->CancelAtLimit();
}

void StreamRelay::OnGrace(int attempt) {
  {
    CallLock lock(&mu_);
    grace_timer_ = 0;
    if (attempt != attempt_number_) return;
    stream_.OnGraceOver();
  }
  Advance();
}

void StreamRelay::Settle() {
  {
    CallLock lock(&mu_);
    CancelTimerLocked(&limit_timer_);
    CancelTimerLocked(&grace_timer_);
  }
  Drive(EndAttempt());
}

Decision StreamRelay::EndAttempt() {
  if (slow_mark_ != nullptr) {
    slow_mark_->Disarm();
    slow_mark_ = nullptr;
  }
  std::shared_ptr<StreamAttempt> attempt;
  bool cancelled = false;
  std::optional<StopReason> no_retry;
  {
    CallLock lock(&mu_);
    attempt = attempt_;
    cancelled = cancelled_;
    no_retry = stream_.no_retry();
  }
  const StatusCode code = attempt->status().error_code();
  if (code != StatusCode::OK) {
    if (cancelled || (code == StatusCode::CANCELLED &&
                      ContextAccess::HasParent(route_.carried))) {
      session_->OnCancel();
    }
    if (MetParentsDeadline(route_.carried, attempt->status()) &&
        !session_->attempt_limited()) {
      session_->LowerDeadline(Deadline::At(plan_->session.clock->Now()));
    }
  }
  if (plan_->resilience->is_shut_down()) session_->OnShutdown();
  if (no_retry) session_->ForbidRetry(*no_retry);
  AttemptEnd end = MakeAttemptEnd(
      attempt->status(),
      code == StatusCode::OK ? nullptr : &attempt->trailing_metadata());
  if (code == StatusCode::UNAVAILABLE && session_->is_probe() &&
      plan_->watch != nullptr && !plan_->recovery->IsConnected()) {
    end.origin = ErrorOrigin::kNotConnected;
  }
  const Decision decision = session_->OnAttemptEnd(end);
  TellAttemptEnd(*plan_, *session_, code, attempt_start_);
  return decision;
}

void StreamRelay::Wait(const Decision& decision) {
  WatchParent();
  bool waiting = false;
  {
    CallLock lock(&mu_);
    stream_.OnRetry();
    received_.clear();
    if (decision.wait_until > plan_->session.clock->Now() && !cancelled_ &&
        !parent_end_) {
      waiting = waiting_ = true;
      wait_timer_ = Schedule(decision.wait_until, plan_->resilience.get(),
                             [](StreamRelay* relay) { relay->OnWaitOver(); });
      // A shutdown that came in between has not seen this entry.
      if (plan_->resilience->is_shut_down() &&
          plan_->timer->Cancel(wait_timer_)) {
        waiting = waiting_ = false;
      }
    }
  }
  if (!waiting) Resume();
}

void StreamRelay::OnWaitOver() {
  {
    CallLock lock(&mu_);
    waiting_ = false;
  }
  Resume();
}

void StreamRelay::Resume() {
  bool cancelled = false;
  std::optional<grpc::StatusCode> parent_end;
  {
    CallLock lock(&mu_);
    cancelled = cancelled_;
    parent_end = parent_end_;
  }
  if (cancelled || parent_end == grpc::StatusCode::CANCELLED) {
    session_->OnCancel();
  } else if (parent_end) {
    session_->LowerDeadline(Deadline::At(plan_->session.clock->Now()));
  }
  if (plan_->resilience->is_shut_down()) session_->OnShutdown();
  Drive(session_->OnWaitOver());
}

void StreamRelay::Finish() {
  if (plan_->watch != nullptr &&
      session_->reason() == StopReason::kBreakerOpen) {
    plan_->recovery->OnRejected(plan_->watch);
  }
  std::shared_ptr<StreamAttempt> attempt;
  bool stop_watch = false;
  std::optional<grpc::StatusCode> parent_end;
  {
    CallLock lock(&mu_);
    attempt = attempt_;
    stop_watch = watching_ != nullptr;
    parent_end = parent_end_;
  }
  result_.Decide(*session_, plan_->rejection_details, nullptr,
                 attempt != nullptr ? &attempt->status() : nullptr);
  if (parent_end == grpc::StatusCode::DEADLINE_EXCEEDED &&
      !result_.status().ok()) {
    result_.OverrideStatus(
        grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"));
  }
  TellCallEnd(*plan_, *session_, result_.status().error_code(), start_);
  if (stop_watch) watch_->Stop();
  {
    CallLock lock(&mu_);
    stream_.OnFinish(result_.status().ok());
    // A reactor that doesn't read must hear of its end all the same.
    if (stream_.finish_waits_for_reader() && deadline_.when()) {
      deadline_timer_ =
          Schedule(*deadline_.when(), nullptr, [](StreamRelay* relay) {
            {
              CallLock relay_lock(&relay->mu_);
              relay->deadline_timer_ = 0;
              relay->stream_.OnDeadline();
            }
            relay->Advance();
          });
    }
  }
  Advance();
}

}  // namespace grpc_resilience::internal
