#!/bin/sh
# Runs whose batches input workers make have the bytes of runs without: records, subgraphs sampled on the way and into
# files, records of two sources, translation; Cora, digits and molecules from their files, links, triples and events;
# also behind a kill of the trainer or of a worker. Who is refused, what is said while nobody comes, and what
# `regimen runs` shows.
. "$(dirname "$0")/lib.sh"
data=${REGIMEN_DATA:-/nowhere}
fast_work
cd "$work" || exit 1

about=$("$regimen" doctor 2>&1 | grep '^workers')
case $about in
'workers  ZeroMQ'*) ;;
'workers  no: '*)
    echo "SKIPPED: $about"
    exit 77
    ;;
*) fail "regimen doctor says nothing of workers: $("$regimen" doctor 2>&1 | tail -3)" ;;
esac
expect 0 "$regimen" data key key
[ "$(stat -c %a key)" = 600 ] || fail "others may read the key"
expect 1 "$regimen" data key key
says 'a key is not overwritten' "$work/err"

workers="--set runtime.input_workers.address=127.0.0.1:0 --set runtime.input_workers.key=$work/key"
# A trainer that nobody serves does not wait for ever.
workers="$workers --set runtime.input_workers.patience=60"
has_address() { grep -q '"address"' run/input_workers.json; }
address_of() { sed -n 's|.*"address": "tcp://\([^"]*\)".*|\1|p' run/input_workers.json; }

# begin NAME OPTIONS...: the run of this folder in the background, with workers; $trainer is its process.
begin() {
    rm -f run/input_workers.json # of a start before
    # shellcheck disable=SC2086
    "$regimen" run ../data/run.yaml --run-dir run $workers "$@" >out 2>err &
    trainer=$!
    wait_for has_address
    address=$(address_of)
}
# serve NUMBER OPTIONS...: a worker; its process is in worker.NUMBER.
serve() {
    number=$1
    shift
    # shellcheck disable=SC2086
    "$regimen" data serve ../data/run.yaml $workers --address "$address" --run-dir run "$@" >"out.$number" 2>"err.$number" &
    echo $! >"worker.$number"
}
ends() { # ends CODE PROCESS WHAT
    wait "$2"
    code=$?
    [ "$code" = "$1" ] || fail "$3: exit $code, expected $1: $(cat err* | tail -3)"
}
# A worker may come when the run has ended already: it stays until it is told to leave.
leave() {
    wait_for grep -q '^serve' "err.$1" # signals are caught from here on
    kill -TERM "$(cat "worker.$1")"
    ends 0 "$(cat "worker.$1")" "$form: worker $1"
}
in_folder() {
    mkdir -p "$work/$form/$1"
    cd "$work/$form/$1" || exit 1
}

# compare: the run of this form without workers and with two.
compare() {
    in_folder one
    expect 0 "$regimen" run ../data/run.yaml --run-dir run
    in_folder two
    begin
    serve 1 --stay
    serve 2 --stay --threads 2
    ends 0 $trainer "$form with workers"
    leave 1
    leave 2
    same_run ../one/run run "$form with workers"
    says '^input  *batches of workers that join at tcp://127.0.0.1:[0-9]+, in the recipe.s order, 16 ahead$' err
    says '"state": "closed"' run/input_workers.json
    says '^ *"given": *[1-9]|"batches": .*"given": [1-9]' run/input_workers.json
}
for form in records sampled subgraphs mixed translation; do
    mkdir -p "$work/$form/data"
    position_experiment $form "$work/$form/data/run.yaml"
    compare
done

# ---- each kind of task on the data that it is for ----
# on NAME DATA EXPERIMENT LINE...: a named experiment with other lines of YAML, on a data set of REGIMEN_DATA ("-": none).
results="ckpt metrics.jsonl tables.jsonl"
on() {
    form=$1 set=$2 experiment=$3
    shift 3
    if [ "$set" != - ] && [ ! -d "$data/$set" ]; then
        echo "REGIMEN_DATA has no $set: $form is not compared"
        return
    fi
    mkdir -p "$work/$form/data"
    { echo "extends: $experiment"; printf '%s\n' "$@"; echo 'export: []'; } >"$work/$form/data/run.yaml"
    compare
}
cd "$work" || exit 1
[ ! -d "$data/cora" ] || expect 0 "$regimen" data import ogb "$data/cora" --to cora.graph --format graph --node-set paper --edge-set cites
awk 'BEGIN { srand(7); for (i = 0; i < 900; i++) { a = int(rand() * 300); r = int(rand() * 3) + 1
             if (!((a, r) in seen)) { seen[a, r] = 1
                 printf "e%d\tr%d\te%d\n", a, r, (a + 7 * r) % 300 > (i % 20 ? "train.tsv" : "valid.tsv") } } }'
on cora_records cora cora_mpnn_sampled "data: {path: $data/cora, batch_size: 20}" 'trainer: {epochs: 2}'
on cora_file cora cora_mpnn_sampled 'trainer: {epochs: 2}' \
    "data: {type: folder, path: $work/cora.graph, split: ~, node_set: ~, edge_set: ~, batch_size: 20, sampling: {sizes: [10, 5], store: memory}}"
on cora_shadow cora cora_shadow "data: {path: $data/cora}" 'trainer: {epochs: 2}'
on cora_cluster cora cora_cluster "data: {path: $data/cora}" 'trainer: {epochs: 3}'
on cora_saint cora cora_saint "data: {path: $data/cora}" 'trainer: {epochs: 2}'
on cora_links cora cora_links "data: {path: $data/cora, links: {batch_size: 512}, sampling: {sizes: [5, 5], store: memory}}" 'trainer: {epochs: 1}'
on digits digits digits_cnn "data: {path: $data/digits}" 'trainer: {epochs: 1}'
on molecules mutag mutag "data: {path: $data/mutag, split: fold-1}" 'trainer: {epochs: 2, folds: 0}'
on whole cora cora_gcn "data: {path: $data/cora}" 'trainer: {epochs: 4}'
on contrast cora cora_dgi "data: {path: $data/cora}" 'trainer: {epochs: 3}'
on triples - rotations "data: {train: [$work/train.tsv], valid: [$work/valid.tsv], test: [], links: {batch_size: 32, negatives: 4}}" 'trainer: {epochs: 2}'
on events - events 'trainer: {epochs: 1}'
unset results

# ---- first come, first served: it trains, and goes on without workers ----
form=sampled
in_folder arrival
begin --set runtime.input_workers.order=arrival --set trainer.train_steps=15
serve 1 --threads 2
ends 0 $trainer "first come, first served"
ends 0 "$(cat worker.1)" "its worker"
expect 0 "$regimen" run ../data/run.yaml --run-dir run --set trainer.train_steps=23
says '"steps": 23|"step": 23' run/result.json

# ---- whoever dies ----
if [ -n "${RGM_SANITIZE:-}" ]; then
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
else
    for form in sampled translation; do
        in_folder killed
        export LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=9 RGM_SIGNAL_AT=step-00000010
        begin
        unset LD_PRELOAD RGM_SIGNAL RGM_SIGNAL_AT
        serve 1 --stay
        serve 2 --stay
        wait $trainer
        [ $? = 137 ] || fail "$form: nothing was killed"
        kill -9 "$(cat worker.2)"
        # the same address, where worker 1 looks for the next trainer
        "$regimen" run ../data/run.yaml --run-dir run --set runtime.input_workers.address="$address" \
            --set runtime.input_workers.key="$work/key" >out 2>err || fail "$form, killed: $(tail -3 err)"
        leave 1
        same_run ../one/run run "$form, killed"
    done
fi

# ---- who does not come, and who is refused ----
form=sampled
in_folder alone
begin
waits() { "$regimen" runs . 2>/dev/null | grep -q '^input    .*run waits for workers; 0 of 16 batches wait for it'; }
wait_for waits
expect 1 "$regimen" data serve ../data/run.yaml --address "$address" --key "$work/key" --set runtime.seed=4
says "refuses this worker: its experiment is another: it has 'runtime.seed: 4', the trainer 'runtime.seed: 3'" "$work/err"
says 'is refused: its experiment is another' run/log.txt
is_told() { "$regimen" runs . --json 2>/dev/null | grep -q '"state": *"refused"'; }
wait_for is_told
kill -TERM $trainer
ends 75 $trainer "a trainer that waits"
begin
serve 1
ends 0 $trainer "the same command"
rm -rf run/ckpt/step-00000000 # what the signal saved
same_run ../one/run run "stopped while it waited"

# ---- what cannot be ----
cd "$work/sampled/data" || exit 1
expect 2 "$regimen" run run.yaml --run-dir no --set runtime.input_workers.address=here:7700
says 'input_workers.address is set, but no key' "$work/err"
expect 2 "$regimen" run run.yaml --run-dir no --set runtime.input_workers.address=here
says "'here' is no HOST:PORT" "$work/err"
position_experiment private private.yaml
# shellcheck disable=SC2086
expect 2 "$regimen" run private.yaml --run-dir no $workers
says 'nobody may know which' "$work/err"
chmod 644 "$work/key"
# shellcheck disable=SC2086
expect 2 "$regimen" run run.yaml --run-dir no $workers
says 'chmod 600' "$work/err"
finish
