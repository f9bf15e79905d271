// A caller, two servers that pass its call on and a backend that fails everything:
// three tiers, each of which retries. What reaches the backend, and how much of it
// after the caller's deadline.
//
// Figures: attempts (per call of the caller, counted by the backend), and of them
// late and later_than_allowed (caller_deadline.h).

#include <chrono>
#include <string>
#include <thread>

#include "benchmark/effect/backend_process.h"
#include "benchmark/effect/chain_tier.h"
#include "benchmark/effect/client_kind.h"
#include "benchmark/effect/figure.h"
#include "benchmark/effect/load.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

// Gentle: what comes of it at the backend may be 64 times as much.
constexpr int kCallsPerSecond = 50;
constexpr std::chrono::seconds kTimeLimit(2);
constexpr std::chrono::milliseconds kDelay(5);

void Run(const std::string& program, std::chrono::seconds length,
         bench::ClientKind kind, unsigned seed) {
  bench::BackendProcess backend(program, seed);
  backend.Start();
  const bench::ChainTier last(bench::MakeClient(kind, backend.address()));
  const bench::ChainTier first(bench::MakeClient(kind, last.address()));
  bench::LoadPlan plan;
  plan.calls_per_second = kCallsPerSecond;
  plan.seed = seed;
  plan.time_limit = kTimeLimit;
  bench::Load load(bench::MakeClient(kind, first.address()), plan);
  backend.Behave(0, kDelay);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto before = backend.Behave(1, kDelay);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(length);
  const auto calls =
      bench::StartedIn(load.Stop(), begin, std::chrono::steady_clock::now());
  // Whatever a tier would still do.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto seen = backend.Behave(1, kDelay);
  const std::string_view client = ToString(kind);
  bench::PrintFigure(client, seed, "attempts",
                     static_cast<double>(seen.requests - before.requests) /
                         static_cast<double>(calls.size()));
  bench::PrintFigure(client, seed, "late",
                     static_cast<double>(seen.late - before.late));
  bench::PrintFigure(
      client, seed, "later_than_allowed",
      static_cast<double>(seen.later_than_allowed - before.later_than_allowed));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_chain BACKEND SECONDS SEED...";
  if (argc < 4) bench::WrongUsage(kUsage);
  const std::chrono::seconds length(bench::PositiveNumber(argv[2], kUsage));
  for (int i = 3; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    for (const bench::ClientKind kind : bench::kClientKinds) {
      bench::PrintProgress("chain", ToString(kind), seed);
      Run(argv[1], length, kind, seed);
    }
  }
  return 0;
}
