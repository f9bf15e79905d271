#!/usr/bin/env bash
# Rows of `run.sh fallback`. Started by run.sh: fallback.sh BUILD_DIRECTORY QUICK
#
#   fallback_lookup   a stale cache's look-up of a 1 kB response among many values:
#                     key, search and copy
#
# Lines: "bench …" is a row with its target, "raw …" what stands beside it: keeping a
# response, and a whole call that an open breaker rejects, without a fallback and
# answered from the cache (the answer is checked, parsed and marked as well).
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
if [ "$2" = 1 ]; then
  values=100000 rounds=20000
else
  values=1000000 rounds=200000
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
machine "$build"
"$build/tests/benchmark/bench_fallback_lookup" "$values" "$rounds" >"$work/lookup" ||
  fail bench_fallback_lookup
of() { awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' "$work/lookup"; }

echo "# $values values of 1 kB; the ratio is to the 2 us allowed"
awk '{ printf "raw fallback %s median=%.0fns p99=%.0fns\n", $1, $2, $3 }' "$work/lookup"
awk -v a="$(of answered)" -v r="$(of rejected)" \
  'BEGIN { printf "raw fallback added_to_a_rejected_call %.0fns\n", a - r }'
row fallback_lookup "$(of lookup)" allowed 2000 ns "$(divide "$(of lookup)" 2000)" "<=1" %.0f
