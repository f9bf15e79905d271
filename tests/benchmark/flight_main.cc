// Keeps 64 callback calls in flight, all variants in turn in one process, each round
// in an order of its own, so that none always follows the same other one; the
// server is another process. Prints for each variant the medians over the
// rounds of calls per second and of the 99th percentile of a call's time in
// microseconds. The second plain_default is an A/A row.

#include <grpcpp/client_context.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "benchmark/calls.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "benchmark/variant.h"

namespace bench = grpc_resilience::bench;

namespace {

constexpr std::size_t kInFlight = 64;

// One of the calls in flight, and the one after it.
struct Slot {
  std::optional<grpc::ClientContext> context;
  bench::Payload response;
  std::optional<bench::Stopwatch> watch;
  std::vector<double> microseconds;
};

// One round of one variant.
class Flight {
 public:
  Flight(bench::Bench::Stub& stub, bench::Method method,
         std::chrono::milliseconds length)
      : stub_(stub),
        method_(method),
        end_(std::chrono::steady_clock::now() + length) {}

  // Calls per second and 99th percentile.
  std::pair<double, double> Run() {
    const bench::Stopwatch watch;
    for (Slot& slot : slots_) Next(slot);
    {
      std::unique_lock<std::mutex> lock(mu_);
      landed_.wait(lock, [this] { return in_flight_ == 0; });
    }
    const double seconds = watch.Nanoseconds() / 1e9;
    std::vector<double> all;
    for (const Slot& slot : slots_) {
      all.insert(all.end(), slot.microseconds.begin(), slot.microseconds.end());
    }
    return {static_cast<double>(all.size()) / seconds,
            bench::Percentile(std::move(all), 0.99)};
  }

 private:
  void Next(Slot& slot) {
    slot.context.emplace();
    slot.watch.emplace();
    const auto done = [this, &slot](const grpc::Status& status) {
      OnDone(slot, status);
    };
    if (method_ == bench::Method::kWatched) {
      stub_.async()->Watched(&*slot.context, &request_, &slot.response, done);
    } else {
      stub_.async()->Retried(&*slot.context, &request_, &slot.response, done);
    }
  }

  void OnDone(Slot& slot, const grpc::Status& status) {
    if (!status.ok()) bench::Malfunction(status.error_message());
    slot.microseconds.push_back(slot.watch->Nanoseconds() / 1e3);
    if (std::chrono::steady_clock::now() < end_) {
      Next(slot);
      return;
    }
    const std::lock_guard<std::mutex> lock(mu_);
    if (--in_flight_ == 0) landed_.notify_one();
  }

  bench::Bench::Stub& stub_;
  const bench::Method method_;
  const std::chrono::steady_clock::time_point end_;
  const bench::Payload request_ = bench::MakeRequest();
  std::array<Slot, kInFlight> slots_;
  std::mutex mu_;
  std::condition_variable landed_;
  std::size_t in_flight_ = kInFlight;
};

struct Contender {
  bench::Variant variant;
  std::unique_ptr<bench::Bench::Stub> stub;
  std::vector<double> calls_per_second;
  std::vector<double> p99_microseconds;
};

constexpr bench::Variant kVariants[] = {
    bench::Variant::kPlainDefault, bench::Variant::kOursRetry,
    bench::Variant::kPlainDefault, bench::Variant::kOursPass};

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_flight ADDRESS ROUNDS MILLISECONDS";
  if (argc != 4) bench::WrongUsage(kUsage);
  const int rounds = bench::PositiveNumber(argv[2], kUsage);
  const std::chrono::milliseconds length(
      bench::PositiveNumber(argv[3], kUsage));

  std::vector<Contender> contenders;
  for (const bench::Variant variant : kVariants) {
    contenders.push_back({variant,
                          bench::Bench::NewStub(bench::MakeChannel(
                              variant, argv[1], bench::OwnConnection())),
                          {},
                          {}});
  }
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 shuffler(20);
  for (int round = -1; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), shuffler);
    for (const std::size_t turn : order) {
      Contender& contender = contenders[turn];
      const auto [calls_per_second, p99] =
          Flight(*contender.stub, bench::MethodOf(contender.variant), length)
              .Run();
      if (round < 0) continue;  // a warm-up
      contender.calls_per_second.push_back(calls_per_second);
      contender.p99_microseconds.push_back(p99);
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    std::cout << bench::ToString(contender.variant)
              << (i == 2 ? "_again " : " ")
              << bench::Percentile(contender.calls_per_second, 0.5) << " "
              << bench::Percentile(contender.p99_microseconds, 0.5)
              << std::endl;
  }
  return 0;
}
