// Many clients of one backend after an outage, on a fake clock: do they come back at
// the same moment? The calls are a Poisson process, so that even the callers
// themselves have their peaks: "offered" is what chance alone makes of them.
//
// Figures, of the 10 s after the outage at 10 calls/s of each client: peak_to_mean of
// the attempts in 10 ms; peak_to_offered, the same peak by the mean of what the callers
// offer. The first grows with a slow return even when nobody comes at the same moment,
// because the mean is smaller then. "_slow": at 1 call/s, where chance alone is beyond
// 1.5.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "benchmark/effect/figure.h"
#include "benchmark/effect/simulated_clients.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

using grpc_resilience::TimePoint;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kOutage(60);
constexpr seconds kAfterwards(10);
constexpr milliseconds kBin(10);
constexpr milliseconds kAnswerTime(1);

// What arrives after the outage, in bins.
class Arrivals {
 public:
  explicit Arrivals(TimePoint begin)
      : begin_(begin), bins_(static_cast<std::size_t>(kAfterwards / kBin)) {}

  void Add(TimePoint now) {
    if (now < begin_) return;
    const auto bin = static_cast<std::size_t>((now - begin_) / kBin);
    if (bin < bins_.size()) ++bins_[bin];
  }
  double Mean() const {
    return std::accumulate(bins_.begin(), bins_.end(), 0.0) /
           static_cast<double>(bins_.size());
  }
  double Peak() const { return *std::max_element(bins_.begin(), bins_.end()); }

 private:
  const TimePoint begin_;
  std::vector<int> bins_;
};

// Fails everything until it is healed.
class Server final : public bench::SimulatedServer {
 public:
  explicit Server(TimePoint healed) : healed_(healed), arrivals_(healed) {}

  bench::SimulatedAnswer OnAttempt(TimePoint now,
                                   const grpc_resilience::Deadline&) override {
    using grpc_resilience::StatusCode;
    arrivals_.Add(now);
    return {now + kAnswerTime,
            now < healed_ ? StatusCode::UNAVAILABLE : StatusCode::OK};
  }
  const Arrivals& arrivals() const { return arrivals_; }

 private:
  const TimePoint healed_;
  Arrivals arrivals_;
};

void Run(int clients, double calls_per_second, unsigned seed,
         const std::string& suffix) {
  bench::SimulatedPlan plan;
  plan.clients = clients;
  plan.calls_per_second = calls_per_second;
  plan.seed = seed;
  plan.length = kOutage + kAfterwards;
  grpc_resilience::FakeClock clock;
  const TimePoint healed = clock.Now() + kOutage;
  Server server(healed);
  const auto calls = bench::SimulatedClients(plan, &clock, &server).Run();
  Arrivals offered(healed);
  for (const bench::CallRecord& call : calls) offered.Add(call.start);
  const Arrivals& attempts = server.arrivals();
  bench::PrintFigure("offered", seed, "peak_to_mean" + suffix,
                     offered.Peak() / offered.Mean());
  bench::PrintFigure("ours", seed, "peak_to_mean" + suffix,
                     attempts.Peak() / attempts.Mean());
  bench::PrintFigure("ours", seed, "peak_to_offered" + suffix,
                     attempts.Peak() / offered.Mean());
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_effect_herd CLIENTS SEED...";
  if (argc < 3) bench::WrongUsage(kUsage);
  const int clients = bench::PositiveNumber(argv[1], kUsage);
  for (int i = 2; i < argc; ++i) {
    const auto seed =
        static_cast<unsigned>(bench::PositiveNumber(argv[i], kUsage));
    bench::PrintProgress("herd", "ours", seed);
    Run(clients, 10, seed, "");
    Run(clients, 1, seed, "_slow");
  }
  return 0;
}
