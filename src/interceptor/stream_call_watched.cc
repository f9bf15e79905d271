// Streams that go through untouched: the breaker is asked at the start and told of
// the end.

#include <utility>

#include "interceptor/attempt_end.h"
#include "interceptor/call_events.h"
#include "interceptor/stream_call.h"
#include "interceptor/thread_handover.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

using Hook = grpc::experimental::InterceptionHookPoints;

}  // namespace

void StreamCall::OpenWatched(Pass pass) {
  const gpr_timespec deadline = context_->raw_deadline();
  session_.emplace(
      plan_->single_session,
      IsInfinite(deadline)
          ? Deadline::None()
          : FromGprDeadline(deadline, plan_->session.clock->Now()));
  if (cancelled_.load(std::memory_order_acquire)) session_->OnCancel();
  const Decision first = session_->Start();
  if (first.step == Step::kFinish) {
    if (session_->reason() == StopReason::kBreakerOpen) return Reject(pass);
    // Cancelled or out of time before it began: gRPC says so itself.
    TellCallEnd(*plan_, *session_, session_->local_status()->code, start_);
    session_.reset();
  } else if (const auto slow_at = session_->slow_at()) {
    slow_mark_ = SlowMark::Arm(plan_->timer, *slow_at, &*session_);
  }
  if (pass->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
    EditMetadata(pass);
  }
  HandOver(this);
  mode_.store(Mode::kWatched, std::memory_order_release);
  pass->Proceed();
}

void StreamCall::WatchedPass(Pass pass) {
  if (pass->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
    // A corked start, too late for options of its own.
    TakeOverride(pass->GetSendInitialMetadata());
    EditMetadata(pass);
  }
  if (pass->QueryInterceptionHookPoint(Hook::POST_RECV_MESSAGE) &&
      !heard_message_.load(std::memory_order_relaxed) &&
      pass->GetRecvMessage() != nullptr) {
    OnFirstMessage();
  }
  if (pass->QueryInterceptionHookPoint(Hook::POST_RECV_STATUS)) OnStatus(pass);
  HandOver(this);
  pass->Proceed();
}

void StreamCall::OnFirstMessage() {
  heard_message_.store(true, std::memory_order_relaxed);
  CallLock lock(&mu_);
  if (ended_ || !session_) return;
  if (slow_mark_ != nullptr) {
    slow_mark_->Disarm();
    slow_mark_ = nullptr;
  }
  session_->OnFirstMessage();
}

void StreamCall::OnStatus(Pass pass) {
  {
    CallLock lock(&mu_);
    if (ended_ || !session_) return;
    ended_ = true;
  }
  grpc::Status* status = pass->GetRecvStatus();
  auto* trailing = pass->GetRecvTrailingMetadata();
  const StatusCode code = status->error_code();
  if (code != StatusCode::OK && (cancelled_.load(std::memory_order_acquire) ||
                                 (code == StatusCode::CANCELLED &&
                                  ContextAccess::HasParent(*context_)))) {
    session_->OnCancel();
  }
  AttemptEnd end =
      MakeAttemptEnd(*status, code == StatusCode::OK ? nullptr : trailing);
  if (code == StatusCode::UNAVAILABLE && session_->is_probe() &&
      plan_->watch != nullptr && !plan_->recovery->IsConnected()) {
    end.origin = ErrorOrigin::kNotConnected;
  }
  EndAttempt(end);
  // Its own status stays, whatever the session would say of it.
  TellCallEnd(*plan_, *session_, code, start_);
}

Decision StreamCall::EndAttempt(const AttemptEnd& end) {
  if (slow_mark_ != nullptr) {
    slow_mark_->Disarm();
    slow_mark_ = nullptr;
  }
  const Decision decision = session_->OnAttemptEnd(end);
  TellAttemptEnd(*plan_, *session_, end.code, start_);
  return decision;
}

}  // namespace grpc_resilience::internal
