// A backend that fails, a retry that helps, and a breaker that opens.

#include <grpc_resilience/channel.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "shop.grpc.pb.h"

// Fails requests 1 and 2, answers the third, and then fails for good.
class Inventory : public shop::Inventory::Service {
  grpc::Status GetStock(grpc::ServerContext*, const shop::GetStockRequest*,
                        shop::GetStockResponse* response) override {
    if (++requests_ != 3) return {grpc::StatusCode::UNAVAILABLE, "overloaded"};
    response->set_in_stock(12);
    return grpc::Status::OK;
  }
  std::atomic<int> requests_{0};
};

// Prints what the library does.
class Printer : public grpc_resilience::CallObserver {
  void OnAttemptEnd(const grpc_resilience::AttemptEvent& event) override {
    std::cout << "  attempt " << event.number << ": "
              << grpc_resilience::StatusCodeName(event.code) << "\n";
  }
  void OnTransition(const grpc_resilience::TransitionEvent& event) override {
    std::cout << "  breaker: " << ToString(event.from) << " -> "
              << ToString(event.to) << " (" << event.why << ")\n";
  }
};

int main() {
  Inventory service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();

  grpc_resilience::Config config;  // good defaults: nothing has to be set
  config.DefaultTarget().throttle.max_tokens = 6;  // few failures open it
  grpc_resilience::Resilience::Ports ports;
  ports.executor = [](auto event) {
    event();
  };  // lines in order, on this thread
  auto resilience =
      grpc_resilience::Resilience::Create(std::move(config), std::move(ports));
  if (!resilience.ok()) {
    std::cerr << resilience.status() << "\n";
    return 1;
  }
  (*resilience)->AddObserver(std::make_shared<Printer>());
  auto channel = grpc_resilience::CreateChannel(
      *resilience, "127.0.0.1:" + std::to_string(port),
      grpc::InsecureChannelCredentials());
  auto stub = shop::Inventory::NewStub(channel);

  for (int call = 1; call <= 6; ++call) {
    std::cout << "call " << call << "\n";
    grpc::ClientContext context;
    shop::GetStockResponse response;
    auto status = stub->GetStock(&context, {}, &response);
    std::cout << "  " << (status.ok() ? "OK" : status.error_message()) << "\n";
  }
}
