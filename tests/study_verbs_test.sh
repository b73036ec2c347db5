#!/bin/sh
# regimen search ask, tell, show: a study driven by scripts, by several at once, and what is wrong.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1
cat >square.yaml <<'YAML'
hyperparameters: {x: {type: double, minval: -2, maxval: 2}}
searcher: {name: random, sampler: tpe, metric: loss, max_trials: 24, max_length: 1}
reproducibility: {experiment_seed: 3}
YAML

# drive STUDY: pieces until it is over; the loss is x^2.
drive() {
    while :; do
        "$regimen" search ask "$1" --file square.yaml --workers 3 >"$1.$2" || return 1
        grep -q '"over": true' "$1.$2" && return 0
        grep -q '"wait": true' "$1.$2" && continue
        trial=$(sed 's/.*"trial": \([0-9]*\),.*/\1/' "$1.$2")
        loss=$(sed 's/.*"x": \([-0-9.e]*\)}.*/\1/' "$1.$2" | awk '{ printf "%.17g", $1 * $1 }')
        "$regimen" search tell "$1" --trial "$trial" "loss=$loss" || return 1
    done
}
for i in 1 2 3; do
    drive study "$i" &
    pids="${pids:-} $!"
done
for pid in $pids; do
    wait "$pid" || fail "a process of the study failed"
done
expect 0 "$regimen" search show study
says "^study +square, 100.0%, over" "$work/err"
[ "$(grep -c ' OVER ' "$work/out")" = 24 ] || fail "trials: $(cat "$work/out")"
expect 0 "$regimen" search show study --csv
awk -F, 'NR > 1 { x = $0; sub(/.*"x"": /, "", x); sub(/}.*/, "", x); if (x * x - $4 > 1e-5 || $4 - x * x > 1e-5) exit 1 }' out || fail "told otherwise: $(cat out)"

expect 1 "$regimen" search ask nothing
says "there is no study nothing" "$work/err"
expect 1 "$regimen" search tell study --trial 25 loss=1
says "there is no trial 25 in study, which has 24" "$work/err"
expect 2 "$regimen" search tell study --trial 1
says "the searcher's metric is missing: valid.loss=NUMBER" "$work/err"
expect 2 "$regimen" search tell study --trial 1 loss=low
says "'loss=low' is not NAME=NUMBER" "$work/err"
expect 2 "$regimen" search tell study loss=1
expect 2 "$regimen" search tell study --trial 1 --failed loss=1
echo '{}' >none
expect 1 "$regimen" search ask none --file square.yaml
says "none is no study, or damaged" "$work/err"
expect 2 "$regimen" search ask other --file square.yaml --set searcher.max_trials=0
says "max_trials" "$work/err"
expect 0 "$regimen" search ask other --file square.yaml
expect 0 "$regimen" search ask other --lost 0.001
says '"trial": 1,' "$work/out"
expect 0 "$regimen" search tell other --trial 1 --failed
expect 0 "$regimen" search ask other
says '"trial": 2,' "$work/out"
expect 0 "$regimen" search tell other --trial 2 loss=nan
expect 2 "$regimen" search ask other --lost 0
says "lost is a number of seconds above 0" "$work/err"

# The search of a study is the one that it began with, however it is named, and with however many workers.
expect 0 "$regimen" search ask other --file square.yaml --workers 2
sed 's/maxval: 2/maxval: 3/' square.yaml >wider.yaml
cp other before
expect 2 "$regimen" search ask other --file wider.yaml
says "other began with another search than wider.yaml says now: leave out --file" "$work/err"
expect 2 "$regimen" search ask other --file square.yaml --set searcher.max_trials=99
cmp -s other before || fail "a refused search changed the study"
finish
