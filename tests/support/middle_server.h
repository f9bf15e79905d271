// A server in the test's own process, for calls that are made while serving others.

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "test_service.grpc.pb.h"

namespace grpc_resilience::test {

/// Its unary methods do what the function says. This type is safe to use from
/// several threads at once.
class MiddleServer : public Echo::Service {
 public:
  using Serve = std::function<grpc::Status(grpc::ServerContext*,
                                           const EchoRequest&, EchoResponse*)>;

  explicit MiddleServer(Serve serve) : serve_(std::move(serve)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    target_ = "127.0.0.1:" + std::to_string(port);
    channel_ = grpc::CreateChannel(target_, grpc::InsecureChannelCredentials());
  }
  ~MiddleServer() override { server_->Shutdown(); }

  grpc::Status Unary(grpc::ServerContext* context, const EchoRequest* request,
                     EchoResponse* response) override {
    return serve_(context, *request, response);
  }
  grpc::Status Idempotent(grpc::ServerContext* context,
                          const EchoRequest* request,
                          EchoResponse* response) override {
    return serve_(context, *request, response);
  }

  const std::string& target() const { return target_; }
  /// Without the library.
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  const Serve serve_;
  std::unique_ptr<grpc::Server> server_;
  std::string target_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace grpc_resilience::test
