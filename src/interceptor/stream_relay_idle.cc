// The end of a relayed stream while no attempt of it is on the wire, so that nobody
// else watches the time, the caller and the parent call.

#include "interceptor/context_access.h"
#include "interceptor/reaction.h"
#include "interceptor/stream_relay.h"

namespace grpc_resilience::internal {

void StreamRelay::WatchIdle() {
  bool cancelled = false;
  {
    CallLock lock(&mu_);
    if (begun_) return;
    idle_ = true;
    cancelled = cancelled_;
    if (callers_deadline_.when()) {
      deadline_timer_ = Schedule(
          *callers_deadline_.when(), nullptr,
          [](StreamRelay* relay) { relay->EndIdle(IdleEnd::kDeadline); });
    }
  }
  if (cancelled) {
    Schedule(TimePoint::min(), nullptr,
             [](StreamRelay* relay) { relay->EndIdle(IdleEnd::kCancelled); });
  }
  WatchParent();
}

void StreamRelay::EndIdle(IdleEnd why) {
  {
    CallLock lock(&mu_);
    if (begun_) return;
    begun_ = true;
    CancelTimerLocked(&deadline_timer_);
  }
  session_.emplace(plan_->single_session, deadline_);
  if (why == IdleEnd::kCancelled) {
    session_->OnCancel();
  } else {
    session_->LowerDeadline(Deadline::At(plan_->session.clock->Now()));
  }
  Drive(session_->Start());
}

void StreamRelay::WatchParent() {
  if (watch_ != nullptr || !ContextAccess::HasParent(route_.carried)) return;
  watch_ = std::make_unique<ParentWatch>(
      route_.channel, &route_.carried, plan_->method.c_str(),
      static_cast<ParentWatch::Owner*>(this));
  {
    CallLock lock(&mu_);
    watching_ = shared_from_this();
  }
  watch_->Start();
}

void StreamRelay::OnParentWatchDone(grpc::StatusCode code) {
  const Reaction reaction;
  std::shared_ptr<StreamRelay> self;
  bool resume = false;
  bool end_idle = false;
  {
    CallLock lock(&mu_);
    self.swap(watching_);
    if (stream_.finished()) return;
    parent_end_ = code;
    end_idle = !begun_;
    resume = waiting_ && plan_->timer->Cancel(wait_timer_);
    if (resume) waiting_ = false;
  }
  if (resume) return Resume();
  if (end_idle) {
    EndIdle(code == grpc::StatusCode::CANCELLED ? IdleEnd::kCancelled
                                                : IdleEnd::kDeadline);
  }
}

}  // namespace grpc_resilience::internal
