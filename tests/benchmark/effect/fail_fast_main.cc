// A backend that is killed: how soon a call ends that can't succeed. gRPC fails it
// because there is no connection, ours because the breaker is open; probes aside.
//
// Figures: reject_p50_us and reject_p99_us of the callback calls of an open loop, whose
// time is mostly that of waking gRPC's callback thread; sync_reject_p50_us of blocking
// calls, which need no other thread.

#include <algorithm>
#include <chrono>
#include <iterator>
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

// Long enough for the breaker to have opened.
constexpr std::chrono::milliseconds kSettle(500);
constexpr int kSyncCalls = 2000;

bench::CallRecords WithoutAttempt(const bench::CallRecords& calls) {
  bench::CallRecords chosen;
  std::copy_if(
      calls.begin(), calls.end(), std::back_inserter(chosen),
      [](const bench::CallRecord& call) { return call.attempts == 0; });
  return chosen;
}

void Run(const std::string& program, std::chrono::seconds length,
         bench::ClientKind kind, unsigned seed) {
  bench::BackendProcess backend(program, seed);
  backend.Start();
  bench::LoadPlan plan;
  plan.seed = seed;
  const auto channel = bench::MakeClient(kind, backend.address());
  bench::Load load(channel, plan);
  std::this_thread::sleep_for(bench::kHealthyTime);
  bench::RequireKeepingUp(load.Over());
  backend.Kill();
  std::this_thread::sleep_for(kSettle);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(length);
  auto calls =
      bench::StartedIn(load.Stop(), begin, std::chrono::steady_clock::now());
  auto sync_calls = bench::CallInTurn(channel, kSyncCalls);
  if (kind == bench::ClientKind::kOurs) {
    calls = WithoutAttempt(calls);
    sync_calls = WithoutAttempt(sync_calls);
  }
  bench::PrintFigure(ToString(kind), seed, "reject_p50_us",
                     1e3 * bench::Milliseconds(calls, 0.5));
  bench::PrintFigure(ToString(kind), seed, "reject_p99_us",
                     1e3 * bench::Milliseconds(calls, 0.99));
  bench::PrintFigure(ToString(kind), seed, "sync_reject_p50_us",
                     1e3 * bench::Milliseconds(sync_calls, 0.5));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_fail_fast BACKEND SECONDS SEED...";
  if (argc < 4) bench::WrongUsage(kUsage);
  const std::chrono::seconds length(bench::PositiveNumber(argv[2], kUsage));
  for (int i = 3; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    for (const bench::ClientKind kind :
         {bench::ClientKind::kRaw, bench::ClientKind::kOurs}) {
      bench::PrintProgress("killed", ToString(kind), seed);
      Run(argv[1], length, kind, seed);
    }
  }
  return 0;
}
