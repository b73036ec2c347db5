#!/bin/sh
# Each write-class system call of a run fails once (EIO, ENOSPC), and at each the process is killed
# once: the last checkpoint stays readable and the same command goes on to the same bytes.
. "$(dirname "$0")/lib.sh"
command -v strace >/dev/null || { echo "SKIPPED: strace is not installed"; exit 77; }
strace -e trace=none true 2>/dev/null || { echo "SKIPPED: strace may not trace here"; exit 77; }
small_experiment "$work/small.yaml"
cd "$work" || exit 1
run="run small.yaml --set trainer.epochs=6 --set trainer.checkpoint.every_steps=3 --set runtime.threads=1"

# shellcheck disable=SC2086
"$regimen" $run --run-dir whole >/dev/null 2>&1 || fail "the whole run failed"
injected=0
for call in fsync rename,renameat,renameat2 mkdir,mkdirat pwrite64,write unlink,unlinkat,rmdir; do
    # shellcheck disable=SC2086
    total=$(strace -f -e trace=$call -o trace.txt "$regimen" $run --run-dir counted >/dev/null 2>&1
            grep -c '(' trace.txt)
    rm -rf counted
    step=$((total / ${FAULTS:-12} + 1))
    for fault in error=EIO error=ENOSPC signal=KILL; do
        when=1
        while [ "$when" -le "$total" ]; do
            rm -rf hurt
            # shellcheck disable=SC2086
            strace -f -o /dev/null -e trace=$call -e inject=$call:$fault:when=$when \
                "$regimen" $run --run-dir hurt >/dev/null 2>err
            injected=$((injected + 1))
            # shellcheck disable=SC2086
            "$regimen" $run --run-dir hurt >/dev/null 2>err ||
                fail "after $fault at $call $when the run does not go on: $(tail -1 err)"
            for file in ckpt/step-00000006 metrics.jsonl; do
                diff -r "whole/$file" "hurt/$file" >/dev/null ||
                    fail "after $fault at $call $when: $file differs"
            done
            [ "$failures" -lt 5 ] || finish
            when=$((when + step))
        done
    done
done
echo "$injected faults"
finish
