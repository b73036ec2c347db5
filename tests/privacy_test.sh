#!/bin/sh
# Private training as a user sees it: what is told of epsilon, that no two runs share their noise unless a seed
# is asked for, and that such a run goes on bit for bit after a stop.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1
awk 'BEGIN { srand(5); for (i = 0; i < 200; i++) {
    c = i % 2; printf "%.4f,%.4f,%d\n", rand() + c, rand() - c, c } }' >train.csv
cat >private.yaml <<'YAML'
data: {path: ., train: train.csv, valid: train.csv, batch_size: 40, poisson: true}
task: {type: classification, num_classes: 2}
model: {type: mlp, hidden: [8], dropout: 0.2}
optimizer: {type: sgd, learning_rate: 0.5}
trainer:
  epochs: 4
  privacy: {clipping_norm: 1, noise_multiplier: 1.2, delta: 1e-3}
runtime: {seed: 1, threads: 1}
YAML

# Epsilon stands in the plan, in the result, in JSON, in the log of each epoch and in metrics.jsonl.
expect 0 "$regimen" run private.yaml --run-dir a
says '^privacy  noise multiplier 1.2, clipping norm 1, sample rate 0.2; epsilon [0-9.]+ at delta 0.001 after 20 steps: ' err
says '^privacy  epsilon [0-9.]+ delta 0.001: Renyi DP of the Poisson-subsampled Gaussian mechanism; a bound' out
[ "$(grep -c 'privacy | step:' a/log.txt)" = 4 ] || fail "the log has no epsilon of each epoch"
[ "$(grep -c privacy_epsilon a/metrics.jsonl)" = 4 ] || fail "metrics.jsonl has no epsilon of each epoch"
expect 0 "$regimen" run private.yaml --run-dir b --json
python3 - <<'PY' || fail "--json does not tell what was spent"
import json
told = json.load(open("out"))["privacy"]
last = [json.loads(line) for line in open("b/metrics.jsonl") if "privacy_epsilon" in line][-1]
assert abs(told["epsilon"] - last["privacy_epsilon"]) < 1e-6, (told, last)
assert told["noise_multiplier"] == 1.2 and told["delta"] == 1e-3, told
PY

# The same file and the same runtime.seed: other noise.
weights=ckpt/step-00000020/weights.safetensors
[ -f a/$weights ] || fail "there is no a/$weights"
cmp -s a/$weights b/$weights && fail "two runs have the same noise"

# A target: the plan has its noise, the run ends with it, a longer run is refused before its first step.
sed 's/noise_multiplier: 1.2/target_epsilon: 2/' private.yaml >target.yaml
expect 0 "$regimen" run target.yaml --run-dir t
says '^privacy  noise multiplier [0-9.]+, .*; epsilon 2 at delta 0.001 after 20 steps' err
says '^privacy  epsilon 2.0000 delta 0.001' out
expect 2 "$regimen" run target.yaml --run-dir t --set trainer.epochs=8
says 'target_epsilon is 2: 2 is spent at step 20, and 20 more steps would make it' err

# noise_seed: told aloud, and the same run again, also in two parts.
sed 's/delta/noise_seed: 7, delta/' private.yaml >seeded.yaml
expect 0 "$regimen" run seeded.yaml --run-dir whole
says 'warning: privacy: trainer.privacy.noise_seed is 7: the run is not private from who knows' err
says 'no bound for who knows privacy.noise_seed' out
expect 0 "$regimen" run seeded.yaml --run-dir parts --set trainer.epochs=2
expect 0 "$regimen" run seeded.yaml --run-dir parts
diff -r whole/ckpt/step-00000020 parts/ckpt/step-00000020 || fail "a run in two parts ends with other weights"
cmp whole/metrics.jsonl parts/metrics.jsonl || fail "a run in two parts has other metrics"

# What cannot be private is refused by the check and by the run, in the same words.
small_experiment small.yaml
expect 2 "$regimen" config check small.yaml --set trainer.privacy.clipping_norm=1
cp err checked
expect 2 "$regimen" run small.yaml --run-dir no --set trainer.privacy.clipping_norm=1
cmp -s err checked || fail "run and config check differ: $(cat err)"
says 'no privacy for a graph network' err
finish
