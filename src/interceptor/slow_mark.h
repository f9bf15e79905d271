// Tells the breaker of an attempt that is slow while it is still under way, so that
// hung calls open it before they end.
//
//   auto mark = SlowMark::Arm(timer, when, &session);
//   ... before the session hears of anything else:
//   mark->Disarm();

#pragma once

#include <memory>
#include <utility>

#include "core/call_session.h"
#include "grpc_resilience/timer.h"
#include "interceptor/call_mutex.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once. Outlives its owner while
/// the timer is at it.
class SlowMark {
 public:
  static std::shared_ptr<SlowMark> Arm(std::shared_ptr<Timer> timer,
                                       TimePoint when, CallSession* session) {
    auto mark = std::make_shared<SlowMark>(std::move(timer), session);
    // Of no group: a shutdown ends waits, never a call in flight.
    mark->id_ = mark->timer_->Schedule(
        when, [mark] { mark->OnTimer(); }, nullptr);
    return mark;
  }

  SlowMark(std::shared_ptr<Timer> timer, CallSession* session)
      : timer_(std::move(timer)), session_(session) {}

  /// The session isn't touched afterwards. Once, by the thread that armed it or one
  /// that follows it.
  void Disarm() {
    timer_->Cancel(id_);
    CallLock lock(&mu_);
    session_ = nullptr;
  }

 private:
  void OnTimer() {
    CallLock lock(&mu_);
    if (session_ != nullptr) session_->OnSlow();
  }

  const std::shared_ptr<Timer> timer_;
  Timer::Id id_ = 0;  // of the thread that armed it
  CallMutex mu_;
  CallSession* session_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal
