// A client whose metrics a Prometheus can scrape, and a backend that fails now and
// then.
//
//   metrics [ADDRESS]     serves http://ADDRESS/metrics (127.0.0.1:9464) until killed
//   metrics --once        makes 100 calls, prints the metrics and ends

#include <grpc_resilience/channel.h>
#include <grpc_resilience/prometheus_observer.h>
#include <grpcpp/grpcpp.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "shop.grpc.pb.h"

// Fails every third request, and everything in ten seconds of each hundred.
class Inventory : public shop::Inventory::Service {
  grpc::Status GetStock(grpc::ServerContext*, const shop::GetStockRequest*,
                        shop::GetStockResponse* response) override {
    const auto age = std::chrono::steady_clock::now() - start_;
    const bool down = age / std::chrono::seconds(10) % 10 == 9;
    if (down || ++requests_ % 3 == 0) {
      return {grpc::StatusCode::UNAVAILABLE, "overloaded"};
    }
    response->set_in_stock(12);
    return grpc::Status::OK;
  }
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::atomic<int> requests_{0};
};

void CallOnce(shop::Inventory::Stub& stub) {
  grpc::ClientContext context;
  shop::GetStockResponse response;
  stub.GetStock(&context, {}, &response);  // its status is counted
}

int main(int argc, char** argv) {
  const std::string argument = argc > 1 ? argv[1] : "127.0.0.1:9464";

  Inventory service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const std::string target = "127.0.0.1:" + std::to_string(port);

  grpc_resilience::Config config;
  config.Target(target);                      // has series from the start
  config.Method("/shop.Inventory/GetStock");  // a label of its own
  auto resilience = grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) {
    std::cerr << resilience.status() << "\n";
    return 1;
  }
  auto metrics = grpc_resilience::PrometheusObserver::Create(*resilience);
  if (!metrics.ok()) {
    std::cerr << metrics.status() << "\n";
    return 1;
  }
  const auto stub = shop::Inventory::NewStub(grpc_resilience::CreateChannel(
      *resilience, target, grpc::InsecureChannelCredentials()));

  if (argument == "--once") {
    for (int call = 0; call < 100; ++call) CallOnce(*stub);
    std::cout << prometheus::TextSerializer().Serialize((*metrics)->Collect());
    return 0;
  }
  prometheus::Exposer exposer(argument);
  exposer.RegisterCollectable(*metrics);
  std::cout << "http://127.0.0.1:" << exposer.GetListeningPorts().at(0)
            << "/metrics" << std::endl;
  for (;;) {
    CallOnce(*stub);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}
