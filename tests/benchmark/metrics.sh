#!/usr/bin/env bash
# Rows of `run.sh metrics`. Started by run.sh: metrics.sh BUILD_DIRECTORY QUICK
#
#   metrics_event_*   what a successful call counts (an attempt, a call, both
#                     durations), 1 or 2 threads on one method; beside prometheus-cpp's
#                     metrics found by their labels, and at hand
#   metrics_call      instructions of a whole call, client and server, with the observer
#                     and without; callgrind
#   metrics_scrape_*  collecting and writing the text, with a series of its own for each
#                     breaker, and within the default bounds; beside as many gauges of
#                     prometheus-cpp
#   metrics_load_p99  of 1000 calls/s beside 10,000 breakers, with a scrape each second
#                     and without, in turn
#
# Lines: "bench …" is a row with its target, "raw …" what it was made from.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
programs="$build/tests/benchmark"
if [ "$2" = 1 ]; then
  rounds=11 round_us=2000 processes=1 calls=700 scrapes=5 turns=2 turn_s=3
else
  rounds=101 round_us=4000 processes=3 calls=1500 scrapes=21 turns=10 turn_s=10
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# of FILE COLUMN NAME...: the figure of the line that begins with the names.
of() {
  local file="$1" column="$2"
  shift 2
  awk -v start="$* " -v column="$column" '
    index($0 " ", start) == 1 { print $column; found = 1 }
    END { exit !found }' "$file" || fail "no figure for $*"
}

report_event() {
  local threads ours
  for threads in 1 2; do
    ours="$(of "$work/event" 3 "metrics_event_${threads}t" ours)"
    peer="$(of "$work/event" 3 "metrics_event_${threads}t" family_lookup)"
    row "metrics_event_${threads}t" "$ours" family_lookup "$peer" ns \
      "$(divide "$peer" "$ours")" ">=20" %.1f
  done
  peer="$(of "$work/event" 3 metrics_event_2t held_metrics)"
  row metrics_event_2t_held "$ours" held_metrics "$peer" ns "$(divide "$peer" "$ours")" ">=5" %.1f
  peer="$(of "$work/event" 3 metrics_event_1t ours)"
  row metrics_event_2t_vs_1t "$ours" metrics_event_1t "$peer" ns \
    "$(divide "$ours" "$peer")" "<=1.2" %.1f
}

# count WITH STYLE PROCESS: instructions per call.
count() {
  local out="$work/callgrind.$1.$2.$3"
  valgrind --tool=callgrind --callgrind-out-file="$out" \
    --zero-before=BenchmarkBegins --dump-before=BenchmarkEnds \
    "$programs/bench_metrics_call" "$1" "$2" "$calls" >"$out.log" 2>&1 ||
    { cat "$out.log" >&2; fail callgrind; }
  awk -v calls="$calls" '/^totals:/ { printf "%.0f\n", $2 / calls }' "$out.1"
}

report_call() {
  local process style ours peer
  for style in sync cb; do
    for process in $(seq "$processes"); do
      count with "$style" "$process" >>"$work/with.$style"
      count without "$style" "$process" >>"$work/without.$style"
    done
    ours="$(median <"$work/with.$style")"
    peer="$(median <"$work/without.$style")"
    row "metrics_call_$style" "$ours" without "$peer" ir "$(divide "$ours" "$peer")" "<=1.01" %.0f
  done
}

report_scrape() {
  local breakers ours peer
  for breakers in 1000 10000; do
    ours="$(of "$work/scrape.$breakers" 3 ours_each)"
    peer="$(of "$work/scrape.$breakers" 3 prometheus_gauges)"
    row "metrics_scrape_$breakers" "$ours" prometheus_gauges "$peer" ms \
      "$(divide "$ours" "$peer")" "<=1" %.2f
  done
  ours="$(of "$work/scrape.10000" 3 ours)"
  row metrics_scrape_10000_bounded "$ours" all_of_them "$(of "$work/scrape.10000" 3 ours_each)" ms \
    "$(divide "$ours" "$(of "$work/scrape.10000" 3 ours_each)")" "<=0.1" %.2f
}

report_load() {
  local with without
  with="$(of "$work/load" 3 with)"
  without="$(of "$work/load" 3 without)"
  row metrics_load_p99 "$with" without "$without" us "$(divide "$with" "$without")" "<=1.05" %.0f
}

machine "$build"
"$programs/bench_metrics_event" "$rounds" "$round_us" >"$work/event" || fail bench_metrics_event
awk '{ printf "raw %s %s %.2fns spread=%.2fns\n", $1, $2, $3, $4 }' "$work/event"
report_event
report_call
for breakers in 1000 10000; do
  "$programs/bench_metrics_scrape" "$breakers" "$scrapes" >"$work/scrape.$breakers" ||
    fail bench_metrics_scrape
  awk -v breakers="$breakers" '{
    printf "raw metrics_scrape_%d %s collect=%.2fms with_text=%.2fms samples=%d\n",
      breakers, $1, $2, $3, $4 }' "$work/scrape.$breakers"
done
report_scrape
"$programs/bench_metrics_load" "$turns" "$turn_s" >"$work/load" || fail bench_metrics_load
awk '{ printf "raw metrics_load %s p50=%.0fus p99=%.0fus\n", $1, $2, $3 }' "$work/load"
report_load
