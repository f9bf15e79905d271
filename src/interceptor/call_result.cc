#include "interceptor/call_result.h"

#include "absl/strings/str_cat.h"
#include "interceptor/held_passes.h"
#include "interceptor/message_bytes.h"
#include "interceptor/status_details.h"

namespace grpc_resilience::internal {
namespace {

constexpr char kAttemptsKey[] = "grpc-resilience-attempts";
constexpr char kReasonKey[] = "grpc-resilience-reason";
constexpr char kFallbackKey[] = "grpc-resilience-fallback";
constexpr char kFallbackStatusKey[] = "grpc-resilience-fallback-status";
constexpr char kFallbackDeclinedKey[] = "grpc-resilience-fallback-declined";

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

void CallResult::AddFallback(FallbackOutcome outcome) {
  auto fallback = std::make_unique<Fallback>();
  fallback->code = status_.error_code();
  if (outcome.answer) {
    const FallbackAnswer& answer = *outcome.answer;
    fallback->mark = std::string(outcome.kind);
    if (!answer.note.empty()) {
      absl::StrAppend(&fallback->mark, "; ", answer.note);
    }
    fallback->status = StatusCodeName(status_.error_code());
    if (!status_.error_message().empty()) {
      absl::StrAppend(&fallback->status, ": ", status_.error_message());
    }
    status_ = answer.kind == FallbackAnswer::Kind::kResponse
                  ? grpc::Status()
                  : grpc::Status(answer.code, answer.message, answer.details);
    attempt_ = nullptr;
  }
  fallback->outcome = std::move(outcome);
  fallback_ = std::move(fallback);
}

void CallResult::AddReport(MetadataRefs* trailing) const {
  if (HasAnswer()) {
    trailing->emplace(kFallbackKey, fallback_->mark);
    trailing->emplace(kFallbackStatusKey, fallback_->status);
  }
  if (fallback_ != nullptr && !fallback_->outcome.declined.empty()) {
    trailing->emplace(kFallbackDeclinedKey, fallback_->outcome.declined);
  }
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
  if (HasAnswer()) return WithAnswer(base, into, delivered);
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

grpc::Status CallResult::WithAnswer(MessageBase base, void* into,
                                    bool* delivered) const {
  const std::string& bytes = fallback_->outcome.answer->response;
  if (base == MessageBase::kBytes) {
    *static_cast<grpc::ByteBuffer*>(into) = ToBuffer(bytes);
  } else if (base == MessageBase::kUnknown ||
             !static_cast<google::protobuf::MessageLite*>(into)
                  ->ParseFromString(bytes)) {
    return grpc::Status(grpc::StatusCode::INTERNAL,
                        "the fallback's answer isn't of the method's type");
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
  if (attempt_ == nullptr && !HasAnswer()) {
    *pass->GetRecvStatus() = status_;
    AddReport(trailing);
    return;
  }
  bool delivered = false;
  *pass->GetRecvStatus() = WithMessage(identity.received, received, &delivered);
  *identity.got_message = delivered;
  ContextAccess::SetReceived(pass, delivered ? received : nullptr);
  MetadataRefs* initial = pass->GetRecvInitialMetadata();
  initial->clear();
  trailing->clear();
  if (attempt_ != nullptr) {
    *initial = attempt_->initial_metadata();
    *trailing = attempt_->trailing_metadata();
  }
  AddReport(trailing);
}

}  // namespace grpc_resilience::internal
