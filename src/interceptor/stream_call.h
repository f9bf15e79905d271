// One stream, from the caller's first batch on. Two ways through, chosen in the
// very first pass:
//
//   watched    nothing of the stream can be tried again or limited: the caller's own
//              call goes through gRPC untouched. The breaker is asked at the start
//              and told of the end.
//   hijacked   attempts are calls of our own (StreamRelay); also a stream that is
//              rejected, whose every batch is answered here.
//
// The passes of a batch come on the caller's thread, those of different batches from
// several threads at once.

#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "core/call_session.h"
#include "interceptor/call_mutex.h"
#include "interceptor/call_override.h"
#include "interceptor/call_plan.h"
#include "interceptor/call_result.h"
#include "interceptor/context_access.h"
#include "interceptor/slow_mark.h"
#include "interceptor/stream_relay.h"

namespace grpc_resilience::internal {

class StreamCall final : public grpc::experimental::Interceptor {
 public:
  /// `place` is empty where the channel's list can't be looked into.
  StreamCall(std::shared_ptr<const CallPlan> plan,
             grpc::experimental::ClientRpcInfo* info,
             std::optional<ContextAccess::Place> place);
  ~StreamCall() override;

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override;

 private:
  using Pass = grpc::experimental::InterceptorBatchMethods*;
  enum class Mode { kNew, kOpening, kWatched, kHijacked };

  void FirstPass(Pass pass);
  void WatchedPass(Pass pass);
  /// The second pass of the batch that was hijacked.
  void HijackedFirstBatch(Pass pass);
  void HijackedPass(Pass pass);
  void CancelPass();

  // Parts of the first pass.
  bool KnowsMessages(Pass pass) const;
  bool HasLaterInterceptors() const;
  void OpenRelay(Pass pass, const CallOverride& override);
  void OpenWatched(Pass pass);
  void Reject(Pass pass);

  // Of hijacked streams.
  void MakeRelay(Pass pass);
  /// False: the stream is over already.
  bool TakeMetadata(Pass pass, const CallOverride& override);
  void EditMetadata(Pass pass);

  // Of watched streams.
  void OnFirstMessage();
  void OnStatus(Pass pass);
  Decision EndAttempt(const AttemptEnd& end);

  const std::shared_ptr<const CallPlan> plan_;
  grpc::ClientContext* const context_;
  grpc::ChannelInterface* const channel_;
  const char* const suffix_for_stats_;
  const grpc::experimental::ClientRpcInfo::Type type_;
  const std::optional<ContextAccess::Place> place_;

  std::atomic<Mode> mode_{Mode::kNew};
  std::atomic<Pass> opening_{nullptr};
  std::atomic<bool> cancelled_{false};

  // Hijacked:
  std::shared_ptr<StreamRelay> relay_;
  bool has_metadata_ = false;  // of the thread that sends it
  bool begin_ = false;         // of the first batch
  std::optional<Duration> idle_timeout_;

  // Watched. The session is used under the lock until `ended_`, then by the thread
  // that set it.
  std::optional<CallSession> session_;
  std::shared_ptr<SlowMark> slow_mark_;
  std::atomic<bool> heard_message_{false};
  CallMutex mu_;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  TimePoint start_;  // only with observers
  CallResult result_;
};

}  // namespace grpc_resilience::internal
