#!/bin/sh
# Does the working tree still compute what a commit before it did? Runs the same commands with the
# program of both: every experiment of configs/, and cases that those do not reach. Compares
# metrics.jsonl, every byte of ckpt/, best/, export/ and config.yaml, event files without their clock,
# and all that is printed, times and rates apart. One line a case; exit 1 where anything differs.
#   scripts/same_runs.sh BASE [--full] [CASE...]
# BASE is a commit, built once in build/base-<commit>, or a folder where `regimen` lies built.
# --full: long runs in their whole length. REGIMEN_DATA: the folder with cora, mutag, digits, ...;
# cases whose data are absent are skipped. REGIMEN: the program compared (default build/regimen).
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
: "${REGIMEN_DATA:=$(cd .. && pwd)/shared/data}"
base=${1:?usage: scripts/same_runs.sh BASE [--full] [CASE...]}
shift
full=
[ "${1:-}" != --full ] || { full=1; shift; }

if [ -x "$base/regimen" ]; then
    old=$(cd "$base" && pwd)/regimen
else
    commit=$(git rev-parse --short=12 "$base^{commit}")
    tree=build/base-$commit
    old=$root/$tree/build/regimen
    if [ ! -x "$old" ]; then
        echo "building $commit in $tree" >&2
        mkdir -p "$tree"
        git archive "$commit" | tar -x -C "$tree"
        launcher=$(command -v ccache || true)
        cmake -S "$tree" -B "$tree/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRGM_TESTS=OFF \
            -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >&2
        cmake --build "$tree/build" --target regimen_cli >&2
    fi
fi
new=$(realpath "${REGIMEN:-build/regimen}")
[ -x "$new" ] || { echo "no program '$new': make" >&2; exit 2; }
scratch=$(mktemp -d /tmp/regimen-same-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

# ---- what is run: each case in an empty folder with data/ linked into it, $regimen the program ----

# try COMMAND...: what it prints and its exit status are part of the result.
try() {
    echo "\$ $*" >>printed
    code=0
    "$regimen" "$@" >>printed 2>>warned </dev/null || code=$?
    echo "exit $code" >>printed
}

# finished RUN: what a user asks of a run folder.
finished() {
    for weights in "" --last; do
        # shellcheck disable=SC2086
        try eval "$1" $weights --json
        # shellcheck disable=SC2086
        try export "$1" $weights --to "exported$weights" --json
    done
    try eval "$1" --part valid
    try predict "$1"
    try runs . --json
    try runs . --sort best --json
}

# The slow part of a translation is a new tokenizer and 1,000 long ones by a model that knows nothing.
captions() {
    if [ -z "$full" ]; then
        set -- "$1" --set trainer.epochs=~ --set trainer.train_steps=40 --set trainer.validation_interval=20 \
            --set task.search.decode_max_length=20 --set trainer.checkpoint.every_epochs=~ \
            --set optimizer.learning_rate.decay_steps=40 --set optimizer.learning_rate.warmup.steps=10
    fi
    try run "$@" --run-dir run
    try eval run --part valid --json
    try export run --to exported --json
    gzip -dc data/multi30k-de-en/test_2016_flickr.en.gz | head -n 20 >lines
    "$regimen" translate run --beam 3 --n-best 2 --scores <lines >>printed 2>>warned || echo "exit $?" >>printed
    try runs . --json
}

config() {
    try config show "$1" --full
    try config show "$1" --json
    case $1 in
    multi30k*) captions "$1" ;;
    reverse)
        short=5
        [ -z "$full" ] || short=8
        try run reverse --run-dir run --set trainer.epochs=$short
        try eval run --part valid --json
        try export run --to exported --json
        printf '3 4 5 6\n7 8\n' >lines
        "$regimen" translate run --scores <lines >>printed 2>>warned || echo "exit $?" >>printed
        ;;
    tiny_lm)
        try run tiny_lm --run-dir run --set trainer.epochs=~ --set trainer.train_steps=20 \
            --set optimizer.learning_rate.decay_steps=20 --set optimizer.learning_rate.warmup.steps=5
        try eval run --part valid --json
        try export run --to exported --json
        try generate run --prompt 'A man in' --prompt 'Two' --seed 3 --max-tokens 20 --json
        ;;
    digits_private) # its noise is of a key that is drawn at each start, unless a seed gives it
        try run "$1" --run-dir run --set trainer.privacy.noise_seed=7
        finished run
        ;;
    *)
        try run "$1" --run-dir run
        finished run
        ;;
    esac
}

sampled_in_memory() {
    try run cora_mpnn_sampled --run-dir run --set data.sampling.store=memory --set trainer.epochs=15
    try run cora_mpnn_sampled --run-dir again --set data.sampling.store=memory --set data.sampling.resample=true \
        --set trainer.epochs=10 --set data.batch_size=32 --json
    finished run
}

# Several graphs in a batch, padded in both ways.
molecules() {
    cat >molecules.yaml <<YAML
data:
  {type: ogb, path: data/mutag, split: fold-1, relabel: true, batch_size: 16,
   train_padding: {kind: $1}}
task: {type: graph_classification, node_set: nodes, num_classes: 2, label: label, reduce_type: mean}
model: {type: vanilla_mpnn, units: 16, message_dim: 16, layers: 2, layer_norm: true, dropout: 0.1}
optimizer: {type: adamw, learning_rate: 1e-2, clip_global_norm: 1}
trainer: {epochs: 20}
runtime: {seed: 2, threads: 2}
export: [{type: onnx}]
YAML
    try run molecules.yaml --run-dir run
    finished run
}
padding_tight() { molecules tight; }
padding_fit() { molecules fit; }

heterogeneous() {
    cat >imdb.yaml <<'YAML'
data: {type: ogb, path: data/imdb}
task: {type: node_classification, node_set: movie, num_classes: 3, label: label}
model: {type: graph_sage, hidden: [16], input: {normalize: true}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 8, checkpoint: {best: {metric: valid.accuracy}}}
runtime: {seed: 1, threads: 2}
YAML
    try run imdb.yaml --run-dir run
    finished run
}

two_tasks() {
    cat >two.yaml <<'YAML'
data:
  type: citation
  citation: {nodes: 600, edges: 1400, classes: 4, words: 200, words_per_node: 8, train_per_class: 10, valid: 100, test: 200}
tasks:
  topic: {type: node_classification, node_set: nodes, num_classes: 4}
  again: {type: node_classification, node_set: nodes, class_names: [a, b, c, d], per_class_statistics: true, l2: 1e-3}
model: {type: gat_v2, hidden: [8], heads: 2, dropout: 0.3}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 30, checkpoint: {best: {metric: valid.topic_accuracy}}}
runtime: {seed: 4, threads: 2}
export: [{type: onnx}]
YAML
    try run two.yaml --run-dir run
    finished run
    try predict run --head 1
}

# Stopped after some epochs and taken further, by the same command.
resumed() {
    try run demo --run-dir run --set trainer.epochs=20 --set optimizer.average.decay=0.9 \
        --set trainer.checkpoint.best.keep=2 --set trainer.checkpoint.best.save=true --set trainer.accumulation_steps=2
    try run demo --run-dir run --set trainer.epochs=50 --set optimizer.average.decay=0.9 \
        --set trainer.checkpoint.best.keep=2 --set trainer.checkpoint.best.save=true --set trainer.accumulation_steps=2
    try run cora_mpnn_sampled --run-dir sampled --set trainer.epochs=6 --set trainer.checkpoint.every_epochs=3
    try run cora_mpnn_sampled --run-dir sampled --set trainer.epochs=12 --set trainer.checkpoint.every_epochs=3
    try run digits_mlp --run-dir digits --set trainer.epochs=2
    try run digits_mlp --run-dir digits --set trainer.epochs=4 --set runtime.threads=1
    try eval run --average-best 2 --json
    try run reverse --run-dir reverse --set trainer.epochs=1
    try run reverse --run-dir reverse --set trainer.epochs=2
    try run demo --run-dir run --set model.hidden=[32]
}

mixed_precision() {
    try run digits_mlp --run-dir digits --set trainer.epochs=4 --set runtime.mixed_precision=bf16
    try run cora_gcn --run-dir cora --set trainer.epochs=30 --set runtime.mixed_precision=bf16
    try run reverse --run-dir reverse --set trainer.epochs=1 --set runtime.mixed_precision=bf16 --json
    finished digits
}

optimizers() {
    for type in sgd adam adamw lamb lars rmsprop adagrad adafactor; do
        try run demo --run-dir $type --set optimizer.type=$type --set trainer.epochs=6
    done
    try run digits_cnn --run-dir steps --set trainer.epochs=~ --set trainer.train_steps=60 \
        --set trainer.validation_interval=20 --set trainer.steps_per_loop=10 --set trainer.checkpoint.every_steps=20 \
        --set 'optimizer.learning_rate={type: cosine, initial: 1e-3, decay_steps: 60, warmup: {steps: 10}}'
}

modes() {
    steps="--set trainer.epochs=~ --set trainer.train_steps=40 --set trainer.steps_per_loop=20
           --set trainer.validation_interval=20"
    for mode in train train_and_post_eval train_and_eval; do
        # shellcheck disable=SC2086
        try run demo --mode $mode --run-dir $mode $steps --json
    done
    # shellcheck disable=SC2086
    {
        try run demo --mode eval --run-dir train $steps
        try run demo --mode continuous_eval --run-dir train $steps --json
        try run demo --mode export --run-dir train $steps
        try eval demo --run-dir train_and_eval $steps --json
    }
    try export train_and_eval --to verified --verify --dump dumped
    try run demo --run-dir early --set trainer.early_stopping.patience=2 --set trainer.early_stopping.metric=valid.loss
}

data_and_text() {
    try data generate citation --to made --nodes 300 --edges 700 --words 100 --train-per-class 5 --valid 50 --test 100
    try data sample made --to samples --hops cites:5,cites:3 --seeds all --label label
    try data stats made
    try data inspect samples --count 3
    try data validate samples
    try data import ogb data/imdb --to imdb
    try data stats imdb
    printf 'a small house\nthe dog runs\ntwo cats sleep\nthe small dog sleeps\n' >lines
    try text train-tokenizer --vocab-size 30 --out bpe.model --type bpe lines
    try text train-tokenizer --vocab-size 30 --out unigram.model lines
    "$regimen" text encode bpe.model <lines >ids 2>>warned || echo "exit $?" >>printed
    "$regimen" text decode bpe.model <ids >>printed 2>>warned || echo "exit $?" >>printed
    try score --ref lines --json lines
}

# What is said where something is wrong, and what is said of what there is.
words() {
    try config list --json
    try config keys
    for verb in run train eval translate predict export runs plot score config data text; do
        try $verb --help
    done
    for wrong in model.type=gcm model.hiden=3 model.hidden=x task.type=node task.num_classes=0 optimizer.type=sdg \
        optimizer.learning_rate=-1 data.type=ogg trainer.epochs=0 trainer.train_steps=5 trainer.epoch=1 \
        runtime.mixed_precision=f8 data.path=nowhere data.split=none task.node_set=nodes task.label=labels \
        trainer.checkpoint.best.metric=valid.acc data.sampling.sizes=[3] data.batch_size=7 runtime.threads=-1 \
        'export=[{type: onxx}]' task.head=none model.output=3 seed=1; do
        try run cora_gcn --run-dir "run-$wrong" --set trainer.epochs=1 --set "$wrong"
        try config check cora_gcn --set "$wrong"
    done
    for wrong in data.train=none.csv data.scale=0 data.shape=[8,9] model.type=cmm task.num_classes=9 data.header=true \
        data.valid_fraction=2 trainer.privacy.clipping_norm=1 model.channels=[3]; do
        try run digits_mlp --run-dir "run-$wrong" --set trainer.epochs=1 --set "$wrong"
    done
    for wrong in data.reverse.vocabulary=1 task.search.beam_size=0 task.score.metrics=[blue] model.type=gcn \
        model.encoder.num_layers=-1 model.embedding_width=63 task.search.top_k=3 data.train=[a] data.tokenizer=x; do
        try run reverse --run-dir "run-$wrong" --set trainer.epochs=1 --set "$wrong"
    done
    mkdir empty
    for verb in eval predict export translate; do
        try $verb empty
        try $verb nowhere
    done
}

# ---- both sides, then what is left of them -----------------------------------------------------

needs() {
    case $1 in
    cora* | sampled_in_memory | words | mixed_precision | resumed) echo cora/raw ;;
    digits* | optimizers) echo digits ;;
    multi30k* | tiny_lm) echo multi30k-de-en ;;
    padding*) echo mutag ;;
    heterogeneous | data_and_text) echo imdb ;;
    *) ;;
    esac
}

side() { # BASE|NEW PROGRAM CASE
    mkdir -p "$scratch/$1/$3"
    cd "$scratch/$1/$3"
    [ ! -d "$REGIMEN_DATA" ] || ln -s "$REGIMEN_DATA" data
    regimen=$2
    touch printed warned
    if [ -f "$root/configs/$3.yaml" ]; then
        config "$3"
    else
        "$3"
    fi >>printed 2>>warned || echo "the case itself failed" >>printed
}

if [ $# = 0 ]; then
    for file in configs/*.yaml; do
        set -- "$@" "$(basename "$file" .yaml)"
    done
    set -- "$@" sampled_in_memory padding_tight padding_fit heterogeneous two_tasks resumed mixed_precision \
        optimizers modes data_and_text words
fi
different=0
printf '%-20s %7s %6s %8s  %s\n' case steps files lines result
for name; do
    what=$(needs "$name")
    if [ -n "$what" ] && [ ! -e "$REGIMEN_DATA/$what" ]; then
        printf '%-20s %7s %6s %8s  skipped: no %s\n' "$name" - - - "$what"
        continue
    fi
    (side base "$old" "$name") &
    (side new "$new" "$name")
    wait $!
    /usr/bin/env python3 scripts/same_runs.py "$name" "$scratch/base/$name" "$scratch/new/$name" || different=1
    rm -rf "$scratch/base/$name" "$scratch/new/$name"
done
exit $different
