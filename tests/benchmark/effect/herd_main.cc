// Many clients of one backend, each with a breaker of its own, on the real core and a
// fake clock: do they come back at the same moment after an outage? The calls are a
// Poisson process, so that even the callers themselves have their peaks: "offered" is
// what chance alone makes of them.
//
// Figures, of the 10 s after the outage at 10 calls/s of each client: peak_to_mean of
// the attempts in 10 ms; peak_to_offered, the same peak by the mean of what the callers
// offer. The first grows with a slow return even when nobody comes at the same moment,
// because the mean is smaller then. "_slow": at 1 call/s, where chance alone is beyond
// 1.5.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "benchmark/effect/client_kind.h"
#include "benchmark/effect/figure.h"
#include "benchmark/usage.h"
#include "core/call_session.h"
#include "grpc_resilience/circuit_breaker.h"
#include "grpc_resilience/testing/fake_clock.h"

namespace bench = grpc_resilience::bench;

namespace {

using grpc_resilience::CircuitBreaker;
using grpc_resilience::Deadline;
using grpc_resilience::Duration;
using grpc_resilience::FakeClock;
using grpc_resilience::TimePoint;
using grpc_resilience::internal::CallSession;
using grpc_resilience::internal::Decision;
using grpc_resilience::internal::SessionPlan;
using grpc_resilience::internal::Step;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kOutage(60);
constexpr seconds kAfterwards(10);
constexpr milliseconds kBin(10);
constexpr milliseconds kAnswerTime(1);
constexpr seconds kTimeLimit(1);

class SeededRandom final : public grpc_resilience::Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : random_(seed) {}
  std::uint64_t Bits() override {
    const std::lock_guard<std::mutex> lock(mu_);
    return random_();
  }

 private:
  std::mutex mu_;
  std::mt19937_64 random_;
};

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

class Herd {
 public:
  Herd(int clients, double calls_per_second, unsigned seed)
      : random_(seed),
        pause_(calls_per_second),
        healed_(clock_.Now() + kOutage),
        end_(healed_ + kAfterwards),
        offered_(healed_),
        attempts_(healed_) {
    const grpc_resilience::TargetConfig& target = config_.DefaultTarget();
    for (int i = 0; i < clients; ++i) {
      breakers_.push_back(std::make_unique<CircuitBreaker>(
          grpc_resilience::BreakerKey{"backend", ""}, target.breaker,
          target.throttle, clock_, random_, nullptr));
      SessionPlan plan;
      plan.target = "backend";
      plan.retry = &config_.DefaultMethod().retry;
      plan.idempotent = true;
      plan.breaker = breakers_.back().get();
      plan.min_deadline_for_failure = target.breaker.min_deadline_for_failure;
      plan.clock = &clock_;
      plan.random = &random_;
      plans_.push_back(plan);
    }
  }

  void Run() {
    for (const SessionPlan& plan : plans_) ScheduleCall(plan);
    clock_.Advance(kOutage + kAfterwards + kTimeLimit);
  }

  const Arrivals& offered() const { return offered_; }
  const Arrivals& attempts() const { return attempts_; }

 private:
  using SessionPointer = std::shared_ptr<CallSession>;

  void ScheduleCall(const SessionPlan& plan) {
    const auto pause = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(pause_(callers_)));
    if (clock_.Now() + pause > end_) return;
    At(clock_.Now() + pause, [this, &plan] {
      offered_.Add(clock_.Now());
      const auto session = std::make_shared<CallSession>(
          plan, Deadline::After(clock_.Now(), kTimeLimit));
      Follow(session, session->Start());
      ScheduleCall(plan);
    });
  }

  void Follow(const SessionPointer& session, const Decision& decision) {
    if (decision.step == Step::kFinish) return;
    if (decision.step == Step::kWait) {
      At(decision.wait_until,
         [this, session] { Follow(session, session->OnWaitOver()); });
      return;
    }
    attempts_.Add(clock_.Now());
    const bool down = clock_.Now() < healed_;
    At(clock_.Now() + kAnswerTime, [this, session, down] {
      grpc_resilience::internal::AttemptEnd end;
      if (down) end.code = grpc_resilience::StatusCode::UNAVAILABLE;
      Follow(session, session->OnAttemptEnd(end));
    });
  }

  void At(TimePoint when, std::function<void()> run) {
    clock_.Schedule(when, std::move(run), nullptr);
  }

  FakeClock clock_;
  SeededRandom random_;
  std::mt19937_64 callers_{random_.Bits()};
  std::exponential_distribution<double> pause_;
  const TimePoint healed_;
  const TimePoint end_;
  Arrivals offered_;
  Arrivals attempts_;
  grpc_resilience::Config config_ = bench::OursConfig();
  std::vector<std::unique_ptr<CircuitBreaker>> breakers_;
  std::vector<SessionPlan> plans_;
};

void Print(const Herd& herd, unsigned seed, const std::string& suffix) {
  const Arrivals& offered = herd.offered();
  const Arrivals& attempts = herd.attempts();
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
    Herd herd(clients, 10, seed);
    herd.Run();
    Print(herd, seed, "");
    Herd slow(clients, 1, seed);
    slow.Run();
    Print(slow, seed, "_slow");
  }
  return 0;
}
