#!/bin/sh
# regimen model: a run and a trial under a name, used by every verb that takes a run folder; stages; damage.
. "$(dirname "$0")/lib.sh"
unset REGIMEN_MASTER REGIMEN_REGISTRY
cd "$work" || exit 1
small_experiment demo.yaml
expect 0 "$regimen" run demo.yaml --run-dir runs/a
expect 1 "$regimen" model show demo
says "there is no model 'demo' in '$work/experiments/registry'" err
REGIMEN_REGISTRY=$work/registry
export REGIMEN_REGISTRY
expect 0 "$regimen" model register demo runs/a --note "the first one"
says "model +demo:1, from folder runs/a" err
expect 0 "$regimen" model list
says "demo +1 +new .* valid.accuracy 0\.[0-9]+ .*folder runs/a +the first one" out
expect 0 "$regimen" model show demo:1
says '"ckpt/step-[0-9]+/weights.safetensors": \{' out
says '"sha256": "[0-9a-f]{64}"' out
says '"best valid.accuracy": 0\.' out
grep -q 'log.txt\|events.out' out && fail "what is for those who watch a run is registered"
[ "$(find registry -name log.txt -o -name .lock | wc -l)" = 0 ] || fail "a lock or a log in the registry"

# An earlier checkpoint: what it knew by then, and nothing that has the weights of the end.
step=$(basename "$(find runs/a/ckpt -name 'step-????????' | sort | head -1)")
expect 0 "$regimen" model register early runs/a --step "${step#step-}"
expect 0 "$regimen" model show early:1
says "\"ckpt/$step/weights.safetensors\": \{" out
best=$(tr -d ' \n' <"runs/a/ckpt/$step/manifest.json" | grep -o '"best_value":[0-9.e-]*' | cut -d: -f2)
says "\"best valid.accuracy\": $best" out
grep -q '"export/\|result.json\|"valid.loss"' out && fail "what is of the run's end stands beside an earlier checkpoint"

# What a run folder is taken for, a registered one is: the same bytes, and nothing is written there.
expect 0 "$regimen" predict runs/a
cp out predicted
expect 0 "$regimen" predict model:demo
cmp -s out predicted || fail "predict of the registered model is another"
expect 0 "$regimen" eval runs/a --json
cp out evaluated
expect 0 "$regimen" eval model:demo:1 --json
cmp -s out evaluated || fail "eval of the registered model is another"
expect 2 "$regimen" export model:demo
says "a registered version never changes: --to DIR" err
expect 0 "$regimen" export model:demo --to onnx
cmp -s onnx/model.onnx runs/a/export/model.onnx || fail "export of the registered model is another"
expect 0 "$regimen" model path demo
[ "$(cat out)" = "$work/registry/models/demo/1" ] || fail "path: $(cat out)"
expect 1 "$regimen" translate model:nothing </dev/null
says "there is no model 'nothing'" err
expect 0 "$regimen" run demo.yaml --run-dir runs/b --set trainer.initialize.checkpoint=model:demo --set trainer.epochs=2
says "initialized [0-9]+ of [0-9]+ parameters from the best weights of $work/registry/models/demo/1" runs/b/log.txt
says "checkpoint: $work/registry/models/demo/1" runs/b/config.yaml
expect 2 "$regimen" run demo.yaml --run-dir runs/c --set trainer.initialize.checkpoint=model:demo@production
says "trainer.initialize.checkpoint.*model 'demo' has no version production; there are 1 \(new\)" err

# Stages: one is in production, and what names it means another when it changes.
expect 0 "$regimen" model register demo runs/b
expect 0 "$regimen" model stage demo:1 production
expect 0 "$regimen" predict model:demo@production
cmp -s out predicted || fail "@production is not version 1"
expect 0 "$regimen" model stage demo:2 production
says "archived +demo:1" err
expect 1 "$regimen" model remove demo:2 -y
says "in production: give it another stage first" err
expect 2 "$regimen" model stage demo:2 prodction
says "did you mean 'production'" err
expect 2 "$regimen" model remove demo -y
says "which version" err

# A trial, by its number; its folder may go.
cat >search.yaml <<'YAML'
data:
  type: citation
  citation: {nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4}
optimizer: {type: adam}
batches_per_step: 5
hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -3, maxval: -1}}
searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, max_length: 3}
YAML
expect 0 "$regimen" experiment run search.yaml
expect 0 "$regimen" model register demo 1/2
says "model +demo:3, from trial 1/2" err
expect 0 "$regimen" predict experiments/1/2
cp out predicted
expect 0 "$regimen" experiment delete 1 -y
expect 0 "$regimen" predict model:demo:3
cmp -s out predicted || fail "predict of the registered trial is another"
expect 1 "$regimen" model register demo 1/2
says "there is no experiment 1|experiment 1 has 0 trials|no trial" err

# A folder without checkpoints has none of a step; a name that is not there is no empty list.
mkdir few && printf x >few/x
expect 1 "$regimen" model register few few --step 3
says "few has no checkpoint of step 3" err
expect 0 "$regimen" model register few few
expect 0 "$regimen" model list few
says "^few +1 +new .* 0.0 kB +folder few" out
expect 1 "$regimen" model list fwe
says "there is no model 'fwe' in '$work/registry'; did you mean 'few'" err

# An export's folder, whole; what was changed behind the registry's back is not used.
expect 0 "$regimen" model register served onnx
expect 0 "$regimen" model list served --csv
says "^served,1,new," out
weights=$(ls registry/models/demo/3/ckpt/*/best.safetensors)
rm -f "$weights"
cp registry/models/demo/1/ckpt/*/best.safetensors "$weights"
expect 1 "$regimen" predict model:demo:3
says "best.safetensors' is not what was registered" err
expect 2 "$regimen" model remove demo:3 </dev/null
says "nothing is removed: .*-y" err
expect 0 "$regimen" model remove demo:3 -y
expect 1 "$regimen" predict model:demo:3
says "has no version 3; there are 1 \(archived\), 2 \(production\)" err

# Templates: what a file begins with; what it says itself goes before, and the experiment keeps what was merged.
cat >cluster.yaml <<'YAML'
searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, max_length: 3}
batches_per_step: 5
resources: {priority: 11}
trainer: {epochs: 3}
YAML
grep -v 'searcher:\|batches_per_step' search.yaml >short.yaml
printf 'template: lab\nresources: {weight: 2}\n' >>short.yaml
expect 2 "$regimen" config show short.yaml
says "short.yaml:[0-9]+:[0-9]+: there is no template 'lab'" err
expect 0 "$regimen" template store lab cluster.yaml
expect 0 "$regimen" template list
says "^lab$" out
expect 0 "$regimen" template show lab
cmp -s out cluster.yaml || fail "template show is another"
expect 0 "$regimen" config show short.yaml
says "priority: 11" out
says "weight: 2" out
printf 'template: lab\n' >over.yaml # a run's file says which values are the template's
expect 0 "$regimen" template store lab demo.yaml
expect 0 "$regimen" config show over.yaml --full
says "templates/lab.yaml" out
expect 0 "$regimen" template store lab cluster.yaml
expect 0 "$regimen" experiment create short.yaml --paused
expect 0 "$regimen" experiment config 2
says "weight: 2" out
says "priority: 11" out
grep -q '^template' out && fail "the merged file names its template"
expect 0 "$regimen" template store lab demo.yaml
expect 0 "$regimen" experiment config 2
says "priority: 11" out
expect 2 "$regimen" template store lab short.yaml
says "begins with another" err
expect 1 "$regimen" template store ../x cluster.yaml
expect 0 "$regimen" template remove lab
expect 1 "$regimen" template show lab
expect 0 "$regimen" template store lab cluster.yaml --master other
expect 0 "$regimen" experiment run short.yaml --master other
[ -f other/templates/lab.yaml ] || fail "no other/templates/lab.yaml"
exit $failures
