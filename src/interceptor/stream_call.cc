#include "interceptor/stream_call.h"

#include <grpcpp/impl/rpc_method.h>

#include <thread>
#include <utility>

#include "interceptor/attempt_end.h"
#include "interceptor/call_events.h"
#include "interceptor/idempotency_key.h"
#include "interceptor/own_plan.h"
#include "interceptor/reaction.h"
#include "interceptor/thread_handover.h"
#include "interceptor/wall_deadline.h"

namespace grpc_resilience::internal {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::internal::RpcMethod;
using Hook = grpc::experimental::InterceptionHookPoints;

bool Has(grpc::experimental::InterceptorBatchMethods* pass, Hook hook) {
  return pass->QueryInterceptionHookPoint(hook);
}

RpcMethod::RpcType ToRpcType(ClientRpcInfo::Type type) {
  switch (type) {
    case ClientRpcInfo::Type::CLIENT_STREAMING:
      return RpcMethod::CLIENT_STREAMING;
    case ClientRpcInfo::Type::SERVER_STREAMING:
      return RpcMethod::SERVER_STREAMING;
    default:
      return RpcMethod::BIDI_STREAMING;
  }
}

}  // namespace

StreamCall::StreamCall(std::shared_ptr<const CallPlan> plan,
                       ClientRpcInfo* info,
                       std::optional<ContextAccess::Place> place)
    : plan_(std::move(plan)),
      context_(info->client_context()),
      channel_(info->channel()),
      suffix_for_stats_(info->suffix_for_stats()),
      type_(info->type()),
      place_(place) {}

StreamCall::~StreamCall() {
  if (relay_ != nullptr) relay_->Abandon();
  if (slow_mark_ != nullptr) slow_mark_->Disarm();
  bool ended = true;
  {
    CallLock lock(&mu_);
    std::swap(ended, ended_);
  }
  if (ended || !session_) return;
  // Let go without its status having been asked for, which cancels it.
  session_->OnCancel();
  AttemptEnd end;
  end.code = StatusCode::CANCELLED;
  EndAttempt(end);
  TellCallEnd(*plan_, *session_, StatusCode::CANCELLED, start_);
}

void StreamCall::Intercept(Pass pass) {
  TakeOver(this);
  // First of all: nothing else may be asked of a cancel pass.
  if (Has(pass, Hook::PRE_SEND_CANCEL)) return CancelPass();
  // The caller may be gone when a pass returns, and the relay held last by it.
  const Reaction reaction;
  Mode mode = mode_.load(std::memory_order_acquire);
  if (mode == Mode::kNew &&
      mode_.compare_exchange_strong(mode, Mode::kOpening)) {
    return FirstPass(pass);
  }
  if (mode == Mode::kOpening &&
      opening_.load(std::memory_order_acquire) == pass) {
    return HijackedFirstBatch(pass);
  }
  // A corked stream may be opened by a reader and a writer at once; gRPC must know
  // of the hijacking before it goes on with the second.
  while (mode == Mode::kOpening) {
    std::this_thread::yield();
    mode = mode_.load(std::memory_order_acquire);
  }
  if (mode == Mode::kWatched) {
    WatchedPass(pass);
  } else {
    HijackedPass(pass);
  }
}

void StreamCall::FirstPass(Pass pass) {
  if (plan_->observers != nullptr) start_ = plan_->session.clock->Now();
  // A corked start doesn't show the metadata yet; it is taken out when it does.
  const CallOverride override =
      Has(pass, Hook::PRE_SEND_INITIAL_METADATA)
          ? TakeOverride(pass->GetSendInitialMetadata())
          : PeekOverride(ContextAccess::Metadata(*context_));
  const CallOptions& options = override.options;
  RetryPolicy retry = plan_->policy.retry;
  if (options.max_attempts) retry.max_attempts = *options.max_attempts;
  const bool wanted = CanRetry(retry, plan_->session.idempotent) ||
                      retry.per_attempt_timeout || plan_->policy.timeout ||
                      plan_->session.probe_timeout ||
                      options.per_attempt_timeout || options.timeout;
  if (!wanted) return OpenWatched(pass);
  if (KnowsMessages(pass)) return OpenRelay(pass, override);
  plan_->NoticeUnknownMessages();
  OpenWatched(pass);
}

bool StreamCall::KnowsMessages(Pass pass) const {
  return plan_->types.response != nullptr ||
         plan_->policy.message_kind == MessageKind::kBytes ||
         (Has(pass, Hook::PRE_SEND_MESSAGE) &&
          ContextAccess::ProveSent(pass) == MessageBase::kBytes);
}

bool StreamCall::HasLaterInterceptors() const {
  return !place_ || place_->index + 1 < place_->size ||
         grpc::internal::g_global_client_interceptor_factory != nullptr;
}

void StreamCall::EditMetadata(Pass pass) {
  auto* metadata = pass->GetSendInitialMetadata();
  if (!metadata->empty()) metadata->erase(kPreviousAttemptsKey);
  const auto& header = plan_->policy.retry.idempotency_key_header;
  // A key that the caller chose stays.
  if (header && metadata->find(*header) == metadata->end()) {
    metadata->emplace(*header, MakeIdempotencyKey(*plan_->session.random));
  }
}

// --- Hijacked streams -------------------------------------------------------

void StreamCall::MakeRelay(Pass pass) {
  relay_ = StreamRelay::Make(plan_, context_,
                             type_ == ClientRpcInfo::Type::CLIENT_STREAMING);
  StreamRoute& route = relay_->route();
  route.channel = channel_;
  if (place_) {
    route.position = place_->index + 1;
  } else {
    route.intercepted = pass->GetInterceptedChannel();
  }
  route.method = plan_->method.c_str();
  route.suffix_for_stats = suffix_for_stats_;
  route.type = ToRpcType(type_);
  if (HasLaterInterceptors() &&
      plan_->policy.message_kind != MessageKind::kBytes) {
    route.response_prototype = plan_->types.response;
  }
}

bool StreamCall::TakeMetadata(Pass pass, const CallOverride& override) {
  has_metadata_ = true;
  EditMetadata(pass);
  std::optional<Duration> timeout = plan_->policy.timeout;
  std::unique_ptr<OwnPlan> own_plan;
  bool may_retry = plan_->stream_may_retry;
  if (!override.empty()) {
    own_plan = std::make_unique<OwnPlan>(plan_->stream_session, override);
    if (override.options.timeout) timeout = override.options.timeout;
    may_retry = CanRetry(own_plan->retry, plan_->session.idempotent);
  }
  if (plan_->resilience->is_shut_down()) may_retry = false;
  if (!relay_->Prepare(std::move(own_plan), may_retry, timeout)) return false;
  relay_->route().metadata = *pass->GetSendInitialMetadata();
  return true;
}

void StreamCall::OpenRelay(Pass pass, const CallOverride& override) {
  MakeRelay(pass);
  if (Has(pass, Hook::PRE_SEND_INITIAL_METADATA)) {
    begin_ = TakeMetadata(pass, override);
  } else {
    idle_timeout_ = override.options.timeout ? override.options.timeout
                                             : plan_->policy.timeout;
  }
  // The end of this batch isn't held: it goes on with its second pass.
  const bool last = Has(pass, Hook::PRE_SEND_CLOSE);
  if (Has(pass, Hook::PRE_SEND_MESSAGE)) {
    relay_->Write(*pass->GetSerializedSendMessage(), last, nullptr);
  } else if (last) {
    relay_->HalfClose(nullptr);
  }
  opening_.store(pass, std::memory_order_release);
  // Comes back with the second pass, and everything may be over when it returns.
  pass->Hijack();
}

void StreamCall::Reject(Pass pass) {
  MakeRelay(pass);
  relay_->FinishWith(*std::move(session_));
  session_.reset();
  if (Has(pass, Hook::PRE_SEND_MESSAGE)) pass->FailHijackedSendMessage();
  opening_.store(pass, std::memory_order_release);
  pass->Hijack();
}

void StreamCall::HijackedFirstBatch(Pass pass) {
  const std::shared_ptr<StreamRelay> relay = relay_;
  const bool begin = begin_;
  const std::optional<Duration> idle_timeout = idle_timeout_;
  mode_.store(Mode::kHijacked, std::memory_order_seq_cst);
  if (cancelled_.load(std::memory_order_seq_cst)) relay->Cancel();
  const PassHooks hooks(pass);
  // Attempts begin when the pass is held, so that nothing is decided without it.
  if (hooks.any()) relay->Receive(pass, hooks, /*first_batch=*/true);
  if (begin) {
    relay->Begin();
  } else {
    relay->WatchIdle(idle_timeout);
  }
  if (!hooks.any()) {
    HandOver(context_);
    pass->Proceed();
  }
}

void StreamCall::HijackedPass(Pass pass) {
  const std::shared_ptr<StreamRelay> relay = relay_;
  const bool message = Has(pass, Hook::PRE_SEND_MESSAGE);
  const bool close = Has(pass, Hook::PRE_SEND_CLOSE);
  bool begin = false;
  // Comes with every later write of some styles as well.
  if (Has(pass, Hook::PRE_SEND_INITIAL_METADATA) && !has_metadata_) {
    begin = TakeMetadata(pass, TakeOverride(pass->GetSendInitialMetadata()));
  }
  if (message) {
    relay->Write(*pass->GetSerializedSendMessage(), close, pass);
  } else if (close) {
    relay->HalfClose(pass);
  }
  if (begin) relay->Begin();
  if (message || close) return;
  const PassHooks hooks(pass);
  if (hooks.any()) {
    relay->Receive(pass, hooks, /*first_batch=*/false);
  } else {
    pass->Proceed();
  }
}

void StreamCall::CancelPass() {
  cancelled_.store(true, std::memory_order_seq_cst);
  if (mode_.load(std::memory_order_seq_cst) == Mode::kHijacked) {
    relay_->Cancel();
  }
}

}  // namespace grpc_resilience::internal
