#!/bin/sh
# runtime.device: on another device a run has the numbers of the CPU up to rounding, two
# runs have the same bytes, and one that was stopped goes on to the same bytes. REGIMEN_DEVICE=cuda:0 says which,
# opencl:0 otherwise; RGM_KINDS of what (gpu_tasks_test has each kind of task).
. "$(dirname "$0")/lib.sh"
device=${REGIMEN_DEVICE:-opencl:0}
fast_work
cd "$work" || exit 1

small_experiment small.yaml
"$regimen" run small.yaml --set trainer.epochs=1 --set runtime.device="$device" --run-dir first >out 2>err || {
    grep -q "is not installed\|has no driver\|finds no GPU\|was not found\|there is no GPU" err || {
        cat err
        exit 1
    }
    echo "SKIPPED: $(cat err)"
    exit 77
}
says "^device +$device \(.+\)$" err
says "^plan .*, kernels gpu" err
says "plan \| device $device \(" first/log.txt
says "\"device $device \(" first/result.json
expect 0 "$regimen" eval first
expect 0 "$regimen" eval first --set runtime.device=cpu
expect 0 "$regimen" predict first

# run_on DEVICE FOLDER
run_on() {
    expect 0 "$regimen" run "$kind.yaml" --set runtime.device="$1" --run-dir "$2"
}

# close A B: the last numbers of two runs.
close() {
    python3 - "$1/result.json" "$2/result.json" <<'PY' || fail "$kind: numbers of $1 and $2"
import json, sys
a, b = (json.load(open(path))["final"] for path in sys.argv[1:])
assert a.keys() == b.keys() and a, (a.keys(), b.keys())
for part in a:
    for name, x in a[part].items():
        y = b[part][name]
        count = name in ("accuracy", "exact_match", "bleu", "f1", "macro_f1")
        assert abs(x - y) <= (0.03 if count else 2e-3 * max(abs(x), 0.1)), (part, name, x, y)
PY
}

small_experiment gcn.yaml
sed -i 's/metric: valid.accuracy/metric: valid.accuracy, save: true/' gcn.yaml
sed 's/type: gcn, hidden: \[8\]/type: gat_v2, hidden: [8], heads: 2/' gcn.yaml >gat.yaml
for kind in ${RGM_KINDS:-gcn translation}; do
    case $kind in gcn | gat) ;; *) position_experiment "$kind" "$kind.yaml" ;; esac
    run_on cpu "$kind-cpu"
    run_on "$device" "$kind-1"
    run_on "$device" "$kind-2"
    close "$kind-cpu" "$kind-1"
    same_run "$kind-1" "$kind-2" "$kind: two runs on $device"
    cp -r "$kind-1" "$kind-3"
    rm -rf "$kind-3"/ckpt/step-0000001[5-9] "$kind-3"/ckpt/step-000000[2-9]? "$kind-3/export"
    run_on "$device" "$kind-3"
    same_run "$kind-1" "$kind-3" "$kind: goes on on $device"
    # A checkpoint says nothing of the device.
    cp -r "$kind-1" "$kind-4"
    rm -rf "$kind-4"/ckpt/step-0000001[5-9] "$kind-4"/ckpt/step-000000[2-9]? "$kind-4/export"
    run_on cpu "$kind-4"
    close "$kind-1" "$kind-4"
done

expect 0 "$regimen" doctor
says "^device   $device: .+" out

# What cannot be opened is refused before anything is written.
expect 2 "$regimen" config check small.yaml --set runtime.device=cudda
says "'device' is cudda; it is cpu, gpu, gpu:N, cuda:N or opencl:N" err
"$regimen" run small.yaml --set runtime.device=opencl:999 --run-dir none >out 2>err && fail "opencl:999 was opened"
says "runtime.device .--set runtime.device=cpu computes without.: device 'opencl:999'" err
[ ! -e none ] || fail "a run without its device left a folder"
finish
