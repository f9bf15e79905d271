// As bench_effect_metastable with one client, with a real server on loopback: 1 ms of
// work for each request, first come, first served; 10 ms for 2 s; 700 calls/s.
//
// Figures: goodput (percent of the calls of the 5 s after the trigger that succeed) and
// back_ms (until the first 500 ms with 99 %; 5000: not within the 5 s), each "_100ms" or
// "_500ms" by the limit of an attempt.

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <string>
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

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kTrigger(2);
constexpr seconds kAfterwards(5);

std::shared_ptr<grpc::Channel> MakeChannel(bool ours, milliseconds limit,
                                           const std::string& address) {
  grpc_resilience::Config config = bench::OursConfig();
  config.DefaultMethod().retry.per_attempt_timeout = limit;
  if (!ours) {
    config.DefaultTarget().breaker.mode =
        grpc_resilience::BreakerMode::kDisabled;
    config.DefaultTarget().throttle.limits_retries = false;
  }
  auto resilience = grpc_resilience::Resilience::Create(std::move(config));
  if (!resilience.ok()) bench::Malfunction(resilience.status().ToString());
  return CreateChannel(*resilience, address, grpc::InsecureChannelCredentials(),
                       bench::OwnConnection());
}

void Run(const std::string& program, bool ours, milliseconds limit,
         unsigned seed) {
  bench::BackendProcess backend(program, seed);
  backend.Start();
  backend.WorkFor(milliseconds(1));
  bench::LoadPlan plan;
  plan.calls_per_second = 700;
  plan.seed = seed;
  bench::Load load(MakeChannel(ours, limit, backend.address()), plan);
  std::this_thread::sleep_for(bench::kHealthyTime);
  bench::RequireKeepingUp(load.Over());
  backend.WorkFor(milliseconds(10));
  std::this_thread::sleep_for(kTrigger);
  backend.WorkFor(milliseconds(1));
  const auto healed = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kAfterwards);
  const auto end = std::chrono::steady_clock::now();
  const auto calls = load.Stop();
  const auto back = bench::TimeToRecover(calls, healed, end);
  const std::string client = ours ? "ours" : "retries_alone";
  const std::string suffix = "_" + std::to_string(limit.count()) + "ms";
  bench::PrintFigure(
      client, seed, "goodput" + suffix,
      bench::SuccessPercent(bench::StartedIn(calls, healed, end)));
  bench::PrintFigure(
      client, seed, "back_ms" + suffix,
      std::chrono::duration<double, std::milli>(back.value_or(kAfterwards))
          .count());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_metastable_live BACKEND SEED...";
  if (argc < 3) bench::WrongUsage(kUsage);
  for (int i = 2; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    for (const milliseconds limit : {milliseconds(100), milliseconds(500)}) {
      for (const bool ours : {true, false}) {
        bench::PrintProgress("metastable on loopback",
                             ours ? "ours" : "retries_alone", seed);
        Run(argv[1], ours, limit, seed);
      }
    }
  }
  return 0;
}
