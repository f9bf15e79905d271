// Makes calls between two marks, to be run under callgrind: client and server
// in this process, over TCP loopback.
//
//   valgrind --tool=callgrind --zero-before=BenchmarkBegins
//     --dump-before=BenchmarkEnds bench_instructions VARIANT STYLE CALLS
//
// The dump then holds what CALLS calls cost, of all threads, without start-up,
// connecting and warm-up.

#include <string>

#include "benchmark/calls.h"
#include "benchmark/echo_server.h"
#include "benchmark/usage.h"
#include "benchmark/variant.h"

namespace bench = grpc_resilience::bench;

extern "C" {
// Never inlined nor merged with one another, so that callgrind sees them
// entered.
__attribute__((noinline)) void BenchmarkBegins() { asm volatile("# begins"); }
__attribute__((noinline)) void BenchmarkEnds() { asm volatile("# ends"); }
}

int main(int argc, char** argv) {
  constexpr char kUsage[] = "bench_instructions VARIANT sync|cq|cb CALLS";
  constexpr int kWarmUpCalls = 300;
  if (argc != 4) bench::WrongUsage(kUsage);
  const auto variant = bench::ParseVariant(argv[1]);
  const auto style = bench::ParseStyle(argv[2]);
  const int calls = bench::PositiveNumber(argv[3], kUsage);
  if (!variant || !style) bench::WrongUsage(kUsage);

  const bench::EchoServer server;
  const auto stub =
      bench::Bench::NewStub(bench::MakeChannel(*variant, server.address()));
  const bench::Method method = bench::MethodOf(*variant);
  bench::RunCalls(*stub, method, *style, kWarmUpCalls);
  BenchmarkBegins();
  bench::RunCalls(*stub, method, *style, calls);
  BenchmarkEnds();
  return 0;
}
