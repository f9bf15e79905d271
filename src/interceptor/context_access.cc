#include "interceptor/context_access.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/impl/codegen/client_callback.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/client_callback.h>

#include <memory>
#include <typeinfo>
#include <vector>

namespace grpc_resilience::internal {
namespace {
struct Tag {};
}  // namespace
}  // namespace grpc_resilience::internal

namespace grpc::internal {

// A friend of ChannelInterface.
template <>
class ClientCallbackReaderWriterFactory<grpc_resilience::internal::Tag,
                                        grpc_resilience::internal::Tag> {
 public:
  static Call CreateCall(ChannelInterface* channel, const RpcMethod& method,
                         ClientContext* context, std::size_t position) {
    return channel->CreateCallInternal(method, context, channel->CallbackCQ(),
                                       position);
  }
  static Call CreateCall(ChannelInterface* channel, const RpcMethod& method,
                         ClientContext* context) {
    return channel->CreateCall(method, context, channel->CallbackCQ());
  }
};

// A friend of ClientContext.
template <>
class ClientCallbackReaderWriterImpl<grpc_resilience::internal::Tag,
                                     grpc_resilience::internal::Tag> {
 public:
  static bool HasParent(const ClientContext& context) {
    return context.propagate_from_call_ != nullptr &&
           (context.propagation_options_.c_bitmask() &
            (GRPC_PROPAGATE_DEADLINE | GRPC_PROPAGATE_CANCELLATION)) != 0;
  }
  static bool HasParentDeadline(const ClientContext& context) {
    return context.propagate_from_call_ != nullptr &&
           (context.propagation_options_.c_bitmask() &
            GRPC_PROPAGATE_DEADLINE) != 0;
  }
  static grpc_call* ParentCall(const ClientContext& context) {
    return context.propagate_from_call_;
  }
  static std::uint32_t InitialMetadataFlags(const ClientContext& context) {
    return context.initial_metadata_flags();
  }
  static const std::multimap<std::string, std::string>& Metadata(
      const ClientContext& context) {
    return context.send_initial_metadata_;
  }
  static void Carry(ClientContext& from, ClientContext* to) {
    to->creds_ = from.creds_;
    if (!from.authority_.empty()) to->authority_ = from.authority_;
    to->propagate_from_call_ = from.propagate_from_call_;
    to->propagation_options_ = from.propagation_options_;
    // The header of the algorithm is part of the metadata already.
    to->compression_algorithm_ = from.compression_algorithm_;
    to->wait_for_ready_ = from.wait_for_ready_;
    to->wait_for_ready_explicitly_set_ = from.wait_for_ready_explicitly_set_;
    to->census_context_ = from.census_context_;
  }
  static void CancelWith(const grpc::ServerContextBase& parent,
                         ClientContext* to) {
    grpc::PropagationOptions only_cancellation;
    only_cancellation.disable_deadline_propagation();
    only_cancellation.disable_census_stats_propagation();
    only_cancellation.disable_census_tracing_propagation();
    const auto child =
        ClientContext::FromServerContext(parent, only_cancellation);
    to->propagate_from_call_ = child->propagate_from_call_;
    to->propagation_options_ = child->propagation_options_;
  }
  static void SetDebugErrorString(ClientContext* context,
                                  const std::string& text) {
    context->debug_error_string_ = text;
  }
};

}  // namespace grpc::internal

namespace grpc_resilience::internal {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::InterceptorBatchMethods;
using grpc::internal::CallOpClientRecvStatus;
using grpc::internal::CallOpClientSendClose;
using grpc::internal::CallOpRecvInitialMetadata;
using grpc::internal::CallOpRecvMessage;
using grpc::internal::CallOpSendInitialMetadata;
using grpc::internal::CallOpSendMessage;
using grpc::internal::CallOpSet;
using grpc::internal::CallOpSetInterface;
using grpc::internal::InterceptorBatchMethodsImpl;

using ChannelFriend =
    grpc::internal::ClientCallbackReaderWriterFactory<Tag, Tag>;
using ContextFriend = grpc::internal::ClientCallbackReaderWriterImpl<Tag, Tag>;

#if GRPC_RESILIENCE_OP_SET_ACCESS

template <typename Access, typename Access::Member kMember>
struct Expose {
  friend typename Access::Member MemberOf(Access) { return kMember; }
};

struct OpsOfBatch {
  using Member = CallOpSetInterface* InterceptorBatchMethodsImpl::*;
  friend Member MemberOf(OpsOfBatch);
};
template struct Expose<OpsOfBatch, &InterceptorBatchMethodsImpl::ops_>;

using Serializer = std::function<grpc::Status(const void*)>;

struct SerializerOfBatch {
  using Member = Serializer InterceptorBatchMethodsImpl::*;
  friend Member MemberOf(SerializerOfBatch);
};
template struct Expose<SerializerOfBatch,
                       &InterceptorBatchMethodsImpl::serializer_>;

struct SerializerOfOp {
  using Member = Serializer CallOpSendMessage::*;
  friend Member MemberOf(SerializerOfOp);
};
template struct Expose<SerializerOfOp, &CallOpSendMessage::serializer_>;

using FactoryList =
    std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>>;
struct FactoriesOfChannel {
  using Member = FactoryList grpc::Channel::*;
  friend Member MemberOf(FactoriesOfChannel);
};
template struct Expose<FactoriesOfChannel,
                       &grpc::Channel::interceptor_creators_>;

// The sets that gRPC's unary calls are made of (client_unary_call.h,
// client_callback.h; async_unary_call.h).
template <typename Message>
using BlockingOrCallbackSet =
    CallOpSet<CallOpSendInitialMetadata, CallOpSendMessage,
              CallOpRecvInitialMetadata, CallOpRecvMessage<Message>,
              CallOpClientSendClose, CallOpClientRecvStatus>;
template <typename Message>
using CompletionQueueSet =
    CallOpSet<CallOpSendInitialMetadata, CallOpSendMessage,
              CallOpClientSendClose, CallOpRecvInitialMetadata,
              CallOpRecvMessage<Message>, CallOpClientRecvStatus>;

template <typename Set, typename Message>
bool ProveAs(CallOpSetInterface* ops, MessageBase base, OpSetProof* proof) {
  if (typeid(*ops) != typeid(Set)) return false;
  auto* receive =
      static_cast<CallOpRecvMessage<Message>*>(static_cast<Set*>(ops));
  *proof = {base, &receive->got_message};
  return true;
}

// The closure that CallOpSendMessage makes for objects of that type: the same
// type of closure for every op set of the process.
template <typename Message>
const std::type_info& SerializerType() {
  static const std::type_info& type = []() -> const std::type_info& {
    CallOpSendMessage op;
    // Never run, so the object is never looked at.
    const grpc::Status ignored =
        op.SendMessagePtr(static_cast<const Message*>(nullptr));
    static_cast<void>(ignored);
    return (op.*MemberOf(SerializerOfOp())).target_type();
  }();
  return type;
}

#endif  // GRPC_RESILIENCE_OP_SET_ACCESS

}  // namespace

bool ContextAccess::HasParent(const grpc::ClientContext& context) {
  return ContextFriend::HasParent(context);
}

bool ContextAccess::HasParentDeadline(const grpc::ClientContext& context) {
  return ContextFriend::HasParentDeadline(context);
}

grpc_call* ContextAccess::ParentCall(const grpc::ClientContext& context) {
  return ContextFriend::ParentCall(context);
}

std::uint32_t ContextAccess::InitialMetadataFlags(
    const grpc::ClientContext& context) {
  return ContextFriend::InitialMetadataFlags(context);
}

const std::multimap<std::string, std::string>& ContextAccess::Metadata(
    const grpc::ClientContext& context) {
  return ContextFriend::Metadata(context);
}

void ContextAccess::Carry(grpc::ClientContext& from, grpc::ClientContext* to) {
  ContextFriend::Carry(from, to);
}

void ContextAccess::CancelWith(const grpc::ServerContextBase& parent,
                               grpc::ClientContext* to) {
  ContextFriend::CancelWith(parent, to);
}

void ContextAccess::SetDebugErrorString(grpc::ClientContext* context,
                                        const std::string& text) {
  ContextFriend::SetDebugErrorString(context, text);
}

grpc::internal::Call ContextAccess::CreateCall(
    grpc::ChannelInterface* channel, const grpc::internal::RpcMethod& method,
    grpc::ClientContext* context, std::size_t position) {
  return ChannelFriend::CreateCall(channel, method, context, position);
}

grpc::internal::Call ContextAccess::CreateCall(
    grpc::ChannelInterface* channel, const grpc::internal::RpcMethod& method,
    grpc::ClientContext* context) {
  return ChannelFriend::CreateCall(channel, method, context);
}

#if GRPC_RESILIENCE_OP_SET_ACCESS

std::optional<ContextAccess::Place> ContextAccess::FindFactory(
    grpc::ChannelInterface* channel,
    const ClientInterceptorFactoryInterface* factory,
    bool (*is_ours)(const ClientInterceptorFactoryInterface&)) {
  auto* known = dynamic_cast<grpc::Channel*>(channel);
  if (known == nullptr) return std::nullopt;
  const FactoryList& factories = known->*MemberOf(FactoriesOfChannel());
  Place place;
  place.size = factories.size();
  for (; place.index < factories.size(); ++place.index) {
    const auto* candidate = factories[place.index].get();
    if (candidate == factory) return place;
    if (candidate != nullptr && is_ours(*candidate)) place.shadowed = true;
  }
  return std::nullopt;
}

OpSetProof ContextAccess::Prove(InterceptorBatchMethods* methods) {
  auto* batch = static_cast<InterceptorBatchMethodsImpl*>(methods);
  CallOpSetInterface* ops = batch->*MemberOf(OpsOfBatch());
  using google::protobuf::MessageLite;
  using grpc::ByteBuffer;
  OpSetProof proof;
  ProveAs<BlockingOrCallbackSet<MessageLite>, MessageLite>(
      ops, MessageBase::kProtobuf, &proof) ||
      ProveAs<CompletionQueueSet<MessageLite>, MessageLite>(
          ops, MessageBase::kProtobuf, &proof) ||
      ProveAs<BlockingOrCallbackSet<ByteBuffer>, ByteBuffer>(
          ops, MessageBase::kBytes, &proof) ||
      ProveAs<CompletionQueueSet<ByteBuffer>, ByteBuffer>(
          ops, MessageBase::kBytes, &proof);
  return proof;
}

MessageBase ContextAccess::ProveSent(InterceptorBatchMethods* methods) {
  auto* batch = static_cast<InterceptorBatchMethodsImpl*>(methods);
  const Serializer& serializer = batch->*MemberOf(SerializerOfBatch());
  const std::type_info& type = serializer.target_type();
  if (type == SerializerType<google::protobuf::MessageLite>()) {
    return MessageBase::kProtobuf;
  }
  if (type == SerializerType<grpc::ByteBuffer>()) return MessageBase::kBytes;
  return MessageBase::kUnknown;
}

bool ContextAccess::ReceivesBytes(InterceptorBatchMethods* methods) {
  auto* batch = static_cast<InterceptorBatchMethodsImpl*>(methods);
  return dynamic_cast<CallOpRecvMessage<grpc::ByteBuffer>*>(
             batch->*MemberOf(OpsOfBatch())) != nullptr;
}

void ContextAccess::SetReceived(InterceptorBatchMethods* methods,
                                void* message) {
  static_cast<InterceptorBatchMethodsImpl*>(methods)->SetRecvMessage(message,
                                                                     nullptr);
}

#else

std::optional<ContextAccess::Place> ContextAccess::FindFactory(
    grpc::ChannelInterface*, const ClientInterceptorFactoryInterface*,
    bool (*)(const ClientInterceptorFactoryInterface&)) {
  return std::nullopt;
}
OpSetProof ContextAccess::Prove(InterceptorBatchMethods*) { return {}; }
MessageBase ContextAccess::ProveSent(InterceptorBatchMethods*) {
  return MessageBase::kUnknown;
}
bool ContextAccess::ReceivesBytes(InterceptorBatchMethods*) { return false; }
void ContextAccess::SetReceived(InterceptorBatchMethods*, void*) {}

#endif  // GRPC_RESILIENCE_OP_SET_ACCESS

}  // namespace grpc_resilience::internal
