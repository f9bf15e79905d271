// The server of the demo: answers GetStock, or fails the share of requests that
// it is told to. Prints "PORT <number>" when it serves, and ends when its
// standard input does, so that it never outlives the demo.
//
//   demo_backend [port]      without a port the kernel chooses one

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include "shop.grpc.pb.h"

namespace {

class InventoryService final : public shop::Inventory::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetStock(
      grpc::CallbackServerContext* context,
      const shop::GetStockRequest* /*request*/,
      shop::GetStockResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    if (CountAndDrawFailure(*context)) {
      reactor->Finish(
          {grpc::StatusCode::UNAVAILABLE, "the stock database is overloaded"});
    } else {
      response->set_in_stock(12);
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  void SetFailureRatio(double ratio) {
    std::lock_guard<std::mutex> lock(mu_);
    failure_ratio_ = ratio;
  }

  std::map<std::string, std::int64_t> seen() const {
    std::lock_guard<std::mutex> lock(mu_);
    return seen_;
  }

 private:
  bool CountAndDrawFailure(const grpc::CallbackServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto channel = metadata.find("demo-channel");
    std::lock_guard<std::mutex> lock(mu_);
    if (channel != metadata.end()) {
      ++seen_[std::string(channel->second.data(), channel->second.size())];
    }
    return std::bernoulli_distribution(failure_ratio_)(random_);
  }

  mutable std::mutex mu_;
  double failure_ratio_ = 0;
  std::mt19937 random_{std::random_device{}()};
  std::map<std::string, std::int64_t> seen_;
};

class ControlService final : public shop::BackendControl::CallbackService {
 public:
  explicit ControlService(InventoryService* inventory)
      : inventory_(inventory) {}

  grpc::ServerUnaryReactor* SetFailureRatio(
      grpc::CallbackServerContext* context,
      const shop::SetFailureRatioRequest* request,
      shop::SetFailureRatioResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const double ratio = request->ratio();
    if (!(ratio >= 0 && ratio <= 1)) {
      reactor->Finish(
          {grpc::StatusCode::INVALID_ARGUMENT, "ratio must be from 0 to 1"});
      return reactor;
    }
    inventory_->SetFailureRatio(ratio);
    for (const auto& [channel, requests] : inventory_->seen()) {
      (*response->mutable_requests_seen())[channel] = requests;
    }
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  InventoryService* const inventory_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted_port = argc > 1 ? argv[1] : "0";
  InventoryService inventory;
  ControlService control(&inventory);

  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:" + wanted_port,
                           grpc::InsecureServerCredentials(), &port);
  // A port in use is an error, not something to share.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(&inventory);
  builder.RegisterService(&control);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "demo_backend: can't listen on port " << wanted_port << "\n";
    return 1;
  }
  std::cout << "PORT " << port << std::endl;

  std::cin.ignore(std::numeric_limits<std::streamsize>::max());  // until EOF
  server->Shutdown();
  return 0;
}
