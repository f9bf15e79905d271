#!/usr/bin/env bash
# A shop that goes on selling while its backend hangs and fails, on this machine:
#
#   examples/fallback.sh [SECONDS]
#
# Builds the library and the example in build/demo and runs it: SECONDS (3) for each of
# the times in which the backend answers in 200 ms, hangs (five times that), fails, and
# has returned.
# Ends with "shop: OK" and 0, or says which promise was broken and ends with 1.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/demo
cmake -S . -B "$build" -G Ninja --log-level=WARNING \
  -DCMAKE_BUILD_TYPE=Release -DGRPC_RESILIENCE_BUILD_TESTS=OFF \
  -DGRPC_RESILIENCE_BUILD_EXAMPLES=ON -DGRPC_RESILIENCE_WERROR=OFF
cmake --build "$build" --target fallback_shop
exec "$build/examples/fallback/fallback_shop" --seconds="${1:-3}"
