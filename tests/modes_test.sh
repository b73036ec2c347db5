#!/bin/sh
# Experiments by name and by layers, `config` on them, and every mode of a run, two processes included.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1

# Named experiments.
expect 0 "$regimen" config list
says "^demo +two graph convolutions on a generated graph$" out
expect 0 "$regimen" config list --json
python3 - out <<'PY' || fail "config list --json is not what it should be"
import json, sys
names = [e["name"] for e in json.load(open(sys.argv[1]))]
assert names == sorted(names) and "demo" in names and "cora_gcn" in names, names
PY
expect 0 "$regimen" config check demo
says "^demo: no mistakes; gcn on citation data, adam, 200 epochs$" out
[ ! -s err ] || fail "the demo has keys without effect: $(cat err)"
expect 0 "$regimen" config check demo --set data.path=x
says "^note +data.path \(--set\) has no effect: only with data.type == ogb\|folder\|parts$" err
expect 0 "$regimen" run demo --set data.path=x --set trainer.epochs=1 --set export=[] --run-dir told
says "^note +data.path \(--set\) has no effect: only with data.type == ogb\|folder\|parts$" err
expect 0 "$regimen" eval told
[ "$(grep -c '^note' err)" = 0 ] || fail "a run that is looked at is told of keys again"
expect 2 "$regimen" config check demo --set trainer.gradient_surgery=pcgrad
says "trainer.gradient_surgery is pcgrad \\(--set\\), which is between .* name two or more under tasks:" err
expect 2 "$regimen" config check dmo
says "did you mean 'demo'" err
expect 2 "$regimen" config check demo --set trainer.train_steps=100
says "trainer.train_steps is 100 \(--set\) and excludes trainer.epochs, which is 200 \(cora_gcn:26\)" err
expect 2 "$regimen" config chekc demo
says "no 'config chekc'; did you mean 'config check'" err
expect 2 "$regimen" config show

# The full print says the same as what it was printed from.
expect 0 "$regimen" config show demo --full
cp out full.yaml
expect 0 "$regimen" config show full.yaml --full
sed 's/ *#.*//' full.yaml | grep -v '^$' >first
sed 's/ *#.*//' out | grep -v '^$' >second
diff first second >/dev/null || fail "config show --full does not read back"
says "^  epochs: 200 +# full.yaml:[0-9]+$" out
expect 0 "$regimen" config show demo --full --json
python3 - out <<'PY' || fail "config show --full --json is not what it should be"
import json, sys
e = json.load(open(sys.argv[1]))
assert e["trainer"]["epochs"] == {"value": 200, "source": "cora_gcn:26"}, e["trainer"]["epochs"]
assert e["trainer"]["checkpoint"]["keep"] == {"value": 2, "source": "default"}
assert e["model"]["hidden"]["value"] == [64] and e["model"]["input"]["normalize"]["value"] is True
assert "unused" in e["data"]["path"] and e["trainer"]["recovery"]["loss_upper_bound"]["value"] is None
PY

# Layers: --config over the file, the environment over it, --set over that.
printf 'trainer: {epochs: 7}\nruntime: {seed: 5, threads: 1}\n' >over.yaml
expect 0 env REGIMEN_RUNTIME__SEED=6 REGIMEN_RUNTIME__THREADS=2 "$regimen" config show small.yaml \
    --full --config over.yaml --set runtime.threads=1
says "^  epochs: 7 +# over.yaml:1$" out
says "^  seed: 6 +# \\\$REGIMEN_RUNTIME__SEED$" out
says "^  threads: 1 +# --set$" out
expect 2 env REGIMEN_TRAINER_EPOCHS=3 "$regimen" run small.yaml
says "REGIMEN_TRAINER__EPOCHS=3" err
expect 0 "$regimen" run demo --config over.yaml --run-dir named --json
python3 -c "import json; assert json.load(open('out'))['epochs'] == 7" || fail "--config was not heard"

# A run of so many steps, in each mode.
steps="--set trainer.epochs=~ --set trainer.train_steps=60 --set trainer.steps_per_loop=20
    --set trainer.validation_interval=20 --set trainer.checkpoint.every_epochs=~"
expect 2 "$regimen" run small.yaml --mode trian
says "did you mean 'train'" err
expect 2 "$regimen" run small.yaml --mode eval
says "needs --run-dir" err
expect 2 "$regimen" eval small.yaml
says "needs --run-dir" err
expect 1 "$regimen" run small.yaml --mode eval --run-dir nowhere
says "no run folder 'nowhere'" err
expect 1 "$regimen" run small.yaml --mode export --run-dir nowhere
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $steps --run-dir trained --json
python3 - out trained/metrics.jsonl <<'PY' || fail "train: the result is not what it should be"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["steps"] == 60 and r["best_step"] is None, r
splits = {json.loads(l)["split"] for l in open(sys.argv[2])}
assert splits == {"train"}, splits
PY
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --mode train_and_post_eval --run-dir post
python3 - post/metrics.jsonl <<'PY' || fail "train_and_post_eval: one validation, at the end"
import json, sys
steps = [json.loads(l)["step"] for l in open(sys.argv[1]) if json.loads(l)["split"] == "valid"]
assert steps == [60], steps
PY
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --run-dir both
python3 - both/metrics.jsonl <<'PY' || fail "train_and_eval: a validation every 20 steps"
import json, sys
steps = [json.loads(l)["step"] for l in open(sys.argv[1]) if json.loads(l)["split"] == "valid"]
assert steps == [20, 40, 60], steps
PY
before=$(find trained -type f | sort | xargs md5sum)
# shellcheck disable=SC2086
expect 0 "$regimen" eval small.yaml $steps --run-dir trained --json
cp out eval.json
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --mode eval --run-dir trained
says "^valid +loss" out
expect 0 "$regimen" eval trained --part valid --last --json
python3 - eval.json out <<'PY' || fail "eval of the experiment and of the folder differ"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["metrics"]["valid"] == b["metrics"] and a["steps"] == 60, (a, b)
PY
[ "$before" = "$(find trained -type f | sort | xargs md5sum)" ] || fail "eval changed the run folder"
mkdir empty
expect 0 "$regimen" run small.yaml --mode eval --run-dir empty
says "as initialized: empty has no checkpoint yet" err
expect 1 "$regimen" run small.yaml --mode export --run-dir empty
says "empty has no checkpoint yet" err

# export: the best weights, or the last.
rm -r both/export
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --mode export --run-dir both
says "^export +both/export$" out
expect 0 "$regimen" export both --to best
cmp -s both/export/model.onnx best/model.onnx || fail "--mode export wrote other weights than export"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --mode export --last --run-dir both --json
expect 0 "$regimen" export both --to last --last
cmp -s both/export/model.onnx last/model.onnx || fail "--mode export --last wrote other weights"

# Two processes: one trains, one evaluates what the other saves, until its last step.
steps="--set trainer.epochs=~ --set trainer.train_steps=3000 --set trainer.steps_per_loop=100
    --set trainer.checkpoint.every_epochs=~ --set trainer.checkpoint.every_steps=200"
# shellcheck disable=SC2086
"$regimen" run small.yaml $steps --mode continuous_eval --run-dir followed >lines 2>follow.err &
follower=$!
# shellcheck disable=SC2086
expect 0 "$regimen" train small.yaml $steps --run-dir followed
wait $follower || fail "the follower ended with $?: $(cat follow.err)"
python3 - lines <<'PY' || fail "continuous_eval: ascending steps to the last one"
import sys
steps = [int(l.split()[1].replace(",", "")) for l in open(sys.argv[1])]
assert steps == sorted(set(steps)) and steps[-1] == 3000, steps
PY
says "^step 3,000 loss [0-9.]+ accuracy [0-9.]+" lines
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --mode continuous_eval --run-dir followed --json
cp out follow.json
# shellcheck disable=SC2086
expect 0 "$regimen" eval small.yaml $steps --run-dir followed --json
python3 - follow.json out <<'PY' || fail "continuous_eval --json and eval differ"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["evaluations"][-1] == {"step": 3000, "metrics": b["metrics"]["valid"]}, a["evaluations"]
PY
# Nothing comes: it ends by itself. In epochs it knows the last step too.
expect 0 "$regimen" run small.yaml --mode continuous_eval --run-dir empty \
    --set trainer.continuous_eval_timeout=0.3 --json
python3 -c "import json; assert json.load(open('out'))['evaluations'] == []" || fail "of nothing?"
expect 0 "$regimen" train small.yaml --run-dir epochs
expect 0 "$regimen" run small.yaml --mode continuous_eval --run-dir epochs
says "^step 40 " out
# A run that was stopped early brings no more.
early="--set trainer.epochs=~ --set trainer.train_steps=50000 --set trainer.steps_per_loop=10
    --set trainer.validation_interval=10 --set trainer.early_stopping.patience=1
    --set trainer.checkpoint.every_epochs=~"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $early --run-dir early
# shellcheck disable=SC2086
expect 0 timeout 60 "$regimen" run small.yaml $early --mode continuous_eval --run-dir early
says "^step [0-9]+ loss" out
# Another one may not follow too; SIGTERM ends it with 75.
"$regimen" run small.yaml --mode continuous_eval --run-dir waits >lines 2>&1 &
follower=$!
wait_for [ -e waits/continuous_eval/.lock ]
expect 1 timeout 60 "$regimen" run small.yaml --mode continuous_eval --run-dir waits
says "waits" err
kill -TERM $follower
wait $follower
[ $? = 75 ] || fail "SIGTERM ended the follower with another status than 75"

# Each checkpoint of a run that another process trains is fine-tuned in a folder of its own; what is stopped in one goes on.
each="--mode continuous_train_and_eval --run-dir tuned --set trainer.initialize.checkpoint=long --set trainer.epochs=3 --set export=[]"
expect 2 "$regimen" run small.yaml --mode continuous_train_and_eval --run-dir tuned
says "needs trainer.initialize.checkpoint" err
expect 2 "$regimen" run small.yaml --mode continuous_train_and_eval --run-dir tuned --set trainer.initialize.checkpoint=.
says "\. is no run folder" err
mkdir long # a run that is about to begin, as another process sees it
# shellcheck disable=SC2086
"$regimen" run small.yaml $each --set trainer.continuous_eval_every=true --set trainer.epochs=100000 >follower 2>&1 & # before there is one
follower=$!
expect 0 "$regimen" train small.yaml --run-dir long --set trainer.epochs=30 --set trainer.checkpoint.every_epochs=10 --set trainer.checkpoint.keep=9
first=$(ls long/ckpt | head -1)
wait_for [ -e "tuned/$first/.lock" ]
kill -TERM $follower
wait $follower
[ $? = 75 ] || fail "SIGTERM ended it with another status than 75"
[ "$(ls tuned)" = "$first" ] || fail "stopped in $first it left $(ls tuned)"
# shellcheck disable=SC2086
expect 0 timeout 60 "$regimen" run small.yaml $each --set trainer.continuous_eval_every=true
[ "$(ls tuned | grep -c '^step-')" = "$(ls long/ckpt | wc -l)" ] || fail "$(ls long/ckpt) was not tuned each: $(ls tuned)"
says "from the [a-z ]*weights of long/ckpt/$first" "tuned/$first/log.txt"
says "^valid.accuracy +[0-9.]+ .* $(ls long/ckpt | wc -l)$" out
# shellcheck disable=SC2086
expect 0 timeout 60 "$regimen" run small.yaml $each --json # all are done
python3 - out <<'PY' || fail "the summary of tuned checkpoints is not what it should be"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["count"] == len(r["runs"]) >= 3 and all("valid" in one["metrics"] for one in r["runs"].values()), r
PY
# Its runs are compared with what is asked for now, and what has no checkpoint any more is left out.
mkdir tuned/step-notes
# shellcheck disable=SC2086
expect 2 timeout 60 "$regimen" run small.yaml $each --set optimizer.type=sgd
says "optimizer.type was" err
# shellcheck disable=SC2086
expect 0 timeout 60 "$regimen" run small.yaml $each --set trainer.continuous_eval_timeout=0 --set trainer.initialize.checkpoint=nowhere --run-dir none --json
says "waits +for a checkpoint of nowhere|none: no checkpoint of nowhere came" err
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["count"] == 0' out || fail "none is not told as none"
# shellcheck disable=SC2086
expect 2 "$regimen" run small.yaml $each --run-dir long
says "long is a run" err
# shellcheck disable=SC2086
expect 0 timeout 60 "$regimen" run small.yaml $each --run-dir newest # by default the newest alone
[ "$(ls newest | grep '^step-')" = "$(ls long/ckpt | tail -1)" ] || fail "newest has $(ls newest)"

# A task that is no graph network: the same verbs.
python3 - <<'PY'
import random
random.seed(1)
for name, count in ("train", 200), ("test", 50):
    with open(name + ".csv", "w") as f:
        for _ in range(count):
            k = random.randrange(3)
            f.write(",".join("%.3f" % random.gauss(k, 0.3) for _ in range(6)) + ",%d\n" % k)
PY
cat >records.yaml <<'YAML'
data: {path: ., train: train.csv, test: test.csv, valid_fraction: 0.25, batch_size: 16}
task: {type: classification, num_classes: 3}
model: {type: mlp}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {train_steps: 200, steps_per_loop: 20, validation_interval: 50}
runtime: {seed: 3, threads: 2}
export: [{type: onnx}]
YAML
expect 0 "$regimen" config check records.yaml
says "mlp on" out
expect 0 "$regimen" run records.yaml --run-dir records --json
cp out records.json
python3 - out <<'PY' || fail "the classification of records did not learn"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["steps"] == 200 and r["metrics"]["test"]["accuracy"] > 0.9, r
PY
expect 0 "$regimen" eval records --json
python3 - records.json out <<'PY' || fail "run and eval disagree on records"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["metrics"]["test"] == b["metrics"], (a, b)
PY
for batches in '' '--set data.batch_size=50'; do # one pass, though training repeats its data
    # shellcheck disable=SC2086
    expect 0 "$regimen" eval records --part train $batches --json
    python3 - out <<'PY' || fail "eval --part train of a run in steps"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["part"] == "train" and r["metrics"]["accuracy"] > 0.9, r
PY
done
expect 0 "$regimen" predict records
[ "$(wc -l <out)" = 51 ] || fail "predict printed $(wc -l <out) lines, expected 51"
says "^0,,[012],-?[0-9.]+" out
expect 1 "$regimen" predict records --input "*.tfrecord"
says "no file matches .\*\.tfrecord" err
expect 0 "$regimen" export records --verify --dump dumped
says "verified on 50 items" out
[ -e dumped/inputs-0.safetensors ] || fail "export --dump wrote nothing"
expect 0 "$regimen" run records.yaml --mode eval --run-dir records
says "^valid +loss" out
expect 0 "$regimen" run records.yaml --mode export --run-dir records
finish
