#!/bin/sh
# Asynchronous runs as processes: one worker at a time gives the bytes of a run without workers; a worker that is killed
# is replaced in the middle, by hand and by the command; a server that is stopped or killed is named, and the run goes
# on; the number of updates is exact whatever happens; ranks that mpirun started, one of which dies; and what is refused.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1
asynchronous="--set runtime.distribution=asynchronous"

# experiment FORM FILE: as position_experiment, on one thread.
experiment() {
    position_experiment "$1" "$2"
    case $1 in
    records) sed -i 's/hidden: \[8\]/hidden: [8], dropout: 0.2, batch_norm: true/' "$2" ;;
    translation)
        sed -i -e 's/embedding_width: 8/embedding_width: 8, dropout_rate: 0.1/' -e 's/batch_tokens: 128/batch_tokens: 64/' \
            -e 's/^trainer: {/trainer: {accumulation_steps: 2, /' "$2"
        ;;
    esac
    sed -i '/^runtime:/d' "$2"
    echo 'runtime: {seed: 3, threads: 1}' >>"$2"
}

# what_was_learned A B WHAT: weights, slots and averages of every checkpoint; a server's positions and sums are its own.
what_was_learned() {
    for file in "$1"/ckpt/*/*.safetensors; do
        cmp -s "$file" "$2/${file#"$1/"}" || fail "$3: $file differs"
    done
}

# steps RUN: of its newest checkpoint.
steps() { basename "$(ls -d "$1"/ckpt/step-* | tail -1)" | sed 's/step-0*//'; }

# ---- one worker at a time ----
for form in records sampled translation; do
    mkdir $form
    experiment $form "$work/$form/run.yaml"
    cd $form || exit 1
    expect 0 "$regimen" run run.yaml --run-dir alone
    expect 0 "$regimen" run run.yaml --run-dir run $asynchronous --set runtime.workers=1 --set runtime.staleness=0
    says '^workers +make the steps, asynchronously: gradients at most 0 updates old, so one works at a time' "$work/err"
    says '^workers +23 updates by 1 workers, staleness 0.0 on average, 0 at most \(bound 0\)' "$work/err"
    says 'plan . workers make the steps' run/log.txt
    what_was_learned alone run "$form"
    [ ! -e run/server ] || fail "the address of a server that has ended is still there"
    cd ..
done
cd records || exit 1

# ---- several ----
sed 's/train_steps: 23/train_steps: 400/; s/every_steps: 5/every_steps: 50/; s/keep: 100/keep: 2/' run.yaml >long.yaml
expect 0 "$regimen" run long.yaml --run-dir long --json
alone=$(grep -o '"test": {[^}]*' "$work/out" | grep -o '"accuracy": [0-9.]*' | cut -d' ' -f2)
expect 0 "$regimen" run long.yaml --run-dir three $asynchronous --set runtime.workers=3 --set runtime.staleness=4
says '^workers +400 updates by [1-3] workers, staleness [0-9.]+ on average, [0-4] at most \(bound 4\)' "$work/err"
[ "$(steps three)" = 400 ] || fail "three workers made $(steps three) updates of 400"

# accuracy RUN: of its last validation.
accuracy() { grep '"split":"valid"' "$1/metrics.jsonl" | tail -1 | grep -o '"accuracy":[0-9.]*' | cut -d: -f2; }
awk -v a="$(accuracy long)" -v b="$(accuracy three)" 'BEGIN { exit !(a > 0.5 && b > a - 0.1 && b < a + 0.1) }' ||
    fail "accuracy $(accuracy three) asynchronously, $(accuracy long) alone ($alone)"

# ---- a worker that is killed in the middle, and one that comes in its place ----
# goes_on TEXT: it may stand still once more, behind its best weights.
goes_on() {
    kill -CONT $server 2>/dev/null
    grep -q "$1" "$run/log.txt"
}
is_state() { grep -q "^State:.$2" "/proc/$1/status"; }
has_come() { grep -q "has come, $2 are there" "$1/log.txt"; }
has_run() { [ -e "$1/server" ]; }
if [ -n "${RGM_SANITIZE:-}" ]; then
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
else
    # serve RUN SIGNAL STEP OPTIONS...: a server that gets the signal when it has saved that step.
    serve() {
        run=$1 how=$2 at=$3
        shift 3
        RGM_SIGNAL=$how RGM_SIGNAL_AT=$(printf 'step-%08d' "$at") LD_PRELOAD=$RGM_PRELOAD \
            "$regimen" run run.yaml --run-dir "$run" $asynchronous "$@" >"$run.out" 2>"$run.err" &
        server=$!
        wait_for has_run "$run"
    }
    join() {
        "$regimen" run run.yaml $asynchronous --join "$1" >/dev/null 2>"$1.worker" &
        worker=$!
    }
    serve killed 19 10 --set runtime.staleness=0 # it stands still behind its save
    join killed
    wait_for is_state $server T
    kill -KILL $worker
    wait $worker
    wait_for goes_on 'has ended without a word: its batch is another'
    kill -0 $server || fail "the server has ended with its only worker"
    join killed
    wait $server || fail "the server behind a killed worker: $(cat killed.err)"
    wait $worker || fail "the worker that came again: $(cat killed.worker)"
    says '^workers +23 updates by 2 workers, .*, 0 at most' killed.err
    says 'batches were given again' killed.err
    what_was_learned alone killed "a killed worker"

    # ---- a server that is asked to stop: all end with 75, and the run goes on ----
    serve stopped 19 10 --set runtime.staleness=0
    join stopped
    wait_for is_state $server T
    kill -TERM $server
    wait_for goes_on 'asked to stop; the state is saved'
    wait $server
    [ $? = 75 ] || fail "a server that was asked to stop: $(cat stopped.err)"
    wait $worker
    [ $? = 75 ] || fail "the worker of a server that was asked to stop: $(cat stopped.worker)"
    [ "$(steps stopped)" -lt 23 ] || fail "it was not stopped"
    expect 0 "$regimen" run run.yaml --run-dir stopped $asynchronous --set runtime.workers=1 --set runtime.staleness=0
    [ "$(steps stopped)" = 23 ] || fail "a stopped run ends at step $(steps stopped)"
    cmp -s alone/ckpt/step-00000023/weights.safetensors stopped/ckpt/step-00000023/weights.safetensors ||
        fail "a stopped run of one worker has other weights"

    # ---- a server that is killed: its worker names it and ends with 75 ----
    serve lost 9 10 --set runtime.staleness=2
    join lost
    wait $server
    wait $worker
    [ $? = 75 ] || fail "the worker of a killed server ends with $?"
    says "^regimen: (step [0-9]+: )?the server on .* \(process $server, http://127.0.0.1:[0-9]+\) is gone" lost.worker
    expect 0 "$regimen" run run.yaml --run-dir lost $asynchronous --set runtime.workers=2 --set runtime.staleness=2
    [ "$(steps lost)" = 23 ] || fail "a run whose server was killed ends at step $(steps lost)"

    # ---- one of the command's own workers is killed ----
    serve own 19 10 --set runtime.workers=1 --set runtime.staleness=0
    wait_for is_state $server T
    kill -KILL "$(sed -n 's/.*worker 1 on .* (process \([0-9]*\)) has come.*/\1/p' own/log.txt)"
    wait_for goes_on 'worker 2 on .* has come'
    wait $server || fail "the server of a killed worker: $(cat own.err)"
    says '^worker +1 \(process [0-9]+\) was ended by signal 9; it is started again' own.err
    says '^workers +23 updates by 2 workers' own.err
    what_was_learned alone own "a worker that the command started again"
fi

# ---- a worker that is asked to go ----
"$regimen" run long.yaml --run-dir left $asynchronous >left.out 2>left.err &
server=$!
wait_for has_run left
"$regimen" run long.yaml $asynchronous --join left >/dev/null 2>left.worker &
worker=$!
wait_for has_come left 1
kill -TERM $worker
wait $worker
code=$?
if [ "$(ls left/ckpt 2>/dev/null | tail -1)" != step-00000400 ]; then
    [ $code = 75 ] || fail "a worker that was asked to go ends with $code"
    says 'worker 1 on .* leaves$' left/log.txt
    expect 0 "$regimen" run long.yaml $asynchronous --join left
    says '^worker +[0-9]+ updates of left, which is whole' "$work/err"
fi
wait $server || fail "the server behind a worker that left: $(cat left.err)"
[ "$(steps left)" = 400 ] || fail "a run whose worker left ends at step $(steps left)"

# ---- ranks of a launcher, told by its variables: no MPI is needed ----
# three_ranks STEPS: they end when one of them is killed, and the first is asked to, or when so many steps are made.
three_ranks() {
    for rank in 2 1 0; do
        OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=$rank "$regimen" run long.yaml --run-dir ranks $asynchronous \
            --set trainer.train_steps="$1" >ranks.out$rank 2>ranks.err$rank &
        eval "rank$rank=$!"
    done
}
is_missed() { grep -q 'has ended without a word: its batch is another' ranks/log.txt; }
three_ranks 10000000
wait_for has_come ranks 2
kill -KILL $rank2 # the run is so long that both are at work
wait_for is_missed
kill -TERM $rank0
wait $rank0
[ $? = 75 ] || fail "rank 0 of 3 that was asked to stop: $(cat ranks.err0)"
wait $rank1 || fail "rank 1 of 3, when rank 0 was asked to stop: $(cat ranks.err1)" # the first speaks for all
wait $rank2
made=$(steps ranks)
three_ranks $((made + 100))
wait $rank0 || fail "rank 0 of 3: $(cat ranks.err0)"
wait $rank1 || fail "rank 1 of 3: $(cat ranks.err1)"
wait $rank2 || fail "rank 2 of 3: $(cat ranks.err2)"
[ "$(steps ranks)" = $((made + 100)) ] || fail "three ranks: $(steps ranks) updates of $((made + 100))"
says '^workers +100 updates by [12] workers' ranks.err0
[ ! -s ranks.err1 ] && [ ! -s ranks.out1 ] || fail "a rank that is a worker has said: $(cat ranks.err1 ranks.out1)"
# Workers of a launcher that cannot begin: the server tells of one that it refuses, the other one says it itself.
OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 "$regimen" run run.yaml --run-dir unlike $asynchronous >unlike.out 2>unlike.err &
server=$!
expect 0 env OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=1 "$regimen" run run.yaml --run-dir unlike $asynchronous --set data.batch_size=8
[ ! -s "$work/err" ] || fail "what the server tells is told twice: $(cat "$work/err")"
expect 0 env OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=2 "$regimen" run run.yaml --run-dir unlike $asynchronous --set data.path=nowhere
says '^regimen: process 2 on .* cannot begin as a worker: .*nowhere' "$work/err"
kill -TERM $server
wait $server
says "^regimen: warning: a worker on .* \(process [0-9]+\) is refused: .*it has 'data.batch_size: 8', the server 'data.batch_size: 16'" unlike.err
if command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    expect 0 timeout -k 5 120 mpirun --enable-recovery -n 3 "$regimen" run run.yaml --run-dir mpi $asynchronous
    says '^workers +23 updates by [12] workers' "$work/err"
    [ "$(grep -c '^run ' "$work/out")" = 1 ] || fail "not one of 3 ranks tells how it ended"
else
    echo "SKIPPED: there is no mpirun (Debian: openmpi-bin)"
fi

# ---- entities whose rows alone travel ----
awk 'BEGIN { srand(7); for (i = 0; i < 4000; i++) { a = int(rand() * 2000); r = int(rand() * 3) + 1
             if (!((a, r) in seen)) { seen[a, r] = 1
                 printf "e%d\tr%d\te%d\n", a, r, (a + 7 * r) % 2000 > (i % 40 ? "train.tsv" : "valid.tsv") } } }'
cat >links.yaml <<'YAML'
data: {type: triples, train: [train.tsv], valid: [valid.tsv], links: {batch_size: 16, negatives: 2, eval_negatives: 5}}
task: {type: link_prediction, head: rotate, gamma: 6}
model: {type: vanilla_mpnn, layers: 0, units: 16, message_dim: 16, encode: false, input: {latent: 16}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: ~, train_steps: 60}
runtime: {seed: 1, threads: 1}
export: []
YAML
expect 0 "$regimen" run links.yaml --run-dir links
expect 0 "$regimen" run links.yaml --run-dir rows $asynchronous --set runtime.workers=1 --set runtime.staleness=0
what_was_learned links rows "embeddings of entities"
# 16 links with 2 negatives each have 96 ends; beside them 3 relations
sed -n 's/.*; \([0-9.]*\) kB of gradients.* \([0-9]*\) and \([0-9]*\) of \([0-9]*\) rows of tables.*/\1 \2 \3 \4/p' "$work/err" |
    awk '{ found = $2 > 30 && $2 <= 99 && $3 == $2 && $4 > 1500 && $1 < 10 } END { exit !found }' ||
    fail "rows that travelled: $(grep '^workers' "$work/err")"

# ---- what is refused, or has no effect ----
# refused PATTERN OPTIONS...
refused() {
    pattern=$1
    shift
    expect 2 "$regimen" run run.yaml --run-dir refused $asynchronous "$@"
    says "^regimen: .*$pattern" "$work/err"
    [ ! -e refused ] || fail "a refused run has left a folder"
}
refused 'runtime.shards' --set runtime.shards=2
refused 'trainer.privacy.clipping_norm' --set trainer.privacy.clipping_norm=1 --set trainer.privacy.noise_multiplier=1 --set trainer.privacy.delta=1e-3
refused 'runtime.loss_scale' --set runtime.loss_scale=dynamic
refused 'runtime.seeds' --set runtime.seeds=3
refused 'trainer.flops' --set trainer.flops=true
refused 'runtime.listen' --set runtime.listen=nowhere
refused 'a profile would tell of the server' --profile
expect 2 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$regimen" run run.yaml $asynchronous
says '^regimen: .*meet in its folder: add --run-dir DIR' "$work/err"
expect 0 "$regimen" run run.yaml --run-dir note --set runtime.staleness=3
says '^note +runtime.staleness .* has no effect' "$work/err"
expect 2 "$regimen" run run.yaml --run-dir alone $asynchronous --set runtime.workers=1
says '^regimen: .*runtime.distribution' "$work/err" # begun without workers

# A checkpoint inside a pass counts its own batches; between passes others may come.
one_worker="--set runtime.workers=1 --set runtime.staleness=0"
for other in trainer.accumulation_steps=2 data.batch_size=8; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" run run.yaml --run-dir run $asynchronous $one_worker --set trainer.train_steps=40 --set $other
    says '^regimen: .*behind update 23 of a pass over other batches \(1 an update then, [12] now\)' "$work/err"
done
# shellcheck disable=SC2086
expect 2 "$regimen" run run.yaml --run-dir run $asynchronous $one_worker --set trainer.train_steps=0 --set trainer.epochs=9
says '^regimen: .*behind update 23 of a pass over other batches \(1 an update then, 1 now\)' "$work/err"
sed 's/epochs: ~, train_steps: 23, steps_per_loop: 5, validation_interval: 10/epochs: 1/' run.yaml >passes.yaml
# shellcheck disable=SC2086
expect 0 "$regimen" run passes.yaml --run-dir passes $asynchronous $one_worker
# shellcheck disable=SC2086
expect 0 "$regimen" run passes.yaml --run-dir passes $asynchronous $one_worker --set trainer.epochs=2 --set data.batch_size=8
[ "$(steps passes)" = 60 ] || fail "a pass of 20 batches and one of 40: $(steps passes) updates"

"$regimen" run run.yaml --run-dir other $asynchronous >other.out 2>other.err &
server=$!
wait_for has_run other
expect 2 "$regimen" run run.yaml --set data.batch_size=8 $asynchronous --join other
says "^regimen: this worker's experiment is not the server's: it has 'data.batch_size: 8', the server 'data.batch_size: 16'" "$work/err"
cp run.yaml.csv changed.csv
sed -i '$s/.*/0.5,0.5,0.5,1/' changed.csv
mkdir elsewhere
mv changed.csv elsewhere/run.yaml.csv
expect 2 "$regimen" run run.yaml --set "data.path=$PWD/elsewhere" $asynchronous --join other
says "^regimen: this worker's experiment is not the server's: it has 'files of data: [0-9a-f]*', the server 'files of data: [0-9a-f]*'" "$work/err"
expect 2 "$regimen" run run.yaml --join other
says '^regimen: --join goes with runtime.distribution: asynchronous' "$work/err"
for option in "--restarts 5" "--mode eval" "--run-dir other" --last --profile --json; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" run run.yaml $asynchronous --join other $option
    says "^regimen: ${option%% *} does not go with --join: this process would be a worker" "$work/err"
done
kill -TERM $server
wait $server
[ $? = 75 ] || fail "a server without workers that was asked to stop: $(cat other.err)"

# A worker of other folds would train on what the server tests on.
folds="--set data.valid_fraction=0 --set trainer.folds=5 --set trainer.fold=1 --set trainer.fold_valid=0.2"
# shellcheck disable=SC2086
"$regimen" run run.yaml --run-dir folds $asynchronous $folds >folds.out 2>folds.err &
server=$!
wait_for has_run folds
for other in folds=6 fold=2 fold_valid=0.25 fold_seed=2; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" run run.yaml $asynchronous $folds --set trainer.$other --join folds
    says "^regimen: this worker's experiment is not the server's: it has 'trainer.${other%%=*}: ${other#*=}', the server" "$work/err"
done
# shellcheck disable=SC2086
expect 0 "$regimen" run run.yaml $asynchronous $folds --join folds
wait $server || fail "a server of one fold: $(cat folds.err)"
finish
