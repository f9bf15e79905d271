// A backend that is killed and started again, fails everything and heals, or is
// stopped and continued: how soon the calls of one client get through again.
//
// Figures: recover_ms from the backend's return to the first 500 ms of which at
// least 99 % of the calls succeed (30000: it didn't come to that), and
// probes_percent: attempts per 100 calls while it was away, as ours reports them.

#include <chrono>
#include <optional>
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

using grpc_resilience::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLimit(30);
// A breaker sees a stopped backend when the first calls reach their deadline.
constexpr milliseconds kUntilOpen(1200);
constexpr milliseconds kLookAgain(250);
// Calls that started this long ago are over, whatever became of them.
constexpr milliseconds kCallsAreOver(1300);

enum class Outage { kKill, kFail, kStop };

std::optional<Outage> ParseOutage(const std::string& name) {
  if (name == "kill") return Outage::kKill;
  if (name == "fail") return Outage::kFail;
  if (name == "stop") return Outage::kStop;
  return std::nullopt;
}

void Begin(Outage outage, bench::BackendProcess* backend) {
  switch (outage) {
    case Outage::kKill:
      return backend->Kill();
    case Outage::kFail:
      backend->Behave(1);
      return;
    case Outage::kStop:
      return backend->Stop();
  }
}

// When the backend came back: accepts connections, is told, is woken.
TimePoint End(Outage outage, bench::BackendProcess* backend) {
  TimePoint before = std::chrono::steady_clock::now();
  switch (outage) {
    case Outage::kKill:
      backend->Start();
      return std::chrono::steady_clock::now();
    case Outage::kFail:
      backend->Behave(0);
      break;
    case Outage::kStop:
      backend->Continue();
      break;
  }
  return before;
}

struct Scenario {
  std::string backend;
  Outage outage = Outage::kKill;
  seconds length{0};
};

void Run(const Scenario& scenario, bench::ClientKind kind, unsigned seed) {
  bench::BackendProcess backend(scenario.backend, seed);
  backend.Start();
  bench::LoadPlan plan;
  plan.seed = seed;
  bench::Load load(bench::MakeClient(kind, backend.address()), plan);
  std::this_thread::sleep_for(bench::kHealthyTime);
  bench::RequireKeepingUp(load.Over());

  const TimePoint begin = std::chrono::steady_clock::now();
  Begin(scenario.outage, &backend);
  std::this_thread::sleep_until(begin + scenario.length);
  const TimePoint healed = End(scenario.outage, &backend);
  TimePoint now = healed;
  do {
    std::this_thread::sleep_for(kLookAgain);
    now = std::chrono::steady_clock::now();
  } while (now < healed + kLimit &&
           !bench::TimeToRecover(load.Over(), healed, now - kCallsAreOver));

  const bench::CallRecords calls = load.Stop();
  const auto recovered =
      bench::TimeToRecover(calls, healed, now - kCallsAreOver);
  bench::PrintFigure(
      ToString(kind), seed, "recover_ms",
      std::chrono::duration<double, std::milli>(recovered.value_or(kLimit))
          .count());
  if (kind != bench::ClientKind::kOurs) return;
  const auto away = bench::StartedIn(calls, begin + kUntilOpen, healed);
  bench::PrintFigure(ToString(kind), seed, "probes_percent",
                     100 * bench::AttemptsPerCall(away));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "bench_effect_recover BACKEND kill|fail|stop SECONDS CLIENT SEED...";
  if (argc < 6) bench::WrongUsage(kUsage);
  const auto outage = ParseOutage(argv[2]);
  const auto kind = bench::ParseClientKind(argv[4]);
  if (!outage || !kind) bench::WrongUsage(kUsage);
  const Scenario scenario{argv[1], *outage,
                          seconds(bench::PositiveNumber(argv[3], kUsage))};
  for (int i = 5; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    bench::PrintProgress(std::string(argv[2]) + " for " + argv[3] + " s",
                         ToString(*kind), seed);
    Run(scenario, *kind, seed);
  }
  return 0;
}
