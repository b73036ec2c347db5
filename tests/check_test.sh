#!/bin/sh
# What is asked before the first step: `config check --data`, and the same of `run`, which then trains and
# writes nothing.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1

# refused WHAT PATTERN COMMAND...: by the check and by the run, which leaves nothing.
refused() {
    pattern=$1
    shift
    expect 2 "$regimen" config check "$@" --data
    says "$pattern" err
    expect 2 "$regimen" run "$@" --run-dir never
    says "$pattern" err
    [ ! -e never ] || fail "a refused run left a folder: $*"
}

expect 0 "$regimen" config check small.yaml --data
says "small.yaml: no mistakes, data included; gcn on citation data" out
[ "$(ls)" = "err
out
small.yaml" ] || fail "config check --data wrote something: $(ls)"
expect 2 "$regimen" config show small.yaml --data
says "\-\-data goes with config check" err

# A rate of 0 in every update: where the length is known without data too.
reverse="--set trainer.epochs=~ --set trainer.train_steps=60"
# shellcheck disable=SC2086
expect 2 "$regimen" config check reverse $reverse
says "reverse:[0-9]+:[0-9]+: optimizer.learning_rate.warmup.steps is 100, but must be below" err
# shellcheck disable=SC2086
refused "warmup.steps is 100, but must be below the update at which the decay ends \(60\)" reverse $reverse
refused "is 0 in each of the run's 40 updates" small.yaml --set optimizer.learning_rate=0
expect 0 "$regimen" config check reverse --set optimizer.learning_rate.decay_steps=100000 \
    --set trainer.epochs=~ --set trainer.train_steps=600
says "warning: .*decays until update 100000, but the run has 600" err

# Best weights need validation data, early stopping a direction.
refused "trainer.checkpoint.best.metric is set but there are no validation data" small.yaml \
    --set data.citation.valid=0
refused "early_stopping.mode is min, but the best valid.accuracy is the largest one" small.yaml \
    --set trainer.early_stopping.mode=min --set trainer.early_stopping.patience=3

# Histograms have summaries to stand in, also in a short run.
expect 0 "$regimen" run small.yaml --run-dir short --set trainer.epochs=3 --set trainer.histograms=true
grep -q "conv_0/kernel" short/train/events* || fail "trainer.histograms wrote none in a run of 3 epochs"
finish
