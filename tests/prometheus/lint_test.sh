#!/bin/bash
# The metrics of a client as promtool's linter sees them: names, units, help, format.
#
#   lint_test.sh <promtool> <examples/metrics' program>

set -euo pipefail
"$2" --once | "$1" check metrics
