# shellcheck shell=bash disable=SC2154,SC2034
# Instruction and allocation rows of cost.sh. Sourced.

# name style; plain_default_again is plain_default measured once more. With
# +deadline each call has a deadline: only then are the attempts of ours_hijack calls
# of the library's own, while without one the caller's own call is limited.
instruction_variants() {
  cat <<'LIST'
plain_default sync
plain_default cq
plain_default cb
plain_default_again sync
plain_default_again cq
plain_default_again cb
plain_noretries cb
noop sync
noop cq
noop cb
ours_pass cq
ours_pass cb
ours_retry sync
ours_retry cb
ours_hijack cb
naive_hijack cb
plain_default cb+deadline
ours_retry cb+deadline
ours_hijack cb+deadline
naive_hijack cb+deadline
LIST
}

# count_instructions PROGRAMS WORK CALLS VARIANT STYLE PROCESS: writes instructions
# per call to WORK/ir.VARIANT.STYLE.PROCESS.
count_instructions() {
  local out="$2/callgrind.$4.$5.$6" call=("${5%+*}" "$3")
  if [ "$5" != "${5%+*}" ]; then call+=("${5#*+}"); fi
  valgrind --tool=callgrind --callgrind-out-file="$out" \
    --zero-before=BenchmarkBegins --dump-before=BenchmarkEnds \
    "$1/bench_instructions" "${4%_again}" "${call[@]}" >"$out.log" 2>&1 ||
    { cat "$out.log" >&2; return 1; }
  awk -v calls="$3" '/^totals:/ { printf "%.0f\n", $2 / calls }' \
    "$out.1" >"$2/ir.$4.$5.$6"
  [ -s "$2/ir.$4.$5.$6" ]
}

measure_instructions() {
  export -f count_instructions
  local process
  for process in $(seq "$processes"); do
    instruction_variants | sed "s/\$/ $process/"
  done | xargs -P "$(nproc)" -L 1 \
    bash -c 'count_instructions "$@" || exit 255' _ "$programs" "$work" "$calls" ||
    fail "callgrind"
}

# instructions VARIANT STYLE: median over the processes.
instructions() { cat "$work"/ir."$1"."$2".* | median; }

instruction_row() {
  local ours peer
  ours="$(instructions "$2" "$3")"
  peer="$(instructions plain_default "$3")"
  row "$1" "$ours" plain_default "$peer" ir "$(divide "$ours" "$peer")" "$4" %.0f
}

report_instructions() {
  local variant style
  echo "# ir: instructions per call, client and server; median of $processes process(es) of $calls calls"
  while read -r variant style; do
    echo "raw ir $style $variant $(instructions "$variant" "$style")ir" \
      "ratio=$(divide "$(instructions "$variant" "$style")" "$(instructions plain_default "$style")")" \
      "spread=$(cat "$work"/ir."$variant"."$style".* | spread)"
  done < <(instruction_variants)
  instruction_row ir_pass_cq ours_pass cq "<=0.99"
  instruction_row ir_pass_cb ours_pass cb "<=1.02"
  instruction_row ir_retry_sync ours_retry sync "<=0.99"
  instruction_row ir_retry_cb ours_retry cb "<=1.03"
  instruction_row ir_hijack_cb ours_hijack cb "<=1.14"
}

# allocations VARIANT STYLE: the client's, per call.
allocations() {
  "$programs/bench_allocations" "$server_address" "$1" "$2" "$count_calls"
}

allocation_row() {
  local ours peer more
  ours="$(allocations "$2" cb)"
  peer="$(allocations plain_default cb)"
  more="$(awk -v a="$ours" -v b="$peer" 'BEGIN { printf "%+.2f", a - b }')"
  row "$1" "$ours" plain_default "$peer" allocs "$more" "$3" %.2f
}

report_allocations() {
  local variant style
  echo "# allocs: the client's allocations per call; the ratio of these rows is the difference"
  for style in sync cq cb; do
    for variant in plain_default plain_noretries noop ours_pass ours_retry ours_hijack naive_hijack; do
      echo "raw allocs $style $variant $(allocations "$variant" "$style")"
    done
  done
  allocation_row allocs_retry ours_retry "<=+3"
  allocation_row allocs_hijack ours_hijack "<=+9"
}
