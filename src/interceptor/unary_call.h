// One unary call, from the caller's first batch to the result that it sees.
//
// Two ways through, chosen in the very first pass:
//
//   watched    the caller's own call is attempt 1 and goes through gRPC as it would
//              without us. At its end the outcome is recorded; only when it may be
//              tried again is the receive pass held while attempts 2…n run.
//              A limit on attempt 1 that no deadline of the call says is kept by
//              OwnCallLimit.
//   hijacked   attempts run as calls of our own; the receive passes are held until
//              the result is known. For calls whose result isn't asked for in the
//              first batch, whose deadline must be shortened, or that are rejected.
//
// Who drives: exactly one thread at a time, handed on by events (first pass →
// attempt done → timer → …); it owns everything without a lock. `mu_` orders it
// against cancel passes, late receive passes and the end of the parent call.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "core/call_session.h"
#include "interceptor/call_mutex.h"
#include "interceptor/call_plan.h"
#include "interceptor/call_result.h"
#include "interceptor/context_access.h"
#include "interceptor/fallback_run.h"
#include "interceptor/held_passes.h"
#include "interceptor/message_identity.h"
#include "interceptor/own_call_limit.h"
#include "interceptor/own_plan.h"
#include "interceptor/reissue.h"
#include "interceptor/slow_mark.h"

namespace grpc_resilience::internal {

class UnaryCall final : public grpc::experimental::Interceptor,
                        private Attempt::Owner,
                        private Hedges::Owner,
                        private OwnCallLimit::Owner,
                        private FallbackRun::Owner,
                        private ParentWatch::Owner {
 public:
  /// `place` is empty where the channel's list can't be looked into.
  UnaryCall(std::shared_ptr<const CallPlan> plan,
            grpc::experimental::ClientRpcInfo* info,
            std::optional<ContextAccess::Place> place);
  ~UnaryCall() override;

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override;

 private:
  using Pass = grpc::experimental::InterceptorBatchMethods*;
  enum class Mode { kNew, kWatched, kHijacked, kUntouched };

  // Passes.
  void FirstPass(Pass pass);
  void WatchedPass(Pass pass);
  void HijackedPass(Pass pass);
  void CancelPass();
  void OnLimitSettled() override;
  void OwnCallEnded(Pass pass);

  // Parts of the first pass.
  void ApplyOverride(Pass pass, std::optional<Duration>* timeout);
  Deadline CallDeadline();
  bool NeedsShorterDeadline(const Decision& first) const;
  void EditMetadata(Pass pass);
  void CaptureRequest(Pass pass);
  bool HasLaterInterceptors() const;
  void LimitOwnCall(Pass pass);
  void PrepareReissue(Pass pass);
  void Reject(Pass pass);
  void WatchSlowness();

  // Driving.
  void Drive(const Decision& decision);
  void StartAttempt(const Decision& decision);
  void Wait(const Decision& decision);
  void WatchParent();
  void OnTimer();
  void Resume();
  void OnAttemptDone() override;
  // Hedges::Owner.
  void OnHedgesDone() override { Finish(); }
  AttemptEnd EndOf(const Attempt& attempt, CallSession* session) override;
  gpr_timespec DeadlineOf(const Deadline& deadline, TimePoint now) override;
  bool IsCancelled() const override {
    return cancelled_.load(std::memory_order_acquire);
  }
  void OnNothingOnTheWire() override { WatchParent(); }
  void OnParentWatchDone(grpc::StatusCode code) override;
  AttemptEnd EndOf(const grpc::Status& status,
                   const Attempt::Metadata* trailing, CallSession* session);
  Decision EndAttempt(const grpc::Status& status,
                      const Attempt::Metadata* trailing,
                      const google::protobuf::MessageLite* response);
  /// Hedged, if the method is.
  void Begin();
  /// Of the attempt that the result is of.
  const CallSession& result_session() const {
    return reissue_ != nullptr && reissue_->hedges != nullptr
               ? reissue_->hedges->session()
               : *session_;
  }
  Attempt* result_attempt() const;
  void Finish();
  void Conclude();
  void Deliver();

  // Fallbacks (unary_call_fallback.cc).
  /// After the session's kFinish, with the status that the caller would get.
  bool MayFallBack(grpc::StatusCode code) const;
  /// False: they are at it, and OnFallbackOver comes.
  bool AskFallbacks();
  void OnFallbackSlow() override { WatchParent(); }
  void OnFallbackOver() override;
  void UseFallback(FallbackRun* run);
  /// A call that succeeded; `attempt` is null for the caller's own.
  void KeepResponse(Pass pass, const Attempt* attempt);

  const std::shared_ptr<const CallPlan> plan_;
  grpc::ClientContext* const context_;
  grpc::ChannelInterface* const channel_;
  const char* const suffix_for_stats_;
  const std::optional<ContextAccess::Place> place_;

  std::atomic<Mode> mode_{Mode::kNew};
  std::atomic<bool> cancelled_{false};

  std::unique_ptr<OwnPlan> own_plan_;  // null: as the method's plan says
  std::optional<CallSession> session_;
  Deadline callers_deadline_;
  TimePoint call_start_;     // only with observers
  TimePoint attempt_start_;  // only with observers
  Decision first_;
  std::shared_ptr<SlowMark> slow_mark_;
  MessageIdentity identity_;
  const google::protobuf::MessageLite* request_object_ = nullptr;
  grpc::ByteBuffer request_bytes_;
  void* received_ = nullptr;  // the caller's response object, where shown
  /// Taken before interceptors after ours could change it; empty: as it stands.
  std::optional<std::multimap<std::string, std::string>> own_metadata_;
  std::optional<OwnCallLimit> own_call_limit_;
  Pass own_end_ = nullptr;  // waits for own_call_limit_
  std::unique_ptr<Reissue> reissue_;
  bool has_fallbacks_ = false;
  bool without_fallbacks_ = false;  // none is asked; responses are kept
  Deadline overall_deadline_;       // only with fallbacks
  CallResult result_;

  CallMutex mu_;
  HeldPasses held_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  Attempt* running_ ABSL_GUARDED_BY(mu_) = nullptr;
  Hedges* running_hedges_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<FallbackRun> fallback_run_ ABSL_GUARDED_BY(mu_);
  Timer::Id timer_id_ ABSL_GUARDED_BY(mu_) = 0;
  bool watching_parent_ ABSL_GUARDED_BY(mu_) = false;
  /// Events that must come before the result may be handed over.
  int before_delivery_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<grpc::StatusCode> parent_end_ ABSL_GUARDED_BY(mu_);
};

}  // namespace grpc_resilience::internal
