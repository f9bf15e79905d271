// How soon the next attempt of a call arrives at the backend after it failed the one
// before: gRPC's own retry and ours in turn, one call after the other. The backend
// asks for no wait (grpc-retry-pushback-ms: 0), so that no backoff is in it.
//
// Figures: dispatch_us, the median.

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmark/bench.grpc.pb.h"
#include "benchmark/calls.h"
#include "benchmark/effect/backend_process.h"
#include "benchmark/effect/client_kind.h"
#include "benchmark/effect/figure.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

constexpr int kWarmUpCalls = 50;
constexpr int kCallsPerRound = 100;

struct Contender {
  bench::ClientKind kind;
  std::unique_ptr<bench::Bench::Stub> stub;
  std::vector<double> microseconds;
};

double CallOnce(bench::Bench::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(10));
  bench::Payload response;
  const grpc::Status status =
      stub.Watched(&context, bench::MakeRequest(), &response);
  if (!status.ok()) bench::Malfunction(status.error_message());
  return std::stod(response.data()) / 1e3;
}

void Run(const std::string& program, int rounds, unsigned seed) {
  bench::BackendProcess backend(program, seed);
  backend.Start();
  std::vector<Contender> contenders;
  for (const bench::ClientKind kind :
       {bench::ClientKind::kGrpcRetry, bench::ClientKind::kOurs}) {
    contenders.push_back(
        {kind,
         bench::Bench::NewStub(bench::MakeClient(kind, backend.address())),
         {}});
    for (int i = 0; i < kWarmUpCalls; ++i) CallOnce(*contenders.back().stub);
  }
  std::mt19937 shuffler(seed);
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(contenders.begin(), contenders.end(), shuffler);
    for (Contender& contender : contenders) {
      for (int i = 0; i < kCallsPerRound; ++i) {
        contender.microseconds.push_back(CallOnce(*contender.stub));
      }
    }
  }
  for (const Contender& contender : contenders) {
    bench::PrintFigure(ToString(contender.kind), seed, "dispatch_us",
                       bench::Percentile(contender.microseconds, 0.5));
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_dispatch BACKEND ROUNDS SEED...";
  if (argc < 4) bench::WrongUsage(kUsage);
  const int rounds = bench::PositiveNumber(argv[2], kUsage);
  for (int i = 3; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    bench::PrintProgress("dispatch", "grpc_retry and ours", seed);
    Run(argv[1], rounds, seed);
  }
  return 0;
}
