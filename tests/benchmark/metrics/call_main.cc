// Makes calls between two marks, to be run under callgrind, as bench_instructions
// does: through the library with and without the observer.
//
//   bench_metrics_call without|with sync|cq|cb CALLS

#include <grpcpp/security/credentials.h>

#include <string>
#include <string_view>

#include "benchmark/calls.h"
#include "benchmark/echo_server.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/prometheus_observer.h"

namespace bench = grpc_resilience::bench;

extern "C" {
__attribute__((noinline)) void BenchmarkBegins() { asm volatile("# begins"); }
__attribute__((noinline)) void BenchmarkEnds() { asm volatile("# ends"); }
}

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_metrics_call without|with sync|cq|cb CALLS";
  constexpr int kWarmUpCalls = 300;
  if (argc != 4) bench::WrongUsage(kUsage);
  const std::string_view observed = argv[1];
  const auto style = bench::ParseStyle(argv[2]);
  const int calls = bench::PositiveNumber(argv[3], kUsage);
  if (!style || (observed != "with" && observed != "without")) {
    bench::WrongUsage(kUsage);
  }

  const bench::EchoServer server;
  grpc_resilience::Config config;
  config.Target(server.address());
  const auto resilience =
      grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  if (observed == "with") {
    const auto metrics =
        grpc_resilience::PrometheusObserver::Create(*resilience);
    if (!metrics.ok()) bench::Malfunction(metrics.status().ToString());
  }
  const auto stub = bench::Bench::NewStub(grpc_resilience::CreateChannel(
      *resilience, server.address(), grpc::InsecureChannelCredentials()));
  bench::CallKind kind;
  kind.style = *style;
  bench::RunCalls(*stub, kind, kWarmUpCalls);
  BenchmarkBegins();
  bench::RunCalls(*stub, kind, calls);
  BenchmarkEnds();
  return 0;
}
