// The driving half of UnaryCall: from one event to the next, until the result is
// handed over.

#include "interceptor/attempt_end.h"
#include "interceptor/call_events.h"
#include "interceptor/parent_deadline.h"
#include "interceptor/thread_handover.h"
#include "interceptor/unary_call.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {

void UnaryCall::Drive(const Decision& decision) {
  switch (decision.step) {
    case Step::kAttempt:
      return StartAttempt(decision);
    case Step::kWait:
      return Wait(decision);
    case Step::kFinish:
      return Finish();
  }
}

void UnaryCall::Begin() {
  const SessionPlan& plan =
      own_plan_ != nullptr ? own_plan_->session : plan_->session;
  if (!plan_->hedged || plan.retry->max_attempts <= 1 ||
      first_.step != Step::kAttempt) {
    return Drive(first_);
  }
  reissue_->hedges = std::make_unique<Hedges>(
      *plan_, plan, reissue_->route, reissue_->request, session_->deadline(),
      &*session_, static_cast<Hedges::Owner*>(this));
  {
    CallLock lock(&mu_);
    running_hedges_ = reissue_->hedges.get();
  }
  // A cancellation before this is seen by the first attempt.
  reissue_->hedges->Start(first_.attempt_deadline);
}

gpr_timespec UnaryCall::DeadlineOf(const Deadline& deadline, TimePoint now) {
  // The caller's own deadline goes on unchanged, bit for bit.
  return deadline == callers_deadline_ ? context_->raw_deadline()
                                       : ToGprDeadline(deadline, now);
}

void UnaryCall::StartAttempt(const Decision& decision) {
  const TimePoint now = plan_->session.clock->Now();
  attempt_start_ = now;
  Attempt& attempt = reissue_->attempt.emplace(
      reissue_->route, reissue_->request, decision.attempt,
      DeadlineOf(decision.attempt_deadline, now),
      static_cast<Attempt::Owner*>(this));
  bool cancelled = false;
  {
    CallLock lock(&mu_);
    running_ = &attempt;
    cancelled = cancelled_.load(std::memory_order_relaxed);
  }
  if (cancelled) attempt.Cancel();
  WatchSlowness();
  attempt.Run();  // the call may be over when it returns
}

void UnaryCall::OnAttemptDone() {
  {
    CallLock lock(&mu_);
    // A cancel pass may still be using it otherwise.
    if (!cancelled_.load(std::memory_order_relaxed)) running_ = nullptr;
  }
  const Attempt& attempt = *reissue_->attempt;
  Drive(EndAttempt(attempt.status(), &attempt.trailing_metadata(),
                   attempt.message()));
}

Decision UnaryCall::EndAttempt(const grpc::Status& status,
                               const Attempt::Metadata* trailing,
                               const google::protobuf::MessageLite* response) {
  if (slow_mark_ != nullptr) {
    slow_mark_->Disarm();
    slow_mark_ = nullptr;
  }
  AttemptEnd end = EndOf(status, trailing, &*session_);
  end.response = response;
  if (plan_->resilience->is_shut_down()) session_->OnShutdown();
  const Decision decision = session_->OnAttemptEnd(end);
  TellAttemptEnd(*plan_, *session_, status.error_code(), attempt_start_);
  return decision;
}

AttemptEnd UnaryCall::EndOf(const grpc::Status& status,
                            const Attempt::Metadata* trailing,
                            CallSession* session) {
  const StatusCode code = status.error_code();
  if (code != StatusCode::OK) {
    if (cancelled_.load(std::memory_order_acquire) ||
        (code == StatusCode::CANCELLED &&
         ContextAccess::HasParent(*context_))) {
      session->OnCancel();
    }
    if (MetParentsDeadline(*context_, status) && !session->attempt_limited()) {
      session->LowerDeadline(Deadline::At(plan_->session.clock->Now()));
    }
  }
  AttemptEnd end = MakeAttemptEnd(status, trailing);
  if (code == StatusCode::UNAVAILABLE && session->is_probe() &&
      plan_->watch != nullptr && !plan_->recovery->IsConnected()) {
    end.origin = ErrorOrigin::kNotConnected;
  }
  return end;
}

AttemptEnd UnaryCall::EndOf(const Attempt& attempt, CallSession* session) {
  AttemptEnd end =
      EndOf(attempt.status(), &attempt.trailing_metadata(), session);
  end.response = attempt.message();
  return end;
}

void UnaryCall::Wait(const Decision& decision) {
  WatchParent();
  if (decision.wait_until > plan_->session.clock->Now()) {
    CallLock lock(&mu_);
    if (!cancelled_.load(std::memory_order_relaxed) && !parent_end_) {
      waiting_ = true;
      timer_id_ = plan_->timer->Schedule(
          decision.wait_until, [this] { OnTimer(); }, plan_->resilience.get());
      // A shutdown that came in between has not seen this entry.
      if (!plan_->resilience->is_shut_down() ||
          !plan_->timer->Cancel(timer_id_)) {
        return;
      }
      waiting_ = false;
    }
  }
  Resume();
}

void UnaryCall::WatchParent() {
  if (reissue_->watch != nullptr || !ContextAccess::HasParent(*context_))
    return;
  reissue_->watch =
      std::make_unique<ParentWatch>(channel_, context_, plan_->method.c_str(),
                                    static_cast<ParentWatch::Owner*>(this));
  {
    CallLock lock(&mu_);
    watching_parent_ = true;
  }
  reissue_->watch->Start();
}

void UnaryCall::OnTimer() {
  {
    CallLock lock(&mu_);
    waiting_ = false;
  }
  Resume();
}

void UnaryCall::Resume() {
  std::optional<grpc::StatusCode> parent_end;
  {
    CallLock lock(&mu_);
    parent_end = parent_end_;
  }
  if (cancelled_.load(std::memory_order_acquire) ||
      parent_end == grpc::StatusCode::CANCELLED) {
    session_->OnCancel();
  } else if (parent_end) {
    session_->LowerDeadline(Deadline::At(plan_->session.clock->Now()));
  }
  if (plan_->resilience->is_shut_down()) session_->OnShutdown();
  Drive(session_->OnWaitOver());
}

void UnaryCall::OnParentWatchDone(grpc::StatusCode code) {
  bool resume = false;
  bool deliver = false;
  Hedges* hedges = nullptr;
  std::shared_ptr<FallbackRun> fallback_run;
  {
    CallLock lock(&mu_);
    if (before_delivery_ > 0) {
      watching_parent_ = false;
      deliver = --before_delivery_ == 0;
    } else {
      parent_end_ = code;
      fallback_run = fallback_run_;
      hedges = running_hedges_;
      // Still watching while the hedges hear of it.
      watching_parent_ = hedges != nullptr;
      resume = waiting_ && plan_->timer->Cancel(timer_id_);
      if (resume) waiting_ = false;
    }
  }
  // Without hedges the call may be over by now, or be so soon.
  if (fallback_run != nullptr) fallback_run->Cancel();
  if (hedges != nullptr) {
    hedges->OnParentEnd(code);
    CallLock lock(&mu_);
    watching_parent_ = false;
    if (before_delivery_ > 0) deliver = --before_delivery_ == 0;
  }
  if (deliver) Deliver();
  if (resume) Resume();
}

Attempt* UnaryCall::result_attempt() const {
  if (reissue_->hedges != nullptr) return reissue_->hedges->attempt();
  return reissue_->attempt ? &*reissue_->attempt : nullptr;
}

void UnaryCall::Finish() {
  const CallSession& session = result_session();
  if (plan_->watch != nullptr && session.reason() == StopReason::kBreakerOpen) {
    plan_->recovery->OnRejected(plan_->watch);
  }
  Attempt* const attempt = result_attempt();
  const grpc::Status* own_status = nullptr;
  {
    CallLock lock(&mu_);
    if (mode_.load(std::memory_order_relaxed) == Mode::kWatched) {
      own_status = (*held_.begin())->GetRecvStatus();
    }
    result_.Decide(session, plan_->rejection_details, attempt, own_status);
    if (parent_end_ == grpc::StatusCode::DEADLINE_EXCEEDED &&
        !result_.status().ok()) {
      result_.OverrideStatus(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED,
                                          "Deadline Exceeded"));
    }
  }
  if (has_fallbacks_ && result_.status().ok()) KeepResponse(nullptr, attempt);
  if (MayFallBack(result_.status().error_code()) && !AskFallbacks()) return;
  Conclude();
}

void UnaryCall::Conclude() {
  bool stop_watch = false;
  {
    CallLock lock(&mu_);
    stop_watch = watching_parent_;
    if (stop_watch) before_delivery_ = 2;  // its end, and the return of Stop
  }
  TellCallEnd(*plan_, result_session(), result_.code_of_call(), call_start_,
              result_.fallback_kind());
  if (stop_watch) {
    reissue_->watch->Stop();
    CallLock lock(&mu_);
    if (--before_delivery_ > 0) return;
  }
  Deliver();
}

void UnaryCall::Deliver() {
  if (Attempt* const attempt = result_attempt();
      attempt != nullptr && !result_.status().ok()) {
    ContextAccess::SetDebugErrorString(context_, attempt->debug_error_string());
  }
  HeldPasses held;
  {
    CallLock lock(&mu_);
    finished_ = true;
    held = held_;
  }
  const bool watched = mode_.load(std::memory_order_relaxed) == Mode::kWatched;
  for (Pass pass : held) {
    if (watched) {
      result_.Replace(pass, identity_, received_);
    } else {
      result_.Fill(pass, identity_, plan_->types);
    }
  }
  HandOver(context_);
  held.ProceedAll();
}

}  // namespace grpc_resilience::internal
