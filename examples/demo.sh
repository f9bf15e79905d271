#!/usr/bin/env bash
# Shows what the library does, on this machine, in one command:
#
#   examples/demo.sh
#
# 1. installs the Debian packages that are missing (none: apt-get isn't called);
# 2. builds the library and the demo's programs in build/demo;
# 3. sends the same traffic through a plain gRPC channel and through one of ours
#    while a real backend is killed, started again and made to fail.
#
# Ends with "demo: OK" and 0, or says which promise was broken and ends with 1.
# Step 3 takes half a minute.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
  cmake ninja-build g++ ccache pkg-config
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc
  libprotobuf-dev libabsl-dev
)
build=build/demo
install_limit=900  # seconds, as those below
build_limit=3600
run_limit=70

child=
# shellcheck disable=SC2317  # called by the trap
stop_child() {
  [[ -n $child ]] || return 0
  # "timeout" passes the signal on to all that it started.
  kill "$child" 2>/dev/null || true
  wait "$child" || true
}
trap stop_child EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
  echo "demo: FAILED: $1" >&2
  exit 1
}

# bounded SECONDS COMMAND...: in the background, so that an interrupt is heard.
bounded() {
  timeout --kill-after=5 "$@" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_packages() {
  command -v dpkg-query >/dev/null ||
    fail "this isn't Debian; it takes what these packages hold: ${packages[*]}"
  local missing=() package
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if (( ${#missing[@]} == 0 )); then
    echo "1/3 packages: all there"
    return
  fi
  echo "1/3 packages: installing ${missing[*]}"
  local as_root=()
  if (( EUID != 0 )); then
    command -v sudo >/dev/null ||
      fail "as root, please: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get
    -q -o DPkg::Lock::Timeout=120)
  # In the foreground: sudo may ask for a password.
  timeout --foreground "$install_limit" "${apt[@]}" update ||
    fail "apt-get update"
  timeout --foreground "$install_limit" "${apt[@]}" install -y \
    --no-install-recommends "${missing[@]}" || fail "apt-get install"
}

build_programs() {
  echo "2/3 build: $build (the first time takes some minutes)"
  bounded "$build_limit" cmake -S . -B "$build" -G Ninja --log-level=WARNING \
    -DCMAKE_BUILD_TYPE=Release -DGRPC_RESILIENCE_BUILD_TESTS=OFF \
    -DGRPC_RESILIENCE_BUILD_EXAMPLES=ON -DGRPC_RESILIENCE_WERROR=OFF ||
    fail "cmake"
  bounded "$build_limit" cmake --build "$build" --target demo_backend demo_client ||
    fail "the build"
}

run_programs() {
  echo "3/3 run"
  echo
  local programs=$build/examples/demo result=0
  bounded "$run_limit" "$programs/demo_client" "$programs/demo_backend" || result=$?
  # demo_client has said why, unless it came to a sudden end.
  (( result <= 1 )) || fail "demo_client ended with $result"
  exit "$result"
}

install_packages
build_programs
run_programs
