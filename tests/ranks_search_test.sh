#!/bin/sh
# A search whose trials are two processes each, on two slots: the same trials, metrics and checkpoints as with one slot
# and as many shards, also when it is stopped and gone on with, when a trial is told to save and end, when processes
# and masters are killed (KILLS so many, SEED), and nothing is left running behind it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
regimen=$(realpath "$regimen")
fast_work
cd "$work" || exit 1
unset REGIMEN_MASTER HWLOC_COMPONENTS # the master sees to it
kills=${KILLS:-6}
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
awk -v OFS=, 'BEGIN { srand(5); for (i = 0; i < 400; i++) { c = int(rand() * 3)
             print rand() + (c == 0), rand() + (c == 1), rand(), c } }' >data.csv
search_of_ranks search.yaml 300
cat >>search.yaml <<'YAML'
checkpoint_storage: {save_trial_best: 100, save_trial_latest: 100}
max_restarts: 100
YAML
run="$regimen experiment run search.yaml --threads 1 --slots 2 -q --master"
two="--set resources.slots_per_trial=2"
what() { "$regimen" experiment trials 1 --csv --master "$1" | cut -d, -f2-7,9; } # no ids, no restarts, no times

# same MASTER: what its trials come to. (One that is told to end saves at once, and validates then: its checkpoints on
# the way may be of before a validation.)
same() {
    what "$1" >found
    cmp -s reference found || fail "$1: $(diff reference found)"
    for trial in 1 2; do
        for part in ckpt/step-00001800 metrics.jsonl; do
            diff -r "one/1/$trial/$part" "$1/1/$trial/$part" >differ || fail "$1, trial $trial: $part: $(head -3 differ)"
        done
    done
    [ -z "$(ranks_of "$1")" ] || fail "$1: processes are left"
}

# ranks_of MASTER: the processes of its trials that a launcher has started.
ranks_of() {
    for process in /proc/[0-9]*; do
        grep -qsz '^OMPI_COMM_WORLD_RANK=' "$process/environ" &&
            grep -qsz "^REGIMEN_RUN=.*:.*/$1\$" "$process/environ" && echo "${process#/proc/}"
    done
}
# standing STEP: before a search, so that rank 0 of each trial stands still when it has saved that step. The machine may
# be as slow as it likes then: nothing has ended before somebody looks.
standing() { echo "env LD_PRELOAD=$RGM_PRELOAD RGM_SIGNAL=19 RGM_SIGNAL_AT=step-0000$1"; }
stands() {
    stopped=
    for process in $(ranks_of "$1"); do
        grep -q '^State:.T' "/proc/$process/status" 2>/dev/null && stopped=$process
    done
    [ -n "$stopped" ]
}
goes_on() { kill -CONT "$stopped"; }

expect 0 $run one
what one >reference
[ "$(wc -l <reference)" = 3 ] || fail "2 trials: $(cat reference)"
expect 0 $run two $two
same two
expect 0 "$regimen" experiment describe 1 --master two --json
says '"slots_per_trial": 2' out
says '"ranks": 2' out
expect 0 "$regimen" experiment describe 1 --master two
says '^ID .* SLOTS +RANKS' out
says '^ 1 .* 2 +2$' out
expect 0 "$regimen" trial logs 1/1 --master two
[ "$(grep -Ec 'eval \| step: +600 ' out)" = 1 ] || fail "not one of two ranks tells: $(cat out)"

# ---- told to save and end ----
# A search that is stopped, by its own end or by a signal to a trial. The second trial stands still too.
$(standing 0600) $run stopped $two >first 2>&1 &
master=$!
wait_for stands stopped
kill -TERM $master
goes_on
wait $master
[ $? = 75 ] || fail "a search that is stopped: $(tail -n 3 first)"
[ -z "$(ranks_of stopped)" ] || fail "ranks go on without their search"
$(standing 1200) $run stopped $two >first 2>&1 &
master=$!
wait_for stands stopped
shell=$(pgrep -f "trial run --master $work/stopped " | head -n 1) # of them all the first
kill -TERM "$shell"
goes_on
in_second() { [ -d stopped/1/2 ] && stands stopped; }
wait_for in_second
goes_on
wait $master
[ $? = 0 ] || fail "a search whose trial is told to end: $(tail -n 3 first)"
same stopped
cat stopped/1/1/trial.log stopped/1/2/trial.log >logs
says 'Forwarding signal 10 to job' logs
[ "$("$regimen" experiment trials 1 --csv --master stopped | cut -d, -f8 | paste -sd' ')" = "RESTARTS 0 0" ] ||
    fail "to be told to end is no failure"
$(standing 0600) $run paused $two >first 2>&1 &
master=$!
wait_for stands paused
expect 0 "$regimen" experiment pause 1 --master paused
goes_on
no_ranks() { [ -z "$(ranks_of "$1")" ]; }
wait_for no_ranks paused
expect 0 "$regimen" experiment activate 1 --master paused
in_second() { [ -d paused/1/2 ] && stands paused; }
has_ended() { ! kill -0 $master 2>/dev/null || in_second; }
wait_for has_ended # one that is paused lets its own process end
if in_second; then
    goes_on
    wait $master
    [ $? = 0 ] || fail "a search that was paused: $(tail -n 3 first)"
else
    expect 0 $run paused $two
fi
same paused

# ---- killed ----
random=$seed
draw() { # below $1
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}
made=0
while [ $made -lt "$kills" ] && [ $failures = 0 ]; do
    rm -rf killed
    while :; do
        $run killed $two >first 2>&1 &
        master=$!
        while kill -0 $master 2>/dev/null && [ $made -lt "$kills" ]; do
            draw 900
            sleep "0.$(printf %03d "$drawn")"
            draw 3
            victim=$master
            [ $drawn = 2 ] || victim=$(ranks_of killed | sed -n "$((drawn + 1))p")
            [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null && made=$((made + 1))
        done
        wait $master
        code=$?
        [ $code != 0 ] || break
        [ $code = 137 ] || fail "killed and continued: $code, $(tail -n 3 first)"
        [ $failures = 0 ] || break
    done
    same killed
done
echo "$made kills; SEED=$seed"

# ---- where there is no launcher ----
mkdir bin
expect 1 env PATH="$work/bin" $run none $two
says "a trial is 2 processes, which mpirun starts: there is no program 'mpirun'" err
expect 0 env PATH="$work/bin" $run threads $two --set runtime.shards=1 --set searcher.max_length=1
finish
