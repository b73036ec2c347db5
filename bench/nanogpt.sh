#!/bin/sh
# configs/tiny_lm.yaml beside nanoGPT's recipe in PyTorch (peer_nanogpt.py): bits per byte of Multi30k's validation and test captions,
# by the same tokenizer, of as many parameters, with as many tokens, on as many threads.
# usage: REGIMEN_DATA=... bench/nanogpt.sh PYTHON [SEEDS]     PYTHON: an interpreter that has torch; SEEDS: which (default "1 2 3")
# RATES: nanoGPT's rates, of which the best on validation data counts (default "1e-3 3e-3"); THREADS (2); RUNS: folder that keeps
# the runs, where what is trained is not trained again; SIDE=ours or theirs: one alone.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
: "${REGIMEN_DATA:?name the folder that has multi30k-de-en}"
python=${1:?usage: bench/nanogpt.sh PYTHON [SEEDS]} seeds=${2:-1 2 3}
regimen=${REGIMEN:-$here/build/regimen}
data=$REGIMEN_DATA/multi30k-de-en threads=${THREADS:-2}
runs=${RUNS:-$(mktemp -d)}
[ -n "${RUNS:-}" ] || trap 'rm -rf "$runs"' EXIT
mkdir -p "$runs"

# The tokens of 8 epochs of 3,504 blocks of 128, 16 in a batch, are 1,752 steps of nanoGPT's.
ours() {
    for seed in $seeds; do
        out=$runs/ours-$seed.out
        if [ ! -s "$out" ]; then
            begin=$(date +%s)
            "$regimen" run tiny_lm --set "data.path=$data" --set "runtime.seed=$seed" --set "runtime.threads=$threads" \
                --set 'export=[]' --run-dir "$runs/ours-$seed" >"$out.part" 2>&1
            awk -v seconds=$(($(date +%s) - begin)) '
                function after(word, i) { for (i = 1; i < NF; i++) if ($i == word) return $(i + 1) }
                $1 == "plan" { sub(" parameters.*", ""); gsub(",", ""); parameters = $2 }
                $1 == "valid" { bits = after("bits_per_byte"); if (best == "" || bits < best) best = bits }
                $1 == "test" { test = after("bits_per_byte") }
                END { printf "seconds %d parameters %s valid %s test %s\n", seconds, parameters, best, test }' "$out.part" >"$out"
        fi
        echo "tiny_lm seed $seed: $(cat "$out")"
    done
}

# ids SET FILE: the lines of a set as the first run's tokenizer cuts them.
ids() {
    gzip -dc "$data/$1.en.gz" >"$runs/$2.txt"
    "$regimen" text encode --model "$runs/tokenizer.model" "$runs/$2.txt" >"$runs/$2.ids"
}

theirs() {
    # the same files give the same tokenizer as the run of ours trains
    "$regimen" text train-tokenizer --type bpe --vocab-size 4000 --out "$runs/tokenizer.model" "$data/train.en.gz"
    ids train train
    ids val valid
    ids test_2016_flickr test
    for seed in $seeds; do
        for rate in ${RATES:-1e-3 3e-3}; do
            told=$runs/nanogpt-$seed-$rate.out
            [ -s "$told" ] || "$python" "$here/bench/peer_nanogpt.py" --train "$runs/train.ids" --end 1 --vocabulary 4000 \
                --steps 1752 --seed "$seed" --threads "$threads" --rate "$rate" --compile \
                --set valid "$runs/valid.ids" "$(wc -c <"$runs/valid.txt")" --set test "$runs/test.ids" "$(wc -c <"$runs/test.txt")" \
                >"$told.part" && mv "$told.part" "$told"
            echo "nanoGPT seed $seed rate $rate: $(cat "$told")"
        done
    done
}

[ "${SIDE:-}" = theirs ] || ours
[ "${SIDE:-}" = ours ] || theirs
# Of each seed the rate that is best on validation data, alone or as a stream, whichever is less.
cat "$runs"/ours-*.out 2>/dev/null | awk '{ valid += $6; test += $8; n++ }
    END { if (n) printf "tiny_lm, mean of %d: valid %.4f, test %.4f bits per byte\n", n, valid / n, test / n }'
for seed in $seeds; do
    cat "$runs/nanogpt-$seed"-*.out 2>/dev/null | awk '
        function least(a, b) { return a < b ? a : b }
        NF { valid = least($8, $12); if (best == "" || valid < best) { best = valid; test = least($14, $18) } }
        END { if (best != "") print best, test }'
done | awk '{ valid += $1; test += $2; n++ }
    END { if (n) printf "nanoGPT, mean of %d: valid %.4f, test %.4f bits per byte\n", n, valid / n, test / n }'
