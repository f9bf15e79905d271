// The attempts of one hedged call, several of them on the wire at once.
//
// Their ends, the timer and cancellation come on threads of their own; whoever finds
// nobody at work becomes the driver and handles events until there are none left, so
// that the session, the attempts and the owner see one thread at a time.

#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/hedge_session.h"
#include "interceptor/attempt.h"
#include "interceptor/call_mutex.h"
#include "interceptor/call_plan.h"
#include "interceptor/slow_mark.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once, where a function doesn't
/// say otherwise.
class Hedges {
 public:
  /// Called by the driver.
  class Owner {
   public:
    /// The call is over and no attempt is on the wire; the last thing that the
    /// Hedges object does.
    virtual void OnHedgesDone() = 0;
    /// What the session of that attempt is told of its end.
    virtual AttemptEnd EndOf(const Attempt& attempt, CallSession* session) = 0;
    virtual gpr_timespec DeadlineOf(const Deadline& deadline,
                                    TimePoint now) = 0;
    virtual bool IsCancelled() const = 0;
    /// Nothing is on the wire that would be cancelled with a parent call.
    virtual void OnNothingOnTheWire() = 0;

   protected:
    ~Owner() = default;
  };

  /// `first` has begun: attempt 1 is to be sent. The references outlive this object.
  Hedges(const CallPlan& plan, const SessionPlan& session_plan,
         const AttemptRoute& route, const AttemptRequest& request,
         Deadline deadline, CallSession* first, Owner* owner);
  Hedges(const Hedges&) = delete;
  Hedges& operator=(const Hedges&) = delete;

  /// Once. The call may be over when it returns.
  void Start(const Deadline& first_deadline);

  /// The caller has cancelled. May be called while the caller's context is locked.
  void Cancel();
  /// The parent call has ended so.
  void OnParentEnd(grpc::StatusCode code);

  // After OnHedgesDone:

  const CallSession& session() { return session_.session(session_.result()); }
  /// Null: none was made that the result is of.
  Attempt* attempt();

 private:
  struct Sent final : Attempt::Owner {
    void OnAttemptDone() override;

    Hedges* hedges = nullptr;
    int number = 0;
    TimePoint start;
    bool on_wire = true;
    std::shared_ptr<SlowMark> slow_mark;
    std::optional<Attempt> attempt;
  };
  enum class EventKind { kStart, kAttemptEnd, kTime, kCancel, kParentEnd };
  struct Event {
    EventKind kind = EventKind::kTime;
    int attempt = 0;
    grpc::StatusCode code = grpc::StatusCode::OK;
    Deadline deadline;
  };

  /// `awaited`: it is one of those that pending_ counts.
  void Post(const Event& event, bool awaited);
  void Drive();
  void Handle(const Event& event);
  void HandleAttemptEnd(int number);
  void Follow(HedgeStep step);
  void Send(int number, const Deadline& deadline);
  void Await(std::optional<TimePoint> when);
  void StopTimer();
  void CancelAttempts();
  void CutOff();
  void RecordLatency();

  const CallPlan& plan_;
  const AttemptRoute& route_;
  const AttemptRequest& request_;
  Owner& owner_;

  // The driver's:
  HedgeSession session_;
  std::vector<std::unique_ptr<Sent>> sent_;
  std::optional<TimePoint> awaited_;
  bool cut_off_ = false;

  CallMutex mu_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mu_);
  bool driven_ ABSL_GUARDED_BY(mu_) = false;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<Timer::Id> timer_id_ ABSL_GUARDED_BY(mu_);
  /// Entries of the timer that can't be taken back any more, or aren't yet.
  int pending_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal
