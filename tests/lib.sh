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
# is tested. (Kills are of the process; for power cuts see src/train/io_fault_test.c.)
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

# same_run A B WHAT: everything that results, without what tells of time and process.
same_run() {
    for part in ckpt best metrics.jsonl export; do
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
