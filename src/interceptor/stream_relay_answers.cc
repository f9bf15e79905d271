// What the caller's held passes are answered with.

#include <grpc/grpc.h>

#include <utility>

#include "interceptor/context_access.h"
#include "interceptor/stream_relay.h"
#include "interceptor/thread_handover.h"

namespace grpc_resilience::internal {

void StreamRelay::ProceedAll(std::initializer_list<Pass> passes) {
  grpc_call* call = nullptr;
  for (Pass pass : passes) {
    if (pass == nullptr) continue;
    if (call == nullptr) {
      // Until Proceed returns, core is at the completion queue of the caller's call,
      // which the caller, woken by it, may have destroyed by then.
      call = context_->c_call();
      grpc_call_ref(call);
    }
    HandOver(context_);
    pass->Proceed();
  }
  if (call != nullptr) grpc_call_unref(call);
}

void StreamRelay::FillHeaders(Pass pass) {
  std::shared_ptr<StreamAttempt> attempt;
  {
    CallLock lock(&mu_);
    attempt = attempt_;
  }
  if (attempt == nullptr) return;
  const auto& from = attempt->initial_metadata();
  pass->GetRecvInitialMetadata()->insert(from.begin(), from.end());
}

void StreamRelay::FillRead(Work* work) {
  const PassHooks hooks(work->read);
  if (hooks.initial_metadata) FillHeaders(work->read);
  if (work->step.read == StreamStep::Read::kEnd ||
      !receiver_.Deliver(std::move(work->message), work->read)) {
    work->read->FailHijackedRecvMessage();
  }
}

void StreamRelay::FillFinish(Work* work) {
  Pass pass = work->finish;
  const PassHooks hooks(pass);
  if (hooks.initial_metadata) FillHeaders(pass);
  grpc::Status status = result_.status();
  if (hooks.message) {
    const bool has_message =
        work->message.object != nullptr || work->message.bytes.Valid();
    if (!status.ok() || !has_message) {
      pass->FailHijackedRecvMessage();
    } else if (!receiver_.Deliver(std::move(work->message), pass)) {
      pass->FailHijackedRecvMessage();
      status = grpc::Status(grpc::StatusCode::INTERNAL,
                            "the response can't be parsed");
    }
  }
  if (receiver_.unknown_type()) {
    status = grpc::Status(grpc::StatusCode::INTERNAL,
                          "the response object isn't of the method's type");
  }
  *pass->GetRecvStatus() = std::move(status);
  auto* trailing = pass->GetRecvTrailingMetadata();
  std::shared_ptr<StreamAttempt> attempt;
  {
    CallLock lock(&mu_);
    attempt = attempt_;
  }
  if (attempt != nullptr) {
    const auto& from = attempt->trailing_metadata();
    trailing->insert(from.begin(), from.end());
    if (!result_.status().ok()) {
      ContextAccess::SetDebugErrorString(context_,
                                         attempt->debug_error_string());
    }
  }
  result_.AddReport(trailing);
}

}  // namespace grpc_resilience::internal
