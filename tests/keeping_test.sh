#!/bin/sh
# Which checkpoints and exports of a run are kept, evaluated and used.
. "$(dirname "$0")/lib.sh"
fast_work
small_experiment "$work/small.yaml"
cd "$work" || exit 1
in_steps="--set trainer.epochs=~ --set trainer.steps_per_loop=10 --set trainer.checkpoint.every_epochs=~
    --set trainer.checkpoint.every_steps=10 --set trainer.validation_interval=0"

# A run of so many steps that reached them is finished, and told in steps.
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $in_steps --set trainer.train_steps=60 --run-dir run \
    --set trainer.checkpoint.keep=10 --set trainer.validation_interval=10
expect 0 "$regimen" runs run
says "^run +finished +[0-9]+ +60/60 " out
expect 0 "$regimen" runs run --json
python3 -c "
import json
r = json.load(open('out'))[0]
assert (r['state'], r['step'], r['steps'], r['epochs']) == ('finished', 60, 60, None), r" || fail "runs --json of a run in steps"

# --step: the weights of one checkpoint, for every verb that takes weights.
for step in 10 30 60; do
    expect 0 "$regimen" eval run --step $step --part valid --json
    python3 - out run/metrics.jsonl $step <<'PY' || fail "eval --step $step is not what the run measured there"
import json, sys
now = json.load(open(sys.argv[1]))["metrics"]
lines = [json.loads(l) for l in open(sys.argv[2])]
then = [l for l in lines if l["split"] == "valid" and l["step"] == int(sys.argv[3])][0]
for name in "loss", "accuracy":
    assert abs(now[name] - then[name]) < 1e-6, (name, now, then)
PY
    expect 0 "$regimen" predict run --step $step
    cp out "predicted-$step"
    expect 0 "$regimen" export run --step $step --to "exported-$step" --verify
done
cmp -s predicted-10 predicted-60 && fail "predict --step gives the same for other steps"
cmp -s exported-10/model.onnx exported-60/model.onnx && fail "export --step gives the same for other steps"
expect 0 "$regimen" predict run --last
cmp -s out predicted-60 || fail "--step of the newest and --last differ"
expect 1 "$regimen" eval run --step 35
says "no checkpoint of step 35 in run/ckpt; there are those of 10 20 30 40 50 60$" err
expect 2 "$regimen" eval run --step 10 --last
says "exclude each other" err
expect 2 "$regimen" eval run --step 0
expect 2 "$regimen" eval small.yaml --run-dir run --step 10
says "go with eval RUN_DIR" err
finish
