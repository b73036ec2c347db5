#!/bin/sh
# Time the workloads beside the machine's limits and, where it is installed, PyTorch.
#   BENCH="gcn sage" scripts/bench.sh     some of gcn gat aggregate sage minibatch sample bf16
#                                         translate_small translate_base decode loop checkpoint records
#   BENCH_BASE=DIR                        beside the programs of another build folder instead
#   BENCH_ROUNDS=5                        rounds, each giving every side its turn (default 7)
set -eu
cd "$(dirname "$0")/.."
build=${RGM_BUILD:-build}
# shellcheck disable=SC2086
exec /usr/bin/python3 bench/bench.py --bench "$build/bench/regimen_bench" --out "$build/bench.json" \
    --rounds "${BENCH_ROUNDS:-7}" ${BENCH_BASE:+--base "$BENCH_BASE/bench/regimen_bench"} ${BENCH:-}
