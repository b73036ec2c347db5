#!/bin/sh
# What src/master/jobs_test.c puts on the PATH as sbatch, squeue, sacct and scancel: a cluster that runs its
# jobs as processes of this machine, at once, in $FAKE_SLURM/jobs/NUMBER. Files of $FAKE_SLURM change it:
# "hold" lets no job begin, "refuse" is what sbatch says instead, "spare" what scancel does, "mute" makes jobs run that never speak;
# jobs/NUMBER/lost takes that job's node away.
name=$(basename "$0")
jobs=$FAKE_SLURM/jobs

state() {
    if [ -f "$1/lost" ]; then
        echo NODE_FAIL
    elif [ -f "$1/cancelled" ] && { [ ! -f "$1/pid" ] || [ -f "$1/status" ]; }; then
        echo CANCELLED
    elif [ -f "$1/status" ]; then
        if [ "$(cat "$1/status")" = 0 ]; then echo COMPLETED; else echo FAILED; fi
    elif [ -f "$1/pid" ]; then
        echo RUNNING
    else
        echo PENDING
    fi
}

# The job itself: job FOLDER CHDIR OUTPUT PROGRAM ...
if [ "$1" = job ]; then
    folder=$2
    output=$4
    cd "$3" || exit 1
    shift 4
    while [ -f "$FAKE_SLURM/hold" ]; do
        [ ! -f "$folder/cancelled" ] || exit 0
        sleep 0.05
    done
    [ ! -f "$FAKE_SLURM/mute" ] || set -- sleep 600
    # It is said to run before it does anything.
    /bin/sh -c 'echo $$ >"$0/new" && mv "$0/new" "$0/pid" && exec "$@"' "$folder" "$@" >>"$output" 2>&1 &
    wait $!
    echo $? >"$folder/new"
    mv "$folder/new" "$folder/status"
    exit 0
fi

case $name in
sbatch)
    [ "$1" != --version ] || exit 0
    printf '%s ' "$@" >>"$FAKE_SLURM/calls"
    echo >>"$FAKE_SLURM/calls"
    if [ -f "$FAKE_SLURM/refuse" ]; then
        cat "$FAKE_SLURM/refuse" >&2
        exit 1
    fi
    mkdir -p "$jobs"
    number=1
    while ! mkdir "$jobs/$number" 2>/dev/null; do number=$((number + 1)); done
    while :; do
        case $1 in
        --comment=*) printf '%s\n' "${1#--comment=}" >"$jobs/$number/comment" ;;
        --chdir=*) where=${1#--chdir=} ;;
        --output=*) output=${1#--output=} ;;
        --*) ;;
        *) break ;;
        esac
        shift
    done
    setsid "$0" job "$jobs/$number" "$where" "$output" /bin/sh "$@" </dev/null >/dev/null 2>&1 &
    echo "$number"
    ;;
squeue)
    for job in "$jobs"/*; do
        [ -f "$job/comment" ] || continue
        reason=None
        [ "$(state "$job")" != PENDING ] || reason=Resources
        echo "$(basename "$job")|$(state "$job")|$reason|$(cat "$job/comment")"
    done
    ;;
sacct)
    echo "Slurm accounting storage is disabled" >&2
    exit 1
    ;;
scancel)
    if [ -f "$FAKE_SLURM/spare" ]; then
        cat "$FAKE_SLURM/spare" >&2
        exit 1
    fi
    for job; do :; done # the last word
    job=$jobs/$job
    case $* in
    --state=PENDING*) [ -f "$job/pid" ] || touch "$job/cancelled" ;;
    *--signal=TERM*) [ ! -f "$job/pid" ] || kill -TERM "$(cat "$job/pid")" 2>/dev/null ;;
    *)
        [ ! -f "$job/pid" ] || kill -KILL "$(cat "$job/pid")" 2>/dev/null
        touch "$job/cancelled"
        ;;
    esac
    exit 0
    ;;
esac
