#include "interceptor/call_result.h"

#include "interceptor/held_passes.h"
#include "interceptor/status_details.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kAttemptsKey[] = "grpc-resilience-attempts";
constexpr char kReasonKey[] = "grpc-resilience-reason";

using MetadataRefs = std::multimap<grpc::string_ref, grpc::string_ref>;

// True for calls that went as they would have without us.
bool IsUneventful(StopReason reason, int attempts) {
  if (attempts != 1) return false;
  switch (reason) {
    case StopReason::kOk:
    case StopReason::kNotRetryable:
    case StopReason::kRetriesExhausted:  // of a policy with one attempt
    case StopReason::kDeadlineExceeded:
    case StopReason::kCancelled:
      return true;
    default:
      return false;
  }
}

grpc::Status MakeLocalStatus(const CallSession& session,
                             const RejectionDetails& details) {
  const LocalStatus& local = *session.local_status();
  if (!session.rejection().has_value()) {
    return grpc::Status(local.code, local.message);
  }
  return grpc::Status(local.code, local.message,
                      details.Make(local.code, local.message,
                                   session.rejection()->retry_after));
}

}  // namespace

void CallResult::Decide(const CallSession& session,
                        const RejectionDetails& details, Attempt* attempt,
                        const grpc::Status* own_status) {
  attempt_ = attempt;
  if (session.local_status().has_value()) {
    status_ = MakeLocalStatus(session, details);
  } else if (attempt != nullptr) {
    status_ = attempt->status();
  } else if (own_status != nullptr) {
    status_ = *own_status;
  }
  if (IsUneventful(session.reason(), session.attempts())) return;
  reported_ = true;
  attempts_ = std::to_string(session.attempts());
  if (session.reason() != StopReason::kOk) reason_ = ToString(session.reason());
}

void CallResult::AddReport(MetadataRefs* trailing) const {
  if (!reported_) return;
  trailing->emplace(kAttemptsKey, attempts_);
  if (reason_.empty()) return;
  trailing->emplace(kReasonKey,
                    grpc::string_ref(reason_.data(), reason_.size()));
}

grpc::Status CallResult::WithMessage(MessageBase base, void* into,
                                     bool* delivered) const {
  *delivered = false;
  if (!status_.ok()) return status_;
  if (attempt_ == nullptr || !attempt_->has_message()) {
    // As a stub says it.
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                        "No message returned for unary request");
  }
  switch (base) {
    case MessageBase::kUnknown:
      return grpc::Status(grpc::StatusCode::INTERNAL,
                          "the response object isn't of the method's type");
    case MessageBase::kBytes:
      attempt_->TakeMessage(static_cast<grpc::ByteBuffer*>(into));
      break;
    case MessageBase::kProtobuf:
      if (!attempt_->TakeMessage(
              static_cast<google::protobuf::MessageLite*>(into))) {
        return grpc::Status(grpc::StatusCode::INTERNAL,
                            "the response can't be parsed");
      }
      break;
  }
  *delivered = true;
  return status_;
}

void CallResult::Fill(grpc::experimental::InterceptorBatchMethods* pass,
                      const MessageIdentity& identity,
                      const MethodTypes& types) const {
  const PassHooks hooks(pass);
  if (hooks.initial_metadata && attempt_ != nullptr) {
    const auto& from = attempt_->initial_metadata();
    pass->GetRecvInitialMetadata()->insert(from.begin(), from.end());
  }
  if (hooks.message && status_.ok()) {
    bool delivered = false;
    void* into = pass->GetRecvMessage();
    grpc::Status status =
        WithMessage(IdentifyReceived(identity, types, into), into, &delivered);
    if (!delivered) pass->FailHijackedRecvMessage();
    if (hooks.status) *pass->GetRecvStatus() = std::move(status);
  } else {
    if (hooks.message) pass->FailHijackedRecvMessage();
    if (hooks.status) *pass->GetRecvStatus() = status_;
  }
  if (!hooks.status) return;
  MetadataRefs* trailing = pass->GetRecvTrailingMetadata();
  if (attempt_ != nullptr) {
    const auto& from = attempt_->trailing_metadata();
    trailing->insert(from.begin(), from.end());
  }
  AddReport(trailing);
}

void CallResult::Replace(grpc::experimental::InterceptorBatchMethods* pass,
                         const MessageIdentity& identity,
                         void* received) const {
  MetadataRefs* trailing = pass->GetRecvTrailingMetadata();
  if (attempt_ == nullptr) {
    *pass->GetRecvStatus() = status_;
    AddReport(trailing);
    return;
  }
  bool delivered = false;
  *pass->GetRecvStatus() = WithMessage(identity.received, received, &delivered);
  *identity.got_message = delivered;
  ContextAccess::SetReceived(pass, delivered ? received : nullptr);
  MetadataRefs* initial = pass->GetRecvInitialMetadata();
  *initial = attempt_->initial_metadata();
  *trailing = attempt_->trailing_metadata();
  AddReport(trailing);
}

}  // namespace grpc_resilience::internal
