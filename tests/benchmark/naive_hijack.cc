#include "benchmark/naive_hijack.h"

#include <google/protobuf/message_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace grpc_resilience::bench {
namespace {

using grpc::experimental::InterceptorBatchMethods;
using Hook = grpc::experimental::InterceptionHookPoints;

// Long enough that it is never reached; the rows' other side has one too.
constexpr std::chrono::minutes kPerAttemptTimeout(5);

// One re-issued attempt.
struct Attempt {
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
};

class NaiveHijack final : public grpc::experimental::Interceptor {
 public:
  explicit NaiveHijack(grpc::experimental::ClientRpcInfo* info)
      : method_(info->method()) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      metadata_ = *methods->GetSendInitialMetadata();
      request_ = *methods->GetSerializedSendMessage();
      channel_ = methods->GetInterceptedChannel();
      methods->Hijack();
    } else if (methods->QueryInterceptionHookPoint(Hook::PRE_RECV_STATUS)) {
      Issue([this, methods](std::shared_ptr<Attempt> attempt) {
        Deliver(std::move(attempt), methods);
      });
    } else {
      methods->Proceed();
    }
  }

 private:
  using Done = std::function<void(std::shared_ptr<Attempt>)>;

  void Issue(Done done) {
    auto attempt = std::make_shared<Attempt>();
    for (const auto& [key, value] : metadata_) {
      attempt->context.AddMetadata(key, value);
    }
    attempt->context.set_deadline(std::chrono::system_clock::now() +
                                  kPerAttemptTimeout);
    stub_ = std::make_unique<grpc::GenericStub>(std::move(channel_));
    stub_->UnaryCall(&attempt->context, method_, grpc::StubOptions(), &request_,
                     &attempt->response,
                     [attempt, done = std::move(done)](grpc::Status status) {
                       attempt->status = std::move(status);
                       done(attempt);
                     });
  }

  void Deliver(std::shared_ptr<Attempt> attempt,
               InterceptorBatchMethods* methods) {
    attempt_ = std::move(attempt);
    const auto& initial = attempt_->context.GetServerInitialMetadata();
    methods->GetRecvInitialMetadata()->insert(initial.begin(), initial.end());
    grpc::Status status = attempt_->status;
    if (status.ok()) {
      status = grpc::GenericDeserialize<grpc::ProtoBufferReader,
                                        google::protobuf::MessageLite>(
          &attempt_->response, static_cast<google::protobuf::MessageLite*>(
                                   methods->GetRecvMessage()));
    } else {
      methods->FailHijackedRecvMessage();
    }
    *methods->GetRecvStatus() = status;
    const auto& trailing = attempt_->context.GetServerTrailingMetadata();
    methods->GetRecvTrailingMetadata()->insert(trailing.begin(),
                                               trailing.end());
    methods->Proceed();
  }

  const std::string method_;
  std::multimap<std::string, std::string> metadata_;
  grpc::ByteBuffer request_;
  std::shared_ptr<grpc::ChannelInterface> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::shared_ptr<Attempt> attempt_;
};

}  // namespace

grpc::experimental::Interceptor* NaiveHijackFactory::CreateClientInterceptor(
    grpc::experimental::ClientRpcInfo* info) {
  return new NaiveHijack(info);
}

}  // namespace grpc_resilience::bench
