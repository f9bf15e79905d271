#include "benchmark/effect/chain_tier.h"

#include <grpcpp/client_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "benchmark/usage.h"

namespace grpc_resilience::bench {

grpc::ServerUnaryReactor* ChainTier::Service::Retried(
    grpc::CallbackServerContext* context, const Payload* request,
    Payload* response) {
  // Lives as long as the calls on both sides.
  struct Reactor final : grpc::ServerUnaryReactor {
    void OnDone() override { delete this; }
    std::unique_ptr<grpc::ClientContext> outbound;
  };
  auto* reactor = new Reactor;
  reactor->outbound = grpc::ClientContext::FromCallbackServerContext(*context);
  onward_->async()->Retried(
      reactor->outbound.get(), request, response,
      [reactor](const grpc::Status& status) { reactor->Finish(status); });
  return reactor;
}

ChainTier::ChainTier(const std::shared_ptr<grpc::Channel>& onward)
    : service_(onward) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) Malfunction("a tier can't listen");
  address_ = "127.0.0.1:" + std::to_string(port);
}

ChainTier::~ChainTier() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
}

}  // namespace grpc_resilience::bench
