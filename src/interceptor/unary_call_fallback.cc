// The fallback half of UnaryCall: what a source hears of the call, and what becomes
// of its answer.

#include <utility>

#include "core/fallback_decision.h"
#include "interceptor/message_bytes.h"
#include "interceptor/unary_call.h"

namespace grpc_resilience::internal {

bool UnaryCall::MayFallBack(grpc::StatusCode code) const {
  if (!has_fallbacks_ || without_fallbacks_) return false;
  EndedCall call;
  call.code = code;
  call.reason = result_session().reason();
  call.attempts = result_session().attempts();
  call.local_error =
      result_session().classification().cause == IgnoredCause::kLocalError;
  return FallbackApplies(plan_->fallback->rules(), call);
}

bool UnaryCall::AskFallbacks() {
  const grpc::Status& status = result_.status();
  FailedCall call;
  call.target = plan_->target;
  call.method = plan_->method;
  plan_->fallback->Describe(reissue_->request, &call);
  call.idempotency_key_header = plan_->fallback->key_header();
  call.code = status.error_code();
  call.message = status.error_message();
  call.details = status.error_details();
  call.reason = result_session().reason();
  call.attempts = result_session().attempts();
  auto run =
      std::make_shared<FallbackRun>(plan_, std::move(call), overall_deadline_,
                                    static_cast<FallbackRun::Owner*>(this));
  bool given_up = false;  // before the run could be found and cancelled
  {
    CallLock lock(&mu_);
    given_up = cancelled_.load(std::memory_order_relaxed) || parent_end_;
    fallback_run_ = run;
  }
  if (given_up) run->Cancel();
  if (!run->Start()) return false;  // the call may be over
  UseFallback(run.get());
  return true;
}

void UnaryCall::OnFallbackOver() {
  std::shared_ptr<FallbackRun> run;
  {
    CallLock lock(&mu_);
    run = fallback_run_;
  }
  UseFallback(run.get());
  Conclude();
}

void UnaryCall::UseFallback(FallbackRun* run) {
  FallbackOutcome outcome = std::move(run->outcome());
  bool cancelled = cancelled_.load(std::memory_order_acquire);
  {
    CallLock lock(&mu_);
    cancelled = cancelled || parent_end_ == grpc::StatusCode::CANCELLED;
  }
  if (!outcome.answer && cancelled) {
    result_.OverrideStatus(
        grpc::Status(grpc::StatusCode::CANCELLED, "call cancelled"));
  }
  result_.AddFallback(std::move(outcome));
}

void UnaryCall::KeepResponse(Pass pass, const Attempt* attempt) {
  const FallbackPlan& plan = *plan_->fallback;
  if (!plan.keeps_responses()) return;
  std::string response;
  if (attempt != nullptr) {
    if (!attempt->has_message()) return;
    response = attempt->message() != nullptr ? ToBytes(*attempt->message())
                                             : ToBytes(attempt->bytes());
  } else {
    if (pass == nullptr || received_ == nullptr || !*identity_.got_message) {
      return;
    }
    response = identity_.received == MessageBase::kProtobuf
                   ? ToBytes(*static_cast<const google::protobuf::MessageLite*>(
                         received_))
                   : ToBytes(*static_cast<const grpc::ByteBuffer*>(received_));
  }
  FallbackRequest request;
  request.target = plan_->target;
  request.method = plan_->method;
  if (reissue_ != nullptr) {
    plan.Describe(reissue_->request, &request);
  } else {
    AttemptRequest sent;
    sent.object = request_object_;
    sent.bytes = request_bytes_;
    sent.metadata =
        own_metadata_ ? &*own_metadata_ : pass->GetSendInitialMetadata();
    plan.Describe(sent, &request);
  }
  plan.Keep(request, response, plan_->session.clock->Now());
}

}  // namespace grpc_resilience::internal
