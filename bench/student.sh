#!/bin/sh
# What a student is worth: BLEU (13a, cased) of Multi30k's test set of 2016, greedy and with a beam of 5, the size of the
# weights' file, and the sentences that one thread translates in a second; of the teacher, of small models that it teaches not at all,
# by its translations, and by its probabilities too (bench/student.yaml), and of the last one in 8 bits with a shortlist.
# usage: bench/student.sh DIR. It may be stopped at any moment; the same command goes on, and measures what is not measured.
# REGIMEN_DATA names the folder that has multi30k-de-en. For a quick look: TEACHER_EPOCHS, EPOCHS (of the experiment: 12),
# LINES of the training text to translate (0: all), SENTENCES of the test set (0: all), SET: more options for `regimen distil`.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
: "${REGIMEN_DATA:?name the folder that has multi30k-de-en}"
[ $# = 1 ] || { echo "usage: bench/student.sh DIR" >&2 && exit 2; }
regimen=${REGIMEN:-$here/build/regimen}
data=$(cd "$REGIMEN_DATA/multi30k-de-en" && pwd)
dir=$1
mkdir -p "$dir/rows"
dir=$(cd "$dir" && pwd)

set -- distil "$here/bench/student.yaml" --dir "$dir" \
    --set "steps.taught.source=$data/train.de.gz" --set "steps.taught.reference=$data/train.en.gz" \
    --set "steps.taught.lines=${LINES:-0}" --set "steps.teacher.over.trainer.epochs=${TEACHER_EPOCHS:-12}"
for step in teacher small sequence student; do
    set -- "$@" --set "steps.$step.over.data.path=$data"
    [ $step = teacher ] || set -- "$@" --set "steps.$step.over.trainer.epochs=${EPOCHS:-12}"
done
# shellcheck disable=SC2086
"$regimen" "$@" ${SET:-}

# stale FILE STEP: it is not there, or the step was made behind it.
stale() {
    [ ! -e "$1" ] || [ -n "$(find "$dir/$2/step.json" -newer "$1")" ]
}

sentences() {
    gzip -dc "$data/test_2016_flickr.$1.gz" | head -n "$([ "${SENTENCES:-0}" = 0 ] && echo 1000000 || echo "$SENTENCES")"
}
sentences en >"$dir/rows/references"

# measure RUN BEAM OPTIONS...: BLEU and seconds.
measure() {
    run=$1 beam=$2
    shift 2
    begin=$(date +%s.%N)
    sentences de | "$regimen" translate "$run" --beam "$beam" --threads 1 "$@" >"$dir/rows/hypotheses"
    end=$(date +%s.%N)
    bleu=$("$regimen" score --ref "$dir/rows/references" --metrics bleu "$dir/rows/hypotheses" | awk '{ print $2 }')
    echo "$bleu $(echo "$begin $end" | awk '{ print $2 - $1 }')"
}

# row NAME STEP RUN FILE OPTIONS...: a line of the table, measured unless it was since the step was made.
row() {
    name=$1 step=$2 run=$3 file=$4
    shift 4
    kept=$dir/rows/$name-${SENTENCES:-0}
    if stale "$kept" "$step"; then
        greedy=$(measure "$run" 1 "$@")
        beam=$(measure "$run" 5 "$@")
        echo "$name $greedy $beam $(wc -c <"$file") $(wc -l <"$dir/rows/references")" |
            awk '{ printf "%-12s greedy %.2f  beam 5 %.2f  %6.1f MB  %6.1f sentences/s greedy, %6.1f with a beam of 5\n",
                   $1, $2, $4, $6 / 1e6, $7 / $3, $7 / $5 }' >"$kept.part"
        mv "$kept.part" "$kept"
    fi
    cat "$kept"
}

for step in teacher small sequence student; do
    stale "$dir/$step/f32/model.yaml" $step &&
        "$regimen" export "$dir/$step" --to "$dir/$step/f32" --format predictor >/dev/null
    row $step $step "$dir/$step" "$dir/$step/f32/model.safetensors"
done
small=$dir/student/int8
if stale "$small/model.yaml" student; then
    "$regimen" text train-shortlist --model "$dir/teacher/tokenizer.model" --out "$dir/rows/shortlist" "$data/train.de.gz" \
        "$data/train.en.gz"
    "$regimen" export "$dir/student" --to "$small" --format predictor --precision int8 \
        --set "data.shortlist=$dir/rows/shortlist" >/dev/null
fi
row int8 student "$small" "$small/model.safetensors"
