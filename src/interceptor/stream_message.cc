#include "interceptor/stream_message.h"

#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

namespace grpc_resilience::internal {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;

bool MoveObject(MessageLite* from, MessageLite* to) {
  auto* source = dynamic_cast<Message*>(from);
  auto* target = dynamic_cast<Message*>(to);
  if (source == nullptr || target == nullptr ||
      source->GetDescriptor() != target->GetDescriptor()) {
    return false;
  }
  target->GetReflection()->Swap(target, source);
  return true;
}

}  // namespace

bool StreamReceiver::Deliver(
    StreamMessage message, grpc::experimental::InterceptorBatchMethods* pass) {
  void* into = pass->GetRecvMessage();
  if (base_ == MessageBase::kUnknown) Identify(pass, into);
  if (base_ == MessageBase::kUnknown) {
    unknown_ = true;
    return false;
  }
  if (base_ == MessageBase::kBytes) {
    if (message.object != nullptr) {
      bool own_buffer = false;
      if (!grpc::SerializationTraits<MessageLite>::Serialize(
               *message.object, &message.bytes, &own_buffer)
               .ok()) {
        return false;
      }
    }
    static_cast<grpc::ByteBuffer*>(into)->Swap(&message.bytes);
    return true;
  }
  auto* object = static_cast<MessageLite*>(into);
  if (message.object != nullptr) {
    return MoveObject(message.object.get(), object);
  }
  return grpc::GenericDeserialize<grpc::ProtoBufferReader, MessageLite>(
             &message.bytes, object)
      .ok();
}

void StreamReceiver::Identify(grpc::experimental::InterceptorBatchMethods* pass,
                              const void* object) {
  if (ContextAccess::ReceivesBytes(pass)) {
    base_ = MessageBase::kBytes;
  } else if (IsExactly(types_.response, object)) {
    base_ = MessageBase::kProtobuf;
  }
}

}  // namespace grpc_resilience::internal
