#!/bin/sh
# A search whose trials are jobs of a real Slurm: the same trials and metrics as on this machine, though its master
# is killed in the middle; why jobs wait; stopped, and gone on with.
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
. "$(dirname "$0")/slurm_lib.sh"
cd "$work" || exit 1
unset REGIMEN_MASTER
cat >search.yaml <<'YAML'
data:
  type: citation
  citation: {nodes: 2000, edges: 6000, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4, dropout: 0.5}
optimizer: {type: adam}
hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}
searcher: {name: random, metric: valid.accuracy, smaller_is_better: false, max_trials: 4, max_length: 60}
batches_per_step: 150
min_checkpoint_period: 5
reproducibility: {experiment_seed: 7}
YAML
cat >slurm.yaml <<'YAML'
resources: {max_slots: 2}
scheduler:
  type: slurm
  partition: all
  time: "10"
  setup: ["echo this shell set $(expr 40 + 2) up", 'WORD="a b"; export WORD']
YAML
search="$regimen experiment run search.yaml --threads 1 --slots 2 --master"
what() { "$regimen" experiment trials 1 --csv --master "$1" | cut -d, -f2-7; } # no ids, no times

# work_begins FOLDER: until two jobs run, and have done something.
work_begins() {
    for i in $(seq 120); do
        [ "$(squeue --noheader --states=RUNNING --format=%j | grep -c '^regimen-1-')" = 2 ] &&
            [ "$("$regimen" trial describe 1/1 --json --master "$1" 2>/dev/null | grep -Eo '"steps": *[0-9]+' |
                grep -Eo '[0-9]+$')" -gt 1 ] 2>/dev/null && return
        sleep 0.25
    done
    fail "no two jobs run: $(squeue)"
}

expect 0 $search here
what here >reference
[ "$(wc -l <reference)" = 5 ] || fail "4 trials: $(cat reference)"

# ---- the same by Slurm, through the death of its master ----

$search there --config slurm.yaml -q >/dev/null 2>&1 &
master=$!
work_begins there
squeue --noheader --format='%j %T %C' >before
says '^regimen-1-1 RUNNING 1$' before
says '^regimen-1-2 RUNNING 1$' before
[ "$(wc -l <before)" = 2 ] || fail "max_slots is 2, and there are $(cat before)"
kill -9 $master
wait $master 2>/dev/null
sleep 1
[ "$(squeue --noheader --states=RUNNING --format=%j | wc -l)" = 2 ] || fail "the jobs went with their master"
expect 0 $search there --config slurm.yaml
what there >found
cmp -s reference found || fail "by Slurm: $(diff reference found)"
sqlite3 there/master.db "SELECT count(*), sum(restarts) FROM runs, (SELECT sum(restarts) AS restarts FROM trials)" \
    >runs 2>/dev/null && says '^4\|0$' runs # those that ran were taken up again
expect 0 "$regimen" trial logs 1/1 --master there
says '^this shell set 42 up$' out
for trial in 1 2 3 4; do
    best="ckpt/step-00009000"
    [ -d "here/1/$trial/$best" ] && ! diff -r "here/1/$trial/$best" "there/1/$trial/$best" >differ &&
        fail "trial $trial: $(head -3 differ)"
done

# ---- why jobs wait, and a master that stops ----

sbatch --quiet --cpus-per-task=4 --output=/dev/null --wrap 'sleep 600' >/dev/null
$search waits --config slurm.yaml >first 2>&1 &
master=$!
for i in $(seq 120); do
    "$regimen" queue --master waits >queue 2>/dev/null
    grep -q 'Slurm job [0-9]* waits: [A-Z]' queue && grep -q 'at max_slots' queue && break
    sleep 0.25
done
says 'Slurm job [0-9]+ waits: (Resources|Priority)' queue
says 'its experiment is at max_slots 2' queue
kill -TERM $master
wait $master
[ $? = 75 ] || fail "a master that is stopped while its jobs wait: $(tail -n 3 first)"
[ -z "$(squeue --noheader --states=PENDING --format=%i)" ] || fail "jobs wait on without a master: $(squeue)"
scancel --batch --signal=KILL "$(squeue --noheader --format=%i)"
scancel --user="$(id -u)"
expect 0 $search waits --config slurm.yaml
what waits >found
cmp -s reference found || fail "stopped and gone on with: $(diff reference found)"

# ---- what is not the trials' fault ----

$search lost --config slurm.yaml >first 2>&1 &
master=$!
work_begins lost
scancel "$(squeue --noheader --states=RUNNING --name=regimen-1-1 --format=%i)" # SIGTERM first: it saves
for i in $(seq 60); do
    [ -z "$(squeue --noheader --states=RUNNING,COMPLETING --name=regimen-1-1 --format=%i)" ] && break
    sleep 0.25
done
work_begins lost
scontrol update NodeName="$host" State=DOWN Reason=test # jobs are told to end, if they can be
sleep 2
scontrol update NodeName="$host" State=RESUME
wait $master
got=$?
[ $got = 0 ] || fail "a search that lost its node ended with $got: $(tail -n 3 first)"
what lost >found
cmp -s reference found || fail "with a node that was lost: $(diff reference found)"
sqlite3 lost/master.db "SELECT sum(restarts), (SELECT count(*) FROM runs) > 4 FROM trials" >runs 2>/dev/null &&
    says '^0\|1$' runs

# ---- slots that are devices ----
# A job asks for them as gres, and its trial computes on what Slurm gave it: of CUDA that is in the variable below, whose
# value here is no matter of the jobs. PoCL stands in for a GPU.
if "$regimen" doctor | grep -q '^device   opencl:0'; then
    cat >devices.yaml <<'YAML'
resources: {slot_type: gpu, max_slots: 2}
runtime: {device: opencl}
scheduler:
  type: slurm
  partition: all
  setup: ['echo "Slurm gave it <$CUDA_VISIBLE_DEVICES>"']
YAML
    expect 0 env CUDA_VISIBLE_DEVICES=7 "$regimen" experiment run search.yaml --threads 1 --config devices.yaml \
        --set searcher.max_trials=2 --set searcher.max_length=2 --set batches_per_step=5 --master devices
    for trial in 1 2; do
        expect 0 "$regimen" trial logs 1/$trial --master devices
        says '^Slurm gave it <[01]>$' out
        says 'plan \| device opencl:0 \(' out
    done
    expect 0 "$regimen" experiment describe 1 --master devices --json
    says '"slot_type": "gpu"' out
else
    echo "not tested: slots that are devices, since OpenCL has none here"
fi

# ---- what Slurm refuses ----

$search refused --config slurm.yaml --set scheduler.partition=nowhere >/dev/null 2>&1 &
master=$!
for i in $(seq 60); do
    "$regimen" queue --master refused >queue 2>/dev/null
    grep -q 'takes no job' queue && break
    sleep 0.25
done
says 'Slurm takes no job of it: sbatch ended with status 1: .*[Ii]nvalid partition name' queue
kill -TERM $master
wait $master
expect 2 $search refused --config slurm.yaml --new --set 'scheduler.options=["--array=1-3"]'
says "'--array=1-3' is not for trials" err
finish
