// A client process of the crash tests.
//
//   queue_client FILE TARGET PREFIX CALLS
//
// Makes CALLS calls with the keys PREFIX0, PREFIX1, …, and says "QUEUED key" or "DONE
// key" for those that ended well; without calls it delivers what is in FILE, and ends
// when nothing waits any more.

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "grpc_resilience/call_queue.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/sqlite_queue_store.h"
#include "test_service.grpc.pb.h"

namespace {

using grpc_resilience::CallQueue;
using grpc_resilience::CallQueueOptions;
using grpc_resilience::Config;
using grpc_resilience::MethodPolicy;
using grpc_resilience::Resilience;
using grpc_resilience::SqliteQueueStore;
using grpc_resilience::test::Echo;
using grpc_resilience::test::EchoRequest;
using grpc_resilience::test::EchoResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;

// One write, so that the reader never sees a part of a line.
void Say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

void Call(Echo::Stub* stub, const std::string& key) {
  EchoRequest request;
  request.set_key(key);
  EchoResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + seconds(5));
  if (!stub->Idempotent(&context, request, &response).ok()) return;
  const bool queued =
      context.GetServerTrailingMetadata().count("grpc-resilience-fallback") > 0;
  Say((queued ? "QUEUED " : "DONE ") + key);
}

int Run(const std::string& file, const std::string& target,
        const std::string& prefix, int calls) {
  CallQueueOptions options;
  options.poll_interval = milliseconds(10);
  options.backoff.initial_backoff = milliseconds(5);
  options.backoff.max_backoff = milliseconds(20);
  options.delivery_timeout = seconds(1);
  options.max_deliveries = 1000000;
  auto store = std::make_shared<SqliteQueueStore>(file, seconds(10));
  CallQueue queue(store, options);
  Config config;
  MethodPolicy& method = config.DefaultMethod();
  method.retry.max_attempts = 1;
  method.retry.idempotency_key_header = "idempotency-key";
  method.fallbacks = {queue.AnswerWith(EchoResponse())};
  method.fallback_rules.timeout = seconds(10);
  auto resilience = Resilience::Create(std::move(config));
  if (!resilience.ok()) {
    std::cerr << resilience.status() << "\n";
    return 2;
  }
  auto channel = grpc_resilience::CreateChannel(
      *resilience, target, grpc::InsecureChannelCredentials());
  queue.DeliverThrough(target, channel);
  auto stub = Echo::NewStub(channel);
  for (int i = 0; i < calls; ++i) {
    Call(stub.get(), prefix + std::to_string(i));
  }
  while (calls == 0) {
    const auto counts = store->Count();
    if (counts.ok() && counts->waiting == 0) break;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 5) {
    std::cerr << "usage: queue_client FILE TARGET PREFIX CALLS\n";
    return 2;
  }
  return Run(argv[1], argv[2], argv[3], std::atoi(argv[4]));
}
