// A registry of very many idle targets: memory of each, with its key, and what a
// call costs beside them, with the breaker at hand (as a channel has it) and
// looked up. Prints "bytes <contestant> <bytes>" and "call <contestant> <median
// ns> <spread ns>".

#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "benchmark/breaker/contest.h"
#include "benchmark/breaker/mutex_window.h"
#include "benchmark/usage.h"
#include "grpc_resilience/breaker_registry.h"

namespace bench = grpc_resilience::bench;
using grpc_resilience::BreakerKey;
using grpc_resilience::BreakerRegistry;
using grpc_resilience::CircuitBreaker;
using grpc_resilience::Clock;
using grpc_resilience::Outcome;
using grpc_resilience::Permit;
using grpc_resilience::Random;

namespace {

// 22 characters, as long as a usual address.
std::string TargetName(int number) {
  const std::string digits = std::to_string(number);
  return "10.20." + std::string(10 - digits.size(), '0') + digits + ":50051";
}

// In use by the process, the allocator's own overhead included.
double BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

double BytesPerTarget(int targets, const std::function<void(int)>& add) {
  const double before = BytesInUse();
  for (int i = 0; i < targets; ++i) add(i);
  return (BytesInUse() - before) / targets;
}

void Call(CircuitBreaker& breaker) {
  std::optional<Permit> permit = breaker.TryAcquire();
  if (!permit) bench::Malfunction("a healthy breaker rejects");
  permit->Record(Outcome::kSuccess);
}

bench::MakeCalls WithBreakerAtHand(std::shared_ptr<CircuitBreaker> breaker) {
  return [breaker](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) Call(*breaker);
  };
}

bench::MakeCalls LookedUp(BreakerRegistry& registry, const BreakerKey& key) {
  return [&registry, key](std::int64_t calls) {
    for (std::int64_t i = 0; i < calls; ++i) Call(*registry.GetOrCreate(key));
  };
}

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_registry TARGETS ROUNDS";
  constexpr double kRoundNs = 1e6;
  if (argc != 3) bench::WrongUsage(kUsage);
  const int targets = bench::PositiveNumber(argv[1], kUsage);
  const int rounds = bench::PositiveNumber(argv[2], kUsage);

  const auto defaults = [](const BreakerKey&) {
    return BreakerRegistry::Settings();
  };
  const auto limit = static_cast<std::size_t>(targets) + 1;
  BreakerRegistry registry(defaults, limit, Clock::Real(), Random::Real(),
                           nullptr);
  const double ours = BytesPerTarget(targets, [&](int i) {
    registry.GetOrCreate({TargetName(i), ""});
  });
  if (registry.size() != static_cast<std::size_t>(targets)) {
    bench::Malfunction("breakers were evicted");
  }
  std::cout << "bytes ours " << ours << std::endl;

  {
    std::unordered_map<std::string,
                       std::unique_ptr<bench::MutexWindow<bench::StdMutex>>>
        map;
    std::cout
        << "bytes map_of_mutex_windows "
        << BytesPerTarget(
               targets,
               [&](int i) {
                 map.emplace(
                     TargetName(i),
                     std::make_unique<bench::MutexWindow<bench::StdMutex>>(
                         std::chrono::seconds(5)));
               })
        << std::endl;
  }

  BreakerRegistry single(defaults, 1, Clock::Real(), Random::Real(), nullptr);
  const BreakerKey key = {TargetName(targets / 2), ""};
  bench::Contest contest(/*threads=*/1, rounds, kRoundNs);
  contest.Add("at_hand", WithBreakerAtHand(registry.GetOrCreate(key)));
  contest.Add("at_hand_of_one", WithBreakerAtHand(single.GetOrCreate(key)));
  contest.Add("looked_up", LookedUp(registry, key));
  for (const bench::Result& result : contest.Run()) {
    std::cout << "call " << result.name << ' ' << result.median_ns << ' '
              << result.spread_ns << std::endl;
  }
  return 0;
}
