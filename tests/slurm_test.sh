#!/bin/sh
# Slurm as an engine, against a real one of one node that is set up in a folder of its own and taken down
# again: what jobs see, each end that they can come to, stops and kills, and a controller that dies.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/slurm_lib.sh"

# ---- helpers ----

jobs=$RGM_BUILD/tests/slurm_jobs

[ -x "$jobs" ] || {
    fail "there is no $jobs"
    finish
}
ours="folder=$work/jobs master=test"

# start TRIAL KEY=VALUE ... -- PROGRAM ...: sets $id.
start() {
    trial=$1
    shift
    # shellcheck disable=SC2086
    id=$("$jobs" start $ours experiment=7 trial="$trial" run="token-$trial" work="$work" \
        output="$work/$trial.log" "$@") || fail "trial $trial does not start"
}

# state ID TRIAL: as poll tells it.
state() {
    # shellcheck disable=SC2086
    "$jobs" poll "$1" $ours experiment=7 trial="$2" run="token-$2" 2>&1
}

# becomes ID TRIAL PATTERN [SECONDS]: the bound is for a machine that is busy with other things.
becomes() {
    for i in $(seq $((${4:-90} * 4))); do
        state "$1" "$2" | grep -Eq "^$1 7/$2/token-$2 $3" && return
        sleep 0.25
    done
    fail "job $1 of trial $2 is '$(state "$1" "$2")', not '$3'"
}

# appears PATTERN FILE
appears() {
    for i in $(seq 360); do
        grep -Eq -- "$1" "$2" 2>/dev/null && return
        sleep 0.25
    done
    fail "'$1' does not appear in $2: $(cat "$2" 2>&1)"
}

# A trial that saves its state when it is asked to end, or refuses to.
cat >"$work/trial.sh" <<'SH'
#!/bin/sh
trap 'echo saved; exit 75' TERM
[ "${1:-}" != deaf ] || trap 'echo "not now"' TERM
echo "began $$"
while :; do sleep 0.1; done
SH
chmod +x "$work/trial.sh"

# ---- ends ----

# The first, since it takes a minute and more: its time is over, and it was told before.
start 1 time=60 grace=30 -- "$work/trial.sh" deaf
timed=$id

# Words, places and variables that a shell would trip over.
odd="$work/o d;\$(x)%j
line"
mkdir "$odd"
cat >"$work/words.sh" <<'SH'
#!/bin/sh
printf '<%s>' "$@"
echo " $WORD $SLURM_CPUS_PER_TASK ${SLURM_JOB_NAME}"
pwd
SH
chmod +x "$work/words.sh"
# shellcheck disable=SC2086
id=$("$jobs" start $ours experiment=7 trial=2 run=token-2 work="$odd" output="$odd/%x.log" cpus=2 \
    environment="WORD=a, b;=" -- "$work/words.sh" 'a b' '$(touch x)' '"' '' "two
lines") || fail "odd words are refused"
becomes "$id" 2 COMPLETED
printf '<a b><$(touch x)><"><><two\nlines> a, b;= 2 regimen-7-2\n%s\n' "$odd" >"$work/expected"
cmp -s "$work/expected" "$odd/%x.log" || fail "odd words arrive as $(cat "$odd/%x.log")"

start 3 -- /bin/sh -c 'exit 3'
becomes "$id" 3 'FAILED NonZeroExitCode'
start 4 -- /no/such/program
becomes "$id" 4 FAILED

# Asked to end, it saves; what has not begun never does.
start 5 -- "$work/trial.sh"
appears began "$work/5.log"
becomes "$id" 5 RUNNING
# shellcheck disable=SC2086
expect 0 "$jobs" stop "$id" $ours
becomes "$id" 5 FAILED
says '^saved$' "$work/5.log"
start 6 flag=--begin=now+600 -- "$work/trial.sh"
becomes "$id" 6 'PENDING BeginTime'
# shellcheck disable=SC2086
expect 0 "$jobs" stop "$id" $ours
becomes "$id" 6 CANCELLED
[ ! -e "$work/6.log" ] || fail "a job that was stopped before it began has begun"
# shellcheck disable=SC2086
expect 0 "$jobs" stop "$id" $ours # again: nothing happens

# Killed at once, whatever it thinks of it; as one that waits.
start 7 -- "$work/trial.sh" deaf
appears began "$work/7.log"
# shellcheck disable=SC2086
expect 0 "$jobs" kill "$id" $ours
becomes "$id" 7 '(FAILED|CANCELLED)'
! grep -q "not now" "$work/7.log" || fail "a job that is killed was asked first"
start 8 cpus=99 -- "$work/trial.sh" 2>/dev/null
if [ -n "$id" ]; then
    becomes "$id" 8 PENDING
    # shellcheck disable=SC2086
    expect 0 "$jobs" kill "$id" $ours
    becomes "$id" 8 CANCELLED
fi

# shellcheck disable=SC2086
expect 1 "$jobs" start $ours experiment=7 trial=9 run=t work="$work" output="$work/9.log" \
    partition=nope -- /bin/true
says 'RGM_ERR_CONFIG: sbatch ended with status 1: .*[Ii]nvalid partition' "$work/err"

# ---- begins again ----

start 10 requeue=yes -- "$work/trial.sh"
appears began "$work/10.log"
# shellcheck disable=SC2086
expect 0 "$jobs" requeue "$id" $ours
becomes "$id" 10 PENDING
# Slurm lets two minutes pass by itself. Begun again within the second of its first end, a job fails: "Job credential
# revoked", since what revokes the first credential holds for all of that second. On a busy machine that end comes late:
# its process is to be gone, and its node through with it.
first=$(sed -n 's/^began //p' "$work/10.log")
for i in $(seq 360); do
    ! kill -0 "$first" 2>/dev/null && [ -z "$(squeue --noheader --states=COMPLETING --format=%i)" ] && break
    sleep 0.25
done
scontrol update JobId="$id" StartTime=now+2
becomes "$id" 10 RUNNING 180
for i in $(seq 360); do
    [ "$(grep -c began "$work/10.log")" = 2 ] && break
    sleep 0.25
done
[ "$(grep -c began "$work/10.log")" = 2 ] || fail "a job that begins again: $(cat "$work/10.log")"
# shellcheck disable=SC2086
expect 0 "$jobs" kill "$id" $ours
becomes "$id" 10 '(FAILED|CANCELLED)'

# A partition that goes first takes the node: one that may begin again waits, another is over.
start 11 partition=low requeue=yes cpus=2 -- "$work/trial.sh"
again=$id
start 12 partition=low cpus=1 -- "$work/trial.sh"
once=$id
appears began "$work/11.log"
appears began "$work/12.log"
wide=3 # all that trial 1 leaves, whose time may be over by now
state "$timed" 1 | grep -q RUNNING || wide=4
start 13 cpus=$wide -- /bin/sleep 5
becomes "$id" 13 RUNNING
becomes "$again" 11 PENDING
becomes "$once" 12 PREEMPTED
becomes "$id" 13 COMPLETED
# shellcheck disable=SC2086
expect 0 "$jobs" kill "$again" $ours
# shellcheck disable=SC2086
expect 0 "$jobs" kill "$once" $ours

# ---- what fails under it ----

start 14 -- "$work/trial.sh"
lived=$id
appears began "$work/14.log"
kill "$(cat "$work/slurmctld.pid")"
for i in $(seq 360); do
    [ -f "$work/slurmctld.pid" ] || break
    sleep 0.25
done
state "$lived" 14 >"$work/silent"
says '^RGM_ERR_IO: squeue ended with status 1' "$work/silent"
# shellcheck disable=SC2086
expect 1 "$jobs" start $ours experiment=7 trial=15 run=t work="$work" output="$work/15.log" -- /bin/true
says '^RGM_ERR_IO: sbatch ended with status 1' "$work/err"
control
becomes "$lived" 14 RUNNING

# Another process, which knows nothing but the master's name, finds what is there.
# shellcheck disable=SC2086
expect 0 "$jobs" find $ours
says "^$lived 7/14/token-14 RUNNING" "$work/out"
says "^[0-9]+ 7/2/token-2 COMPLETED" "$work/out"
expect 0 "$jobs" find folder="$work/jobs" master=other
[ ! -s "$work/out" ] || fail "another master finds $(cat "$work/out")"
state 9999999 1 >"$work/gone"
says '^9999999 7/1/token-1 GONE squeue has forgotten it, and Slurm keeps no accounts' "$work/gone"

# Its time.
becomes "$timed" 1 'TIMEOUT' 200
says '^not now$' "$work/1.log"

# The node.
scontrol update NodeName="$host" State=DOWN Reason=test
becomes "$lived" 14 NODE_FAIL
finish
