// A backend that answers in 2 ms, but 1 % of the requests 50 times as slowly: the
// tail of the calls with and without hedging after the p95 of the method.
//
// Figures: p50_ms, p99_ms and p999_ms of the calls, attempts (per call, counted by
// the backend).

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "benchmark/effect/backend_process.h"
#include "benchmark/effect/client_kind.h"
#include "benchmark/effect/figure.h"
#include "benchmark/effect/keeping_up.h"
#include "benchmark/effect/load.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "grpc_resilience/channel.h"
#include "grpc_resilience/resilience.h"

namespace bench = grpc_resilience::bench;

namespace {

constexpr std::chrono::milliseconds kDelay(2);
constexpr bench::BackendProcess::Slowness kSlowness{0.01, 50 * kDelay};

struct Client {
  std::string_view name;
  bool hedged;
};

std::shared_ptr<grpc::Channel> MakeChannel(const Client& client,
                                           const std::string& address) {
  grpc_resilience::Config config = bench::OursConfig();
  if (client.hedged) {
    config.DefaultMethod().hedging.emplace().delay_quantile = 0.95;
  }
  auto resilience = grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  return CreateChannel(*resilience, address, grpc::InsecureChannelCredentials(),
                       bench::OwnConnection());
}

void Run(const std::string& program, std::chrono::seconds length,
         const Client& client, unsigned seed) {
  bench::BackendProcess backend(program, seed);
  backend.Start();
  backend.Behave(0, kDelay, kSlowness);
  bench::LoadPlan plan;
  plan.seed = seed;
  bench::Load load(MakeChannel(client, backend.address()), plan);
  std::this_thread::sleep_for(bench::kHealthyTime);
  const auto before = backend.Behave(0, kDelay, kSlowness);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(length);
  const auto calls =
      bench::StartedIn(load.Stop(), begin, std::chrono::steady_clock::now());
  const auto seen = backend.Behave(0, kDelay, kSlowness);
  if (bench::SuccessPercent(calls) < 99) {
    bench::CannotKeepUp("calls to a healthy backend fail");
  }
  // Half the calls are late only when the machine is.
  if (bench::Milliseconds(calls, 0.5) > 5) {
    bench::CannotKeepUp("answers that take 2 ms take more than 5");
  }
  const auto print = [&](std::string_view name, double value) {
    bench::PrintFigure(client.name, seed, name, value);
  };
  print("p50_ms", bench::Milliseconds(calls, 0.5));
  print("p99_ms", bench::Milliseconds(calls, 0.99));
  print("p999_ms", bench::Milliseconds(calls, 0.999));
  print("attempts", static_cast<double>(seen.requests - before.requests) /
                        static_cast<double>(calls.size()));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_hedge BACKEND SECONDS SEED...";
  if (argc < 4) bench::WrongUsage(kUsage);
  const std::chrono::seconds length(bench::PositiveNumber(argv[2], kUsage));
  for (int i = 3; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    for (const Client& client :
         {Client{"unhedged", false}, Client{"ours", true}}) {
      bench::PrintProgress("hedging", client.name, seed);
      Run(argv[1], length, client, seed);
    }
  }
  return 0;
}
