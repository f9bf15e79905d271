// The middle of a chain: the calls that it makes are children of those that it serves.

#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "support/call_styles.h"
#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

/// A server in this process that passes each call on, in a given style.
class MiddleServer : public Echo::Service {
 public:
  MiddleServer(CallStyle style, std::shared_ptr<grpc::Channel> onward)
      : style_(style), onward_(std::move(onward)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    channel_ = grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials());
  }
  ~MiddleServer() override { server_->Shutdown(); }

  grpc::Status Unary(grpc::ServerContext* context, const EchoRequest* request,
                     EchoResponse* response) override {
    const auto child = grpc::ClientContext::FromServerContext(*context);
    CallResult result = Call(style_, onward_, EchoMethod::kIdempotent,
                             child.get(), *request, response);
    const grpc::Status status = result.status;
    ended_at_ = std::chrono::steady_clock::now();
    outbound_.set_value(std::move(result));
    return status;
  }

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  /// How the onward call ended; once.
  CallResult TakeOutbound() { return outbound_.get_future().get(); }
  std::chrono::steady_clock::time_point ended_at() const { return ended_at_; }

 private:
  const CallStyle style_;
  const std::shared_ptr<grpc::Channel> onward_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::promise<CallResult> outbound_;
  std::chrono::steady_clock::time_point ended_at_;
};

}  // namespace grpc_resilience::test
