// What the messages of a call are, from what its passes show. Never guessed: what
// isn't proven is unknown, and a call with unknown messages is passed through.

#pragma once

#include <grpcpp/support/interceptor.h>

#include "grpc_resilience/config.h"
#include "interceptor/context_access.h"
#include "interceptor/message_type.h"

namespace grpc_resilience::internal {

struct MessageIdentity {
  MessageBase sent = MessageBase::kUnknown;
  /// kUnknown with `known`: found out when the response object is there.
  MessageBase received = MessageBase::kUnknown;
  /// The receive op's own flag; null where the op set can't be asked.
  bool* got_message = nullptr;
  /// Attempts can be issued in the caller's place.
  bool known = false;
};

/// For a first pass, which has PRE_SEND_MESSAGE.
MessageIdentity Identify(grpc::experimental::InterceptorBatchMethods* pass,
                         const MethodTypes& types, MessageKind kind);

/// The base of the caller's response object; kUnknown when it is none that the
/// method can have.
MessageBase IdentifyReceived(const MessageIdentity& identity,
                             const MethodTypes& types, const void* object);

}  // namespace grpc_resilience::internal
