// Counts the client's allocations per call; the server is another process.

#include <cstdint>
#include <iostream>

#include "benchmark/calls.h"
#include "benchmark/counting_allocator.h"
#include "benchmark/usage.h"
#include "benchmark/variant.h"

namespace bench = grpc_resilience::bench;

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "bench_allocations ADDRESS VARIANT sync|cq|cb CALLS";
  constexpr int kWarmUpCalls = 500;
  if (argc != 5) bench::WrongUsage(kUsage);
  const auto variant = bench::ParseVariant(argv[2]);
  const auto style = bench::ParseStyle(argv[3]);
  const int calls = bench::PositiveNumber(argv[4], kUsage);
  if (!variant || !style) bench::WrongUsage(kUsage);

  const auto stub =
      bench::Bench::NewStub(bench::MakeChannel(*variant, argv[1]));
  bench::CallKind kind;
  kind.method = bench::MethodOf(*variant);
  kind.style = *style;
  bench::RunCalls(*stub, kind, kWarmUpCalls);
  const std::uint64_t before = bench::AllocationsSoFar();
  bench::RunCalls(*stub, kind, calls);
  const std::uint64_t made = bench::AllocationsSoFar() - before;
  std::cout << static_cast<double>(made) / calls << std::endl;
  return 0;
}
