#include "benchmark/breaker/contest.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

#include "benchmark/measurements.h"
#include "benchmark/usage.h"

namespace grpc_resilience::bench {
namespace {

// Each thread has a processor of its own: two that take turns on one would never
// contend.
void Occupy(int processor) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor) % processors, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
    Malfunction("no processor of its own for a thread");
  }
}

}  // namespace

void Contest::Add(std::string name, MakeCalls make_calls) {
  contestants_.push_back({std::move(name), std::move(make_calls), 1, {}});
}

std::vector<Result> Contest::Run() {
  std::mt19937 random(7);
  for (Contestant& contestant : contestants_) Calibrate(contestant);
  std::vector<std::size_t> order(contestants_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < rounds_; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      contestants_[i].ns.push_back(RunOnce(contestants_[i]));
    }
  }
  std::vector<Result> results;
  for (const Contestant& c : contestants_) {
    results.push_back({c.name, Percentile(c.ns, 0.5),
                       Percentile(c.ns, 0.75) - Percentile(c.ns, 0.25)});
  }
  return results;
}

double Contest::RunOnce(const Contestant& contestant) const {
  std::atomic<int> ready{0};
  std::vector<double> ns(threads_);
  const auto work = [&](int thread) {
    if (threads_ > 1) Occupy(thread);
    ready.fetch_add(1);
    while (ready.load() < threads_) {
    }  // spins, so that all begin together
    const Stopwatch watch;
    contestant.make_calls(contestant.calls);
    ns[thread] = watch.Nanoseconds();
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads_; ++i) all.emplace_back(work, i);
  for (std::thread& thread : all) thread.join();
  const double sum = std::accumulate(ns.begin(), ns.end(), 0.0);
  return sum / threads_ / static_cast<double>(contestant.calls);
}

void Contest::Calibrate(Contestant& contestant) const {
  for (contestant.calls = 1000;; contestant.calls *= 2) {
    const double ns =
        RunOnce(contestant) * static_cast<double>(contestant.calls);
    if (ns >= round_ns_ / 2) return;
  }
}

}  // namespace grpc_resilience::bench
