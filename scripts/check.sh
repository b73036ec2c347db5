#!/bin/sh
# What a merge needs: what can be read off the sources (format, headers, circles, functions, docs, cppcheck), every
# test (the graph of layers is one), then the tests again by the second compiler, under address and
# undefined-behaviour sanitizers, and the threaded ones under the thread sanitizer.
#   scripts/check.sh         all of it
#   scripts/check.sh rest    without `make test`, for one who ran that
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh
for check in scripts/check_*.sh; do
    echo "$check"
    "$check"
done
for check in scripts/check_*.py; do
    [ "$check" = scripts/check_layers.py ] && continue # needs a build: the test layers
    echo "$check"
    python3 "$check"
done
[ "${1:-}" = rest ] || make --no-print-directory test
make --no-print-directory lint
make --no-print-directory clang
make --no-print-directory sanitize
make --no-print-directory tsan
