#!/usr/bin/env bash
# Rows of `run.sh admin`. Started by run.sh: admin.sh BUILD_DIRECTORY QUICK
#
#   admin_list    p99 of calls while all of 10,000 breakers are listed once a second,
#                 beside turns without that in the same run
#   admin_watch   the same with a watch, and ten transitions a second
#
# The server, the client and the administrator are processes of their own. "bench …" is
# a row with its target: the median over pairs of turns of asked / quiet. "raw …" is a
# turn.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
. "$here/lib.sh"

build="$1"
programs="$build/tests/benchmark"
if [ "$2" = 1 ]; then
  pairs=4 seconds=3
else
  pairs=20 seconds=5
fi

work="$(mktemp -d)"
mkfifo "$work/input"
"$programs/bench_server" <"$work/input" >"$work/address" &
server=$!
exec 3>"$work/input"
trap 'exec 3>&-; wait "$server" || true; rm -rf "$work"' EXIT
for _ in {1..100}; do
  [ -s "$work/address" ] && break
  sleep 0.1
done
[ -s "$work/address" ] || fail "the server doesn't start"

# report list|watch
report() {
  local try code figure
  for try in {1..20}; do
    code=0
    timeout 600 "$programs/bench_admin" "$(cat "$work/address")" \
      "$programs/bench_admin_peer" "$1" "$pairs" "$seconds" >"$work/$1" || code=$?
    [ "$code" = 3 ] || break
    echo "# admin_$1: the machine couldn't keep up, try $try"
    sleep 5
  done
  [ "$code" = 0 ] || fail "bench_admin $1: $code"
  sed "s/^/raw admin_$1 /" "$work/$1"
  row "admin_$1" "$(awk '$2 == "asked" { print $4 }' "$work/$1" | median)" \
    quiet "$(awk '$2 == "quiet" { print $4 }' "$work/$1" | median)" ms \
    "$(awk '{ p99[$1, $2] = $4; pairs[$1] }
      END { for (i in pairs) print p99[i, "asked"] / p99[i, "quiet"] }' "$work/$1" |
      median | awk '{ printf "%.4f", $1 }')" "<=1.05" %.3f
}

machine "$build"
echo "# load average $(cut -d ' ' -f 1-3 /proc/loadavg)"
report list
report watch
echo "# load average $(cut -d ' ' -f 1-3 /proc/loadavg)"
