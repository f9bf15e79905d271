#include "interceptor/attempt.h"

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <typeinfo>

#include "interceptor/context_access.h"
#include "interceptor/inner_call_scope.h"
#include "interceptor/thread_handover.h"

namespace grpc_resilience::internal {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;

}  // namespace

Attempt::Attempt(const AttemptRoute& route, const AttemptRequest& request,
                 int number, gpr_timespec deadline, Owner* owner)
    : request_(request), owner_(owner), metadata_(*request.metadata) {
  done_.functor_run = &Attempt::OnDone;
  done_.inlineable = false;
  done_.attempt = this;
  ContextAccess::Carry(*request.context, &context_);
  context_.set_deadline(deadline);
  if (number > 1) {
    metadata_.emplace(kPreviousAttemptsKey, std::to_string(number - 1));
  }
  const grpc::internal::RpcMethod method(request.method,
                                         request.suffix_for_stats,
                                         grpc::internal::RpcMethod::NORMAL_RPC);
  const InnerCallScope inner;
  call_ = route.intercepted != nullptr
              ? ContextAccess::CreateCall(route.intercepted.get(), method,
                                          &context_)
              : ContextAccess::CreateCall(route.channel, method, &context_,
                                          route.position);
  // Interceptors after ours may cast what they see to the method's own type.
  if (route.observed && request.response_prototype != nullptr) {
    object_.reset(request.response_prototype->New());
  }
}

void Attempt::Run() {
  if (object_ != nullptr) {
    Perform<MessageLite>(object_.get());
  } else {
    Perform<grpc::ByteBuffer>(&bytes_);
  }
}

template <typename Received>
void Attempt::Perform(Received* into) {
  auto& ops = ops_.emplace<Ops<Received>>();
  ops.SendInitialMetadata(
      &metadata_, ContextAccess::InitialMetadataFlags(*request_.context));
  // Neither can fail: an object is serialised later, bytes are there.
  const grpc::Status ignored = request_.object != nullptr
                                   ? ops.SendMessagePtr(request_.object)
                                   : ops.SendMessage(request_.bytes);
  static_cast<void>(ignored);
  ops.RecvInitialMetadata(&context_);
  ops.RecvMessage(into);
  ops.AllowNoMessage();
  ops.ClientSendClose();
  ops.ClientRecvStatus(&context_, &status_);
  ops.set_core_cq_tag(&done_);
  grpc::internal::Call call = call_;
  HandOver(&done_);
  call.PerformOps(&ops);
}

void Attempt::OnDone(grpc_completion_queue_functor* done, int ok) {
  TakeOver(done);
  Attempt* attempt = static_cast<Done*>(done)->attempt;
  bool parsed = ok != 0;
  void* tag = nullptr;
  const bool over = std::visit(
      [&](auto& ops) {
        if constexpr (std::is_same_v<std::decay_t<decltype(ops)>,
                                     std::monostate>) {
          return false;
        } else {
          HandOver(done);  // interceptors after ours may go on with it
          return ops.FinalizeResult(&tag, &parsed);
        }
      },
      attempt->ops_);
  // Then this runs once more, or has by now, and the attempt may be gone.
  if (!over) return;
  attempt->parsed_ = parsed;
  attempt->owner_->OnAttemptDone();
}

bool Attempt::has_message() const {
  if (const auto* ops = std::get_if<Ops<grpc::ByteBuffer>>(&ops_)) {
    return ops->got_message;
  }
  const auto* ops = std::get_if<Ops<MessageLite>>(&ops_);
  return ops != nullptr && ops->got_message && parsed_;
}

bool Attempt::TakeMessage(MessageLite* into) {
  if (object_ == nullptr) {
    return grpc::GenericDeserialize<grpc::ProtoBufferReader, MessageLite>(
               &bytes_, into)
        .ok();
  }
  auto* from = dynamic_cast<Message*>(object_.get());
  auto* to = dynamic_cast<Message*>(into);
  if (from != nullptr && to != nullptr) {
    if (from->GetDescriptor() != to->GetDescriptor()) return false;
    to->GetReflection()->Swap(to, from);
    return true;
  }
  const MessageLite& received = *object_;
  if (typeid(received) != typeid(*into)) return false;
  into->Clear();
  into->CheckTypeAndMergeFrom(received);
  return true;
}

void Attempt::TakeMessage(grpc::ByteBuffer* into) { into->Swap(&bytes_); }

}  // namespace grpc_resilience::internal
