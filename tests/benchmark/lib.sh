# shellcheck shell=bash
# What the benchmark scripts share. Sourced.

fail() {
  echo "benchmark malfunction: $*" >&2
  exit 1
}

# Median of the numbers on standard input, one a line.
median() {
  sort -g | awk '
    { value[NR] = $1 }
    END {
      if (NR == 0) exit 1
      print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2
    }'
}

# spread: (largest - smallest) / median, in percent.
spread() {
  sort -g | awk '
    { value[NR] = $1 }
    END {
      printf "%.2f%%", 100 * (value[NR] - value[1]) / value[int((NR + 1) / 2)]
    }'
}

# divide A B: A / B.
divide() { awk -v a="$1" -v b="$2" 'BEGIN { if (b == 0) exit 1; printf "%.4f", a / b }'; }

# verdict VALUE "<=LIMIT"|">=LIMIT": met or missed.
verdict() {
  awk -v value="$1" -v target="$2" 'BEGIN {
    limit = substr(target, 3) + 0
    met = substr(target, 1, 2) == "<=" ? value <= limit : value >= limit
    print met ? "met" : "missed"
  }'
}

# row NAME OURS PEER_NAME PEER UNIT RATIO TARGET FORMAT: one line of the report.
# FORMAT is awk's, for the two figures.
row() {
  local ours peer
  ours="$(awk -v f="$8" -v x="$2" 'BEGIN { printf f, x }')"
  peer="$(awk -v f="$8" -v x="$4" 'BEGIN { printf f, x }')"
  echo "bench $1 ours=$ours$5 peer=$3:$peer$5 ratio=$6 target=$7 $(verdict "$6" "$7")"
}

# The machine that the figures are from, and the compiler.
machine() {
  local build="$1" compiler
  compiler="$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")"
  echo "# machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
  echo "# $("$compiler" --version | head -n 1), Release -O2"
}

# The same, with what else `run.sh cost` depends on.
header() {
  machine "$1"
  echo "# gRPC $(pkg-config --modversion grpc++), $(valgrind --version)"
}
