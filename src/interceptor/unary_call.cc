#include "interceptor/unary_call.h"

#include <algorithm>

#include "core/fallback_decision.h"
#include "interceptor/call_events.h"
#include "interceptor/idempotency_key.h"
#include "interceptor/thread_handover.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

using Hook = grpc::experimental::InterceptionHookPoints;

}  // namespace

UnaryCall::UnaryCall(std::shared_ptr<const CallPlan> plan,
                     grpc::experimental::ClientRpcInfo* info,
                     std::optional<ContextAccess::Place> place)
    : plan_(std::move(plan)),
      context_(info->client_context()),
      channel_(info->channel()),
      suffix_for_stats_(info->suffix_for_stats()),
      place_(place) {}

UnaryCall::~UnaryCall() {
  if (slow_mark_ != nullptr) slow_mark_->Disarm();
}

void UnaryCall::Intercept(Pass pass) {
  TakeOver(this);
  // First of all: nothing else may be asked of a cancel pass.
  if (pass->QueryInterceptionHookPoint(Hook::PRE_SEND_CANCEL)) {
    CancelPass();
    return;
  }
  switch (mode_.load(std::memory_order_acquire)) {
    case Mode::kNew:
      return FirstPass(pass);
    case Mode::kWatched:
      return WatchedPass(pass);
    case Mode::kHijacked:
      return HijackedPass(pass);
    case Mode::kUntouched:
      return pass->Proceed();
  }
}

void UnaryCall::FirstPass(Pass pass) {
  std::optional<Duration> timeout = plan_->policy.timeout;
  ApplyOverride(pass, &timeout);
  const SessionPlan& plan =
      own_plan_ != nullptr ? own_plan_->session : plan_->session;
  callers_deadline_ = CallDeadline();
  if (plan_->observers != nullptr) {
    call_start_ = attempt_start_ = plan_->session.clock->Now();
  }
  const bool limited = plan.retry->per_attempt_timeout.has_value() ||
                       plan.probe_timeout.has_value() || timeout.has_value();
  bool may_retry = own_plan_ != nullptr ? CanRetry(*plan.retry, plan.idempotent)
                                        : plan_->may_retry;
  if (plan_->resilience->is_shut_down()) may_retry = false;
  if (may_retry || limited || has_fallbacks_ || plan_->outcome_predicate) {
    identity_ = Identify(pass, plan_->types, plan_->policy.message_kind);
    if (!identity_.known) {
      if (may_retry || limited || has_fallbacks_) {
        plan_->NoticeUnknownMessages();
      }
      may_retry = has_fallbacks_ = false;
    }
  }
  Deadline deadline = callers_deadline_;
  if (timeout) {
    deadline = Earlier(deadline,
                       Deadline::After(plan_->session.clock->Now(), *timeout));
  }
  if (has_fallbacks_) {
    overall_deadline_ = deadline;
    deadline = DeadlineLessReserve(plan_->fallback->rules(), deadline,
                                   plan_->session.clock->Now());
  }
  if (!may_retry && own_plan_ != nullptr) own_plan_->retry.max_attempts = 1;
  session_.emplace(
      may_retry || own_plan_ != nullptr ? plan : plan_->single_session,
      deadline);
  if (cancelled_.load(std::memory_order_acquire)) session_->OnCancel();
  first_ = session_->Start();
  const bool rejected = first_.step == Step::kFinish;
  if (rejected && !MayFallBack(session_->local_status()->code)) {
    return Reject(pass);
  }

  EditMetadata(pass);
  received_ = pass->GetRecvMessage();
  const bool one_batch = received_ != nullptr &&
                         pass->GetRecvStatus() != nullptr &&
                         identity_.got_message != nullptr;
  const bool limited_attempt = identity_.known && NeedsShorterDeadline(first_);
  const bool own_limit =
      limited_attempt && one_batch && !plan_->hedged &&
      OwnCallLimit::Fits(*context_, *pass->GetSendInitialMetadata());
  const bool may_replace = may_retry || has_fallbacks_;
  const bool hedged = may_retry && plan_->hedged;
  if (rejected || (limited_attempt && !own_limit) ||
      (identity_.known && may_replace && (!one_batch || hedged))) {
    CaptureRequest(pass);
    PrepareReissue(pass);
    mode_.store(Mode::kHijacked, std::memory_order_release);
    // Comes back with the receive pass, and may be over when it returns.
    pass->Hijack();
    return;
  }
  if (may_replace) {
    CaptureRequest(pass);
    if (HasLaterInterceptors()) {
      own_metadata_ = *pass->GetSendInitialMetadata();
    }
  }
  if (own_limit) LimitOwnCall(pass);
  WatchSlowness();
  HandOver(this);
  mode_.store(Mode::kWatched, std::memory_order_release);
  pass->Proceed();
}

void UnaryCall::Reject(Pass pass) {
  if (session_->reason() != StopReason::kBreakerOpen) {
    // Cancelled or out of time before it began: gRPC says so itself.
    mode_.store(Mode::kUntouched, std::memory_order_release);
    TellCallEnd(*plan_, *session_, session_->local_status()->code, call_start_);
    pass->Proceed();
    return;
  }
  if (plan_->watch != nullptr) plan_->recovery->OnRejected(plan_->watch);
  result_.Decide(*session_, plan_->rejection_details, nullptr, nullptr);
  TellCallEnd(*plan_, *session_, result_.status().error_code(), call_start_);
  {
    CallLock lock(&mu_);
    started_ = true;
    finished_ = true;
  }
  mode_.store(Mode::kHijacked, std::memory_order_release);
  pass->Hijack();
}

void UnaryCall::ApplyOverride(Pass pass, std::optional<Duration>* timeout) {
  const CallOverride override = TakeOverride(pass->GetSendInitialMetadata());
  has_fallbacks_ = plan_->fallback != nullptr;
  without_fallbacks_ = override.without_fallbacks;
  if (override.empty()) return;
  own_plan_ = std::make_unique<OwnPlan>(plan_->session, override);
  if (override.options.timeout) *timeout = override.options.timeout;
}

void UnaryCall::WatchSlowness() {
  if (const auto slow_at = session_->slow_at()) {
    slow_mark_ = SlowMark::Arm(plan_->timer, *slow_at, &*session_);
  }
}

Deadline UnaryCall::CallDeadline() {
  const gpr_timespec deadline = context_->raw_deadline();
  if (IsInfinite(deadline)) return Deadline::None();
  return FromGprDeadline(deadline, plan_->session.clock->Now());
}

bool UnaryCall::NeedsShorterDeadline(const Decision& first) const {
  return first.attempt_deadline != callers_deadline_ &&
         Earlier(first.attempt_deadline, callers_deadline_) ==
             first.attempt_deadline;
}

void UnaryCall::EditMetadata(Pass pass) {
  auto* metadata = pass->GetSendInitialMetadata();
  if (!metadata->empty()) metadata->erase(kPreviousAttemptsKey);
  const auto& header = plan_->policy.retry.idempotency_key_header;
  // A key that the caller chose stays.
  if (header && metadata->find(*header) == metadata->end()) {
    metadata->emplace(*header, MakeIdempotencyKey(*plan_->session.random));
  }
}

void UnaryCall::LimitOwnCall(Pass pass) {
  own_call_limit_.emplace(plan_->timer, context_,
                          static_cast<OwnCallLimit::Owner*>(this));
  own_call_limit_->Arm(plan_->session.clock->Now(),
                       *first_.attempt_deadline.when(),
                       pass->GetSendInitialMetadata());
}

void UnaryCall::WatchedPass(Pass pass) {
  if (!pass->QueryInterceptionHookPoint(Hook::POST_RECV_STATUS)) {
    pass->Proceed();
    return;
  }
  own_end_ = pass;
  if (own_call_limit_ && !own_call_limit_->OnCallEnd()) return;
  OwnCallEnded(pass);
}

void UnaryCall::OnLimitSettled() { OwnCallEnded(own_end_); }

void UnaryCall::OwnCallEnded(Pass pass) {
  grpc::Status* status = pass->GetRecvStatus();
  const bool has_message = status->ok() && received_ != nullptr &&
                           identity_.received == MessageBase::kProtobuf;
  const Decision decision = EndAttempt(
      *status, status->ok() ? nullptr : pass->GetRecvTrailingMetadata(),
      has_message ? static_cast<const google::protobuf::MessageLite*>(received_)
                  : nullptr);
  if (decision.step != Step::kFinish || MayFallBack(status->error_code())) {
    PrepareReissue(pass);
    {
      CallLock lock(&mu_);
      started_ = true;
      held_.Add(pass);
    }
    Drive(decision);
    return;
  }
  if (!status->ok()) {
    result_.Decide(*session_, plan_->rejection_details, nullptr, status);
    *status = result_.status();
    result_.AddReport(pass->GetRecvTrailingMetadata());
  } else if (has_fallbacks_) {
    KeepResponse(pass, nullptr);
  }
  TellCallEnd(*plan_, *session_, status->error_code(), call_start_);
  HandOver(context_);
  pass->Proceed();
}

void UnaryCall::HijackedPass(Pass pass) {
  if (!PassHooks(pass).any()) {
    pass->Proceed();
    return;
  }
  bool finished = false;
  bool start = false;
  {
    CallLock lock(&mu_);
    finished = finished_;
    if (!finished) {
      held_.Add(pass);
      start = !started_;
      started_ = true;
    }
  }
  if (finished) {
    result_.Fill(pass, identity_, plan_->types);
    HandOver(context_);
    pass->Proceed();
  } else if (start) {
    Begin();
  }
}

void UnaryCall::CancelPass() {
  Attempt* running = nullptr;
  Hedges* hedges = nullptr;
  std::shared_ptr<FallbackRun> fallback_run;
  {
    CallLock lock(&mu_);
    cancelled_.store(true, std::memory_order_release);
    fallback_run = fallback_run_;
    if (running_hedges_ != nullptr) {
      hedges = running_hedges_;
    } else if (running_ != nullptr) {
      running = running_;
    } else if (waiting_ && plan_->timer->Cancel(timer_id_)) {
      // Not from here: the caller's context is locked while this runs.
      timer_id_ = plan_->timer->Schedule(
          TimePoint::min(), [this] { OnTimer(); }, plan_->resilience.get());
    }
  }
  // Safe without the lock: once cancelled_ is set, no other attempt replaces it.
  if (running != nullptr) running->Cancel();
  if (hedges != nullptr) hedges->Cancel();
  if (fallback_run != nullptr) fallback_run->Cancel();
}

}  // namespace grpc_resilience::internal
