#!/bin/sh
# Test accuracy of experiment files (of links the area under the ROC curve, or MRR) over seeds 1.. (and over the folds
# that a file asks for) beside the goal, the weights of each run chosen on validation data where there are such.
# usage: bench/accuracy.sh [CONFIG...];
# REGIMEN_DATA names the folder that has cora, imdb, mutag and digits; SEEDS: how many seeds (default: 10 on cora, 3 of
# mutag's ten folds, 5 of others).
set -eu
cd "$(dirname "$0")/.."
: "${REGIMEN_DATA:?name the folder that has cora, imdb, mutag and digits}"
[ "${SEEDS:-2}" -ge 2 ] || { echo "SEEDS: two at least, for a mean" >&2; exit 2; }
regimen=${REGIMEN:-build/regimen}
[ $# -gt 0 ] || set -- configs/cora_gcn.yaml configs/cora_gat.yaml configs/cora_appnp.yaml configs/cora_sage.yaml \
    configs/cora_mpnn_sampled.yaml configs/cora_cluster.yaml configs/cora_saint.yaml configs/cora_shadow.yaml \
    configs/cora_dgi_probe.yaml configs/cora_links.yaml configs/imdb_mt_albis.yaml configs/mutag.yaml configs/digits_mlp.yaml \
    configs/digits_cnn.yaml configs/events.yaml configs/rotations.yaml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for config; do
    name=$(basename "$config" .yaml)
    data=${name%%_*}
    case $data in
    cora) seeds=10 ;;
    mutag) seeds=3 ;;
    *) seeds=5 ;;
    esac
    metric=accuracy
    case $name in
    cora_links) goal=0.930 metric=auc seeds=5 ;;
    rotations) goal=0.980 metric=mrr ;; # 2 % below its optimum
    digits_mlp) goal=0.970 ;;
    digits_cnn) goal=0.980 ;;
    cora_gat) goal=0.830 ;;
    cora_appnp) goal=0.833 ;;
    imdb_mt_albis) goal=0.582 ;; # HAN's, the best of GammaGL's models on 400 labels
    cora_dgi_probe) goal=0.810 ;;
    mutag) goal=0.870 ;;
    events) goal=0.882 ;; # 2 % below its optimum
    *) goal= ;;
    esac
    before=$(sed -n 's/.*checkpoint: runs\/\([a-z_]*\).*/\1/p' "$config")
    case $before in
    ?*) # begins with what a run of its own learns first, seed by seed
        for seed in $(seq "${SEEDS:-$seeds}"); do
            set -- --set "data.path=$REGIMEN_DATA/$data" --set "runtime.seed=$seed" --set 'export=[]'
            "$regimen" run "${config%/*}/$before.yaml" "$@" --run-dir "$scratch/$before-$seed" -q >/dev/null
            "$regimen" run "$config" "$@" --set "trainer.initialize.checkpoint=$scratch/$before-$seed" \
                --run-dir "$scratch/$name-$seed" --json -q
        done | awk -v name="$name" -v goal="$goal" '
            /"valid"|"test"|"train"/ { part = $1 }
            /"accuracy"/ { value = $2 + 0; if (part ~ /test/) { n++; s += value; q += value * value
                           if (n == 1 || value < low) low = value; if (value > high) high = value }
                           if (part ~ /valid/) v += value }
            END { mean = s / n; sd = n > 1 && q > n * mean * mean ? sqrt((q - n * mean * mean) / (n - 1)) : 0
                  printf "%-20s test %.4f +- %.4f over %d runs (%.3f to %.3f)  valid %.4f%s\n",
                         name, mean, sd, n, low, high, v / n, goal != "" ? "  goal " goal : "" }'
        continue
        ;;
    esac
    case $data in
    events) set -- ;; # is generated
    rotations)        # is generated into files
        bench/rotations.sh "$scratch/data"
        set -- --set "data.train=[$scratch/data/train.tsv]" --set "data.valid=[$scratch/data/valid.tsv]" \
            --set "data.test=[$scratch/data/test.tsv]"
        ;;
    *) set -- --set "data.path=$REGIMEN_DATA/$data" ;;
    esac
    "$regimen" run "$config" "$@" --set "runtime.seeds=${SEEDS:-$seeds}" \
        --set 'export=[]' --run-dir "$scratch/$name" --json -q |
        awk -v name="$name" -v goal="$goal" -v metric_of="$metric" '
        /^    "[a-z]+\.[a-z_]+": \{/ { gsub(/[":]/, "", $1); metric = $1 }
        { gsub(/[",:]/, "", $1) }
        metric != "" { of[metric, $1] = $2 + 0 }
        END { t = "test." metric_of; v = "valid." metric_of
              printf "%-20s test %.4f +- %.4f over %d runs (%.3f to %.3f)%s%s\n", name, of[t, "mean"], of[t, "deviation"],
                     of[t, "count"], of[t, "least"], of[t, "largest"],
                     (v, "mean") in of ? sprintf("  valid %.4f", of[v, "mean"]) : "", goal != "" ? "  goal " goal : "" }'
done
