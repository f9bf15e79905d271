// One attempt of a relayed stream: a call of its own on the channel, seen by the
// interceptors placed after ours.
//
// Its status is asked for at the start, so that its end is always heard of, whether
// or not anything is written or read: gRPC's own reactors can't do that for ops
// that are started from outside.

#pragma once

#include <grpc/grpc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <map>
#include <memory>
#include <string>
#include <variant>

#include "core/stream_session.h"
#include "interceptor/attempt.h"
#include "interceptor/stream_message.h"

namespace grpc_resilience::internal {

/// What every attempt of a stream has in common. Copies of what the caller's context
/// says: a stream may be let go while an attempt is made.
struct StreamRoute {
  grpc::ChannelInterface* channel = nullptr;
  /// Only used when `intercepted` is null.
  std::size_t position = 0;
  std::unique_ptr<grpc::ChannelInterface> intercepted;
  const char* method = nullptr;
  const char* suffix_for_stats = nullptr;
  grpc::internal::RpcMethod::RpcType type =
      grpc::internal::RpcMethod::BIDI_STREAMING;
  /// What the caller put on its context; never used for a call itself.
  grpc::ClientContext carried;
  std::multimap<std::string, std::string> metadata;
  /// What messages are received into where interceptors after ours see them; null:
  /// bytes.
  const google::protobuf::MessageLite* response_prototype = nullptr;
};

/// Not safe for use from several threads at once but for Cancel and CancelAs; what
/// it reports comes on gRPC's threads, from several at once.
class StreamAttempt {
 public:
  class Owner {
   public:
    virtual void OnSent(bool ok) = 0;
    virtual void OnHeaders(bool real) = 0;
    /// Null: no more come.
    virtual void OnReceived(std::unique_ptr<StreamMessage> message) = 0;
    virtual void OnStatus() = 0;

   protected:
    ~Owner() = default;
  };
  using Metadata = Attempt::Metadata;

  /// Creates the call; nothing is sent yet. `number` is 1 for the first.
  StreamAttempt(StreamRoute* route, int number, gpr_timespec deadline);
  StreamAttempt(const StreamAttempt&) = delete;
  StreamAttempt& operator=(const StreamAttempt&) = delete;

  /// `message` where `send` has one. Each of these holds `owner` until its report
  /// has been heard, and may report before it returns.
  void Send(const StreamStep::Send& send, const grpc::ByteBuffer& message,
            std::shared_ptr<Owner> owner);
  /// After the first Send: headers and status.
  void AwaitEnd(const std::shared_ptr<Owner>& owner);
  void Receive(std::shared_ptr<Owner> owner);

  void Cancel() { context_.TryCancel(); }
  /// As core says it at a deadline.
  void CancelAtLimit();

  // After OnStatus:
  const grpc::Status& status() const { return status_; }
  const Metadata& trailing_metadata() const {
    return context_.GetServerTrailingMetadata();
  }
  std::string debug_error_string() const {
    return context_.debug_error_string();
  }
  // After OnHeaders:
  const Metadata& initial_metadata() const {
    return context_.GetServerInitialMetadata();
  }

 private:
  enum class Kind { kSend, kHeaders, kReceive, kStatus };
  struct Done : grpc_completion_queue_functor {
    StreamAttempt* attempt = nullptr;
    Kind kind = Kind::kSend;
    grpc::internal::CallOpSetInterface* ops = nullptr;
    std::shared_ptr<Owner> owner;
  };
  using SendOps =
      grpc::internal::CallOpSet<grpc::internal::CallOpSendInitialMetadata,
                                grpc::internal::CallOpSendMessage,
                                grpc::internal::CallOpClientSendClose>;
  using HeaderOps =
      grpc::internal::CallOpSet<grpc::internal::CallOpRecvInitialMetadata>;
  template <typename Message>
  using ReceiveOps =
      grpc::internal::CallOpSet<grpc::internal::CallOpRecvMessage<Message>>;
  using StatusOps =
      grpc::internal::CallOpSet<grpc::internal::CallOpClientRecvStatus>;

  static void OnDone(grpc_completion_queue_functor* functor, int ok);
  void Report(Kind kind, bool ok, Owner* owner);
  template <typename Ops>
  void Perform(Ops* ops, Done* done, std::shared_ptr<Owner> owner);
  template <typename Message>
  void ReceiveInto(Message* into, std::shared_ptr<Owner> owner);

  StreamRoute& route_;
  grpc::ClientContext context_;
  std::multimap<std::string, std::string> metadata_;
  grpc::internal::Call call_;
  grpc::Status status_;
  std::unique_ptr<StreamMessage> received_;
  Done sent_;
  Done headers_;
  Done receive_;
  Done end_;
  SendOps send_ops_;
  HeaderOps header_ops_;
  std::variant<std::monostate, ReceiveOps<grpc::ByteBuffer>,
               ReceiveOps<google::protobuf::MessageLite>>
      receive_ops_;
  StatusOps status_ops_;
};

}  // namespace grpc_resilience::internal
