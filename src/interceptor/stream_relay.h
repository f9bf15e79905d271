// A stream whose attempts are calls of the library's own: what the caller writes
// goes to the attempt on the wire and is kept until it can't be sent again, what the
// attempt receives goes to the caller. StreamSession says what to do; this does it.
//
// Events come from the caller's threads (passes, cancel), gRPC's (the attempt) and
// the timer's. Each goes through Advance: the state machine is asked under `mu_`, and
// what it says is done without it. Attempts, waits and the end are driven by one
// thread at a time: an attempt that is over, the timer that follows it, and so on.
//
// The caller may let go of everything at any time: from then on there is only what
// is under way, and no pass is touched any more (Abandon).

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/interceptor.h>

#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/call_session.h"
#include "core/stream_session.h"
#include "interceptor/call_mutex.h"
#include "interceptor/call_plan.h"
#include "interceptor/call_result.h"
#include "interceptor/held_passes.h"
#include "interceptor/own_plan.h"
#include "interceptor/parent_watch.h"
#include "interceptor/slow_mark.h"
#include "interceptor/stream_attempt.h"
#include "interceptor/stream_message.h"

namespace grpc_resilience::internal {

/// This type is safe to use from several threads at once.
class StreamRelay final : private StreamAttempt::Owner,
                          private ParentWatch::Owner,
                          public std::enable_shared_from_this<StreamRelay> {
 public:
  using Pass = grpc::experimental::InterceptorBatchMethods*;

  /// `context` is the caller's; only touched while a pass is held.
  static std::shared_ptr<StreamRelay> Make(std::shared_ptr<const CallPlan> plan,
                                           grpc::ClientContext* context,
                                           bool unary_response);
  ~StreamRelay();

  /// Before the first Begin. Of the thread that opens the stream.
  StreamRoute& route() { return route_; }

  /// The caller's initial metadata is there, once: the call is what `session` says.
  /// False: it is over already.
  bool Prepare(std::unique_ptr<OwnPlan> own_plan, bool may_retry,
               std::optional<Duration> timeout);
  /// The stream's first decision, in place of Begin: rejected.
  void FinishWith(CallSession session);
  /// Makes the first attempt.
  void Begin();
  /// Nothing is sent yet (a corked start): the end may come all the same.
  void WatchIdle(std::optional<Duration> timeout);

  // Passes of the caller. A held one is answered later; `held` is null for a batch
  // whose end isn't held.
  void Write(const grpc::ByteBuffer& bytes, bool last, Pass held);
  void HalfClose(Pass held);
  void Receive(Pass held, const PassHooks& hooks, bool first_batch);

  /// From the cancel pass: nothing of the caller's is touched.
  void Cancel();
  /// The caller's context is going away.
  void Abandon();

 private:
  /// What Advance does without the lock.
  struct Work {
    StreamStep step;
    std::shared_ptr<StreamAttempt> attempt;
    grpc::ByteBuffer to_send;
    StreamMessage message;
    Pass write = nullptr;
    Pass close = nullptr;
    Pass headers = nullptr;
    Pass read = nullptr;
    Pass finish = nullptr;
    bool tell_replay = false;
    std::int64_t replay_peak = 0;
    ReplayBuffer::Overflow overflow = ReplayBuffer::Overflow::kNone;
  };

  StreamRelay(std::shared_ptr<const CallPlan> plan,
              grpc::ClientContext* context, bool unary_response);

  // The attempt's reports.
  void OnSent(bool ok) override;
  void OnHeaders(bool real) override;
  void OnReceived(std::unique_ptr<StreamMessage> message) override;
  void OnStatus() override;

  void Advance();
  void TakeWorkLocked(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Do(Work work);
  /// From here on the caller may let go of everything, and only the relay is left.
  void ProceedAll(std::initializer_list<Pass> passes);
  void FillRead(Work* work);
  void FillHeaders(Pass pass);
  void FillFinish(Work* work);

  // Driving (stream_relay_driver.cc).
  const SessionPlan& session_plan() const;
  void Drive(const Decision& decision);
  void Launch(const Decision& decision);
  void Settle();
  Decision EndAttempt();
  void Wait(const Decision& decision);
  void OnWaitOver();
  void Resume();
  void Finish();
  enum class IdleEnd { kCancelled, kDeadline };
  void EndIdle(IdleEnd why);
  std::unique_ptr<ParentWatch> MakeParentWatch();
  void WatchParent();
  void OnParentWatchDone(grpc::StatusCode code) override;
  void OnLimit(int attempt);
  void OnGrace(int attempt);

  /// Runs a method on the timer's thread.
  Timer::Id Schedule(TimePoint when, const void* owner,
                     std::function<void(StreamRelay*)> run);
  void CancelTimerLocked(Timer::Id* id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FirstMessageLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<const CallPlan> plan_;
  grpc::ClientContext* const context_;
  const bool unary_response_;
  const gpr_timespec raw_deadline_;
  const Deadline callers_deadline_;
  Deadline deadline_;
  const TimePoint start_;
  grpc_call* const parent_;  // holds a reference; null: none

  // Of the driving thread.
  StreamRoute route_;
  std::unique_ptr<OwnPlan> own_plan_;
  std::optional<CallSession> session_;
  std::shared_ptr<SlowMark> slow_mark_;
  TimePoint attempt_start_;
  std::unique_ptr<ParentWatch> watch_;
  CallResult result_;  // constant once finished

  CallMutex mu_;
  StreamSession stream_ ABSL_GUARDED_BY(mu_);
  StreamReceiver receiver_;  // of the held read
  /// Message i of the stream is sent_[i - sent_begin_].
  std::deque<grpc::ByteBuffer> sent_ ABSL_GUARDED_BY(mu_);
  std::size_t sent_begin_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<StreamMessage> received_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<StreamAttempt> attempt_ ABSL_GUARDED_BY(mu_);
  int attempt_number_ ABSL_GUARDED_BY(mu_) = 0;
  bool heard_message_ ABSL_GUARDED_BY(mu_) = false;  // of this attempt
  Pass write_ ABSL_GUARDED_BY(mu_) = nullptr;
  Pass close_ ABSL_GUARDED_BY(mu_) = nullptr;
  Pass headers_ ABSL_GUARDED_BY(mu_) = nullptr;
  Pass read_ ABSL_GUARDED_BY(mu_) = nullptr;
  Pass finish_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool idle_ ABSL_GUARDED_BY(mu_) = false;
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;
  bool replay_told_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<grpc::StatusCode> parent_end_ ABSL_GUARDED_BY(mu_);
  /// Itself, while the watch may report.
  std::shared_ptr<StreamRelay> watching_ ABSL_GUARDED_BY(mu_);
  Timer::Id wait_timer_ ABSL_GUARDED_BY(mu_) = 0;
  Timer::Id deadline_timer_ ABSL_GUARDED_BY(mu_) = 0;
  Timer::Id limit_timer_ ABSL_GUARDED_BY(mu_) = 0;
  Timer::Id grace_timer_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace grpc_resilience::internal
