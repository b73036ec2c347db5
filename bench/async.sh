#!/bin/sh
# The digits, synchronously by one process and asynchronously by workers: test accuracy by seed, the mean of both, and
# what the workers' staleness was. Ends with 1 where the means are further apart than 0.5 %.
# usage: REGIMEN_DATA=... bench/async.sh [EXPERIMENT] [SEEDS] [WORKERS] [STALENESS], by default digits_mlp 5 3 8
set -u
experiment=${1:-digits_mlp} seeds=${2:-5} workers=${3:-3} staleness=${4:-8}
regimen=${REGIMEN:-$(dirname "$0")/../build/regimen}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# accuracy NAME OPTIONS...: of one run.
accuracy() {
    name=$1
    shift
    "$regimen" run "$experiment" --set "data.path=$REGIMEN_DATA/digits" --set 'export=[]' --set runtime.threads=1 \
        --run-dir "$work/$name" "$@" >"$work/$name.out" 2>"$work/$name.err" || {
        tail -3 "$work/$name.err" >&2
        exit 1
    }
    awk '$1 == "test" { for (i = 2; i < NF; i++) if ($i == "accuracy") print $(i + 1) }' "$work/$name.out"
}

for seed in $(seq "$seeds"); do
    one=$(accuracy "sync$seed" --set "runtime.seed=$seed") || exit 1
    many=$(accuracy "async$seed" --set "runtime.seed=$seed" --set runtime.distribution=asynchronous \
        --set "runtime.workers=$workers" --set "runtime.staleness=$staleness") || exit 1
    echo "$seed $one $many"
    echo "seed $seed: synchronous $one, asynchronous $many; $(sed -n 's/^workers *\([0-9]*\) updates by.*\(staleness.*bound [0-9]*)\).*/\1 updates, \2/p' "$work/async$seed.err")" >&2
done | awk -v name="$experiment" '
    { a += $2; b += $3; n++ }
    END {
        if (n == 0) exit 1
        printf "%s, %d seeds: synchronous %.4f, asynchronous %.4f, difference %+.4f\n", name, n, a / n, b / n, (b - a) / n
        exit (b - a) / n > 0.005 || (a - b) / n > 0.005
    }'
