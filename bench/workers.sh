#!/bin/sh
# What input workers gain a run that waits for its batches: subgraphs that are large beside a small model, on this
# machine's processors. Batches a second of a run by itself with one and two threads, and of one with workers.
#   bench/workers.sh [COMMAND] [STEPS]
set -eu
regimen=${1:-build/regimen}
steps=${2:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/run.yaml" <<YAML
data: {type: citation, batch_size: 64,
       citation: {nodes: 40000, edges: 400000, classes: 4, words: 400, words_per_node: 10,
                  train_per_class: 8000, valid: 40, test: 40},
       sampling: {sizes: [15, 10, 10], store: memory}}
task: {type: root_node_classification, node_set: nodes, label: label, num_classes: 4}
model: {type: vanilla_mpnn, units: 4, message_dim: 4, layers: 1, encode: false, receiver_state: false}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: ~, train_steps: $steps, steps_per_loop: $steps, validation_interval: 0}
runtime: {seed: 3, threads: 1}
YAML
"$regimen" data key "$work/key" 2>/dev/null
workers="--set runtime.input_workers.address=127.0.0.1:0 --set runtime.input_workers.key=$work/key"

# rate WHAT: of the run folder's one loop
rate() {
    sed -n "s/.*\"steps_per_second\": \([0-9.]*\).*/\1/p" "$work/run/system.jsonl" | tail -1 >"$work/rate"
    [ -s "$work/rate" ] || sed -n 's/.*steps_per_second \([0-9.]*\).*/\1/p' "$work/run/log.txt" | tail -1 >"$work/rate"
    printf '%-44s %6s batches/s\n' "$1" "$(cat "$work/rate")"
}
alone() {
    rm -rf "$work/run"
    "$regimen" run "$work/run.yaml" --run-dir "$work/run" --set runtime.threads="$1" >/dev/null 2>"$work/err" ||
        { cat "$work/err"; exit 1; }
    rate "alone, $1 thread(s)"
}
# served COUNT: workers of a thread each
served() {
    rm -rf "$work/run"
    # shellcheck disable=SC2086
    "$regimen" run "$work/run.yaml" --run-dir "$work/run" $workers >/dev/null 2>"$work/err" &
    trainer=$!
    until grep -q '"address"' "$work/run/input_workers.json" 2>/dev/null; do sleep 0.05; done
    address=$(sed -n 's|.*"address": "tcp://\([^"]*\)".*|\1|p' "$work/run/input_workers.json")
    for _ in $(seq "$1"); do
        # shellcheck disable=SC2086
        "$regimen" data serve "$work/run.yaml" $workers --address "$address" >/dev/null 2>&1 &
    done
    wait $trainer || { cat "$work/err"; exit 1; }
    wait
    rate "$1 worker(s), the trainer 1 thread"
    sed -n 's/.*"trainer_waited": \([0-9.]*\).*/    the trainer waited \1 s/p' "$work/run/input_workers.json"
}

alone 1
alone 2
served 1
served 2
