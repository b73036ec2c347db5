#!/bin/sh
# Every system call of a run that writes something (five saves, two of them over a checkpoint of the same
# step, best weights, logs, summaries, export) in turn: the process is killed before it, or it fails with
# EIO or ENOSPC, by turns. None is left out; FAULTS=3 makes each fail with both, STRIDE=7 takes each 7th for a
# quick look.
#   killed:  the same command goes on and ends with the same bytes
#   failed:  status 1 and a message that names path and reason (or, where nothing that counts is lost, such
#            as a line of log.txt, the run goes on); a checkpoint that was there can be evaluated; the same
#            command then goes on and ends with the same bytes
. "$(dirname "$0")/lib.sh"
skip() { echo "SKIPPED: $*"; exit 77; }
command -v strace >/dev/null || skip "strace is not installed"
strace -o /dev/null -e trace=none true 2>/dev/null || skip "strace may not attach here (no ptrace)"
fast_work
recovery_experiment "$work/small.yaml"
cd "$work" || exit 1
sed -i -e 's/nodes: 400, edges: 900/nodes: 60, edges: 120/' -e 's/words: 200, words_per_node: 8/words: 20, words_per_node: 3/' \
    -e 's/train_per_class: 10, valid: 100, test: 200/train_per_class: 5, valid: 20, test: 20/' \
    -e 's/hidden: \[8\]/hidden: [2]/' -e 's/threads: 2/threads: 1/' small.yaml
run="run small.yaml --set trainer.epochs=~ --set trainer.train_steps=4 --set trainer.steps_per_loop=2
     --set trainer.validation_interval=2 --set trainer.checkpoint.every_steps=2
     --set trainer.checkpoint.keep=1 --set trainer.checkpoint.best.keep=1 --set trainer.checkpoint.averages=1
     --set trainer.exports.every_steps=2 --set trainer.exports.keep=1"
calls=openat,mkdir,mkdirat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir,ftruncate

# shellcheck disable=SC2086
"$regimen" $run --run-dir whole >/dev/null 2>err || fail "the whole run failed: $(tail -1 err)"
# shellcheck disable=SC2086
strace -y -o trace.txt -e trace=$calls "$regimen" $run --run-dir counted >/dev/null 2>&1 ||
    fail "the run under strace failed"
same_run whole counted "the run under strace"

# CALL NUMBER of each that writes (by the main thread: no other one does); not what it tells its user.
awk '!match($0, /^[a-z0-9]+\(/) { next }
     { call = substr($0, 1, RLENGTH - 1); n[call]++ }
     call == "openat" && !/O_CREAT|O_WRONLY|O_RDWR/ { next }
     /^write\([12]</ { next }
     { print call, n[call] }' trace.txt >points.txt
awk -v stride="${STRIDE:-1}" -v both="${FAULTS:-2}" 'NR % stride == 0 {
         print $1, $2, "signal=KILL"
         turn = int(NR / stride) % 2
         if (both == 3 || turn == 0) print $1, $2, "error=EIO"
         if (both == 3 || turn == 1) print $1, $2, "error=ENOSPC"
     }' points.txt >cases.txt
[ "$(wc -l <points.txt)" -ge 200 ] || fail "only $(wc -l <points.txt) calls were found in the trace"

# one CALL NUMBER FAULT: on the run folder hurt-$worker.
one() {
    hurt=hurt-$worker
    what="$3 at $1 $2"
    rm -rf "$hurt"
    # shellcheck disable=SC2086
    strace -o /dev/null -e trace=$1 -e inject=$1:$3:when=$2 \
        "$regimen" $run --run-dir "$hurt" >"out-$worker" 2>"err-$worker"
    code=$?
    case $3:$code in
    signal=KILL:137 | error=*:0) echo "$code" >>"codes-$worker" ;;
    error=*:1)
        echo "$code" >>"codes-$worker"
        grep -Eq "^regimen: .*(No space left on device|Input/output error)" "err-$worker" ||
            fail "$what: no clear message: $(tail -2 "err-$worker")"
        ! ls -d "$hurt"/ckpt/step-???????? >/dev/null 2>&1 ||
            "$regimen" eval "$hurt" >/dev/null 2>"err-$worker" ||
            fail "$what: the last checkpoint cannot be evaluated: $(tail -1 "err-$worker")"
        ;;
    *) fail "$what: ended with $code: $(tail -1 "err-$worker")" ;;
    esac
    # shellcheck disable=SC2086
    "$regimen" $run --run-dir "$hurt" >/dev/null 2>"err-$worker" ||
        fail "$what: the run does not go on: $(tail -1 "err-$worker")"
    for part in ckpt best averages metrics.jsonl export; do
        diff -r "whole/$part" "$hurt/$part" >"diff-$worker" || fail "$what: $(head -1 "diff-$worker")"
    done
    ! find "$hurt" -name '*.tmp-*' -o -name '*.partial-*' | grep . || fail "$what: something temporary is left"
}

# Every second case each.
work_off() {
    worker=$1
    awk -v w="$worker" 'NR % 2 == w' cases.txt >"own-$worker"
    while read -r call number fault <&3; do
        one "$call" "$number" "$fault"
        [ "$failures" -lt 5 ] || break
    done 3<"own-$worker"
    [ "$failures" = 0 ]
}

work_off 0 &
other=$!
(work_off 1) || fail "of one half (above)"
wait $other || fail "of the other half (above)"
cat codes-* >codes.txt 2>/dev/null
echo "$(wc -l <points.txt) calls, $(wc -l <cases.txt) faults: $(grep -c '^137' codes.txt) kills," \
    "$(grep -c '^1$' codes.txt) errors told, $(grep -c '^0' codes.txt) that cost nothing"
finish
