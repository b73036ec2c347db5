#!/bin/sh
# Train Multi30k's experiments over seeds and score the test set of 2016: BLEU (13a, cased), greedy and with
# a beam of 5; then the same lower-cased. Weights are the best of each run by validation data.
# usage: bench/bleu.sh [CONFIG...]; REGIMEN_DATA names the folder that has multi30k-de-en; SEEDS: which
# (default "1 2 3"); RUNS: folder that keeps the runs, where what is trained is not trained again.
set -eu
cd "$(dirname "$0")/.."
: "${REGIMEN_DATA:?name the folder that has multi30k-de-en}"
regimen=${REGIMEN:-build/regimen}
data=$REGIMEN_DATA/multi30k-de-en
[ $# -gt 0 ] || set -- multi30k_de_en multi30k_en_de
runs=${RUNS:-$(mktemp -d)}
[ -n "${RUNS:-}" ] || trap 'rm -rf "$runs"' EXIT
mkdir -p "$runs"

# bleu FILE [--lowercase]: of translations of the test set
bleu() {
    hypotheses=$1
    shift
    line=$("$regimen" score --ref "$data/test_2016_flickr.$target.gz" --metrics bleu "$@" "$hypotheses")
    echo "$line" | awk '{ print $2 }'
}

for config; do
    name=$(basename "$config" .yaml)
    case $name in
    *de_en) source=de target=en goal=36.1 lower_goal=none ;;
    *) source=en target=de goal=35.0 lower_goal=40.0 ;;
    esac
    : >"$runs/$name.txt"
    for seed in ${SEEDS:-1 2 3}; do
        run=$runs/$name-$seed
        begin=$(date +%s)
        "$regimen" run "$config" --set "data.path=$data" --set "runtime.seed=$seed" --set 'export=[]' \
            --run-dir "$run" -q >"$runs/$name-$seed.txt"
        minutes=$((($(date +%s) - begin + 30) / 60))
        for beam in 1 5; do
            gzip -dc "$data/test_2016_flickr.$source.gz" | "$regimen" translate "$run" --beam "$beam" >"$run/beam-$beam.hyp"
        done
        greedy=$(bleu "$run/beam-1.hyp")
        beams=$(bleu "$run/beam-5.hyp")
        lower=$(bleu "$run/beam-1.hyp" --lowercase)
        lower_beam=$(bleu "$run/beam-5.hyp" --lowercase)
        echo "$name seed $seed minutes $minutes greedy $greedy beam5 $beams lower-cased $lower $lower_beam" |
            tee -a "$runs/$name.txt"
    done
    awk -v goal="$goal" -v lower_goal="$lower_goal" '
        { name = $1; n++; greedy += $7; beam += $9; low += $11; low_beam += $12 }
        END { printf "%s mean of %d: greedy %.2f, beam 5 %.2f (goal %s); lower-cased %.2f, %.2f (goal %s)\n",
                     name, n, greedy / n, beam / n, goal, low / n, low_beam / n, lower_goal }' "$runs/$name.txt"
done
