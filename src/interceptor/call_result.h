// What the caller sees at the end of a call that had more to it than its own first
// attempt: the last attempt's answer, or a status that the library made.

#pragma once

#include <grpcpp/support/interceptor.h>
#include <grpcpp/support/status.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/call_session.h"
#include "interceptor/attempt.h"
#include "interceptor/fallback_run.h"
#include "interceptor/message_identity.h"
#include "interceptor/status_details.h"

namespace grpc_resilience::internal {

/// Lives as long as the caller's context: the metadata that the caller reads
/// refers to it. Not safe for use from several threads at once while it is set up;
/// filling passes only reads it.
class CallResult {
 public:
  /// After the session's kFinish. `attempt` is the last re-issued one, or null;
  /// `own_status` is that of the caller's own call where it was attempt 1, else
  /// null. Both outlive this object's use.
  void Decide(const CallSession& session, const RejectionDetails& details,
              Attempt* attempt, const grpc::Status* own_status);
  /// Instead of what Decide said.
  void OverrideStatus(grpc::Status status) { status_ = std::move(status); }

  /// What the fallbacks said of a call that Decide found to have failed: their
  /// answer takes the place of the status, messages and metadata of the call, and
  /// the report says so.
  void AddFallback(FallbackOutcome outcome);

  const grpc::Status& status() const { return status_; }
  /// The call's own, whatever a fallback answered.
  grpc::StatusCode code_of_call() const {
    return fallback_ != nullptr ? fallback_->code : status_.error_code();
  }
  /// The kind of the fallback that answered; empty: none.
  std::string_view fallback_kind() const {
    return fallback_ != nullptr ? fallback_->outcome.kind : std::string_view();
  }

  /// Fills a receive pass of a hijacked call.
  void Fill(grpc::experimental::InterceptorBatchMethods* pass,
            const MessageIdentity& identity, const MethodTypes& types) const;

  /// Replaces what the caller's own, failed call left in its post-receive pass.
  /// `received` is the caller's response object.
  void Replace(grpc::experimental::InterceptorBatchMethods* pass,
               const MessageIdentity& identity, void* received) const;

  /// Adds "grpc-resilience-attempts" and "-reason" when something happened.
  void AddReport(
      std::multimap<grpc::string_ref, grpc::string_ref>* trailing) const;

 private:
  struct Fallback {
    FallbackOutcome outcome;
    grpc::StatusCode code = grpc::StatusCode::OK;  // of the call
    std::string mark;                              // "stale_cache; age=12s"
    std::string status;                            // "UNAVAILABLE: overloaded"
  };

  bool HasAnswer() const {
    return fallback_ != nullptr && fallback_->outcome.answer.has_value();
  }
  grpc::Status WithMessage(MessageBase base, void* into, bool* delivered) const;
  grpc::Status WithAnswer(MessageBase base, void* into, bool* delivered) const;

  grpc::Status status_;
  Attempt* attempt_ = nullptr;
  bool reported_ = false;
  std::string attempts_;
  std::string_view reason_;
  std::unique_ptr<const Fallback> fallback_;
};

}  // namespace grpc_resilience::internal
