#include "benchmark/echo_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "benchmark/usage.h"

namespace grpc_resilience::bench {
namespace {

grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context,
                               const Payload* request, Payload* response) {
  response->set_data(request->data());
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* EchoServer::Service::Watched(
    grpc::CallbackServerContext* context, const Payload* request,
    Payload* response) {
  return Echo(context, request, response);
}

grpc::ServerUnaryReactor* EchoServer::Service::Retried(
    grpc::CallbackServerContext* context, const Payload* request,
    Payload* response) {
  return Echo(context, request, response);
}

EchoServer::EchoServer() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) Malfunction("the server can't listen");
  address_ = "127.0.0.1:" + std::to_string(port);
}

EchoServer::~EchoServer() {
  server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace grpc_resilience::bench
