#!/bin/bash
# Clang's thread-safety analysis of the given files.
#
#   check_locks.sh <clang++> <include directories, separated by ':'> <file>...

set -euo pipefail
compiler=$1
IFS=':' read -r -a directories <<< "$2"
shift 2
printf '%s\0' "$@" |
  xargs -0 -n 1 -P "$(nproc)" "$compiler" -std=c++17 -fsyntax-only -Wthread-safety -Werror \
    "${directories[@]/#/-I}"
