// A backend that is healthy for 2 s and then fails a share of the requests,
// each client in turn: how many calls succeed, and how many attempts it costs.
//
// Figures: success (percent), attempts (per call, counted by the backend), p50_ms
// and p99_ms of the calls.

#include <chrono>
#include <string>
#include <thread>

#include "benchmark/effect/backend_process.h"
#include "benchmark/effect/client_kind.h"
#include "benchmark/effect/figure.h"
#include "benchmark/effect/keeping_up.h"
#include "benchmark/effect/load.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

struct Scenario {
  std::string backend;
  double failing_share = 0;
  std::chrono::seconds length{0};
};

void Run(const Scenario& scenario, bench::ClientKind kind, unsigned seed) {
  bench::BackendProcess backend(scenario.backend, seed);
  backend.Start();
  bench::LoadPlan plan;
  plan.seed = seed;
  bench::Load load(bench::MakeClient(kind, backend.address()), plan);
  std::this_thread::sleep_for(bench::kHealthyTime);
  bench::RequireKeepingUp(load.Over());
  const auto before = backend.Behave(scenario.failing_share);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(scenario.length);
  const auto calls =
      bench::StartedIn(load.Stop(), begin, std::chrono::steady_clock::now());
  const auto seen = backend.Behave(scenario.failing_share);
  const std::string_view client = ToString(kind);
  bench::PrintFigure(client, seed, "success", bench::SuccessPercent(calls));
  bench::PrintFigure(client, seed, "attempts",
                     static_cast<double>(seen.requests - before.requests) /
                         static_cast<double>(calls.size()));
  bench::PrintFigure(client, seed, "p50_ms", bench::Milliseconds(calls, 0.5));
  bench::PrintFigure(client, seed, "p99_ms", bench::Milliseconds(calls, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "bench_effect_failing BACKEND PERCENT SECONDS SEED...";
  if (argc < 5) bench::WrongUsage(kUsage);
  Scenario scenario;
  scenario.backend = argv[1];
  scenario.failing_share = bench::PositiveNumber(argv[2], kUsage) / 100.0;
  scenario.length =
      std::chrono::seconds(bench::PositiveNumber(argv[3], kUsage));
  for (int i = 4; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    for (const bench::ClientKind kind : bench::kClientKinds) {
      bench::PrintProgress(std::string(argv[2]) + " % fail", ToString(kind),
                           seed);
      Run(scenario, kind, seed);
    }
  }
  return 0;
}
