// Everything that gRPC keeps private and an exact re-issue needs is reached here
// and nowhere else, so that a gRPC upgrade breaks one place.
//
// Two ways in, both legal C++: explicit specialisations (for a tag type of ours)
// of class templates that gRPC declares friends, and pointers to members taken in
// an explicit instantiation. The second kind depends on member names; it is used
// only where GRPC_RESILIENCE_OP_SET_ACCESS is 1, and the library works without it
// (every retryable call is then hijacked).

#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/codegen/interceptor_common.h>
#include <grpcpp/support/interceptor.h>
#include <grpcpp/version_info.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#ifndef GRPC_RESILIENCE_OP_SET_ACCESS
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR == 51
#define GRPC_RESILIENCE_OP_SET_ACCESS 1
#else
#define GRPC_RESILIENCE_OP_SET_ACCESS 0
#endif
#endif

namespace grpc_resilience::internal {

/// What the messages of a batch are to gRPC.
enum class MessageBase { kUnknown, kProtobuf, kBytes };

/// What the op set of a first pass proves.
struct OpSetProof {
  MessageBase receive = MessageBase::kUnknown;
  /// The receive op's own flag; null when the op set is of no known type.
  bool* got_message = nullptr;
};

class ContextAccess {
 public:
  /// True when the call was made with FromServerContext and ends with its parent.
  static bool HasParent(const grpc::ClientContext& context);
  /// And its deadline is the parent's as well.
  static bool HasParentDeadline(const grpc::ClientContext& context);

  /// The parent call, or null. Whoever outlives the caller's context takes a
  /// reference to it.
  static grpc_call* ParentCall(const grpc::ClientContext& context);

  /// Flags of the send-initial-metadata op (wait_for_ready).
  static std::uint32_t InitialMetadataFlags(const grpc::ClientContext& context);

  /// What the caller put there.
  static const std::multimap<std::string, std::string>& Metadata(
      const grpc::ClientContext& context);

  /// Gives `to` what the caller put on `from`, metadata and deadline aside:
  /// credentials, authority, parent call and propagation, compression,
  /// wait_for_ready, census context.
  static void Carry(grpc::ClientContext& from, grpc::ClientContext* to);

  /// Makes the call of `to` end when that of `parent` is cancelled; nothing else is
  /// handed on.
  static void CancelWith(const grpc::ServerContextBase& parent,
                         grpc::ClientContext* to);

  static void SetDebugErrorString(grpc::ClientContext* context,
                                  const std::string& text);

  /// Creates a call that only the interceptors from `position` on see.
  static grpc::internal::Call CreateCall(
      grpc::ChannelInterface* channel, const grpc::internal::RpcMethod& method,
      grpc::ClientContext* context, std::size_t position);
  /// Creates a call on `channel` as a stub would.
  static grpc::internal::Call CreateCall(
      grpc::ChannelInterface* channel, const grpc::internal::RpcMethod& method,
      grpc::ClientContext* context);

  /// Where `factory` stands in the creator list of a channel.
  struct Place {
    std::size_t index = 0;
    std::size_t size = 0;
    /// Another factory of our kind stands before it.
    bool shadowed = false;
  };
  /// `is_ours` tells our kind. Empty when the channel can't be looked into.
  static std::optional<Place> FindFactory(
      grpc::ChannelInterface* channel,
      const grpc::experimental::ClientInterceptorFactoryInterface* factory,
      bool (*is_ours)(
          const grpc::experimental::ClientInterceptorFactoryInterface&));

  /// Only for batch methods of a send or receive pass, never a cancel pass.
  static OpSetProof Prove(grpc::experimental::InterceptorBatchMethods* methods);
  /// What the sent object is, by the serializer that goes with it; kUnknown where
  /// gRPC has bytes already.
  static MessageBase ProveSent(
      grpc::experimental::InterceptorBatchMethods* methods);
  /// The receive op of the batch is one for grpc::ByteBuffer, for certain. Only for
  /// a pass of a batch that receives a message.
  static bool ReceivesBytes(
      grpc::experimental::InterceptorBatchMethods* methods);
  /// Lets interceptors before ours see the message in their post-receive pass.
  static void SetReceived(grpc::experimental::InterceptorBatchMethods* methods,
                          void* message);
};

}  // namespace grpc_resilience::internal
