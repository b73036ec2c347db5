#!/bin/sh
# Test accuracy of experiment files over seeds 1..SEEDS (default 10), the weights of each run chosen on
# validation data. usage: bench/accuracy.sh [CONFIG...]; REGIMEN_DATA names the folder that has cora.
set -eu
cd "$(dirname "$0")/.."
: "${REGIMEN_DATA:?name the folder that has cora}"
regimen=${REGIMEN:-build/regimen}
[ $# -gt 0 ] || set -- configs/cora_gcn.yaml configs/cora_gat.yaml configs/cora_sage.yaml \
    configs/cora_mpnn_sampled.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for config; do
    for seed in $(seq "${SEEDS:-10}"); do
        "$regimen" run "$config" --set "data.path=$REGIMEN_DATA/cora" --set "runtime.seed=$seed" \
            --set 'export=[]' --run-dir "$scratch/$(basename "$config")-$seed" --json -q
    done | awk -v name="$(basename "$config" .yaml)" '
        /"valid"|"test"|"train"/ { part = $1 }
        /"accuracy"/ { value = $2 + 0; if (part ~ /test/) { n++; s += value; q += value * value
                       if (n == 1 || value < low) low = value; if (value > high) high = value }
                       if (part ~ /valid/) v += value }
        END { mean = s / n; sd = n > 1 ? sqrt((q - n * mean * mean) / (n - 1)) : 0
              printf "%-20s test %.4f +- %.4f over %d seeds (%.3f to %.3f)  valid %.4f\n",
                     name, mean, sd, n, low, high, v / n }'
done
