#!/bin/sh
# Experiments that are several runs: folds, seeds, both; a series that is killed or stopped goes on with what is left
# and comes to the same numbers; what it is refused for.
. "$(dirname "$0")/lib.sh"
fast_work
small_experiment "$work/small.yaml"
cd "$work" || exit 1
few="--set trainer.epochs=3 --set export=[]"

# ---- folds: each in its folder, every node in one test part ----
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set trainer.folds=4 --set trainer.fold_valid=0.2 --run-dir folds
says '^items +240 train, 60 valid, 100 test of 400 ' err
says '^folds +fold 3 of 4, made, stratified by label; 0.2 of the others validates' err
[ "$(grep -c '^plan' err)" = 1 ] || fail "the plan is told other than once"
says '^test.accuracy .* 4$' out
[ "$(ls folds)" = "$(printf 'fold-1\nfold-2\nfold-3\nfold-4\nsummary.json')" ] || fail "folders: $(ls folds)"
for i in 1 2 3 4; do
    expect 0 "$regimen" predict "folds/fold-$i" --part test
    tail -n +2 out | cut -d, -f2
done | sort -n | uniq >nodes
[ "$(wc -l <nodes)" = 400 ] || fail "$(wc -l <nodes) nodes are in test parts"
expect 0 "$regimen" eval folds/fold-2 --part test
mean=$(awk '/"test.accuracy"/ { seen = 1 } seen && /"mean"/ { print $2 + 0; exit }' folds/summary.json)
each=$(for i in 1 2 3 4; do "$regimen" eval "folds/fold-$i" --part test --json; done |
    awk '/"accuracy"/ { s += $2 } END { print s / 4 }')
[ "$mean" = "$each" ] || fail "the mean is $mean, of the runs $each"

# ---- what there is, is told ----
expect 0 "$regimen" runs folds
says '^folds/fold-4 +finished' out
says '^test.accuracy' out
expect 0 "$regimen" runs folds --json
says '"done": 4' out
expect 2 "$regimen" eval folds
says 'folds is a folder of several runs: name one of them, as folds/fold-1' err
expect 2 "$regimen" run small.yaml --set trainer.folds=4 --mode eval --run-dir folds
says 'folds is 4 runs: name one' err

# ---- the same command again does nothing; another one is refused ----
cp -r folds before
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set trainer.folds=4 --set trainer.fold_valid=0.2 --run-dir folds
says 'fold-4 is done' err
diff -r before folds >/dev/null || fail "the same command again changed something"
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $few --set trainer.folds=4 --set trainer.fold_valid=0.3 --run-dir folds
says 'begun with another configuration' err
expect 2 "$regimen" run small.yaml --set trainer.folds=4 --set trainer.early_stopping.patience=3 --run-dir blind
says 'no validation data; trainer.fold_valid takes some' err

# ---- trained alone, then by the same file validated and tested, as one run is ----
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $few --set runtime.seeds=2 --run-dir stages
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=2 --run-dir stages
says '^test.accuracy .* 2$' out
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $few --set runtime.seeds=2 --run-dir stages
says 'seed-4 is done' err
says '^test.accuracy .* 2$' out

# ---- one place for the exports of one run, and of one alone ----
expect 2 "$regimen" run small.yaml --set trainer.folds=4 --set 'trainer.exports.dirs=[served]' --run-dir places
says 'trainer.exports.dirs is one place for the exports of 4 runs, where only the last would stay: ' err
[ ! -e places ] || fail "a series that is refused has a folder"
expect 2 "$regimen" config check small.yaml --set runtime.seeds=2 --set 'trainer.exports.dirs=[served]'
says 'trainer.exports.dirs is one place for the exports of 2 runs' err
expect 0 "$regimen" run small.yaml --set trainer.epochs=3 --set trainer.folds=4 --set trainer.fold=2 \
    --set trainer.fold_valid=0.2 --set 'trainer.exports.dirs=[served]' --run-dir place
[ -e served/model.onnx ] || fail "one fold does not export into the folder that is named"

# ---- seeds, and seeds of folds ----
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=3 --run-dir seeds --json
says '"seed-5": \{' out
says '"count": 3' out
[ -d seeds/seed-3 ] && [ -d seeds/seed-5 ] || fail "seeds: $(ls seeds)"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=2 --run-dir seeds # fewer: means are of these
says 'seeds/seed-5 is no run of these' err
says '^test.accuracy .* 2$' out
says '"count": 2' seeds/summary.json
[ -d seeds/seed-5 ] || fail "a run was removed"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=3 --run-dir seeds
says '^test.accuracy .* 3$' out
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seed=4 --run-dir one
"$regimen" eval one --part test >a 2>err && "$regimen" eval seeds/seed-4 --part test >b 2>err
cmp -s a b || fail "seed 4 of three is not the run of seed 4: $(cat a) $(cat b)"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=2 --set trainer.folds=2 --set trainer.fold_valid=0.2 --run-dir both --restarts 1
[ "$(ls both | wc -l)" = 5 ] && [ -d both/seed-4-fold-2 ] || fail "both: $(ls both)"
says '"count": 4' both/summary.json

# ---- one of them alone: what it is told is what goes ----
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $few --set runtime.seeds=3 --mode eval --run-dir seeds
says 'by --run-dir seeds/NAME with --set trainer.fold=N, or with --set runtime.seed=N and runtime.seeds=~' err
alone="--run-dir seeds/seed-4 --set runtime.seeds=~ --set runtime.seed=4"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=3 $alone --mode eval
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=3 $alone --set trainer.epochs=6
says '"epoch":6,' seeds/seed-4/metrics.jsonl
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $few $alone --set runtime.seed=5
says 'runtime.seed was 4 and is now 5' err

# ---- longer: a mean is over runs of one file, also while they are under way or one of them fails ----
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $few --set runtime.seeds=3 --run-dir longer
cp longer/seed-4/log.txt log && rm longer/seed-4/log.txt && mkdir longer/seed-4/log.txt # it cannot begin
longer="--set trainer.epochs=6 --set export=[] --set runtime.seeds=3 --run-dir longer"
# shellcheck disable=SC2086
expect 1 "$regimen" run small.yaml $longer
says 'left out +longer/seed-5 ended with another configuration' err
expect 0 "$regimen" runs longer
says '^test.accuracy .* 1$' out
expect 0 "$regimen" runs longer --json
says '"done": 1' out
# shellcheck disable=SC2086
expect 1 "$regimen" run small.yaml $longer # its config.yaml is today's, what it came to is not
says 'longer/seed-3 is done' err
grep 'longer/seed-4 is done' err && fail "a run that could not begin is done"
rmdir longer/seed-4/log.txt && mv log longer/seed-4/log.txt
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $longer
says '^test.accuracy .* 3$' out
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $longer
[ "$(grep -c 'is done' err)" = 3 ] || fail "runs that are done are not taken for done: $(cat err)"
# The first one of them: until it has ended, the figures are those of the file before.
cp longer/seed-3/log.txt log && rm longer/seed-3/log.txt && mkdir longer/seed-3/log.txt
# shellcheck disable=SC2086
expect 1 "$regimen" run small.yaml $longer --set trainer.epochs=9
rmdir longer/seed-3/log.txt && mv log longer/seed-3/log.txt
expect 0 "$regimen" runs longer
says '^test.accuracy .* 3$' out
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $longer --set trainer.epochs=9
grep 'is done' err && fail "a run of 6 epochs is done for a file of 9"

# ---- killed at any moment, it goes on; the numbers are those of the whole ----
long="--set trainer.epochs=200 --set export=[] --set trainer.folds=3 --set trainer.fold_valid=0.2"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $long --run-dir whole
for wait in 0.05 0.15 0.1 0.2 0.3; do
    # shellcheck disable=SC2086
    "$regimen" run small.yaml $long --run-dir killed >/dev/null 2>&1 &
    sleep $wait
    kill -KILL $! 2>/dev/null
    wait $! 2>/dev/null
done
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $long --run-dir killed
for i in 1 2 3; do
    last=$(ls -d "whole/fold-$i/ckpt/step-"* | tail -1)
    cmp -s "$last/weights.safetensors" "killed/fold-$i/ckpt/$(basename "$last")/weights.safetensors" ||
        fail "fold $i of the killed series has other weights"
done
figures() { awk '/"metrics": \{/ && /^ "/ { seen = 1 } seen' "$1/summary.json"; }
[ -n "$(figures whole)" ] && [ "$(figures whole)" = "$(figures killed)" ] || fail "the killed series has other figures"

# ---- a damaged summary is made anew from the runs ----
echo '{' >killed/summary.json
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $long --run-dir killed
says 'it is made anew' err
[ "$(figures whole)" = "$(figures killed)" ] || fail "the summary made anew has other figures"

# ---- Ctrl-C: saved, and 75 ----
"$regimen" run small.yaml --set trainer.epochs=100000 --set 'export=[]' --set trainer.folds=3 \
    --set trainer.fold_valid=0.2 --run-dir stopped >out 2>err &
pid=$!
wait_for [ -s stopped/fold-1/metrics.jsonl ]
kill -INT $pid
wait $pid
[ $? = 75 ] || fail "Ctrl-C ended a series with another status than 75"
[ ! -e stopped/fold-2 ] || fail "the next fold was begun"

# ---- refused ----
expect 2 "$regimen" config check small.yaml --set trainer.folds=1
says 'trainer.folds is 1 .* at least 2' err
expect 2 "$regimen" config check small.yaml --set trainer.folds=3 --set trainer.fold=4
says 'trainer.fold is 4' err
expect 2 "$regimen" config check reverse --set trainer.folds=3
says 'cannot be parted into trainer.folds' err
cat >search.yaml <<'YAML'
extends: small.yaml
hyperparameters: {optimizer.learning_rate: {type: double, minval: 0.001, maxval: 0.01}}
searcher: {name: random, metric: valid.loss, max_trials: 2, max_length: {batches: 4}}
YAML
expect 2 "$regimen" config check search.yaml --set runtime.seeds=3
says 'a trial is one' err
expect 0 "$regimen" config check search.yaml --set trainer.folds=3 --set trainer.fold=2
expect 2 "$regimen" config check small.yaml --data --set trainer.folds=401
says 'fold-1: 400 items cannot be parted into 401 folds' err
# A task without labels asks about no part of one graph: its folds are one run, which is told.
cat >infomax.yaml <<'YAML'
data: {type: citation, node_set: paper, citation: {nodes: 200, edges: 400, words: 60, train_per_class: 4, valid: 20, test: 20}}
task: {type: deep_graph_infomax, node_set: paper}
model: {type: gcn, hidden: [8]}
trainer: {epochs: 2, folds: 2}
YAML
expect 0 "$regimen" run infomax.yaml --run-dir infomax
says "deep_graph_infomax learns from all of the one graph and asks about no part of it" err
[ "$failures" = 0 ]
