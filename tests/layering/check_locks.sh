#!/bin/bash
# Clang's thread-safety analysis of the given files: of those with lock annotations
# of their own or of a header that they include. The others have nothing to analyse.
#
#   check_locks.sh <clang++> <include directories, separated by ':'> <file>...

set -euo pipefail
compiler=$1
IFS=':' read -r -a directories <<< "$2"
shift 2

annotations='ABSL_(GUARDED_BY|PT_GUARDED_BY|LOCKABLE|EXCLUSIVE_LOCK|SHARED_LOCK|LOCKS_EXCLUDED)'
mapfile -t headers < <(grep -rlE --include='*.h' "$annotations" "${directories[@]}" || true)
pattern=$annotations
for header in "${headers[@]}"; do
  pattern+="|/${header##*/}\""
done
mapfile -t files < <(grep -lE "$pattern" "$@" || true)
((${#files[@]})) || { echo "no file with lock annotations" >&2; exit 1; }

printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$compiler" -std=c++17 -fsyntax-only -Wthread-safety -Werror \
    "${directories[@]/#/-I}"
