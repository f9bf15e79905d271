#!/usr/bin/env bash
# Rows of `run.sh cost`. Started by run.sh: cost.sh BUILD_DIRECTORY QUICK
#
#   instructions  callgrind, client and server in one process over TCP loopback, of
#                 CALLS calls after a warm-up; median of PROCESSES processes
#   allocations   of the client alone; the server is another process
#   wall clock    variants in turn in one process; the server is another process
#
# Lines: "bench …" is a row with its target, "raw …" what it was made from and what
# stands beside it, "#" explains. plain_default_again is an A/A row: what it differs
# from plain_default by is noise.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
programs="$build/tests/benchmark"
if [ "$2" = 1 ]; then
  processes=1 calls=700 count_calls=500 wall_rounds=7 flight_rounds=4 flight_ms=500
else
  processes=3 calls=1500 count_calls=2000 wall_rounds=31 flight_rounds=9 flight_ms=1500
fi

work="$(mktemp -d)"
server_pid=
cleanup() {
  # The server ends when its standard input does.
  exec 9>&- || true
  if [ -n "$server_pid" ]; then wait "$server_pid" || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

. "$here/cost_instructions.sh"
. "$here/cost_clock.sh"

header "$build"
measure_instructions
report_instructions
start_server
report_allocations
report_wall
report_flight
report_reject
