#!/bin/sh
# What happens to a run from outside: signals, a stop and a continuation, a closed pipe, a clock that is set back
# or forward, too few descriptors, data that are cut while they are read. It ends with the same bytes or says why
# it does not, and the same command goes on.
. "$(dirname "$0")/lib.sh"
[ -z "${RGM_SANITIZE:-}" ] || { echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"; exit 77; }
fast_work
small_experiment "$work/small.yaml"
cd "$work" || exit 1
long="--set trainer.epochs=1200 --set trainer.checkpoint.every_epochs=40 --set trainer.checkpoint.best.save=true"
short="--set trainer.epochs=20 --set trainer.checkpoint.best.save=true"

# begin RUN STEP: a run that has stopped behind its checkpoint of this step, as if by SIGSTOP; its process is $pid.
begin() {
    # shellcheck disable=SC2086
    env LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=19 RGM_SIGNAL_AT="step-0000$2" \
        "$regimen" run small.yaml --run-dir "$1" $long >"$1.out" 2>"$1.err" &
    pid=$!
    tries=0
    until [ "$(ps -o state= -p $pid)" = T ]; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { fail "$1 does not come to its checkpoint: $(tail -1 "$1.err")"; return; }
        sleep 0.01
    done
}

# finish_run RUN: the same command to its end, with the bytes of the whole run.
finish_run() {
    # shellcheck disable=SC2086
    expect 0 timeout 60 "$regimen" run small.yaml --run-dir "$1" $long
    same_run whole "$1" "$1"
}

# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml --run-dir whole $long

# Signals that save and end with 75; SIGCONT ends the stop.
at=40
for signal in TERM HUP INT XCPU USR1; do
    # (a shell without job control starts what is in the background with SIGINT ignored)
    begin "by-$signal" "$(printf %04d $at)"
    kill "-$signal" $pid
    kill -CONT $pid
    wait $pid
    code=$?
    [ $code = 75 ] || fail "SIG$signal: exit $code: $(tail -1 "by-$signal.err")"
    [ ! -e "by-$signal/export/model.onnx" ] || fail "SIG$signal did not end the run"
    finish_run "by-$signal"
    at=$((at + 240))
done

# A stop is a pause; a closed pipe is no signal to a run.
begin paused 0400
sleep 0.5
kill -PIPE $pid
kill -CONT $pid
wait $pid || fail "SIGSTOP, SIGPIPE and SIGCONT: exit $?"
same_run whole paused "SIGSTOP, SIGPIPE and SIGCONT"
# shellcheck disable=SC2086
{ "$regimen" run small.yaml --run-dir unread $long 2>unread.err; echo $? >unread.code; } | true
case $(cat unread.code) in
0 | 1) ;;
*) fail "a closed standard output: exit $(cat unread.code)" ;;
esac
finish_run unread

# The wall clock jumps in the middle: nothing of a run goes by it but dates.
LD_PRELOAD=$RGM_PRELOAD RGM_CLOCK_AFTER=0 RGM_CLOCK_STEP=-2000000000 "$regimen" run small.yaml \
    --run-dir early --set trainer.epochs=1 >/dev/null 2>&1
grep -q '^20' early/log.txt && fail "the clock was not set: nothing was tested"
for step in -3600 3600 -2000000000; do
    rm -rf jumped
    # shellcheck disable=SC2086
    expect 0 env "LD_PRELOAD=$RGM_PRELOAD" RGM_CLOCK_AFTER=20 RGM_CLOCK_STEP=$step timeout 60 \
        "$regimen" run small.yaml --run-dir jumped $long --set trainer.checkpoint.every_seconds=3000 \
        --set trainer.max_seconds=3000 --set trainer.checkpoint.keep_every_hours=0.5
    cmp -s whole/metrics.jsonl jumped/metrics.jsonl || fail "the clock set by $step s: other metrics"
    cmp -s whole/export/model.onnx jumped/export/model.onnx || fail "the clock set by $step s: another model"
    grep -q max_seconds jumped/log.txt && fail "the clock set by $step s counts as training time"
    # shellcheck disable=SC2086
    expect 0 "$regimen" run small.yaml --run-dir jumped $long --set trainer.epochs=1240 \
        --set trainer.checkpoint.every_seconds=3000 --set trainer.max_seconds=3000 \
        --set trainer.checkpoint.keep_every_hours=0.5
done

# Too few descriptors: it works, or says so and goes on when there are enough.
refused=0
for most in 3 4 5 6 7 8 9 10 11 12 14 16; do
    # shellcheck disable=SC2086
    (ulimit -n $most && exec timeout 60 "$regimen" run small.yaml --run-dir "few-$most" $short) >out 2>err
    code=$?
    case $code in
    0) ;;
    1 | 2) says 'Too many open files|too many open files|error while loading shared' err
       refused=$((refused + 1)) ;;
    127) refused=$((refused + 1)) ;; # the loader had none
    *) fail "$most descriptors: exit $code: $(tail -1 err)" ;;
    esac
    [ $code = 127 ] && continue
    expect 0 "$regimen" run small.yaml --run-dir "few-$most" $short
    [ -e few ] || "$regimen" run small.yaml --run-dir few $short >/dev/null 2>&1
    same_run few "few-$most" "$most descriptors"
done
[ $refused -gt 0 ] || fail "no number of descriptors was too small: nothing was tested"
[ $code = 0 ] || fail "16 descriptors are too few"

# Data and logs that are cut while they are read: an error, no signal.
expect 0 "$regimen" data generate citation --to graph --nodes 2000 --edges 8000 --words 500 --words-per-node 20 \
    --classes 4 --train-per-class 10 --valid 60 --test 60
expect 0 "$regimen" data sample graph --to many --hops edges:8,edges:8 --label label --seeds all
records=$(ls -S many/*.tfrecord | head -1)
for moment in 0.01 0.03 0.1 0.3; do
    cp "$records" cut.tfrecord
    timeout 60 "$regimen" data stats cut.tfrecord --schema many/schema.pbtxt >out 2>err &
    pid=$!
    sleep $moment
    truncate -s 100000 cut.tfrecord
    wait $pid
    code=$?
    [ -z "${SHOW:-}" ] || echo "cut behind $moment: $code"
    [ $code -le 1 ] || fail "data cut behind $moment s: exit $code"
    [ $code = 0 ] || says 'cut.tfrecord: record [0-9]+ at byte' err
done
finish
