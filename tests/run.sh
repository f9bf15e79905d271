#!/bin/bash
# Builds everything and runs the tests.

set -euo pipefail

usage() {
  cat <<'END'
tests/run.sh [options]

  (none)            build, then all tests: unit, end_to_end, layering, package
  --label LABEL     only tests with this label: unit, core, interceptor, breaker,
                    retry, streaming, metrics, admin, fallback, end_to_end,
                    layering, package; may be given more than once
  --sanitize        the unit and end_to_end tests (or those of --label) twice: with
                    AddressSanitizer and UndefinedBehaviorSanitizer, then with
                    ThreadSanitizer
  --tidy            clang-tidy over src/ instead of tests
  --build-dir DIR   where to build (build/; sanitizers: DIR/asan and DIR/tsan)
  --help            this text

Missing Debian packages are installed with apt-get. The last line is ctest's (with
--tidy: clang-tidy's result); the exit status isn't 0 when anything failed.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build
mode=all
labels=()

while (($# > 0)); do
  case $1 in
    --label) labels+=("${2:?--label needs a value}"); shift ;;
    --build-dir) build=$(realpath -m "${2:?--build-dir needs a value}"); shift ;;
    --sanitize) mode=sanitize ;;
    --tidy) mode=tidy ;;
    --help) usage; exit 0 ;;
    *) echo "unknown option: $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

packages=(
  cmake ninja-build g++ ccache pkg-config
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev
  libabsl-dev libgtest-dev libgmock-dev libsqlite3-dev libcli11-dev
  prometheus-cpp-dev prometheus
  clang clang-format clang-tidy libclang-rt-14-dev
  python3 python3-grpcio python3-protobuf)

say() { printf '\n== %s\n' "$*"; }

install_packages() {
  local package missing=()
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == "install ok installed" ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  say "Installing ${missing[*]}"
  local sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# configure DIR [cmake option]...
configure() {
  local directory=$1
  shift
  say "Configuring ${directory#"$root"/}"
  # Little optimisation and no debug information: compiling is most of the time.
  cmake -G Ninja -S "$root" -B "$directory" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1 "$@"
}

# build DIR [target]...
build() {
  local directory=$1
  shift
  say "Building ${directory#"$root"/}"
  cmake --build "$directory" -j "$(nproc)" ${1:+--target "$@"}
}

# run_tests DIR [label]...: the last line of its output is ctest's.
run_tests() {
  local directory=$1 arguments=()
  shift
  if (($#)); then
    arguments=(-L "^($(IFS='|'; echo "$*"))\$")
  fi
  say "Testing ${directory#"$root"/} ${*:-(everything)}"
  ctest --test-dir "$directory" -j 2 --output-on-failure --no-tests=error "${arguments[@]}"
}

test_everything() {
  configure "$build"
  build "$build"
  run_tests "$build" "${labels[@]}"
}

# sanitize NAME SANITIZERS
sanitize() {
  local directory=$build/$1 selected=("${labels[@]}")
  ((${#selected[@]})) || selected=(unit end_to_end)
  configure "$directory" -DCMAKE_CXX_COMPILER=clang++ -DGRPC_RESILIENCE_SANITIZE="$2" \
    -DGRPC_RESILIENCE_BUILD_EXAMPLES=OFF -DGRPC_RESILIENCE_INSTALL=OFF
  build "$directory" "${selected[@]/#/tests_}"
  run_tests "$directory" "${selected[@]}"
}

# One file a library that includes all its sources: reading gRPC's headers for each
# source would take most of the time. So names are unique within a library.
tidy() {
  local directory=$build/tidy files
  configure "$directory" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 \
    -DGRPC_RESILIENCE_BUILD_TESTS=OFF -DGRPC_RESILIENCE_BUILD_EXAMPLES=OFF
  build "$directory" grpc_resilience_generated
  say "clang-tidy"
  mapfile -t files < <(find "$directory/src" -name 'unity_*.cxx' | sort)
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" \
    clang-tidy -p "$directory" --checks=-bugprone-suspicious-include --quiet
  echo "clang-tidy: no findings in ${#files[@]} libraries and programs"
}

# A clone in another folder finds the compiled files of this one.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
export NINJA_STATUS='[%f/%t %es] '

install_packages
case $mode in
  all) test_everything ;;
  sanitize)
    sanitize asan address,undefined
    sanitize tsan thread
    ;;
  tidy) tidy ;;
esac
