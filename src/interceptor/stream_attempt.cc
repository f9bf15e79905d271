#include "interceptor/stream_attempt.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "interceptor/context_access.h"
#include "interceptor/inner_call_scope.h"
#include "interceptor/reaction.h"
#include "interceptor/thread_handover.h"

namespace grpc_resilience::internal {
namespace {

using google::protobuf::MessageLite;

// gRPC's own test for "no headers came, the status is all there is".
class TrailersTest final : public grpc::internal::ClientReactor {
 public:
  void OnDone(const grpc::Status& /*status*/) override {}
};

bool IsTrailersOnly(const grpc_call* call) {
  static const auto& test = *new TrailersTest;
  return test.InternalTrailersOnly(call);
}

}  // namespace

StreamAttempt::StreamAttempt(StreamRoute* route, int number,
                             gpr_timespec deadline)
    : route_(*route), metadata_(route->metadata) {
  const auto set_up = [this](Done* done, Kind kind) {
    done->functor_run = &StreamAttempt::OnDone;
    done->inlineable = false;
    done->attempt = this;
    done->kind = kind;
  };
  set_up(&sent_, Kind::kSend);
  set_up(&headers_, Kind::kHeaders);
  set_up(&receive_, Kind::kReceive);
  set_up(&end_, Kind::kStatus);
  ContextAccess::Carry(route->carried, &context_);
  context_.set_deadline(deadline);
  if (number > 1) {
    metadata_.emplace(kPreviousAttemptsKey, std::to_string(number - 1));
  }
  const grpc::internal::RpcMethod method(route->method, route->suffix_for_stats,
                                         route->type);
  const InnerCallScope inner;
  call_ = route->intercepted != nullptr
              ? ContextAccess::CreateCall(route->intercepted.get(), method,
                                          &context_)
              : ContextAccess::CreateCall(route->channel, method, &context_,
                                          route->position);
}

template <typename Ops>
void StreamAttempt::Perform(Ops* ops, Done* done,
                            std::shared_ptr<Owner> owner) {
  done->ops = ops;
  done->owner = std::move(owner);
  ops->set_core_cq_tag(done);
  grpc::internal::Call call = call_;
  HandOver(done);
  call.PerformOps(ops);
}

void StreamAttempt::Send(const StreamStep::Send& send,
                         const grpc::ByteBuffer& message,
                         std::shared_ptr<Owner> owner) {
  if (send.start) {
    send_ops_.SendInitialMetadata(
        &metadata_, ContextAccess::InitialMetadataFlags(route_.carried));
  }
  if (send.message) {
    grpc::WriteOptions options;
    if (send.close) options.set_buffer_hint();
    // Can't fail: the bytes are there.
    const grpc::Status ignored = send_ops_.SendMessage(message, options);
    static_cast<void>(ignored);
  }
  if (send.close) send_ops_.ClientSendClose();
  Perform(&send_ops_, &sent_, std::move(owner));
}

void StreamAttempt::AwaitEnd(const std::shared_ptr<Owner>& owner) {
  header_ops_.RecvInitialMetadata(&context_);
  Perform(&header_ops_, &headers_, owner);
  status_ops_.ClientRecvStatus(&context_, &status_);
  Perform(&status_ops_, &end_, owner);
}

void StreamAttempt::Receive(std::shared_ptr<Owner> owner) {
  received_ = std::make_unique<StreamMessage>();
  if (route_.response_prototype != nullptr) {
    received_->object.reset(route_.response_prototype->New());
    ReceiveInto<MessageLite>(received_->object.get(), std::move(owner));
  } else {
    ReceiveInto<grpc::ByteBuffer>(&received_->bytes, std::move(owner));
  }
}

template <typename Message>
void StreamAttempt::ReceiveInto(Message* into, std::shared_ptr<Owner> owner) {
  // Made anew: what interceptors after ours did to the last one mustn't stay.
  auto& ops = receive_ops_.emplace<ReceiveOps<Message>>();
  ops.RecvMessage(into);
  Perform(&ops, &receive_, std::move(owner));
}

void StreamAttempt::CancelAtLimit() {
  grpc_call_cancel_with_status(context_.c_call(), GRPC_STATUS_DEADLINE_EXCEEDED,
                               "Deadline Exceeded", nullptr);
}

void StreamAttempt::OnDone(grpc_completion_queue_functor* functor, int ok) {
  TakeOver(functor);
  auto* done = static_cast<Done*>(functor);
  void* tag = nullptr;
  bool result = ok != 0;
  // Not over: interceptors after ours go on with it, and this runs once more.
  if (!done->ops->FinalizeResult(&tag, &result)) return HandOver(functor);
  const Reaction reaction;
  // The attempt may be gone as soon as its owner has heard.
  const std::shared_ptr<Owner> owner = std::move(done->owner);
  done->attempt->Report(done->kind, result, owner.get());
}

void StreamAttempt::Report(Kind kind, bool ok, Owner* owner) {
  switch (kind) {
    case Kind::kSend:
      return owner->OnSent(ok);
    case Kind::kHeaders:
      return owner->OnHeaders(ok && !IsTrailersOnly(call_.call()));
    case Kind::kReceive:
      return owner->OnReceived(ok ? std::move(received_) : nullptr);
    case Kind::kStatus:
      return owner->OnStatus();
  }
}

}  // namespace grpc_resilience::internal
