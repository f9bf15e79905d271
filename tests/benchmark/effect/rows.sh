# shellcheck shell=bash disable=SC2154
# What effect.sh measures and how its rows are made. Sourced.

# measure NAME LIMIT "SEED..." PROGRAM ARGUMENT...: "CLIENT SEED FIGURE VALUE" lines are
# then in $work/NAME. LIMIT is in seconds, for each seed. A run that the machine
# couldn't keep up with is repeated.
measure() {
  local name="$1" limit="$2" seeds_of_it="$3" program="$4" seed try code
  shift 4
  : >"$work/$name"
  for seed in $seeds_of_it; do
    for try in {1..20}; do
      code=0
      timeout --kill-after=5 "$limit" "$programs/bench_effect_$program" "$@" "$seed" \
        >"$work/run" || code=$?
      [ "$code" = 3 ] || break
      echo "# $name, seed $seed: the machine couldn't keep up, try $try"
      sleep 5
    done
    [ "$code" = 0 ] || fail "bench_effect_$program $* $seed: $code"
    cat "$work/run" >>"$work/$name"
  done
}

# show NAME: a raw line for each client and figure.
show() {
  awk -v name="$1" '
    {
      key = $1 " " $3
      if (!(key in n)) order[++keys] = key
      if (!(key in n) || $4 < least[key]) least[key] = $4
      if (!(key in n) || $4 > most[key]) most[key] = $4
      n[key]++
      sum[key] += $4
    }
    END {
      for (i = 1; i <= keys; i++) {
        key = order[i]
        printf "raw effect %s %s %.5g", name, key, sum[key] / n[key]
        if (n[key] > 1) printf " spread=%.5g..%.5g n=%d", least[key], most[key], n[key]
        print ""
      }
    }' "$work/$1"
}

# mean NAME CLIENT FIGURE, most NAME CLIENT FIGURE: over the seeds.
mean() {
  awk -v c="$2" -v f="$3" '
    $1 == c && $3 == f { sum += $4; n++ }
    END { if (!n) exit 1; printf "%.6g", sum / n }' "$work/$1" ||
    fail "no figure $2 $3 in $1"
}
most() {
  awk -v c="$2" -v f="$3" '
    $1 == c && $3 == f { if (!n++ || $4 > most) most = $4 }
    END { if (!n) exit 1; printf "%.6g", most }' "$work/$1" ||
    fail "no figure $2 $3 in $1"
}

# quotient A B: A / B, or "-" when B is 0.
quotient() { divide "$1" "$2" || echo "-"; }

# judged ROW OURS PEER_NAME PEER UNIT TARGET: a row whose target is about the figure
# of ours itself, not about the ratio.
judged() {
  echo "bench $1 ours=$2$5 peer=$3:$4$5 ratio=$(quotient "$2" "$4") target=$6 $(verdict "$2" "$6")"
}

report_outage() {
  echo "# outage100: everything fails for $outage_s s (attempts counted by the backend), then a killed backend"
  measure outage100 200 "${seeds[*]}" failing "$backend" 100 "$outage_s"
  measure outage100_killed 100 "${seeds[*]}" fail_fast "$backend" "$outage_s"
  show outage100
  show outage100_killed
  judged outage100 "$(mean outage100 ours attempts)" \
    grpc_retry "$(mean outage100 grpc_retry attempts)" attempts "<=0.02"
  reject_row outage100_reject_p50 reject_p50_us
  reject_row outage100_reject_p50_sync sync_reject_p50_us
}

# reject_row ROW FIGURE
reject_row() {
  local ours peer
  ours="$(mean outage100_killed ours "$2")"
  peer="$(mean outage100_killed raw "$2")"
  row "$1" "$ours" grpc_fail_fast "$peer" us "$(divide "$ours" "$peer")" "<=0.2" %.1f
}

# report_brownout PERCENT LEAST_SUCCESS MOST_ATTEMPTS
report_brownout() {
  local name="brownout$1" ours peer
  echo "# $name: $1 % of the requests fail for $brownout_s s"
  measure "$name" 200 "${seeds[*]}" failing "$backend" "$1" "$brownout_s"
  show "$name"
  judged "$name" "$(mean "$name" ours success)" \
    grpc_retry "$(mean "$name" grpc_retry success)" % ">=$2"
  judged "${name}_attempts" "$(mean "$name" ours attempts)" \
    grpc_retry "$(mean "$name" grpc_retry attempts)" attempts "<=$3"
  if [ "$1" = 30 ]; then
    ours="$(mean "$name" ours p99_ms)"
    peer="$(mean "$name" grpc_retry p99_ms)"
    row "${name}_p99" "$ours" grpc_retry "$peer" ms "$(divide "$ours" "$peer")" "<=1" %.1f
  fi
}

# report_recovery kill|fail|stop
report_recovery() {
  local name="recover_$1" length
  echo "# $name: outages of ${outages[*]} s; the worst run; raw: one run of each"
  [ "$1" != stop ] ||
    echo "# the probe is answered after what was sent before the first deadline; raw goes on sending"
  : >"$work/all"
  for length in "${outages[@]}"; do
    measure "${name}_${length}s" 200 "${seeds[*]}" recover "$backend" "$1" "$length" ours
    cat "$work/${name}_${length}s" >>"$work/all"
    measure peer 200 1 recover "$backend" "$1" "$length" raw
    cat "$work/peer" >>"$work/all"
    cat "$work/peer" >>"$work/${name}_${length}s"
    show "${name}_${length}s"
  done
  measure peer 200 1 recover "$backend" "$1" 2 grpc_retry
  mv "$work/peer" "$work/${name}_2s_grpc_retry"
  show "${name}_2s_grpc_retry"
  mv "$work/all" "$work/$name"
  judged "$name" "$(most "$name" ours recover_ms)" raw "$(most "$name" raw recover_ms)" \
    ms "<=250"
  judged "${name}_probes" "$(mean "$name" ours probes_percent)" raw 100 % "<=1"
}

report_hedging() {
  local ours peer
  echo "# hedge_tail: answers in 2 ms, 1 % of them in 100 ms, for $hedge_s s; hedged at the p95, at most 2 attempts"
  measure hedge_tail 200 "${seeds[*]}" hedge "$backend" "$hedge_s"
  show hedge_tail
  ours="$(mean hedge_tail ours p999_ms)"
  peer="$(mean hedge_tail unhedged p999_ms)"
  row hedge_tail "$ours" unhedged "$peer" ms "$(divide "$ours" "$peer")" "<=0.2" %.1f
  judged hedge_tail_attempts "$(mean hedge_tail ours attempts)" \
    unhedged "$(mean hedge_tail unhedged attempts)" attempts "<=1.06"
}

report_dispatch() {
  local ours peer
  echo "# retry_dispatch: a failed attempt to the next one's arrival, at the backend; no backoff"
  measure retry_dispatch 100 "${seeds[*]}" dispatch "$backend" "$dispatch_rounds"
  show retry_dispatch
  ours="$(mean retry_dispatch ours dispatch_us)"
  peer="$(mean retry_dispatch grpc_retry dispatch_us)"
  row retry_dispatch "$ours" grpc_retry "$peer" us "$(divide "$ours" "$peer")" "<=1" %.1f
}

report_herd() {
  echo "# herd: 1000 clients after 60 s of outage, on the core and a fake clock; peer: what the callers offer; seeds ${fast_seeds[*]}"
  measure herd 100 "${fast_seeds[*]}" herd 1000
  show herd
  judged herd "$(mean herd ours peak_to_mean)" offered "$(mean herd offered peak_to_mean)" \
    "" "<=1.5"
}

# metastable_row NAME ROW FIGURE UNIT TARGET
metastable_row() {
  judged "$2" "$(mean "$1" ours "$3")" retries_alone "$(mean "$1" retries_alone "$3")" \
    "$4" "$5"
}

report_metastable() {
  local trigger
  echo "# metastable: on a fake clock; a server for 1000 requests/s under 700 calls/s; seeds ${fast_seeds[*]}"
  echo "# trigger of 2 s: a tenth of the capacity; stall: none of it; spike: three times the load"
  echo "# what was sent before the first attempts time out is served first, the probe after it, and until then calls are rejected"
  measure metastable 60 "${fast_seeds[*]}" metastable
  show metastable
  for trigger in slow stall spike; do
    local row="metastable_$trigger" figure="${trigger}_"
    [ "$trigger" != slow ] || row=metastable
    [ "$trigger" != stall ] || figure=
    metastable_row metastable "$row" "${figure}goodput_100ms" % ">=98"
    metastable_row metastable "${row}_500ms" "${figure}goodput_500ms" % ">=98"
    metastable_row metastable "${row}_back" "${figure}back_ms_100ms" ms "<=200"
    metastable_row metastable "${row}_100_clients" "${figure}small_skip_goodput_100ms" % ">=99"
  done
  echo "# metastable_loopback: a real server, one client, a tenth of the capacity for 2 s"
  measure metastable_loopback 200 "${seeds[*]}" metastable_live "$backend"
  show metastable_loopback
  metastable_row metastable_loopback metastable_loopback goodput_100ms % ">=98"
  metastable_row metastable_loopback metastable_loopback_500ms goodput_500ms % ">=98"
  metastable_row metastable_loopback metastable_loopback_back back_ms_100ms ms "<=200"
}

report_chain() {
  echo "# deadline_chain3: 50 calls/s, 2 s deadline, everything fails for $chain_s s; attempts at the last tier"
  measure deadline_chain3 200 "${seeds[*]}" chain "$backend" "$chain_s"
  show deadline_chain3
  judged deadline_chain3 "$(mean deadline_chain3 ours attempts)" \
    grpc_retry "$(mean deadline_chain3 grpc_retry attempts)" attempts "<=1.1"
  judged deadline_chain3_late "$(mean deadline_chain3 ours later_than_allowed)" \
    grpc_retry "$(mean deadline_chain3 grpc_retry later_than_allowed)" attempts "<=0"
}
