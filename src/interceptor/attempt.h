// One re-issued attempt of a unary call: a call of its own on the channel, seen by
// the interceptors placed after ours.

#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <variant>

namespace grpc_resilience::internal {

/// Header of attempts 2…n (gRFC A6): ours to set, never the caller's.
inline constexpr char kPreviousAttemptsKey[] = "grpc-previous-rpc-attempts";

/// Where attempts are issued: the channel, and the first interceptor that sees
/// them.
struct AttemptRoute {
  grpc::ChannelInterface* channel = nullptr;
  /// Only used when `intercepted` is null.
  std::size_t position = 0;
  /// gRPC's own idea of the rest of the chain, where the channel can't be looked
  /// into.
  std::unique_ptr<grpc::ChannelInterface> intercepted;
  /// Some interceptor comes after ours.
  bool observed = true;
};

/// What every attempt of a call sends.
struct AttemptRequest {
  const char* method = nullptr;
  const char* suffix_for_stats = nullptr;
  grpc::ClientContext* context = nullptr;  ///< the caller's
  /// The caller's request object, or null: then `bytes`.
  const google::protobuf::MessageLite* object = nullptr;
  grpc::ByteBuffer bytes;
  /// Makes the object that an attempt is received into when interceptors after
  /// ours expect one; null: into bytes.
  const google::protobuf::MessageLite* response_prototype = nullptr;
  const std::multimap<std::string, std::string>* metadata = nullptr;
};

/// Not safe for use from several threads at once, but for Cancel.
class Attempt {
 public:
  class Owner {
   public:
    /// On a gRPC thread (or inside Run); the attempt must stay alive until the
    /// call that it belongs to is over.
    virtual void OnAttemptDone() = 0;

   protected:
    ~Owner() = default;
  };

  using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

  /// Creates the call; nothing is sent yet. `number` is 1 for the first.
  Attempt(const AttemptRoute& route, const AttemptRequest& request, int number,
          gpr_timespec deadline, Owner* owner);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Sends. The attempt and its owner may be gone when it returns.
  void Run();

  /// From any thread, before or after Run and after the end.
  void Cancel() { context_.TryCancel(); }

  // After OnAttemptDone; valid as long as the attempt.
  const grpc::Status& status() const { return status_; }
  /// A message arrived and, where it was received as an object, could be parsed.
  bool has_message() const;
  /// The message where it was received as an object and the attempt succeeded;
  /// else null.
  const google::protobuf::MessageLite* message() const {
    return status_.ok() && has_message() ? object_.get() : nullptr;
  }
  /// The message where it was received as bytes.
  const grpc::ByteBuffer& bytes() const { return bytes_; }
  /// Moves the received message into the caller's object of the right class. False
  /// when it can't be parsed; `into` is then unspecified.
  bool TakeMessage(google::protobuf::MessageLite* into);
  void TakeMessage(grpc::ByteBuffer* into);
  const Metadata& initial_metadata() const {
    return context_.GetServerInitialMetadata();
  }
  const Metadata& trailing_metadata() const {
    return context_.GetServerTrailingMetadata();
  }
  std::string debug_error_string() const {
    return context_.debug_error_string();
  }

 private:
  template <typename Message>
  using Ops =
      grpc::internal::CallOpSet<grpc::internal::CallOpSendInitialMetadata,
                                grpc::internal::CallOpSendMessage,
                                grpc::internal::CallOpRecvInitialMetadata,
                                grpc::internal::CallOpRecvMessage<Message>,
                                grpc::internal::CallOpClientSendClose,
                                grpc::internal::CallOpClientRecvStatus>;

  struct Done : grpc_completion_queue_functor {
    Attempt* attempt = nullptr;
  };
  static void OnDone(grpc_completion_queue_functor* done, int ok);

  template <typename Message>
  void Perform(Message* into);

  const AttemptRequest& request_;
  Owner* const owner_;
  grpc::ClientContext context_;
  /// Not the context's own: gRPC's global callbacks may have put something there
  /// that the caller's context has already.
  std::multimap<std::string, std::string> metadata_;
  grpc::internal::Call call_;
  Done done_;
  grpc::Status status_;
  bool parsed_ = false;
  std::unique_ptr<google::protobuf::MessageLite> object_;
  grpc::ByteBuffer bytes_;
  std::variant<std::monostate, Ops<grpc::ByteBuffer>,
               Ops<google::protobuf::MessageLite>>
      ops_;
};

}  // namespace grpc_resilience::internal
