#!/usr/bin/env bash
# Builds the benchmark programs (Release, in build/bench) and runs a benchmark.
#
#   tests/benchmark/run.sh [cost|breaker|effect|stream|metrics|admin|fallback] [--quick]
#
# cost: what a call through the library costs beside gRPC alone (cost.sh). About
# 10 minutes on 2 cores, with --quick less than 2.
# breaker: what the circuit breaker alone costs beside others of the same meaning
# (breaker.sh). About 3 minutes, with --quick a few seconds.
# effect: what the library does for calls to a backend that fails, dies or hangs
# (effect.sh). About 30 minutes, with --quick 3.
# stream: messages per second of streams through the library beside plain ones
# (stream.sh). About 5 minutes, with --quick half a minute.
# metrics: what the metrics cost a call, and a scrape (metrics.sh). About 6 minutes,
# with --quick 1. Needs the component prometheus.
# admin: what calls pay while their process is administered (admin.sh). About 8
# minutes, with --quick 1.
# fallback: what an answer from the stale cache costs (fallback.sh). Some seconds.
#
# Reports, and exits 0, whether targets are met or missed; any other exit code is a
# malfunction.
set -euo pipefail

usage() {
  echo "usage: tests/benchmark/run.sh [cost|breaker|effect|stream|metrics|admin|fallback] [--quick]" >&2
  exit 2
}

benchmark=cost
quick=0
for argument in "$@"; do
  case "$argument" in
    cost | breaker | effect | stream | metrics | admin | fallback) benchmark="$argument" ;;
    --quick) quick=1 ;;
    *) usage ;;
  esac
done

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
build="$root/build/bench"

if [[ $benchmark == cost || $benchmark == metrics ]] && ! command -v valgrind >/dev/null; then
  echo "installing valgrind" >&2
  sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update >&2
  "${sudo[@]}" apt-get install -y valgrind >&2
fi

cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DGRPC_RESILIENCE_BUILD_BENCHMARKS=ON -DGRPC_RESILIENCE_BUILD_TESTS=OFF \
  -DGRPC_RESILIENCE_BUILD_EXAMPLES=OFF -DGRPC_RESILIENCE_INSTALL=OFF >&2
cmake --build "$build" --target "bench_${benchmark}_programs" --parallel "$(nproc)" >&2

exec bash "$root/tests/benchmark/$benchmark.sh" "$build" "$quick"
