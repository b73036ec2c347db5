# What the script tests share: a scratch folder, checks with messages, a small experiment.
set -u
regimen=$1
work=$(mktemp -d /tmp/regimen-cli-XXXXXX)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE COMMAND...: run it with its output in $work/out and $work/err.
expect() {
    want=$1
    shift
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ "$got" != "$want" ]; then
        fail "exit $got, expected $want: $*"
        sed 's/^/    /' "$work/err" | head -5
    fi
}

# says PATTERN FILE: the file has a line that matches.
says() {
    grep -Eq -- "$1" "$2" || {
        fail "no line matches '$1' in:"
        sed 's/^/    /' "$2" | head -8
    }
}

# wait_for COMMAND...: until it succeeds. What does not come within a minute is a failure, also on a machine that is
# busy with other things; what must come first for a test to make sense is never slept for.
wait_for() {
    for _ in $(seq 600); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    fail "waited a minute in vain for: $*"
    return 1
}

# A GCN on a small generated graph, 40 epochs of well under a second.
small_experiment() {
    cat >"$1" <<'YAML'
data:
  type: citation
  citation: {nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4, dropout: 0.5}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 40, checkpoint: {every_epochs: 7, best: {metric: valid.accuracy}}}
runtime: {seed: 3, threads: 2}
export: [{type: onnx}]
YAML
}

# The scratch folder in memory where there is room: many small synced files, whose durability is not what
# is tested. (Kills are of the process; for power cuts see src/store/io_fault_test.c.)
fast_work() {
    memory=$(mktemp -d /dev/shm/regimen-cli-XXXXXX 2>/dev/null) || return 0
    [ "$(df -Pk "$memory" | awk 'NR == 2 { print ($4 > 200000) }')" = 1 ] || {
        rmdir "$memory"
        return 0
    }
    rmdir "$work"
    work=$memory
}

# As above, with all that a checkpoint may hold or spare: averages, several batches an update, the two best
# checkpoints kept, the best weights in a folder of their own.
recovery_experiment() {
    small_experiment "$1"
    sed -i -e 's/learning_rate: 1e-2/learning_rate: 1e-2, average: {decay: 0.9}/' \
        -e 's/^trainer: .*/trainer:\n  epochs: 40\n  accumulation_steps: 2\n  checkpoint:\n    every_seconds: 0\n    best: {metric: valid.accuracy, keep: 2, save: true}/' "$1"
}

# position_experiment KIND FILE: a small run whose checkpoints lie in the middle of a pass over its data, so
# that their data.bin is not empty: records, private (records drawn by coins), sampled (subgraphs made on the
# way), subgraphs (sampled into files, shuffled, batched), mixed (files of two sources by weight), translation.
position_experiment() {
    case $1 in
    records | private)
        awk -v OFS=, 'BEGIN { srand(5); for (i = 0; i < 400; i++) { c = int(rand() * 3)
                     print rand() + (c == 0), rand() + (c == 1), rand(), c } }' >"$2.csv"
        printf 'data: {path: %s, train: %s, valid_fraction: 0.2, batch_size: 16}\n' \
            "$(dirname "$2")" "$(basename "$2").csv"
        echo 'task: {type: classification, num_classes: 3}'
        echo 'model: {type: mlp, hidden: [8]}'
        ;;
    sampled | subgraphs)
        store=memory
        [ "$1" = sampled ] || store='records}, shuffle_size: 20, cycle_length: 2'
        echo 'data: {type: citation, batch_size: 8,'
        echo '       citation: {nodes: 300, edges: 900, classes: 4, words: 60, words_per_node: 6,'
        echo '                  train_per_class: 30, valid: 40, test: 40},'
        echo "       sampling: {sizes: [4, 3], store: $store}" | sed '/records/!s/$/}/'
        echo 'task: {type: root_node_classification, node_set: nodes, label: label, num_classes: 4}'
        echo 'model: {type: vanilla_mpnn, units: 8, message_dim: 8, encode: false, receiver_state: false}'
        ;;
    mixed)
        {
            "$regimen" data generate citation --to "$2.whole" --nodes 300 --edges 900 --classes 4 --words 60 \
                --words-per-node 6 --train-per-class 10 --valid 60 --test 40 &&
                "$regimen" data sample "$2.whole" --to "$2.samples" --hops edges:4,edges:3 --label label
        } >/dev/null 2>&1 || fail "no samples to mix"
        echo "data: {type: records, schema: $2.samples/schema.pbtxt, batch_size: 8, shuffle_size: 20,"
        echo "       train: '$2.samples/train-*.tfrecord', train_sets: {news: '$2.samples/valid-*.tfrecord'},"
        echo "       weights: {train: 1, news: 2}, valid: '$2.samples/test-*.tfrecord'}"
        echo 'task: {type: root_node_classification, node_set: nodes, label: label, num_classes: 4}'
        echo 'model: {type: vanilla_mpnn, units: 8, message_dim: 8, encode: false, receiver_state: false}'
        ;;
    translation)
        echo 'data: {reverse: {vocabulary: 10, min_length: 1, max_length: 6, train: 600, valid: 40},'
        echo '       batch_tokens: 128, batch_shapes: 4}'
        echo 'task: {type: translation}'
        echo 'model: {type: seq2seq_transformer, embedding_width: 8, max_positions: 64,'
        echo '        encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16},'
        echo '        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}'
        ;;
    esac >"$2"
    case $1 in
    private) sed -i 's/batch_size: 16/batch_size: 16, poisson: true/' "$2" ;;
    esac
    metric=accuracy
    [ "$1" != translation ] || metric=exact_match
    cat >>"$2" <<YAML
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: ~, train_steps: 23, steps_per_loop: 5, validation_interval: 10,
          checkpoint: {every_steps: 5, keep: 100, best: {metric: valid.$metric, save: true}}}
runtime: {seed: 3, threads: 1}
export: [{type: onnx}]
YAML
    [ "$1" != private ] || sed -i 's/^trainer: {/trainer: {privacy: {clipping_norm: 1.0, noise_multiplier: 1.1, noise_seed: 7,\
          delta: 1e-3, sampling: poisson}, /' "$2"
}

# same_run A B WHAT: everything that results (or of $results those), without what tells of time and process; curves of
# tasks that have some.
same_run() {
    for part in ${results:-ckpt best metrics.jsonl tables.jsonl export} score_curves.jsonl; do
        [ -e "$1/$part" ] || [ -e "$2/$part" ] || [ "$part" != score_curves.jsonl ] || continue
        diff -r "$1/$part" "$2/$part" >diff.txt || {
            fail "$3: $part differs"
            head -3 diff.txt
        }
    done
}

finish() {
    [ "$failures" = 0 ] || {
        echo "$failures failures"
        exit 1
    }
    echo "all passed"
}
