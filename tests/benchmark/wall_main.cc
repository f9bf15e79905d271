// Times calls one after the other, all variants in turn in one process; the
// server is another process. Prints for each variant the median over the rounds
// of the mean time of a call, in nanoseconds. The second plain_default is an
// A/A row: what it differs from the first by is noise.

#include <chrono>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/calls.h"
#include "benchmark/measurements.h"
#include "benchmark/usage.h"
#include "benchmark/variant.h"

namespace bench = grpc_resilience::bench;

namespace {

struct Contender {
  bench::Variant variant;
  std::unique_ptr<bench::Bench::Stub> stub;
  std::vector<double> nanoseconds;
};

constexpr bench::Variant kVariants[] = {
    bench::Variant::kPlainDefault, bench::Variant::kPlainDefault,
    bench::Variant::kNoop,         bench::Variant::kOursPass,
    bench::Variant::kOursRetry,    bench::Variant::kOursHijack,
    bench::Variant::kNaiveHijack};

}  // namespace

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_wall ADDRESS sync|cq|cb ROUNDS CALLS";
  if (argc != 5) bench::WrongUsage(kUsage);
  const auto style = bench::ParseStyle(argv[2]);
  const int rounds = bench::PositiveNumber(argv[3], kUsage);
  const int calls = bench::PositiveNumber(argv[4], kUsage);
  if (!style) bench::WrongUsage(kUsage);

  std::vector<Contender> contenders;
  for (const bench::Variant variant : kVariants) {
    contenders.push_back({variant,
                          bench::Bench::NewStub(bench::MakeChannel(
                              variant, argv[1], bench::OwnConnection())),
                          {}});
  }
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      // Each round starts with another one.
      const std::size_t turn = i + static_cast<std::size_t>(round + 1);
      Contender& contender = contenders[turn % contenders.size()];
      bench::CallKind kind;
      kind.method = bench::MethodOf(contender.variant);
      kind.style = *style;
      const bench::Stopwatch watch;
      bench::RunCalls(*contender.stub, kind, calls);
      // The first round is a warm-up.
      if (round >= 0) {
        contender.nanoseconds.push_back(watch.Nanoseconds() / calls);
      }
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Contender& contender = contenders[i];
    std::cout << bench::ToString(contender.variant)
              << (i == 1 ? "_again " : " ")
              << bench::Percentile(contender.nanoseconds, 0.5) << std::endl;
  }
  return 0;
}
