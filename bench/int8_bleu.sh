#!/bin/sh
# What weights in 8 bits and shortlists cost: BLEU (13a, cased) on Multi30k's test set of 2016 and seconds on one
# thread, greedy and with a beam of 5, of f32, int8, and both with shortlists; the same of the validation set.
# usage: bench/int8_bleu.sh RUN_DIR...; REGIMEN_DATA names the folder that has multi30k-de-en. Runs are those of
# bench/bleu.sh (RUNS=DIR keeps them). FIRST, BEST: sizes of shortlists (default "200" and "25 50 100").
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
: "${REGIMEN_DATA:?name the folder that has multi30k-de-en}"
regimen=${REGIMEN:-$here/build/regimen}
data=$REGIMEN_DATA/multi30k-de-en
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# row RUN NAME BEAM OPTIONS...: a line of the table.
row() {
    run=$1 name=$2 beam=$3
    shift 3
    for set in test_2016_flickr val; do
        begin=$(date +%s.%N)
        gzip -dc "$data/$set.$source.gz" | "$regimen" translate "$run" --beam "$beam" --threads 1 "$@" >"$work/out" 2>"$work/err"
        end=$(date +%s.%N)
        bleu=$("$regimen" score --ref "$data/$set.$target.gz" --metrics bleu "$work/out" | awk '{ print $2 }')
        echo "$set $bleu $(echo "$begin $end" | awk '{ print $2 - $1 }')"
    done | awk -v name="$name" -v beam="$beam" '
        { bleu[NR] = $2; seconds[NR] = $3 }
        END { printf "%-24s beam %d  test %.2f  valid %.2f  %5.1f s for 2,014 sentences\n", name, beam, bleu[1], bleu[2], seconds[1] + seconds[2] }'
}

for run; do
    case $(sed -n 's/^ *train: \[train\.\(..\).*/\1/p' "$run/config.yaml") in
    de) source=de target=en ;;
    en) source=en target=de ;;
    *) echo "$run: no run of bench/bleu.sh" >&2 && exit 1 ;;
    esac
    echo "$run"
    for beam in 1 5; do
        row "$run" f32 "$beam"
        row "$run" int8 "$beam" --int8
        for best in ${BEST:-25 50 100}; do
            list=$work/$best.shortlist
            [ -f "$list" ] || "$regimen" text train-shortlist --model "$run/tokenizer.model" --first "${FIRST:-200}" \
                --best "$best" --out "$list" "$data/train.$source.gz" "$data/train.$target.gz"
            row "$run" "f32, best $best" "$beam" --shortlist "$list"
            row "$run" "int8, best $best" "$beam" --int8 --shortlist "$list"
        done
    done
    rm -f "$work"/*.shortlist
done
