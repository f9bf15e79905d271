# shellcheck shell=bash disable=SC2154,SC2034
# Wall-clock rows of cost.sh. Sourced.

# Starts a server whose address is then $server_address.
start_server() {
  mkfifo "$work/server.in"
  "$programs/bench_server" <"$work/server.in" >"$work/server.out" &
  server_pid=$!
  exec 9>"$work/server.in"
  local try
  for try in $(seq 100); do
    [ -s "$work/server.out" ] && break
    sleep 0.1
  done
  server_address="$(cat "$work/server.out")"
  [ -n "$server_address" ] || fail "the server doesn't start (try $try)"
}

# field FILE LINE FIELD
field() { awk -v line="$2" -v field="$3" 'NR == line { print $field }' "$1"; }

report_wall() {
  local style ns variant base
  echo "# wall: one call after the other; median of $wall_rounds rounds, in turn; no target"
  for style in sync cq cb; do
    "$programs/bench_wall" "$server_address" "$style" "$wall_rounds" 300 \
      >"$work/wall" || fail "bench_wall $style"
    base="$(field "$work/wall" 1 2)"
    while read -r variant ns; do
      echo "raw wall $style $variant ${ns}ns ratio=$(divide "$ns" "$base")"
    done <"$work/wall"
  done
}

report_flight() {
  local base_rps base_p99 variant rps p99
  echo "# rps64: 64 callback calls in flight; medians of $flight_rounds rounds, in turn"
  "$programs/bench_flight" "$server_address" "$flight_rounds" "$flight_ms" \
    >"$work/flight" || fail "bench_flight"
  base_rps="$(field "$work/flight" 1 2)"
  base_p99="$(field "$work/flight" 1 3)"
  while read -r variant rps p99; do
    echo "raw rps64 cb $variant ${rps}rps ratio=$(divide "$rps" "$base_rps")" \
      "p99=${p99}us p99_ratio=$(divide "$p99" "$base_p99")"
  done <"$work/flight"
  rps="$(field "$work/flight" 2 2)"
  p99="$(field "$work/flight" 2 3)"
  row rps64_cb "$rps" plain_default "$base_rps" rps \
    "$(divide "$rps" "$base_rps")" ">=0.97" %.0f
  row rps64_cb_p99 "$p99" plain_default "$base_p99" us \
    "$(divide "$p99" "$base_p99")" "<=1.05" %.0f
}

report_reject() {
  local ours plain
  echo "# reject: a blocking call that fails at once; the ratio says how often faster ours is"
  "$programs/bench_reject" "$wall_rounds" 200 >"$work/reject" || fail "bench_reject"
  ours="$(field "$work/reject" 1 2)"
  plain="$(field "$work/reject" 2 2)"
  echo "raw reject bare_hijack $(field "$work/reject" 3 2)ns" \
    "ratio=$(divide "$plain" "$(field "$work/reject" 3 2)")" \
    "(floor: an interceptor that only hijacks)"
  row reject_rpc "$ours" grpc_fail_fast "$plain" ns "$(divide "$plain" "$ours")" ">=6" %.0f
}
