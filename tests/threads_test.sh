#!/bin/sh
# The number of threads is nobody's business but the clock's: a run of each kind of task has the same
# checkpoints (positions inside an epoch with them) with 1 thread and with 3, and one that was begun with the
# one goes on in the middle of an epoch with the other, to the same bytes.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1

# run_with THREADS FOLDER
run_with() {
    expect 0 "$regimen" run "$kind.yaml" --set runtime.threads="$1" --run-dir "$2"
}

# continue_with THREADS FROM TO: the run FROM as it was after step 10, taken up with so many threads.
continue_with() {
    cp -r "$2" "$3"
    rm -rf "$3"/ckpt/step-0000001[5-9] "$3"/ckpt/step-0000002? "$3/export"
    run_with "$1" "$3"
    [ "$(grep -c 'train | step: *15 ' "$3/log.txt")" = 2 ] || fail "$kind: $3 did not go on from step 10"
}

for kind in records private sampled subgraphs translation; do
    position_experiment $kind $kind.yaml
    run_with 1 $kind-1
    run_with 3 $kind-3
    [ -s $kind-1/ckpt/step-00000010/data.bin ] || fail "$kind: no position inside an epoch at step 10"
    same_run $kind-1 $kind-3 "$kind: 1 and 3 threads"
    continue_with 3 $kind-1 $kind-1-3
    same_run $kind-1 $kind-1-3 "$kind: from 1 to 3 threads"
    continue_with 1 $kind-3 $kind-3-1
    same_run $kind-1 $kind-3-1 "$kind: from 3 to 1 threads"
done
finish
