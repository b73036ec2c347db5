#!/bin/sh
# Ranks under a real Slurm of one node: a run of two of them is requeued in the middle, and told to end by a signal to
# its steps, to its batch script, to one rank; started by srun (PMIx) and by mpirun, each ends with the undisturbed bytes. And a
# search whose trials are jobs of two ranks, which lose a rank and their master.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
regimen=$(realpath "$regimen")
. "$(dirname "$0")/slurm_lib.sh"
[ -z "${RGM_SANITIZE:-}" ] || {
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
    exit 77
}
srun --mpi=list 2>&1 | grep -qw pmix || {
    echo "SKIPPED: this Slurm has no PMIx, which Open MPI needs for srun: $(srun --mpi=list 2>&1 | tr '\n\t' '  ')"
    exit 77
}
cd "$work" || exit 1
unset REGIMEN_MASTER
mkdir data
position_experiment records "$work/data/run.yaml"
sed -i 's/^runtime: .*/runtime: {seed: 3, threads: 1, shards: 2}/' data/run.yaml

# Where STOPS is set, the first start's rank 0 stands still behind its save of step 5, until it is told to go on.
cat >start <<'SH2'
#!/bin/sh
echo $$ >"pid.$PMIX_RANK"
[ -z "${STOPS:-}" ] || [ "$PMIX_RANK" != 0 ] || [ "${SLURM_RESTART_COUNT:-0}" != 0 ] ||
    export LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=19 RGM_SIGNAL_AT=step-00000005
exec "$@"
SH2
chmod +x start
cat >job.sh <<'SH2'
#!/bin/sh
exec $LAUNCHER -n 2 ../start "$REGIMEN" run ../data/run.yaml --run-dir run
SH2
export REGIMEN="$regimen"

# submit NAME LAUNCHER [STOPS]: sets $id; a job in a folder of its own.
submit() {
    mkdir -p "$1"
    id=$(cd "$1" && LAUNCHER=$2 STOPS=${3:-} sbatch --parsable --requeue --open-mode=append --ntasks=2 --output=out.log ../job.sh)
}
stands() { grep -q '^State:.T' "/proc/$(cat "$1/pid.0")/status"; }
hears() { grep -Eq '^(ShdPnd|SigPnd):.*[1-9a-f]' "/proc/$(cat "$1/pid.0")/status"; }
job() { scontrol show job "$id" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
is_over() { job JobState | grep -Eqv 'RUNNING|PENDING|COMPLETING|CONFIGURING|REQUEUE'; }
ended() { # ended CODE WHAT
    wait_for is_over
    [ "$(job ExitCode)" = "$1:0" ] || fail "$2: $(job JobState), $(job ExitCode): $(cat "$name/out.log")"
}

# ends_as_one WHAT: what $name came to. (Where a signal found it, it saved once more, and maybe over a checkpoint.)
ends_as_one() {
    for part in ckpt/step-00000023 best metrics.jsonl tables.jsonl export; do
        diff -r "one/run/$part" "$name/run/$part" >differ || fail "$name, $1: $part: $(head -3 differ)"
    done
}

mkdir one
(cd one && exec "$regimen" run ../data/run.yaml --run-dir run) >one.log 2>&1 || fail "one process: $(tail -3 one.log)"

for launcher in "srun --mpi=pmix" mpirun; do
    name=${launcher%% *}
    submit "$name" "$launcher" stops
    wait_for stands "$name"
    scontrol requeue "$id" # SIGTERM and SIGCONT to all of it
    requeued() { [ "$(job Restarts)" = 1 ] && [ -z "$(squeue --noheader --states=COMPLETING --format=%i)" ]; }
    wait_for requeued
    scontrol update JobId="$id" StartTime=now+2 # Slurm lets two minutes pass by itself
    ended 0 "requeued in the middle"
    ends_as_one "requeued in the middle"

    name=$name-told
    submit "$name" "$launcher" stops
    wait_for stands "$name"
    if [ "$launcher" = mpirun ]; then # as by sbatch --signal=B:USR1@120: mpirun passes that one on
        scancel --batch --signal=USR1 "$id"
    else # as by sbatch --signal=TERM@120
        scancel --signal=TERM "$id"
    fi
    wait_for hears "$name" # Slurm takes its time
    kill -CONT "$(cat "$name/pid.0")"
    ended 75 "told to end"
    says 'asked to stop; the state is saved' "$name/run/log.txt"
    submit "$name" "$launcher" # the same command
    ended 0 "gone on with"
    ends_as_one "told to end, and gone on with"

    name=$name-one
    submit "$name" "$launcher" stops
    wait_for stands "$name"
    kill -TERM "$(cat "$name/pid.1")"
    kill -CONT "$(cat "$name/pid.0")"
    ended 75 "rank 1 told to end"
    submit "$name" "$launcher"
    ended 0 "gone on with"
    ends_as_one "rank 1 told to end, and gone on with"
done

# ---- a search whose trials are jobs of two ranks ----
cp data/run.yaml.csv data.csv
search_of_ranks search.yaml 1000
cat >slurm.yaml <<'YAML'
resources: {slots_per_trial: 2}
scheduler: {type: slurm, partition: all, time: "10"}
YAML
search="$regimen experiment run search.yaml --threads 1 --slots 2 -q --master"
what() { "$regimen" experiment trials 1 --csv --master "$1" | cut -d, -f2-7,9; } # no ids, no restarts, no times
same_search() {
    what "$1" >found
    cmp -s reference found || fail "$1: $(diff reference found)"
    for trial in 1 2; do
        diff -r "here/1/$trial/ckpt/step-00006000" "$1/1/$trial/ckpt/step-00006000" >differ || fail "$1, trial $trial: $(head -3 differ)"
    done
}
expect 0 $search here
what here >reference
[ "$(wc -l <reference)" = 3 ] || fail "2 trials: $(cat reference)"
expect 0 $search there --config slurm.yaml
same_search there
expect 0 env REGIMEN_MPIRUN="srun --mpi=pmix" $search by_srun --config slurm.yaml
same_search by_srun

ranks_of() {
    for process in /proc/[0-9]*; do
        grep -qsz '^PMIX_RANK=' "$process/environ" && grep -qsz "^$1\$" "$process/cmdline" && echo "${process#/proc/}"
    done
}
works() { [ "$("$regimen" trial describe "1/$2" --json --master "$1" | grep -Eo '"steps": *[0-9]+' | grep -Eo '[0-9]+$')" -gt 0 ]; }
$search lost --config slurm.yaml >first 2>&1 &
master=$!
wait_for works lost 1
kill -9 $master # the jobs go on
wait $master 2>/dev/null
for process in $(ranks_of "$work/lost" | head -n 1); do kill -9 "$process"; done
$search lost --config slurm.yaml >first 2>&1 &
master=$!
id=$(squeue --noheader --states=RUNNING --name=regimen-1-1,regimen-1-2 --format=%i | head -n 1)
[ -z "$id" ] || scancel "$id" # SIGTERM first: it saves
wait $master
[ $? = 0 ] || fail "a search that lost a rank and a job: $(tail -n 3 first)"
same_search lost
gone() { [ -z "$(squeue --noheader --format=%i)" ]; }
wait_for gone
[ -z "$(ranks_of "$work/lost")" ] || fail "processes are left behind the jobs"
finish
