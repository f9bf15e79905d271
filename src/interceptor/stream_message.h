// One received message of a relayed stream, and what the caller receives into.

#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/interceptor.h>

#include <memory>

#include "grpc_resilience/config.h"
#include "interceptor/context_access.h"
#include "interceptor/message_type.h"

namespace grpc_resilience::internal {

/// Move-only.
struct StreamMessage {
  /// Set where interceptors after ours expect one; else null: `bytes`.
  std::unique_ptr<google::protobuf::MessageLite> object;
  grpc::ByteBuffer bytes;
};

/// Hands messages over to the caller's objects. What they are is known for certain
/// or not at all; found out at the first one. Not safe for use from several threads
/// at once: gRPC has one read of a call at a time.
class StreamReceiver {
 public:
  /// `types` outlives this.
  StreamReceiver(const MethodTypes& types, MessageKind kind)
      : types_(types),
        base_(kind == MessageKind::kBytes ? MessageBase::kBytes
                                          : MessageBase::kUnknown) {}

  /// For a pass with PRE_RECV_MESSAGE. False: the message can't be handed over
  /// (it can't be parsed, or `unknown_type()`), and what is in the object is
  /// unspecified.
  bool Deliver(StreamMessage message,
               grpc::experimental::InterceptorBatchMethods* pass);

  /// The caller's object can't be of the method's type.
  bool unknown_type() const { return unknown_; }

 private:
  void Identify(grpc::experimental::InterceptorBatchMethods* pass,
                const void* object);

  const MethodTypes& types_;
  MessageBase base_;
  bool unknown_ = false;
};

}  // namespace grpc_resilience::internal
