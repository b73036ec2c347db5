#!/bin/sh
# What src/master/commands_test.c puts on the PATH as qsub, qstat, qdel (PBS), bsub, bjobs, bkill (LSF) and
# kubectl: a queue that runs its jobs as processes of this machine, at once, in $FAKE_QUEUE/jobs/NUMBER, and
# prints what the real commands print by their documentation. Files of $FAKE_QUEUE change it: "hold" lets no
# job begin, "refuse" is what submitting says instead, "down" what every command says, "forget" makes it list
# no job, "refuse_script" fails each job with that status.
command=$(basename "$0")
jobs=$FAKE_QUEUE/jobs

# PENDING, RUNNING, DONE, FAILED, CANCELLED.
state() {
    if [ -f "$1/status" ] && [ "$(cat "$1/status")" = 0 ]; then
        echo DONE
    elif [ -f "$1/status" ] || [ -f "$1/cancelled" ]; then
        echo FAILED
    elif [ -f "$1/pid" ]; then
        echo RUNNING
    else
        echo PENDING
    fi
}

# The job itself: job FOLDER SCRIPT.
if [ "$1" = job ]; then
    while [ -f "$FAKE_QUEUE/hold" ]; do
        [ ! -f "$2/cancelled" ] || exit 0
        sleep 0.05
    done
    if [ -f "$FAKE_QUEUE/refuse_script" ]; then
        cp "$FAKE_QUEUE/refuse_script" "$2/status"
        exit 0
    fi
    /bin/sh -c 'echo $$ >"$0/new" && mv "$0/new" "$0/pid" && exec "$1"' "$2" "$3" </dev/null >/dev/null 2>&1 &
    wait $!
    echo $? >"$2/new"
    mv "$2/new" "$2/status"
    exit 0
fi

# submit NAME SCRIPT: sets $number.
submit() {
    if [ -f "$FAKE_QUEUE/refuse" ]; then
        cat "$FAKE_QUEUE/refuse" >&2
        exit 1
    fi
    mkdir -p "$jobs"
    number=1
    while ! mkdir "$jobs/$number" 2>/dev/null; do number=$((number + 1)); done
    echo "$1" >"$jobs/$number/name"
    setsid "$0" job "$jobs/$number" "$2" </dev/null >/dev/null 2>&1 &
}

# cancel FOLDER
cancel() {
    touch "$1/cancelled"
    [ ! -f "$1/pid" ] || kill -KILL "$(cat "$1/pid")" 2>/dev/null
}

# The folders of all jobs, a line each.
list() {
    [ ! -f "$FAKE_QUEUE/forget" ] || return 0
    for job in "$jobs"/*; do
        [ ! -f "$job/name" ] || echo "$job"
    done
}

word_after() { # OPTION WORD...
    option=$1
    shift
    while [ $# -gt 1 ]; do
        [ "$1" != "$option" ] || { echo "$2"; return; }
        shift
    done
}
for last; do :; done

[ "$1" != --version ] || exit 0
printf '%s ' "$command" "$@" >>"$FAKE_QUEUE/calls"
echo >>"$FAKE_QUEUE/calls"
if [ -f "$FAKE_QUEUE/down" ]; then
    cat "$FAKE_QUEUE/down" >&2
    exit 111
fi

case $command in
qsub)
    submit "$(word_after -N "$@")" "$last"
    echo "$number.head.example.org"
    ;;
qstat)
    for job in $(list); do
        exit=
        case $(state "$job") in
        PENDING) letter=Q ;;
        RUNNING) letter=R ;;
        *)
            letter=F
            exit="|Exit_status=$(cat "$job/status" 2>/dev/null || echo 271)"
            ;;
        esac
        echo "Job Id: $(basename "$job").head.example.org|Job_Name=$(cat "$job/name")|Job_Owner=me@head|job_state=$letter|queue=workq|server=head$exit|project=_pbs_project_default"
    done
    ;;
qdel)
    if [ ! -d "$jobs/$last" ]; then
        echo "qdel: Unknown Job Id $last.head.example.org" >&2
        exit 153
    elif [ -f "$jobs/$last/status" ]; then
        echo "qdel: Job has finished $last.head.example.org" >&2
        exit 35
    fi
    cancel "$jobs/$last"
    ;;
bsub)
    submit "$(word_after -J "$@")" "$last"
    echo "Job <$number> is submitted to default queue <normal>."
    ;;
bjobs)
    if [ -z "$(list)" ]; then
        echo "No job found" >&2
        exit 255
    fi
    for job in $(list); do
        case $(state "$job") in
        PENDING) word="PEND|-" ;;
        RUNNING) word="RUN|-" ;;
        DONE) word="DONE|-" ;;
        *) word="EXIT|$(cat "$job/status" 2>/dev/null || echo 130)" ;;
        esac
        echo "$(basename "$job")|$(cat "$job/name")|$word"
    done
    ;;
bkill)
    if [ ! -d "$jobs/$last" ]; then
        echo "Job <$last>: No matching job found" >&2
        exit 255
    elif [ -f "$jobs/$last/status" ]; then
        echo "Job <$last>: Job has already finished" >&2
        exit 255
    fi
    cancel "$jobs/$last"
    echo "Job <$last> is being terminated"
    ;;
kubectl)
    case $1 in
    run)
        submit "$2" "$last"
        echo "pod/$2 created"
        ;;
    get)
        [ -n "$(list)" ] || echo "No resources found in default namespace." >&2
        for job in $(list); do
            case $(state "$job") in
            PENDING) word=Pending ;;
            RUNNING) word=Running ;;
            DONE) word=Succeeded ;;
            *) word=Failed ;;
            esac
            printf '%-18s %s\n' "$(cat "$job/name")" "$word"
        done
        ;;
    delete)
        for job in $(list); do
            [ "$(cat "$job/name")" = "$3" ] || continue
            cancel "$job"
            echo "pod \"$3\" deleted"
        done
        ;;
    esac
    ;;
esac
exit 0
