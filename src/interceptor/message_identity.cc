#include "interceptor/message_identity.h"

namespace grpc_resilience::internal {

MessageIdentity Identify(grpc::experimental::InterceptorBatchMethods* pass,
                         const MethodTypes& types, MessageKind kind) {
  MessageIdentity identity;
  const OpSetProof proof = ContextAccess::Prove(pass);
  identity.got_message = proof.got_message;
  identity.received = proof.receive;

  const void* sent = pass->GetSendMessage();
  identity.sent = ContextAccess::ProveSent(pass);
  if (identity.sent == MessageBase::kUnknown &&
      IsExactly(types.request, sent)) {
    identity.sent = MessageBase::kProtobuf;
  }

  const void* received = pass->GetRecvMessage();
  if (identity.received == MessageBase::kUnknown && received != nullptr) {
    if (IsExactly(types.response, received)) {
      identity.received = MessageBase::kProtobuf;
    } else if (kind == MessageKind::kBytes) {
      identity.received = MessageBase::kBytes;
    }
    identity.known = identity.received != MessageBase::kUnknown;
    return identity;
  }
  if (identity.received == MessageBase::kUnknown &&
      kind == MessageKind::kBytes) {
    identity.received = MessageBase::kBytes;
  }
  // Where gRPC shows neither object, the response can still be checked later.
  identity.known = identity.received != MessageBase::kUnknown ||
                   identity.sent != MessageBase::kUnknown ||
                   (sent == nullptr && types.response != nullptr);
  return identity;
}

MessageBase IdentifyReceived(const MessageIdentity& identity,
                             const MethodTypes& types, const void* object) {
  if (identity.received != MessageBase::kUnknown) return identity.received;
  if (IsExactly(types.response, object)) return MessageBase::kProtobuf;
  // A generic call has bytes on both sides.
  if (identity.sent == MessageBase::kBytes) return MessageBase::kBytes;
  // Generated code with a lite runtime, which no descriptor pool knows.
  if (identity.sent == MessageBase::kProtobuf && types.response == nullptr) {
    return MessageBase::kProtobuf;
  }
  return MessageBase::kUnknown;
}

}  // namespace grpc_resilience::internal
