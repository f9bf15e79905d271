// A server of fixed capacity (1000 requests/s, first come, first served) under 700
// calls/s, on a fake clock, and a trigger of 2 s: it answers nothing, has a tenth of its
// capacity ("slow_"), or gets three times the load ("spike_"). Attempts that time out
// and are repeated can keep it busy for good with answers that nobody waits for any
// more.
//
// Clients: ours, and retries_alone (the same retries, no breaker, no budget). Both need
// a limit of each attempt, or nothing would be repeated: 100 ms or 500 ms.
//
// Figures: goodput (percent of the calls of the 5 s after the trigger that succeed) and
// back_ms (until the first 500 ms with 99 %; 5000: not within the 5 s), each "_100ms" or
// "_500ms", of one client, of 100 small ones ("small_"), and of these with a server
// that skips what has expired ("small_skip_").

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "benchmark/effect/figure.h"
#include "benchmark/effect/simulated_clients.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

using grpc_resilience::Deadline;
using grpc_resilience::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kBefore(5);
constexpr seconds kTrigger(2);
constexpr seconds kAfterwards(5);
constexpr milliseconds kServiceTime(1);
constexpr milliseconds kSlowServiceTime(10);
constexpr double kSpikeFactor = 3;  // times the load
constexpr double kCallsPerSecond = 700;

enum class Trigger { kStall, kSlow, kSpike };

class Server final : public bench::SimulatedServer {
 public:
  Server(TimePoint triggered, Trigger trigger, bool skips_expired)
      : triggered_(triggered),
        healed_(triggered + kTrigger),
        trigger_(trigger),
        skips_expired_(skips_expired) {}

  bench::SimulatedAnswer OnAttempt(TimePoint now,
                                   const Deadline& deadline) override {
    TimePoint start = std::max(now, free_);
    const bool triggered = start >= triggered_ && start < healed_;
    if (triggered && trigger_ == Trigger::kStall) start = healed_;
    if (skips_expired_ && deadline.Expired(start)) {
      return {TimePoint::max(), grpc_resilience::StatusCode::OK};
    }
    free_ = start + (triggered && trigger_ == Trigger::kSlow ? kSlowServiceTime
                                                             : kServiceTime);
    return {free_, grpc_resilience::StatusCode::OK};
  }

 private:
  const TimePoint triggered_;
  const TimePoint healed_;
  const Trigger trigger_;
  const bool skips_expired_;
  TimePoint free_ = TimePoint::min();
};

struct Scenario {
  std::string name;
  Trigger trigger = Trigger::kStall;
  int clients = 1;
  bool skips_expired = false;
  milliseconds attempt_limit{0};
};

void Run(const Scenario& scenario, bool ours, unsigned seed) {
  bench::SimulatedPlan plan;
  plan.clients = scenario.clients;
  plan.calls_per_second = kCallsPerSecond / scenario.clients;
  plan.seed = seed;
  plan.length = kBefore + kTrigger + kAfterwards;
  plan.config.DefaultMethod().retry.per_attempt_timeout =
      scenario.attempt_limit;
  plan.with_breaker = ours;
  grpc_resilience::FakeClock clock;
  if (scenario.trigger == Trigger::kSpike) {
    plan.spike = kSpikeFactor;
    plan.spike_begin = clock.Now() + kBefore;
    plan.spike_end = plan.spike_begin + kTrigger;
  }
  const TimePoint continued = clock.Now() + kBefore + kTrigger;
  Server server(clock.Now() + kBefore, scenario.trigger,
                scenario.skips_expired);
  const auto calls = bench::SimulatedClients(plan, &clock, &server).Run();
  const auto end = continued + kAfterwards;
  const auto back = bench::TimeToRecover(calls, continued, end);
  const std::string client = ours ? "ours" : "retries_alone";
  const std::string suffix =
      "_" + std::to_string(scenario.attempt_limit.count()) + "ms";
  bench::PrintFigure(
      client, seed, scenario.name + "goodput" + suffix,
      bench::SuccessPercent(bench::StartedIn(calls, continued, end)));
  bench::PrintFigure(
      client, seed, scenario.name + "back_ms" + suffix,
      std::chrono::duration<double, std::milli>(back.value_or(kAfterwards))
          .count());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_metastable SEED...";
  if (argc < 2) bench::WrongUsage(kUsage);
  for (int i = 1; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    bench::PrintProgress("metastable", "ours and retries_alone", seed);
    for (const milliseconds limit : {milliseconds(100), milliseconds(500)}) {
      for (const bool ours : {true, false}) {
        for (const auto& [name, trigger] :
             {std::pair("", Trigger::kStall),
              std::pair("slow_", Trigger::kSlow),
              std::pair("spike_", Trigger::kSpike)}) {
          const std::string prefix = name;
          Run({prefix, trigger, 1, false, limit}, ours, seed);
          Run({prefix + "small_skip_", trigger, 100, true, limit}, ours, seed);
          Run({prefix + "small_", trigger, 100, false, limit}, ours, seed);
        }
      }
    }
  }
  return 0;
}
