// What scrapes do to calls: 1000 calls a second to a server in this process, with
// 10,000 breakers beside the one in use; in turn without scrapes and with one a
// second. Prints "without <p50 us> <p99 us>" and "with …", of all turns of a kind.

#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "benchmark/calls.h"
#include "benchmark/echo_server.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/prometheus_observer.h"

namespace bench = grpc_resilience::bench;

namespace {

using Clock = std::chrono::steady_clock;

/// One turn: the latency of every call, from when it was due.
void Call(bench::Bench::Stub& stub, std::chrono::seconds length,
          std::vector<double>* microseconds) {
  const auto start = Clock::now();
  for (auto due = start; due < start + length;
       due += std::chrono::milliseconds(1)) {
    std::this_thread::sleep_until(due);
    grpc::ClientContext context;
    bench::Payload response;
    if (!stub.Retried(&context, bench::MakeRequest(), &response).ok()) {
      bench::Malfunction("a call failed");
    }
    microseconds->push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - due).count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_metrics_load TURNS SECONDS_PER_TURN";
  if (argc != 3) bench::WrongUsage(kUsage);
  const int turns = bench::PositiveNumber(argv[1], kUsage);
  const std::chrono::seconds length(bench::PositiveNumber(argv[2], kUsage));

  const bench::EchoServer server;
  grpc_resilience::Config config;
  config.max_breakers = 20000;
  const auto resilience =
      grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  for (int i = 0; i < 10000; ++i) {
    (*resilience)
        ->registry()
        .GetOrCreate({"10.20.30.40:" + std::to_string(10000 + i), ""})
        ->TryAcquire()
        ->Record(grpc_resilience::Outcome::kFailure,
                 grpc_resilience::StatusCode::UNAVAILABLE);
  }
  const auto metrics = grpc_resilience::PrometheusObserver::Create(*resilience);
  if (!metrics.ok()) bench::Malfunction(metrics.status().ToString());
  const auto stub = bench::Bench::NewStub(grpc_resilience::CreateChannel(
      *resilience, server.address(), grpc::InsecureChannelCredentials()));

  std::vector<double> warm_up;
  Call(*stub, std::chrono::seconds(1), &warm_up);
  std::vector<double> without;
  std::vector<double> with;
  for (int turn = 0; turn < turns; ++turn) {
    Call(*stub, length, &without);
    std::atomic<bool> over{false};
    std::thread scraper([&] {
      for (auto due = Clock::now() + std::chrono::milliseconds(500); !over;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (Clock::now() < due) continue;
        due += std::chrono::seconds(1);
        prometheus::TextSerializer().Serialize((*metrics)->Collect());
      }
    });
    Call(*stub, length, &with);
    over = true;
    scraper.join();
  }
  for (const auto& [name, values] :
       {std::pair("without", &without), std::pair("with", &with)}) {
    std::cout << name << ' ' << bench::Percentile(*values, 0.5) << ' '
              << bench::Percentile(*values, 0.99) << std::endl;
  }
  return 0;
}
