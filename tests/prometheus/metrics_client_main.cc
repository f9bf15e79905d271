// A client that is in use all the time and shows its metrics, for a Prometheus to
// scrape. Prints "METRICS <port>" when it can be, and never outlives the process
// that started it.
//
//   metrics_client --target=HOST:PORT

#include <grpcpp/grpcpp.h>
#include <prometheus/exposer.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grpc_resilience/channel.h"
#include "grpc_resilience/prometheus_observer.h"
#include "grpc_resilience/resilience.h"
#include "test_service.grpc.pb.h"

namespace {

using grpc_resilience::test::Echo;
using grpc_resilience::test::EchoRequest;
using grpc_resilience::test::EchoResponse;

using Method = grpc::Status (Echo::Stub::*)(grpc::ClientContext*,
                                            const EchoRequest&, EchoResponse*);

// One call every 10 ms; every 5th needs a second attempt.
[[noreturn]] void CallForEver(Echo::Stub* stub, Method method) {
  for (int i = 0;; ++i) {
    EchoRequest request;
    request.mutable_script()->set_by_attempt_header(true);
    if (i % 5 == 0) request.mutable_script()->set_fail_times(1);
    request.mutable_script()->set_code(grpc::StatusCode::UNAVAILABLE);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(500));
    EchoResponse response;
    (stub->*method)(&context, request, &response);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) return 1;  // the parent is gone already
  const std::string argument = argc == 2 ? argv[1] : "";
  const std::string prefix = "--target=";
  if (argument.rfind(prefix, 0) != 0) {
    std::cerr << "usage: metrics_client --target=HOST:PORT\n";
    return 2;
  }
  const std::string target = argument.substr(prefix.size());

  grpc_resilience::Config config;
  config.Target(target);
  config.Method("/grpc_resilience.test.Echo/Idempotent");
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
  prometheus::Exposer exposer("127.0.0.1:0");
  exposer.RegisterCollectable(*metrics);
  const auto stub = Echo::NewStub(grpc_resilience::CreateChannel(
      *resilience, target, grpc::InsecureChannelCredentials()));
  std::cout << "METRICS " << exposer.GetListeningPorts().at(0) << std::endl;

  std::thread other(CallForEver, stub.get(), &Echo::Stub::Unary);
  CallForEver(stub.get(), &Echo::Stub::Idempotent);
}
