#!/bin/sh
# What a merge needs: layers and headers, then both compilers with -Werror, sanitizers, tests.
set -eu
cd "$(dirname "$0")/.."
scripts/check_sources.sh
make --no-print-directory test
make --no-print-directory sanitize
make --no-print-directory clang
