#!/bin/sh
# Ranks on devices, which PoCL makes of this processor: each rank of a host takes one of its own, the run has the bytes
# of one process on such a device, and what cannot be is told by rank 0.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
fast_work
cd "$work" || exit 1
export POCL_DEVICES="pthread pthread"
"$regimen" doctor >out 2>err || fail "doctor: $(cat err)"
if ! grep -q '^device .*opencl:1.*pthread' out; then
    echo "SKIPPED: OpenCL lists no two devices of PoCL here: $(grep '^device.*opencl' out)"
    exit 77
fi

# on RANKS OPTIONS...: the run of this folder.
on() {
    count=$1
    shift
    set -- "$regimen" run ../"$form.yaml" --run-dir run "$@"
    [ "$count" = 1 ] || set -- ranks "$count" "$@"
    "$@"
}

same_as_one() {
    cd "$work" || exit 1
    same_run one/run "$1/run" "$form: $2"
}

# in_folder NAME: an empty one, where every run is called `run`: positions in the data name files.
in_folder() {
    rm -rf "${work:?}/$1"
    mkdir "$work/$1"
    cd "$work/$1" || exit 1
}

for form in records sampled; do
    position_experiment $form "$work/$form.yaml"
    sed -i "s/^runtime: .*/runtime: {seed: 3, threads: 1, shards: 2}/" "$form.yaml"
    in_folder one
    on 1 --set runtime.device=opencl >out 2>err || fail "$form: $(tail -3 err)"
    in_folder two
    on 2 --set runtime.device=opencl >out 2>err || fail "$form on 2 ranks: $(tail -3 err)"
    says '^device +opencl:0 \(.*\), rank 0 of 2$' err
    same_as_one two "2 ranks with a device each"
    in_folder shared
    on 2 --set runtime.device=opencl:1 >out 2>err || fail "$form on 2 ranks and one device: $(tail -3 err)"
    same_as_one shared "2 ranks that share a device"
    cd "$work" || exit 1
done

in_folder refused
export POCL_DEVICES=pthread
expect 2 on 2 --set runtime.device=opencl
says "^regimen: rank 1 on .*: runtime.device: device 'opencl:1': opencl lists 1 here.*number 2 there.*runtime.device=opencl:0" "$work/err"
export POCL_DEVICES="pthread basic"
expect 2 on 2 --set runtime.device=opencl
says 'rank 1 computes on opencl \((pthread|basic).*and rank 0 on opencl \((pthread|basic)' "$work/err"
[ ! -e run/ckpt ] || [ -z "$(ls run/ckpt)" ] || fail "a run that was refused saved something"
finish
