#!/bin/sh
# Runs whose batches input workers make have the bytes of runs without: records, subgraphs sampled on the way and into
# files, records of two sources, translation; also behind a kill of the trainer or of a worker. Who is refused, what is
# said while nobody comes, and what `regimen runs` shows.
. "$(dirname "$0")/lib.sh"
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

for form in records sampled subgraphs mixed translation; do
    mkdir -p "$work/$form/data"
    position_experiment $form "$work/$form/data/run.yaml"
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
done

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
