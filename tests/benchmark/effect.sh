#!/usr/bin/env bash
# Rows of `run.sh effect`. Started by run.sh: effect.sh BUILD_DIRECTORY QUICK
#
# A backend process on loopback that fails, is killed or is stopped; 1000 calls/s at
# random times (Poisson) whatever becomes of earlier ones; 1 s deadlines; the clients
# one after the other, each with a backend of its own and the same seeds.
#
#   raw                    gRPC, retries off
#   grpc_retry             gRPC's retryPolicy, 4 attempts, our default backoffs
#   grpc_retry_throttled   the same with retryThrottling, our default numbers
#   ours                   one configuration for all rows: the defaults, with
#                          max_attempts 4 and the methods declared idempotent
#
# Lines: "bench …" is a row with its target, "raw …" what it was made from: means
# over the seeds and the smallest and largest; "#" explains. Progress is on standard error.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
programs="$build/tests/benchmark"
backend="$programs/bench_effect_backend"
if [ "$2" = 1 ]; then
  seeds=(1) outages=(2)
  outage_s=4 brownout_s=5 chain_s=5 dispatch_rounds=10 hedge_s=5
else
  seeds=(1 2 3) outages=(2 10 60)
  outage_s=6 brownout_s=15 chain_s=10 dispatch_rounds=30 hedge_s=15
fi
# Of what runs on a fake clock.
fast_seeds=(1 2 3 4 5 6 7 8 9 10)

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

. "$here/effect/rows.sh"

machine "$build"
echo "# gRPC $(pkg-config --modversion grpc++); seeds ${seeds[*]}; load average $(cut -d' ' -f1-3 /proc/loadavg)"
"$programs/bench_effect_settings" | sed 's/^/# /'
report_outage
report_brownout 30 99.0 1.45
report_brownout 5 100 1.06
report_recovery kill
report_recovery fail
report_recovery stop
report_hedging
report_dispatch
report_herd
report_chain
report_metastable
echo "# load average $(cut -d' ' -f1-3 /proc/loadavg)"
