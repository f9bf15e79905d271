// The administrator of bench_admin: between "go" and "stop" on standard input it lists
// all breakers once a second, or watches them.
//
//   bench_admin_peer <address> list|watch

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "grpc_resilience/admin/v1/admin.grpc.pb.h"

namespace grpc_resilience::bench {
namespace {

namespace pb = admin::v1;

// Ends the program when the service doesn't answer, or hasn't all.
void ListAll(pb::ResilienceAdmin::Stub& stub) {
  pb::ListBreakersRequest request;
  request.set_page_size(1000);
  int breakers = 0;
  do {
    grpc::ClientContext context;
    pb::ListBreakersResponse response;
    if (!stub.ListBreakers(&context, request, &response).ok()) std::_Exit(1);
    breakers += response.breakers_size();
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  if (breakers < 10'000) std::_Exit(1);
}

/// Works until it is destroyed. Not safe for use from several threads at once.
class Work {
 public:
  Work(pb::ResilienceAdmin::Stub& stub, bool watch)
      : thread_([this, &stub, watch] {
          watch ? Watch(stub) : ListEachSecond(stub);
        }) {}
  ~Work() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      over_ = true;
    }
    context_.TryCancel();
    changed_.notify_all();
    thread_.join();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  void Watch(pb::ResilienceAdmin::Stub& stub) {
    const auto reader = stub.WatchBreakers(&context_, {});
    pb::WatchBreakersResponse response;
    while (reader->Read(&response)) {
    }
    reader->Finish();
  }
  void ListEachSecond(pb::ResilienceAdmin::Stub& stub) {
    std::unique_lock<std::mutex> lock(mu_);
    while (!over_) {
      lock.unlock();
      ListAll(stub);
      lock.lock();
      changed_.wait_for(lock, std::chrono::seconds(1),
                        [this] { return over_; });
    }
  }

  grpc::ClientContext context_;
  std::mutex mu_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

int Run(const std::string& address, bool watch) {
  const auto stub = pb::ResilienceAdmin::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  std::unique_ptr<Work> work;
  for (std::string word; std::getline(std::cin, word);) {
    if (word == "stop") {
      work.reset();
    } else if (work == nullptr) {
      work = std::make_unique<Work>(*stub, watch);
    }
  }
  return 0;
}

}  // namespace
}  // namespace grpc_resilience::bench

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return grpc_resilience::bench::Run(argv[1], std::string(argv[2]) == "watch");
}
