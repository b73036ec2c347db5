#!/bin/sh
# What killed processes leave is swept by the next one, nothing is written through links, and damaged
# metrics do not stand in the way of sound weights.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1

sh -c 'exit 0' &
dead=$!
wait $dead
expect 0 "$regimen" run small.yaml --run-dir run --set trainer.epochs=1

# F16: of exports, imports and samples; what a living process has under way is left alone.
: >"run/export/model.onnx.tmp-$dead-0"
: >"run/export/model.onnx.tmp-$$-0"
expect 0 "$regimen" export run
[ ! -e "run/export/model.onnx.tmp-$dead-0" ] || fail "export left what a killed one had begun"
[ -e "run/export/model.onnx.tmp-$$-0" ] || fail "export removed what another process writes"
rm "run/export/model.onnx.tmp-$$-0"
mkdir -p "graph.partial-$dead/below" "graph.partial-$$" "samples.partial-$dead"
expect 0 "$regimen" data generate citation --to graph/ --nodes 60 --edges 120 --words 20 \
    --words-per-node 3 --classes 4 --train-per-class 5 --valid 20 --test 20
[ ! -e "graph.partial-$dead" ] || fail "an import that was killed has left its folder"
[ -e "graph.partial-$$" ] || fail "the folder of an import under way was removed"
expect 0 "$regimen" data sample graph --to samples --hops edges:4 --label label
[ ! -e "samples.partial-$dead" ] || fail "a sampling that was killed has left its folder"
: >"run/config.yaml.tmp-$dead-0"
: >"run/export/model.onnx.tmp-$dead-1"
expect 0 "$regimen" run small.yaml --run-dir run --set trainer.epochs=2
find run -name '*.tmp-*' | grep . && fail "a resume left temporary files"

# F11: a link by the name of one of a run's files is refused, what it leads to is whole.
echo precious >theirs
for file in env.json config.yaml export/model.onnx; do
    cp -r run linked
    mv "linked/$file" "linked/$file.aside"
    ln -s "$work/theirs" "linked/$file"
    "$regimen" run small.yaml --run-dir linked --set trainer.epochs=3 >out 2>err
    code=$?
    case $file:$code in
    config.yaml:2 | *:1) ;; # a config.yaml that is another one is refused before
    *) fail "$file as a link: exit $code" ;;
    esac
    [ "$(cat theirs)" = precious ] || fail "$file as a link: what it leads to was overwritten"
    [ $code = 2 ] || says "$file' is a link, not a file; nothing is written through it" err
    rm -r linked
done
# A start that came to nothing binds nobody: samples are those that are asked for now.
cat >sampled.yaml <<'YAML'
data: {type: folder, path: graph, batch_size: 8, sampling: {sizes: [4, 4]}}
task: {type: node_classification, node_set: nodes, num_classes: 4}
model: {type: vanilla_mpnn, units: 8, message_dim: 8}
trainer: {epochs: 1}
YAML
expect 2 "$regimen" run sampled.yaml --run-dir again --set 'data.sampling.sizes=[1]' --set trainer.checkpoint.best.metric=valid.acc
[ -e again/samples/schema.pbtxt ] || fail "a start with a wrong metric has drawn no samples"
expect 0 "$regimen" run sampled.yaml --run-dir again
says 'again/samples was drawn from other data, or with other keys, by a start that saved nothing: it is drawn anew' err
expect 0 "$regimen" run sampled.yaml --run-dir first
cmp again/samples/sampling.txt first/samples/sampling.txt || fail "a run has the samples of a start that failed"
expect 0 "$regimen" eval again
grep -q 'other keys' err && fail "the run's samples are not those that its config.yaml asks for"
expect 0 "$regimen" run sampled.yaml --run-dir again --set trainer.epochs=2
grep -q 'drawn anew' err && fail "a run that goes on has drawn its samples anew"
mkdir to
ln -s "$work/theirs" to/model.onnx
expect 1 "$regimen" export run --to to
[ "$(cat theirs)" = precious ] || fail "export wrote through a link"

# F15: a damaged bit in metrics.jsonl, its end or all of it gone: the run goes on to the same weights.
expect 0 "$regimen" run small.yaml --run-dir whole
expect 0 "$regimen" run small.yaml --run-dir half --set trainer.epochs=20
for damage in bit short gone; do
    cp -r half "$damage"
    case $damage in
    bit) printf '#' | dd of=bit/metrics.jsonl bs=1 seek=700 conv=notrunc 2>/dev/null ;;
    short) truncate -s 2000 short/metrics.jsonl ;;
    gone) rm gone/metrics.jsonl ;;
    esac
    expect 0 "$regimen" run small.yaml --run-dir $damage
    case $damage in
    bit) says "metrics.jsonl: 1 of its 40 lines is damaged. The file as it was is kept as bit/metrics.jsonl.damaged-1" err ;;
    *) says "metrics.jsonl has [0-9]+ bytes, the checkpoint was saved with [0-9]+: lines are missing" err ;;
    esac
    for file in weights slots best; do
        for step in 35 40; do
            cmp "whole/ckpt/step-000000$step/$file.safetensors" "$damage/ckpt/step-000000$step/$file.safetensors" ||
                fail "$damage: other $file"
        done
    done
    # Told once: the next start finds a log that is whole, and so does whoever reads it.
    expect 0 "$regimen" run small.yaml --run-dir $damage
    grep -q metrics.jsonl err && fail "$damage: told again: $(grep metrics.jsonl err)"
    expect 0 "$regimen" runs $damage
    says "^$damage +finished " out
done
[ "$(wc -l <bit/metrics.jsonl)" = 80 ] || fail "bit: $(wc -l <bit/metrics.jsonl) lines, expected 80"
[ "$(wc -l <gone/metrics.jsonl)" = 41 ] || fail "gone: $(wc -l <gone/metrics.jsonl) lines, expected 41"

# TensorBoard: a run that goes on from a checkpoint inside the last step of an epoch, whose end the old event
# file has already, and from one that was saved before the validation of its step.
python3 - >void.py <<'PY'
print(r"""
import glob, struct, sys
def varint(b, i):
    n = s = 0
    while True:
        n |= (b[i] & 127) << s; s += 7; i += 1
        if b[i - 1] < 128: return n, i
def fields(b):
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0: v, i = varint(b, i)
        elif key & 7 == 1: v, i = b[i:i + 8], i + 8
        elif key & 7 == 5: v, i = b[i:i + 4], i + 4
        else: n, i = varint(b, i); v, i = b[i:i + n], i + n
        yield key >> 3, v
points = []  # as TensorBoard: a session's start drops what is there from its step on
for path in sorted(glob.glob(sys.argv[1] + "/events.*")):
    data, i = open(path, "rb").read(), 0
    while i < len(data):
        n = struct.unpack("<Q", data[i:i + 8])[0]
        event = dict(fields(data[i + 12:i + 12 + n])); i += n + 16
        step = event.get(2, 0)
        if 7 in event: points = [p for p in points if p[1] < step]
        if 5 in event:
            for f, value in fields(event[5]): points.append((dict(fields(value))[1].decode(), step))
wanted = [int(s) for s in sys.argv[3].split()]
steps = sorted(s for tag, s in points if tag == sys.argv[2])
assert steps == wanted, (sys.argv[1:3], steps)
""")
PY
go_on_from() { # go_on_from STEP RUN: as if it had been killed behind that checkpoint
    for folder in "$2"/ckpt/step-*; do
        [ "$folder" = "$2/ckpt/$(printf 'step-%08d' "$1")" ] || rm -r "$folder"
    done
}
many="--set trainer.checkpoint.every_epochs=~ --set trainer.checkpoint.every_steps=10 --set trainer.checkpoint.keep=9"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $many --run-dir epochs
go_on_from 20 epochs
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $many --run-dir epochs
all=$(seq -s ' ' 1 40)
python3 void.py epochs/train epoch_loss "$all" || fail "epochs: a step shows twice or not at all"
python3 void.py epochs/validation epoch_loss "$all" || fail "epochs: a validation shows twice or not at all"
steps="$many --set trainer.epochs=~ --set trainer.train_steps=40 --set trainer.steps_per_loop=10 --set trainer.validation_interval=10"
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --run-dir steps
go_on_from 20 steps
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml $steps --run-dir steps
python3 void.py steps/train loss "10 20 30 40" || fail "steps: a step shows twice or not at all"
python3 void.py steps/validation loss "10 20 30 40" || fail "steps: a validation shows twice or not at all"
finish
