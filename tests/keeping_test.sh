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

# Exports in checkpoints: of their weights, as numbered exports have them, as many as there are checkpoints. best/
# has those of the best, which are what the finished run exports.
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $in_steps --set trainer.train_steps=60 --run-dir filled --set trainer.checkpoint.keep=2 \
    --set trainer.validation_interval=10 --set trainer.checkpoint.best.save=true --set optimizer.average.decay=0.9 \
    --set 'trainer.checkpoint.exports=[onnx, saved_model, predictor]' --set 'export=[{type: onnx}]' --set trainer.exports.checkpoints=true
[ "$(echo filled/ckpt/step-*/export/signature.json)" = \
    "filled/ckpt/step-00000050/export/signature.json filled/ckpt/step-00000060/export/signature.json" ] ||
    fail "exports in checkpoints: $(find filled/ckpt -name export)"
for step in 50 60; do
    cmp "filled/ckpt/step-000000$step/export/model.onnx" "filled/export/$step/model.onnx" || fail "step $step"
    [ -e "filled/ckpt/step-000000$step/export/saved_model.pb" ] || fail "step $step has no SavedModel"
    [ -e "filled/ckpt/step-000000$step/export/model.safetensors" ] || fail "step $step has nothing for predictors"
done
cmp filled/best/step-*/export/model.onnx filled/export/model.onnx || fail "best/ has another model"
expect 0 "$regimen" eval filled
expect 0 "$regimen" export filled --format saved_model --examples --to parsed
grep -q ParseExampleV2 parsed/saved_model.pb || fail "a SavedModel with --examples parses none"
grep -q ParseExampleV2 filled/ckpt/step-00000060/export/saved_model.pb && fail "Examples are parsed unasked"
expect 0 "$regimen" run small.yaml --run-dir processed --set trainer.epochs=1 --set 'data.processors=[{type: undirected}]'
expect 1 "$regimen" export processed --format saved_model --examples
says "parses Examples without data.processors, of which this run has undirected" err
expect 0 "$regimen" export processed --format saved_model
expect 2 "$regimen" export filled --examples
says "examples is of --format saved_model: ONNX parses none" err
expect 2 "$regimen" run small.yaml --run-dir none --set 'trainer.checkpoint.exports=[onnxx]'
says "trainer.checkpoint.exports: there is no exporter 'onnxx'; did you mean 'onnx'" err

# continuous_eval of every checkpoint: each once and in order, though the trainer keeps one and the evaluator
# is killed again and again; what waits for it is spared.
every="--set trainer.epochs=~ --set trainer.train_steps=3000 --set trainer.steps_per_loop=20
    --set trainer.checkpoint.every_epochs=~ --set trainer.checkpoint.every_steps=100 --set trainer.checkpoint.keep=1"
follow="run small.yaml --mode continuous_eval --run-dir followed --set trainer.continuous_eval_every=true"
# shellcheck disable=SC2086
"$regimen" $follow $every >first.txt 2>told &
follower=$!
wait_for [ -e followed/continuous_eval/evaluated ]
kill -KILL $follower
wait $follower 2>/dev/null
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $every --run-dir followed
says "warning: checkpoints behind step -1 are kept for an evaluator of every one, which is not running" err
[ "$(ls followed/ckpt | wc -l)" = 30 ] || fail "$(ls followed/ckpt | wc -l) checkpoints wait, expected 30"
lives=0
while :; do
    # shellcheck disable=SC2086
    "$regimen" $follow $every >lines.txt 2>told &
    follower=$!
    [ $lives -lt 4 ] && sleep 0.1 && kill -KILL $follower
    lives=$((lives + 1))
    wait $follower 2>/dev/null
    code=$?
    [ $code = 137 ] || break
done
[ $code = 0 ] || fail "the evaluator of every checkpoint ended with $code: $(tail -1 told)"
python3 - followed/continuous_eval/metrics.jsonl <<'PY' || fail "not every checkpoint once and in order"
import json, sys
steps = [json.loads(l)["step"] for l in open(sys.argv[1])]
assert steps == list(range(100, 3001, 100)), steps
PY
[ -e followed/continuous_eval/evaluated ] && fail "the evaluator is done, but checkpoints still wait for it"
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $every --run-dir followed
[ "$(ls followed/ckpt)" = step-00003000 ] || fail "what was evaluated is not let go: $(ls followed/ckpt | tr '\n' ' ')"
# A checkpoint that is damaged is told and passed over.
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $every --run-dir hurt --set trainer.checkpoint.keep=100
printf '#' | dd of=hurt/ckpt/step-00000700/weights.safetensors bs=1 seek=200 conv=notrunc 2>/dev/null
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $every --mode continuous_eval --run-dir hurt --set trainer.continuous_eval_every=true
says "warning: the checkpoint of step 700 is not evaluated: .*weights.safetensors is damaged" err
[ "$(wc -l <hurt/continuous_eval/metrics.jsonl)" = 29 ] || fail "a damaged checkpoint costs others"

# Exports on the way: numbered by step, the newest kept, the last also in export/ itself until the run's end.
numbered="--set trainer.train_steps=100 --set trainer.checkpoint.keep=20 --set trainer.exports.every_steps=20"
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $in_steps $numbered --set trainer.exports.keep=3 --run-dir numbered
[ "$(ls numbered/export | tr '\n' ' ')" = "100 60 80 model.onnx model.safetensors model.yaml schema.pbtxt signature.json " ] ||
    fail "numbered exports: $(ls numbered/export | tr '\n' ' ')"
for step in 60 80 100; do
    expect 0 "$regimen" export numbered --step $step --to at-step
    cmp -s numbered/export/$step/model.onnx at-step/model.onnx || fail "export $step has other weights"
done
cmp -s numbered/export/model.onnx numbered/export/100/model.onnx || fail "export/ is not the last"
# At validations, with averages: what was judged is what is exported, and kept by itself.
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $in_steps --set trainer.train_steps=60 --set trainer.checkpoint.keep=20 \
    --set trainer.validation_interval=20 --set trainer.exports.validations=true --set trainer.exports.keep=0 \
    --set optimizer.average.decay=0.9 --set trainer.checkpoint.averages=2 --run-dir judged
[ "$(ls judged/export | tr '\n' ' ')" = "20 40 60 model.onnx model.safetensors model.yaml schema.pbtxt signature.json " ] || fail "exports: $(ls judged/export)"
[ "$(ls judged/averages | tr '\n' ' ')" = "step-00000040 step-00000060 " ] || fail "averages: $(ls judged/averages)"
expect 0 "$regimen" export judged --step 40 --to at-step
cmp -s judged/export/40/model.onnx at-step/model.onnx || fail "the export of a validation is not of the averages"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $in_steps --set trainer.train_steps=1 --set trainer.steps_per_loop=1 --run-dir from-averages \
    --set trainer.initialize.checkpoint=judged/averages/step-00000040 --set optimizer.learning_rate=1e-30 --set export=~
expect 0 "$regimen" predict from-averages --last
cp out first
expect 0 "$regimen" predict judged --step 40
cmp -s out first || fail "averages/ does not have the averages"
# Beside each checkpoint; of the finished run to folders of one's own.
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $in_steps --set trainer.train_steps=30 --set trainer.exports.checkpoints=true \
    --set trainer.exports.dirs="[one, two]" --run-dir beside --json
[ "$(ls beside/export | tr '\n' ' ')" = "10 20 30 model.onnx model.safetensors model.yaml schema.pbtxt signature.json " ] || fail "beside checkpoints: $(ls beside/export)"
cmp -s one/model.onnx two/model.onnx || fail "exports.dirs"
python3 -c "import json; assert json.load(open('out'))['exports'] == ['one', 'two']" || fail "exports.dirs in the result"
# The file of weights says of which step they are: of the best, which the run ends with.
expect 0 "$regimen" run small.yaml --set 'export=[{type: weights}]' --run-dir weights
python3 - weights/result.json weights/export/weights.safetensors <<'PY' || fail "the step of exported weights"
import json, struct, sys
def step(path):
    with open(path, "rb") as f:
        return int(json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))["__metadata__"]["step"])
result = json.load(open(sys.argv[1]))
assert step(sys.argv[2]) == result["weights_step"] == result["best"]["step"], result
PY
# What a killed one left is swept; what cannot be is told before the first step.
sh -c 'exit 0' &
gone=$!
wait $gone
mkdir -p "numbered/export/next.partial-$gone/x"
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $in_steps $numbered --set trainer.exports.keep=3 --run-dir numbered
[ ! -e "numbered/export/next.partial-$gone" ] || fail "a killed export was not swept"
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $in_steps $numbered --set export=~ --run-dir none
says "trainer.exports says when to export, but there is no exporter" err
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $in_steps --set trainer.train_steps=1 --set trainer.checkpoint.averages=2 --run-dir none2
says "trainer.checkpoint.averages is 2, but the optimizer keeps no averages" err

# --restarts: killed behind three of its saves, the run goes on by itself and ends with the same bytes.
long="--set trainer.epochs=3000 --set trainer.checkpoint.every_epochs=20"
# child: the process that trains for $supervisor.
child() { ps -o pid= --ppid "$supervisor" | tr -d ' '; }
has_child() { [ "$(child)" != "" ]; }
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $long --run-dir whole
if [ -z "${RGM_SANITIZE:-}" ]; then
    # shellcheck disable=SC2086
    expect 0 env LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=9 RGM_SIGNAL_AT=step-00000020:step-00001000:step-00002980 \
        "$regimen" run small.yaml $long --run-dir restarted --restarts 1 --json
    for step in 20 1,000 2,980; do
        says "^restart  the run was killed by SIGKILL, .*; it is started again from step $step$" err
    done
    [ "$(grep -c '^restart' err)" = 3 ] || fail "other than 3 kills are told: $(cat err)"
    for part in ckpt metrics.jsonl export; do
        diff -r whole/$part restarted/$part >/dev/null || fail "killed three times and restarted: $part differs"
    done
    python3 -c "import json; assert json.load(open('out'))['epochs'] == 3000" || fail "the result of a restarted run"
else
    echo "not tested: kills behind saves, since sanitizers do not go with $RGM_PRELOAD"
fi

# Without progress it gives up, with the status of what ended it.
endless="--set trainer.epochs=100000000 --set trainer.checkpoint.every_epochs=~ --set trainer.checkpoint.every_seconds=0"
# shellcheck disable=SC2086
"$regimen" run small.yaml $endless --run-dir vain --restarts 2 >out 2>told &
supervisor=$!
while kill -0 $supervisor 2>/dev/null; do
    pid=$(child)
    [ "$pid" != "" ] && [ -e vain/log.txt ] && kill -SEGV "$pid" 2>/dev/null
    sleep 0.1
done
wait $supervisor
[ $? = 139 ] || fail "a run that crashes for ever did not end with 139"
[ "$(grep -c '^restart  the run ended by signal 11' told)" = 2 ] || fail "not two restarts: $(cat told)"
says "^gave up +the run ended by signal 11 .*; 3 starts in a row brought no new checkpoint$" told

# Who signals the parent wants the run to end: saved, 75, nothing left running.
for who in both parent; do
    # shellcheck disable=SC2086
    "$regimen" run small.yaml $endless --run-dir "stopped-$who" --restarts 3 >out 2>told &
    supervisor=$!
    wait_for [ -e "stopped-$who/metrics.jsonl" ]
    sleep 0.3
    pid=$(child)
    [ $who = both ] && kill -TERM "$pid" # as a job that is ended
    kill -TERM $supervisor
    wait $supervisor
    code=$?
    case $code in
    75) [ -d "stopped-$who/ckpt" ] || fail "$who: nothing was saved" ;;
    *) fail "$who: ended with $code" ;;
    esac
    kill -0 "$pid" 2>/dev/null && fail "$who: the child is still running"
done
# nohup: the terminal's end ends neither of the two.
cat >hangup.sh <<'SH'
trap '' HUP
"$1" run small.yaml --set trainer.epochs=2000 --set trainer.checkpoint.every_epochs=~ --run-dir nohup --restarts 3 >/dev/null 2>told &
supervisor=$!
until [ -s nohup/metrics.jsonl ]; do sleep 0.1; done
kill -HUP $supervisor
kill -HUP "$(ps -o pid= --ppid $supervisor | tr -d ' ')"
wait $supervisor
SH
expect 0 timeout 120 sh hangup.sh "$regimen"
grep -E '^(stopped|restart)' told && fail "nohup: SIGHUP ended the run"
says '"epoch":2000,' nohup/metrics.jsonl
# A preemption of the child alone is no wish to end; an orphan ends by itself, saved.
# shellcheck disable=SC2086
"$regimen" run small.yaml $endless --run-dir preempted --restarts 3 >out 2>told &
supervisor=$!
wait_for [ -e preempted/metrics.jsonl ]
sleep 0.3
kill -TERM "$(child)"
wait_for grep -q "^restart  the run was stopped and has saved its state; it is started again from step" told
wait_for has_child
sleep 0.5
pid=$(child)
kill -KILL $supervisor
wait_for sh -c "! kill -0 $pid"
wait $supervisor 2>/dev/null

# What stays wrong is not tried again: usage, configuration, an error before anything was gained.
expect 2 "$regimen" run small.yaml --run-dir whole --set runtime.seed=9 --restarts 3
expect 2 "$regimen" run small.yaml --restarts 0
expect 2 "$regimen" run small.yaml --mode eval --run-dir whole --restarts 2
says "restarts does not go with --mode" err
expect 1 "$regimen" run small.yaml --run-dir "$work/small.yaml/x" --restarts 3
grep -q "^restart" err && fail "an error without progress was tried again"
finish
