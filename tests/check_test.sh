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
sed '/^export:/d' small.yaml >search.yaml
cat >>search.yaml <<'YAML'
hyperparameters: {optimizer.learning_rate: {type: double, minval: 0.001, maxval: 0.01}}
searcher: {name: random, metric: valid.loss, max_trials: 2, max_length: {batches: 4}}
YAML
expect 0 "$regimen" config show search.yaml
for option in json full; do
    expect 2 "$regimen" config show search.yaml --$option
    says "search.yaml is a search, which config show prints as one file: without --$option$" err
done
rm search.yaml
for wrong in "check small.yaml --json" "check small.yaml --full" "keys --json" "keys trainer --set trainer.epochs=3" \
    "list --full" "list --config small.yaml"; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" config $wrong
    says "goe?s? with config (show|list or show|show or check)$" err
done

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

# One graph's batch_size, and keys of other kinds of data, say nothing.
expect 0 "$regimen" config check small.yaml --set data.batch_size=32 --set data.shuffle_size=5
says "note +data.batch_size \(--set\) has no effect: only with data.type == ogb.records.folder or" err
says "note +data.shuffle_size \(--set\) has no effect" err
expect 0 "$regimen" config check reverse --set data.path=x --set task.search.top_k=3
says "note +data.path \(--set\) has no effect: only with data.reverse.vocabulary == 0" err
says "note +task.search.top_k \(--set\) has no effect: only with task.search.sample == true" err
expect 0 "$regimen" config check small.yaml --set 'optimizer.learning_rate={type: cosine, warmup: {type: polynomial, power: 2}}'
says "note +optimizer.learning_rate.warmup.power \(--set\) has no effect: only with optimizer.learning_rate.warmup.steps > 0" err
# Keys of rounds that there are not, or that only an output's round would hear.
gin="model={type: gin, layers: 0, residual: true, edge_units: 4, edge_feature: e}"
expect 0 "$regimen" config check small.yaml --set task.head=dense --set "$gin"
for key in residual edge_units edge_feature; do
    says "note +model.$key \(--set\) has no effect: only with model.layers > 0" err
done
expect 2 "$regimen" config check small.yaml --set "model={type: sgc}"
says "model.output must be given: the channels of a node" err
expect 0 "$regimen" config check small.yaml --set "model={type: gcn, hidden: [], output: 4, residual: true}"
says "note +model.residual \(--set\) has no effect: only with model.hidden != \[\] or model.type == gat_v2" err
for model in "gat_v2, hidden: [], output: 4" "gcn, hidden: [4], output: 4"; do
    expect 0 "$regimen" config check small.yaml --set "model={type: $model, residual: true}"
    grep -q "no effect" err && fail "a residual of $model is told to do nothing: $(cat err)"
done
refused "model.jump: max joins the states of all rounds, and there is one state alone" small.yaml \
    --set task.head=dense --set "model={type: gcn, hidden: [4], jump: max}"
refused "model.reduce_type: 'avg' has 'avg', which is unknown; known are sum, mean" small.yaml \
    --set "model={type: vanilla_mpnn, reduce_type: avg}"

# Data of all three parts: records whose validation or test part is of another schema or has other labels.
generate() {
    expect 0 "$regimen" data generate citation --to "$1" --nodes 300 --edges 700 --classes "$2" --words "$3" --words-per-node 4 \
        --train-per-class 8 --valid 40 --test 40
    expect 0 "$regimen" data sample "$1" --to "$1-s" --hops edges:3 --label label
}
generate three 3 20
generate six 6 20
generate wide 3 30
cat >records.yaml <<'YAML'
data: {type: records, schema: three-s/schema.pbtxt, train: "three-s/train*", valid: "three-s/valid*",
       test: "three-s/test*", batch_size: 8}
task: {type: root_node_classification, node_set: nodes, num_classes: 3}
model: {type: vanilla_mpnn, units: 8, message_dim: 8, layers: 1}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
YAML
expect 0 "$regimen" config check records.yaml --data
for part in train valid test; do
    expect 1 "$regimen" run records.yaml --run-dir never --set "data.$part=wide-s/$part*"
    says "regimen: $part data: " err
    expect 1 "$regimen" config check records.yaml --data --set "data.$part=wide-s/$part*"
done
[ ! -e never ] || fail "wrong records left a run folder"

# Parts of several files, and sets beside them.
mkdir -p copies
for part in train valid test; do cp three-s/$part-* "copies/more-$part"; done
more='data.valid_sets={copied: ["copies/more-valid", "three-s/test*"]}'
expect 0 "$regimen" run records.yaml --run-dir lists --set 'data.train=["three-s/train*", copies/more-train]' --set "$more"
says "files: 2 train, 1 valid, 1 test, 2 valid_copied" err
grep -q valid_copied lists/metrics.jsonl || fail "metrics.jsonl has no lines of valid_copied"
expect 1 "$regimen" run records.yaml --run-dir never --set "data.valid_sets={none: [three-s/valid*, none/part-*]}"
says "data.valid_sets.none: .*none/part-\*" err
expect 1 "$regimen" run records.yaml --run-dir never --set 'data.train=[none.rec]'
says "data.train: .*none.rec" err
expect 1 "$regimen" run records.yaml --run-dir never --set "data.valid_sets={a: wide-s/valid*}"
says "valid data: the set 'a': " err
refused "data.test_sets.valid: 'valid' is the name of a part" records.yaml --set "data.test_sets={valid: three-s/test*}"
refused "data.valid_sets stand beside data.valid, which is not set" records.yaml --set data.valid=[] --set "$more"
[ ! -e never ] || fail "wrong lists of records left a run folder"
cat >folder.yaml <<'YAML'
data: {type: folder, path: six}
task: {type: node_classification, node_set: nodes, num_classes: 3}
model: {type: gcn, hidden: [8]}
YAML
expect 1 "$regimen" config check folder.yaml --data
says "train data: graph 0: node_classification: _readout: label 'label' of item [0-9]+ is [345], but must be 0..2" err
expect 1 "$regimen" config check folder.yaml --data --set data.sampling.sizes='[3]'
says "label 'label' of item [0-9]+ is [345], but must be 0..2" err
expect 0 "$regimen" config check folder.yaml --data --set task.num_classes=6 --set data.batch_size=8
says "warning: data.batch_size has no effect: the data are one graph" err
[ ! -e runs ] || fail "config check --data made a run folder"

# Features that a record lacks; labels of -1, which are none.
sed -e 's/key: "label"/key: "topic"/' six/schema.pbtxt >schema.txt
expect 1 "$regimen" data validate six --schema schema.txt
says "record 0: nodes/nodes lacks the feature 'topic' of the schema" err
expect 0 "$regimen" data validate six
mkdir -p ogb/raw ogb/split/half
seq 0 19 | awk '{ print ($1 + 1) % 20 "," $1 }' | gzip >ogb/raw/edge.csv.gz
for f in node edge; do echo 20 | gzip >ogb/raw/num-$f-list.csv.gz; done
seq 0 19 | awk '{ print $1 % 3 + 0.5 ",1" }' | gzip >ogb/raw/node-feat.csv.gz
seq 0 19 | awk '{ print $1 == 5 ? 7 : $1 % 2 }' | gzip >ogb/raw/node-label.csv.gz
expect 0 "$regimen" data import ogb ogb --to unsplit
printf 'seed_op { op_name: "seed" node_set_name: "nodes" }\nsampling_ops { op_name: "a" input_op_names: "seed" edge_set_name: "edges" sample_size: 3 strategy: RANDOM_UNIFORM }\n' >spec.pbtxt
expect 2 "$regimen" data sample unsplit --to sampled --spec spec.pbtxt
says "the data have no split of nodes to seed from; --seeds all takes every node of 'nodes'" err
[ ! -e sampled ] || fail "data sample without a split made a folder"
expect 0 "$regimen" data sample unsplit --to sampled --spec spec.pbtxt --seeds all
seq 0 7 | grep -v 5 | gzip >ogb/split/half/train.csv.gz
seq 8 13 | gzip >ogb/split/half/valid.csv.gz
seq 14 19 | gzip >ogb/split/half/test.csv.gz
cat >ogb.yaml <<'YAML'
data: {type: ogb, path: ogb, split: half}
task: {type: node_classification, node_set: nodes, num_classes: 2}
model: {type: gcn, hidden: [4]}
YAML
expect 0 "$regimen" config check ogb.yaml --data
echo 5 | gzip >>ogb/split/half/train.csv.gz
expect 1 "$regimen" config check ogb.yaml --data
says "train data: graph 0: .*label 'label' of item 7 is 7, but must be 0..1" err

# Numbers that no score or batch can have are wrong usage.
echo x >line
expect 2 "$regimen" score --ref line --smooth-value -3
says "\-\-smooth-value is -3, but must be above 0" err
expect 2 "$regimen" text stats --model no.model --max-length 0 line
says "\-\-max-length is 0, but must be in \[1, 65536\]" err

# Records come in another order than the file's, which the split's makes one-sided.
expect 0 "$regimen" run records.yaml --run-dir mixed --set trainer.train_steps=3 --set trainer.epochs=~
expect 0 "$regimen" run records.yaml --run-dir in-order --set trainer.train_steps=3 --set trainer.epochs=~ \
    --set data.shuffle_size=0
cmp -s mixed/metrics.jsonl in-order/metrics.jsonl && fail "records are not shuffled by default"

# Histograms have summaries to stand in, also in a short run.
expect 0 "$regimen" run small.yaml --run-dir short --set trainer.epochs=3 --set trainer.histograms=true
grep -q "conv_0/kernel" short/train/events* || fail "trainer.histograms wrote none in a run of 3 epochs"
finish
