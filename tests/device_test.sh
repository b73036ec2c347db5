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

# same_numbers A B: two CSV files of the same lines and words, whose numbers are those of the other up to rounding.
same_numbers() {
    python3 - "$1" "$2" <<'PY' || fail "other numbers in $1 and $2"
import csv, sys
a, b = (list(csv.reader(open(path))) for path in sys.argv[1:])
assert len(a) == len(b) > 1, (len(a), len(b))
for left, right in zip(a, b):
    assert len(left) == len(right), (left, right)
    for x, y in zip(left, right):
        try:
            x, y = float(x), float(y)
        except ValueError:
            assert x == y, (left, right)
        else:
            assert abs(x - y) <= 1e-3 * max(abs(x), 0.1), (left, right)
PY
}

# Every verb on the weights of a run of the device: where it computed, and on the CPU, to the same numbers. What the
# device does not do (docs/device.md) runs on the CPU by itself.
[ -z "${RGM_KINDS:-}" ] || [ -d gcn-1 ] || ln -s first gcn-1
for set in runtime.device="$device" runtime.device=cpu; do
    on=${set#*=} on=${on%:*}
    expect 0 "$regimen" predict gcn-1 --set "$set"
    cp out "predict-$on.csv"
    expect 0 "$regimen" predict gcn-1 --embeddings -o "states-$on.csv" --set "$set"
    expect 0 "$regimen" explain gcn-1 --item 0 -o "edges-$on.csv" --set "$set"
    expect 0 "$regimen" eval gcn-1 --json --set "$set"
    cp out "eval-$on.json"
done
on=${device%:*}
same_numbers "predict-$on.csv" predict-cpu.csv
same_numbers "states-$on.csv" states-cpu.csv
same_numbers "edges-$on.csv" edges-cpu.csv
python3 - "eval-$on.json" eval-cpu.json <<'PY' || fail "eval: other numbers on $device and on the CPU"
import json, sys
def numbers(x):
    if isinstance(x, dict):
        return [n for k in sorted(x) if "second" not in k for n in numbers(x[k])]
    return [x] if isinstance(x, (int, float)) and not isinstance(x, bool) else []
a, b = (numbers(json.load(open(path))) for path in sys.argv[1:])
assert len(a) == len(b) > 0, (a, b)
assert all(abs(x - y) <= 1e-3 * max(abs(x), 0.1) for x, y in zip(a, b)), (a, b)
PY
expect 0 "$regimen" export gcn-1 --verify
says "verified on" out
if [ -d translation-1 ]; then
    says "plan \| device $device \([^;]*$" translation-1/log.txt
    printf '3 4 5\n7 8 9\n' >lines
    for beam in 1 3; do # on the device: the words of the CPU, and its scores up to rounding
        for set in runtime.device="$device" runtime.device=cpu; do
            expect 0 "$regimen" translate translation-1 --beam $beam --scores --set "$set" <lines
            tr '\t ' ',,' <out >"told-$beam-$(echo "${set#*=}" | cut -d: -f1).csv"
        done
        [ "$(wc -l <"told-$beam-cpu.csv")" -ge 2 ] || fail "translate --beam $beam of a run of $device"
        same_numbers "told-$beam-$on.csv" "told-$beam-cpu.csv"
    done
    # The CPU has gone on from the weights of the device.
    expect 0 "$regimen" translate translation-4 --beam 3 <lines
    expect 0 "$regimen" export translation-1
fi

expect 0 "$regimen" doctor
says "^device   $device: .+" out

# What cannot be opened is refused before anything is written.
expect 2 "$regimen" config check small.yaml --set runtime.device=cudda
says "'device' is cudda; it is cpu, gpu, gpu:N, cuda:N or opencl:N" err
"$regimen" run small.yaml --set runtime.device=opencl:999 --run-dir none >out 2>err && fail "opencl:999 was opened"
says "runtime.device .--set runtime.device=cpu computes without.: device 'opencl:999'" err
[ ! -e none ] || fail "a run without its device left a folder"
finish
