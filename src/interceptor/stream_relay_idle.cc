// The end of a relayed stream while no attempt of it is on the wire, so that nobody
// else watches the time, the caller and the parent call.

#include "interceptor/context_access.h"
#include "interceptor/reaction.h"
#include "interceptor/stream_relay.h"

namespace grpc_resilience::internal {

void StreamRelay::WatchIdle(std::optional<Duration> timeout) {
  const Deadline end =
      timeout ? Earlier(callers_deadline_, Deadline::After(start_, *timeout))
              : callers_deadline_;
  std::unique_ptr<ParentWatch> watch = MakeParentWatch();
  ParentWatch* const started = watch.get();
  bool cancelled = false;
  {
    CallLock lock(&mu_);
    if (begun_) return;
    idle_ = true;
    cancelled = cancelled_;
    if (started != nullptr) {
      watch_ = std::move(watch);
      watching_ = shared_from_this();
    }
    if (end.when()) {
      deadline_timer_ = Schedule(*end.when(), nullptr, [](StreamRelay* relay) {
        relay->EndIdle(IdleEnd::kDeadline);
      });
    }
  }
  if (cancelled) {
    Schedule(TimePoint::min(), nullptr,
             [](StreamRelay* relay) { relay->EndIdle(IdleEnd::kCancelled); });
  }
  if (started != nullptr) started->Start();
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

std::unique_ptr<ParentWatch> StreamRelay::MakeParentWatch() {
  if (!ContextAccess::HasParent(route_.carried)) return nullptr;
  return std::make_unique<ParentWatch>(route_.channel, &route_.carried,
                                       plan_->method.c_str(),
                                       static_cast<ParentWatch::Owner*>(this));
}

void StreamRelay::WatchParent() {
  if (watch_ != nullptr) return;
  watch_ = MakeParentWatch();
  if (watch_ == nullptr) return;
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
