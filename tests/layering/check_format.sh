#!/bin/bash
# Fails when a file isn't as clang-format leaves it.
#
#   check_format.sh <clang-format> <repository>

set -euo pipefail
cd "$2"
find include src tests examples \( -name '*.h' -o -name '*.cc' \) -print0 |
  sort -z | xargs -0 "$1" --dry-run -Werror
