#!/usr/bin/env bash
# Rows of `run.sh breaker`. Started by run.sh: breaker.sh BUILD_DIRECTORY QUICK
#
#   breaker_*    admit + record of one breaker through the public interface; 1 or 2
#                threads on it; healthy, with 10 % failures, or open. Medians of
#                rounds in shuffled order, in one process
#   registry_*   bytes of an idle target, its key and the allocator's overhead
#                included
#
# Lines: "bench …" is a row with its target, "raw …" what it was made from and what
# stands beside it, "#" explains. ours_again is an A/A row: what it differs from ours
# by is noise. "losing …" are peers that were faster than ours.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
programs="$build/tests/benchmark"
if [ "$2" = 1 ]; then
  rounds=11 round_us=1000 targets=100000
else
  rounds=101 round_us=4000 targets=1000000
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# of FILE NAME CONTESTANT: the figure.
of() {
  awk -v row="$2" -v name="$3" '
    $1 == row && $2 == name { print $3; found = 1 }
    END { exit !found }' "$1" || fail "no figure for $2 $3"
}

# How often faster than the peer NAME: faster ROW NAME TARGET
faster() {
  local ours peer
  ours="$(of "$work/breaker" "$1" ours)"
  peer="$(of "$work/breaker" "$1" "$2")"
  row "$1" "$ours" "$2" "$peer" ns "$(divide "$peer" "$ours")" "$3" %.2f
}

report_closed() {
  local one two
  faster breaker_closed_1t mutex_clock_window ">=50"
  faster breaker_closed_2t mutex_clock_window ">=200"
  one="$(of "$work/breaker" breaker_closed_1t ours)"
  two="$(of "$work/breaker" breaker_closed_2t ours)"
  row breaker_closed_2t_vs_1t "$two" breaker_closed_1t "$one" ns \
    "$(divide "$two" "$one")" "<=1.1" %.2f
  faster breaker_mixed10_1t mutex_clock_window ">=5"
  faster breaker_mixed10_2t mutex_clock_window ">=5"
}

report_reject() {
  local ours load target
  ours="$(of "$work/breaker" breaker_open_reject ours)"
  load="$(of "$work/breaker" breaker_open_reject one_load)"
  echo "# breaker_open_reject: 15 loads or 5 ns are allowed, whichever is more"
  target="<=$(awk -v load="$load" 'BEGIN { printf "%.4g", (5 > 15 * load) ? 5 / load : 15 }')"
  row breaker_open_reject "$ours" one_load "$load" ns "$(divide "$ours" "$load")" \
    "$target" %.2f
  # Two threads hinder each other only where a rejection writes.
  load="$(of "$work/breaker" breaker_open_reject_2t ours)"
  row breaker_open_reject_2t_vs_1t "$load" breaker_open_reject "$ours" ns \
    "$(divide "$load" "$ours")" "<=1.5" %.2f
}

report_registry() {
  local ours peer hand single
  ours="$(of "$work/registry" bytes ours)"
  peer="$(of "$work/registry" bytes map_of_mutex_windows)"
  hand="$(of "$work/registry" call at_hand)"
  single="$(of "$work/registry" call at_hand_of_one)"
  echo "# registry_1e6: $targets targets; the ratio is to the 160 bytes allowed"
  row registry_1e6 "$ours" map_of_mutex_windows "$peer" B "$(divide "$ours" 160)" "<=1" %.0f
  row registry_1e6_call "$hand" one_target "$single" ns "$(divide "$hand" "$single")" \
    "<=1.1" %.2f
}

machine "$build"
"$programs/bench_breaker" "$rounds" "$round_us" >"$work/breaker" || fail bench_breaker
"$programs/bench_registry" "$targets" "$rounds" >"$work/registry" || fail bench_registry
echo "# raw ROW CONTESTANT: median of $rounds rounds, quartile to quartile; one_load and two_loads are floors"
awk '$1 ~ /^breaker/ { printf "raw %s %s %.2fns spread=%.2fns\n", $1, $2, $3, $4 }' "$work/breaker"
awk '$1 == "allocations" { printf "raw breaker_allocations ours %d in 100000 calls\n", $3 }' "$work/breaker"
awk '$1 == "bytes" { printf "raw registry %s %.1fB\n", $2, $3 }
     $1 == "call" { printf "raw registry call %s %.2fns spread=%.2fns\n", $2, $3, $4 }' "$work/registry"
awk '
  $1 !~ /^breaker/ { next }
  $2 == "ours" { ours[$1] = $3 }
  $2 !~ /^(ours|one_load|two_loads)/ && $3 < ours[$1] {
    printf "losing %s %s %.2fns ours=%.2fns\n", $1, $2, $3, ours[$1]
  }' "$work/breaker"
report_closed
report_reject
report_registry
