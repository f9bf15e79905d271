// Times admit + record of one breaker: ours, peers of the same meaning, and the
// floors. Prints for each scenario and contestant the median of the rounds and
// their spread, in nanoseconds; then the allocations of a call of ours.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "benchmark/breaker/bucket_reduce.h"
#include "benchmark/breaker/contest.h"
#include "benchmark/breaker/loads.h"
#include "benchmark/breaker/lock_free_ring.h"
#include "benchmark/breaker/mutex_window.h"
#include "benchmark/breaker/ours.h"
#include "benchmark/breaker/shared_atomic.h"
#include "benchmark/counting_allocator.h"
#include "benchmark/usage.h"

namespace bench = grpc_resilience::bench;

namespace {

constexpr auto kOpenDuration = std::chrono::hours(1);

// Which calls fail, prepared so that the dice cost nothing.
class Pattern {
 public:
  explicit Pattern(double failure_rate) {
    std::mt19937 random(3);
    std::bernoulli_distribution fails(failure_rate);
    for (bool& failed : failed_) failed = fails(random);
  }
  bool Failed(std::int64_t call) const {
    return failed_[static_cast<std::size_t>(call) % failed_.size()];
  }

 private:
  std::array<bool, 4096> failed_{};
};

const Pattern kHealthy(0);
const Pattern kMixed10(0.1);
const Pattern kAllFail(1);

struct Scenario {
  const char* name;
  int threads;
  const Pattern& pattern;
  bool open;  // rejects everything
};

template <typename Breaker>
void Add(bench::Contest& contest, const Scenario& scenario,
         const std::string& name, std::shared_ptr<Breaker> breaker) {
  if (scenario.open) {
    for (int i = 0; i < 1000; ++i) breaker->Call(true);
  }
  // Flat: every contestant as if it were written here, so that none pays for a
  // function call because it is a bit longer than another.
  contest.Add(
      name,
      [ breaker, &scenario ](std::int64_t calls) __attribute__((flatten)) {
        // At hand: an acquire load would have them looked up again for each call.
        Breaker& contestant = *breaker;
        const Pattern& pattern = scenario.pattern;
        std::int64_t admitted = 0;
        for (std::int64_t i = 0; i < calls; ++i) {
          admitted += contestant.Call(pattern.Failed(i)) ? 1 : 0;
        }
        if (admitted != (scenario.open ? 0 : calls)) {
          bench::Malfunction("a breaker isn't in the state to be measured");
        }
      });
}

void Run(const Scenario& scenario, int rounds, double round_ns) {
  using bench::Rule;
  bench::Contest contest(scenario.threads, rounds, round_ns);
  const auto ours = [&](const char* name, Rule rule) {
    Add(contest, scenario, name,
        std::make_shared<bench::Ours>(rule, kOpenDuration));
  };
  ours("ours", Rule::kTokenBucket);
  ours("ours_again", Rule::kTokenBucket);
  ours("ours_count_window", Rule::kCountWindow);
  Add(contest, scenario, "mutex_clock_window",
      std::make_shared<bench::MutexWindow<bench::StdMutex>>(kOpenDuration));
  Add(contest, scenario, "absl_mutex_clock_window",
      std::make_shared<bench::MutexWindow<bench::AbslMutex>>(kOpenDuration));
  Add(contest, scenario, "bucket_reduce",
      std::make_shared<bench::BucketReduce>(kOpenDuration));
  Add(contest, scenario, "shared_atomic",
      std::make_shared<bench::SharedAtomic>(kOpenDuration));
  Add(contest, scenario, "lock_free_ring",
      std::make_shared<bench::LockFreeRing>(kOpenDuration));
  const Scenario admits = {scenario.name, scenario.threads, scenario.pattern,
                           false};
  Add(contest, admits, "one_load", std::make_shared<bench::PlainLoads<1>>());
  Add(contest, admits, "two_loads", std::make_shared<bench::PlainLoads<2>>());
  for (const bench::Result& result : contest.Run()) {
    std::cout << scenario.name << ' ' << result.name << ' ' << result.median_ns
              << ' ' << result.spread_ns << std::endl;
  }
}

void CountAllocations() {
  bench::Ours ours(bench::Rule::kTokenBucket, kOpenDuration);
  const std::uint64_t before = bench::AllocationsSoFar();
  for (int i = 0; i < 100'000; ++i) ours.Call(kMixed10.Failed(i));
  std::cout << "allocations ours " << bench::AllocationsSoFar() - before << " 0"
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_breaker ROUNDS MICROSECONDS_PER_ROUND";
  if (argc != 3) bench::WrongUsage(kUsage);
  const int rounds = bench::PositiveNumber(argv[1], kUsage);
  const double round_ns = 1000.0 * bench::PositiveNumber(argv[2], kUsage);
  for (const Scenario& scenario : {
           Scenario{"breaker_closed_1t", 1, kHealthy, false},
           Scenario{"breaker_closed_2t", 2, kHealthy, false},
           Scenario{"breaker_mixed10_1t", 1, kMixed10, false},
           Scenario{"breaker_mixed10_2t", 2, kMixed10, false},
           Scenario{"breaker_open_reject", 1, kAllFail, true},
           Scenario{"breaker_open_reject_2t", 2, kAllFail, true},
       }) {
    Run(scenario, rounds, round_ns);
  }
  CountAllocations();
  return 0;
}
