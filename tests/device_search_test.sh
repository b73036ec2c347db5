#!/bin/sh
# Searches whose slots are devices (resources.slot_type: gpu), which PoCL makes of this processor: each trial has one of
# its own, two of them where it is two ranks, and what cannot be is told before the first trial. The trials come to
# the same bytes on one device, on two, and as two ranks.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
regimen=$(realpath "$regimen")
fast_work
cd "$work" || exit 1
unset REGIMEN_MASTER HWLOC_COMPONENTS CUDA_VISIBLE_DEVICES
export POCL_DEVICES="pthread pthread"
"$regimen" doctor >out 2>err || fail "doctor: $(cat err)"
if ! grep -q '^device .*opencl:1.*pthread' out; then
    echo "SKIPPED: OpenCL lists no two devices of PoCL here: $(grep '^device.*opencl' out)"
    exit 77
fi
awk -v OFS=, 'BEGIN { srand(5); for (i = 0; i < 400; i++) { c = int(rand() * 3)
             print rand() + (c == 0), rand() + (c == 1), rand(), c } }' >data.csv
search_of_ranks search.yaml 40
sed -i 's/max_length: 6/max_length: 3/' search.yaml
cat >>search.yaml <<'YAML'
checkpoint_storage: {save_trial_best: 100, save_trial_latest: 100}
resources: {slot_type: gpu}
YAML
run="$regimen experiment run search.yaml --threads 1 -q --master"
what() { "$regimen" experiment trials 1 --csv --master "$1" | cut -d, -f2-7,9; } # no ids, no restarts, no times

# devices MASTER: what its trials computed on, by trial.
devices() {
    for trial in 1 2; do
        sed -n 's/.*plan | device \(opencl:[0-9]\).*/\1/p' "$1/1/$trial/log.txt" | sort -u | paste -sd+
    done | paste -sd' '
}

# same MASTER: its trials are the reference's, byte for byte.
same() {
    what "$1" >found
    cmp -s reference found || fail "$1: $(diff reference found)"
    for trial in 1 2; do
        for part in metrics.jsonl $(cd one/1/$trial && ls -d ckpt/step-*); do
            diff -r "one/1/$trial/$part" "$1/1/$trial/$part" >differ || fail "$1, trial $trial: $part: $(head -3 differ)"
        done
    done
}

expect 0 $run one --devices opencl:1
what one >reference
[ "$(wc -l <reference)" = 3 ] || fail "2 trials: $(cat reference)"
[ "$(devices one)" = "opencl:1 opencl:1" ] || fail "one device: $(devices one)"
grep -q 'device: gpu' one/1/1/config.yaml || fail "config.yaml says which interface: $(grep -A4 runtime one/1/1/config.yaml)"
expect 0 "$regimen" experiment describe 1 --master one
says '^ID .* SLOT TYPE +SLOTS +RANKS' out
says '^ 1 .* gpu +1 +1$' out

# Two at a time, which start in one turn, have one each.
expect 0 $run two --devices opencl
[ "$(devices two | tr ' ' '\n' | sort | paste -sd' ')" = "opencl:0 opencl:1" ] || fail "two devices: $(devices two)"
same two

# A trial of two slots is two ranks, one on each.
expect 0 $run ranks --devices opencl --set resources.slots_per_trial=2
expect 0 "$regimen" experiment describe 1 --master ranks
says '^ 1 .* gpu +2 +2$' out
says 'device opencl:0 .*, rank 0 of 2' ranks/1/1/log.txt
same ranks

# ---- what cannot be, before the first trial ----
expect 2 $run none --devices opencl:7
says "slots of the type gpu .resources.slot_type.: device 'opencl:7': opencl lists 2 here" err
expect 2 $run none --devices cpu
says "'cpu' is no device for a list" err
expect 2 $run none --devices opencl:0,opencl
says "device 'opencl:0' is twice in the list" err
expect 2 $run none --devices opencl --set resources.slots_per_trial=4 --set runtime.shards=4
says 'slots_per_trial is 4 with slot_type: gpu, but there are 2 devices: no trial could start' err
expect 2 $run none --devices opencl --set resources.slots_per_trial=2 --set runtime.shards=1
says 'a process drives one device: set runtime.shards to 2' err
expect 2 $run none --devices opencl --set runtime.device=opencl:1
says 'each trial gets its device from the master' err
expect 2 $run none --devices opencl --set runtime.device=cuda
says 'runtime.device is cuda, and this master shares out opencl:0' err
expect 2 $run none --devices opencl --set 'environment.environment_variables=[CUDA_VISIBLE_DEVICES=0]'
says 'CUDA_VISIBLE_DEVICES is set for each trial' err
if ! "$regimen" doctor | grep -q '^device .*, GPU,'; then
    expect 2 $run none
    says 'slots of the type gpu .resources.slot_type.: device .gpu.: there is no GPU here' err
    expect 2 "$regimen" experiment create search.yaml --master one
    says 'resources.slot_type is gpu: device .gpu.: there is no GPU here' err
fi
[ ! -e none/1/1 ] || fail "a trial was begun all the same"

finish
