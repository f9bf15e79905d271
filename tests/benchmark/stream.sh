#!/usr/bin/env bash
# Rows of `run.sh stream`. Started by run.sh: stream.sh BUILD_DIRECTORY QUICK
#
#   stream_ss_*    server stream; stream_cs_* client stream; stream_bd_* ping-pong
#   stream_pass    a server stream that isn't retried, so goes through untouched
#
# Messages a second of one stream after the other, as the ratio to a plain channel
# in the same run; medians of rounds in turn; client and server in one process. The
# rows are those with windows (64 KiB of write-behind, 16 messages of read-ahead).
#
# Lines: "bench …" is a row with its target, "raw …" what it was made from and what
# stands beside it (strict: without windows; plain_again: an A/A row, what it differs
# from plain by is noise), "#" explains.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
program="$build/tests/benchmark/bench_stream"
if [ "$2" = 1 ]; then
  rounds=5 share=10
else
  rounds=15 share=1
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# of NAME: the figure of the last measurement.
of() {
  awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' \
    "$work/rates" || fail "no figure for $1"
}

# measure TRANSFER BYTES MESSAGES
measure() {
  "$program" "$1" "$2" "$rounds" "$(($3 / share))" >"$work/rates" || fail "$1 $2"
  local plain name
  plain="$(of plain)"
  for name in plain plain_again pass strict windows; do
    echo "raw $1_$2 $name messages_per_s=$(of "$name") ratio=$(divide "$(of "$name")" "$plain")"
  done
}

# report NAME CONTENDER TARGET
report() {
  row "$1" "$(of "$2")" plain "$(of plain)" /s "$(divide "$(of "$2")" "$(of plain)")" "$3" %.0f
}

machine "$build"
measure ss_sync 16 40000
report stream_ss_sync_16B windows ">=0.75"
report stream_pass pass ">=0.97"
measure ss_sync 16384 10000
report stream_ss_sync_16KiB windows ">=0.85"
measure ss_reactor 16 40000
report stream_ss_reactor windows ">=0.95"
measure bd_sync 16 5000
report stream_bd_sync_16B windows ">=0.75"
measure bd_sync 16384 5000
report stream_bd_sync_16KiB windows ">=0.85"
measure bd_reactor 16 5000
report stream_bd_reactor windows ">=0.95"
measure cs_sync 16 40000
report stream_cs_sync_16B windows ">=0.75"
measure cs_sync 16384 10000
report stream_cs_sync_16KiB windows ">=0.85"
