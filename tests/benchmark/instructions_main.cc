// Makes calls between two marks, to be run under callgrind: client and server
// in this process, over TCP loopback.
//
//   valgrind --tool=callgrind --zero-before=BenchmarkBegins
//     --dump-before=BenchmarkEnds bench_instructions VARIANT STYLE CALLS [deadline]
//
// The dump then holds what CALLS calls cost, of all threads, without start-up,
// connecting and warm-up.

#include <chrono>
#include <string_view>

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
  constexpr char kUsage[] =
      "bench_instructions VARIANT sync|cq|cb CALLS [deadline]";
  constexpr int kWarmUpCalls = 300;
  const bool with_deadline =
      argc == 5 && std::string_view(argv[4]) == "deadline";
  if (argc != 4 && !with_deadline) bench::WrongUsage(kUsage);
  const auto variant = bench::ParseVariant(argv[1]);
  const auto style = bench::ParseStyle(argv[2]);
  const int calls = bench::PositiveNumber(argv[3], kUsage);
  if (!variant || !style) bench::WrongUsage(kUsage);

  const bench::EchoServer server;
  const auto stub =
      bench::Bench::NewStub(bench::MakeChannel(*variant, server.address()));
  bench::CallKind kind;
  kind.method = bench::MethodOf(*variant);
  kind.style = *style;
  if (with_deadline) kind.time_limit = std::chrono::minutes(10);
  bench::RunCalls(*stub, kind, kWarmUpCalls);
  BenchmarkBegins();
  bench::RunCalls(*stub, kind, calls);
  BenchmarkEnds();
  return 0;
}
