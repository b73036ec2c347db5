#!/bin/sh
# regimen trial test: one batch of everything, with the reason where it does not go; regimen init trial: a
# starter that builds against an installed library and passes its own test.
. "$(dirname "$0")/lib.sh"
examples=$(cd "$(dirname "$0")/../examples" && pwd)
cat >"$work/search.yaml" <<'YAML'
data:
  type: citation
  citation: {nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4}
optimizer: {type: adam}
hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -3, maxval: -1}}
searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, max_length: 3}
YAML
mkdir "$work/tmp"
expect 0 env TMPDIR="$work/tmp" "$regimen" trial test "$work/search.yaml"
for tick in "opened +[0-9]+ parameters" "trained a step +loss [0-9.]+" "validated +searcher's metric" "checkpointed +[0-9]+ bytes"; do
    says "^. $tick" "$work/out"
done
says "optimizer" "$work/err"
[ -z "$(ls -A "$work/tmp")" ] || fail "a test leaves its folder: $(ls -A "$work/tmp")"
expect 2 "$regimen" trial test "$work/search.yaml" --set searcher.metric=acuracy
says "searcher.metric: 'valid.acuracy' is not a validation metric" "$work/err"
expect 2 "$regimen" trial test "$work/search.yaml" --set batches_per_step=0 --set max_restarts=-1
says "batches_per_step" "$work/err"
says "max_restarts" "$work/err"
expect 2 "$regimen" run "$work/search.yaml"
says "this is a search.*regimen experiment run" "$work/err"
expect 0 "$regimen" config check "$work/search.yaml" --data
says "no mistakes, data included; a search over 1 hyperparameter for the largest valid.accuracy" "$work/out"
expect 0 "$regimen" config keys checkpoint_storage
says "checkpoint_storage.save_trial_best" "$work/out"
cat >"$work/own.yaml" <<'YAML'
entrypoint: ./nothing.so
hyperparameters: {a: 1}
searcher: {name: random, metric: loss, max_trials: 2, max_length: 3}
YAML
expect 1 "$regimen" trial test "$work/own.yaml"
says "entrypoint: there is no ./nothing.so" "$work/err"
expect 1 "$regimen" trial test "$work/own.yaml" --set "entrypoint=$work/search.yaml"
says "cannot be loaded" "$work/err"
says "opened" "$work/out"

DESTDIR= cmake --install "$RGM_BUILD" --prefix "$work/usr" >"$work/log" 2>&1 || fail "install: $(tail -3 "$work/log")"
PKG_CONFIG_PATH="$work/usr/lib/pkgconfig"
PATH="$work/usr/bin:$PATH"
export PKG_CONFIG_PATH PATH
case ",$(sed -n 's/^RGM_SANITIZE:STRING=//p' "$RGM_BUILD/CMakeCache.txt")," in
    *address*) export CFLAGS="-fsanitize=address,undefined" ;;
    *thread*) export CFLAGS="-fsanitize=thread" ;;
esac
expect 0 "$regimen" init trial "$work/mine"
expect 0 make -C "$work/mine" test
says "^. checkpointed" "$work/out"
expect 1 "$regimen" init trial "$work/mine"
says "moons.c is there already, and stays as it is" "$work/err"
(cd "$work/mine" && "$regimen" trial test moons.yaml --set hyperparameters.batch_size=600) >"$work/out" 2>"$work/err"
says "invalid hyperparameters: there are 500 points, no batch of 600" "$work/err"
(cd "$work/mine" && "$regimen" trial test moons.yaml --set entrypoint=moons.so:suns) >"$work/out" 2>"$work/err"
says "has no trial 'suns'" "$work/err"
(cd "$work/mine" && "$regimen" trial test moons.yaml --set hyperparameters.net.units=~) >"$work/out" 2>"$work/err"
says "build_graph: the section hyperparameters: 'net' has no 'units'; there are dropout" "$work/err"

# What a search of one's own code found: exported, asked, judged, trained again, from any folder and without the
# object that it was built as. The entrypoint lies beside the file.
cd "$work" || exit 1
expect 0 "$regimen" experiment run mine/moons.yaml --master found --slots 1 --set searcher.max_trials=2 \
    --set reproducibility.experiment_seed=1
best=$(sed -n 's/^run *//p' "$work/out")
metric=$(sed -n 's/^best .*accuracy \([0-9.]*\),.*/\1/p' "$work/out")
mv mine/moons.so moons.aside
expect 0 "$regimen" experiment export 1 --master found
says '"logits", "dtype": "float32", "shape": \["batch", 2\], "kind": "logits"' "$best/export/signature.json"
expect 0 "$regimen" export "$best" --verify --to exported
says "verified on 200 items" "$work/out"
expect 0 "$regimen" eval "$best" --json
says "\"part\": \"valid\"" "$work/out"
says "\"accuracy\": $metric" "$work/out"
expect 0 "$regimen" predict "$best"
says "^item,node,prediction,logit_0,logit_1$" "$work/out"
[ "$(wc -l <"$work/out")" = 201 ] || fail "predict: $(wc -l <"$work/out") lines of 200 points"
expect 0 "$regimen" experiment best 1 --master found -o best.yaml
moons=$best
expect 0 "$regimen" run best.yaml --run-dir again --json
says "\"accuracy\": $metric" "$work/out"
cmp "$best/ckpt/step-00000250/weights.safetensors" again/ckpt/step-00000250/weights.safetensors ||
    fail "the file of a trial trains to other weights"
expect 0 "$regimen" eval again
mv moons.aside mine/moons.so
expect 2 "$regimen" run mine/moons.yaml
says "is a search, as its hyperparameter 'batch_size' says: regimen experiment run" "$work/err"
expect 2 "$regimen" run best.yaml --run-dir again --restarts 2
says "not with a model of one's own" "$work/err"
sed -i '/rgm_output_prediction/d' mine/moons.c
expect 0 make -C mine
expect 0 "$regimen" run best.yaml --set "entrypoint=$work/mine/moons.so" --run-dir silent
expect 1 "$regimen" export silent
says "the task 'moons' predicts nothing that could be exported" "$work/err"
expect 1 "$regimen" predict silent
says "the task 'moons' predicts nothing" "$work/err"

# The same of a list of layers with a receiver, and of a task of the library that a program makes; what the second one
# found is an ordinary experiment. Each is looked at without the object that it was built as.
mkdir kinds
for example in 15_premade 16_layers; do
    kind=${example#*_}
    cp "$examples/$example.yaml" kinds/$kind.yaml
    # shellcheck disable=SC2046
    cc ${CFLAGS:-} -std=c17 -fPIC -shared -o kinds/$kind.so "$examples/$example.c" \
        $(pkg-config --cflags --libs regimen) -lm || fail "$kind.so is not built"
done
for kind in layers premade; do
    expect 0 "$regimen" trial test kinds/$kind.yaml
    expect 0 "$regimen" experiment run kinds/$kind.yaml --master of-$kind --slots 1 --set searcher.max_trials=2 \
        --set reproducibility.experiment_seed=1
    best=$(sed -n 's/^run *//p' "$work/out")
    metric=$(sed -n 's/^best .*accuracy \([0-9.]*\),.*/\1/p' "$work/out" | cut -c1-7) # more digits are rounded
    mv kinds/$kind.so kinds/aside
    expect 0 "$regimen" experiment export 1 --master of-$kind
    expect 0 "$regimen" export "$best" --verify --to $kind-onnx
    says "verified on 60 items" "$work/out"
    expect 0 "$regimen" export "$best" --format saved_model --to $kind-saved
    expect 0 "$regimen" eval "$best" --part valid --json
    says "\"accuracy\": $metric" "$work/out"
    expect 0 "$regimen" predict "$best" --part valid
    [ "$(wc -l <"$work/out")" = 61 ] || fail "predict: $(wc -l <"$work/out") lines of 60 items"
    expect 0 "$regimen" experiment best 1 --master of-$kind -o $kind.yaml
    expect 0 "$regimen" run $kind.yaml --run-dir $kind-again --json
    says "\"accuracy\": $metric" "$work/out"
    expect 0 "$regimen" eval $kind-again --part valid
    mv kinds/aside kinds/$kind.so
done
for file in model.onnx saved_model.pb signature.json examples.json; do
    [ -e "of-layers/1/1/ckpt/step-00000030/parsing/$file" ] || fail "a checkpoint's receiver has no $file"
    [ -e "layers-again/ckpt/step-00000030/parsing/$file" ] || fail "a run's checkpoint has no $file"
    [ -e "layers-again/export/parsing/$file" ] || fail "a run's export has no $file"
done
# Winners of each kind answer by their run folder: a premade trial as any run, a list of layers by the receiver that
# parses Examples, a graph without receivers in rows, also of a registry without the object that it was built as.
cat >ask.py <<'PY'
import json, sys, urllib.error, urllib.request
def ask(address, token, path, body=None):
    request = urllib.request.Request(address + path, body and json.dumps(body).encode(), {"Authorization": "Bearer " + token})
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return json.load(error)
def weights(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    for name, about in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            begin, end = about["data_offsets"]
            yield name, memoryview(data[8 + size + begin:8 + size + end]).cast("f").tolist()
def dense(x, kernel, bias):
    return [b + sum(v * kernel[i * len(bias) + k] for i, v in enumerate(x)) for k, b in enumerate(bias)]
address, token, folder = sys.argv[1:]
w, point = dict(weights(folder)), [0.25, -0.5]
hidden = [max(v, 0) for v in dense(point, w["hidden/kernel"], w["hidden/bias"])]
wanted = dense(hidden, w["logits/kernel"], w["logits/bias"])
for model in "moons", "kept":
    got = ask(address, token, f"/v1/models/{model}:predict", {"instances": [point, [1, 2], point]})["predictions"]
    assert len(got) == 3 and got[0] == got[2] and max(abs(a - b) for a, b in zip(got[0], wanted)) < 1e-5, (got, wanted)
wrong = ask(address, token, "/v1/models/moons:predict", {"instances": [[1, 2, 3]]})
assert "a row has 3 numbers, but 'moons' takes 2: 2 of 'point'" in wrong["error"], wrong
example = {"instances": [{"xy": [0.5, 1]}, {"xy": [2, 2]}]}
got = ask(address, token, "/v1/models/layers:predict", example)["predictions"]
assert len(got) == 2 and [len(row) for row in got] == [2, 2] and got[0] != got[1], got
wrong = ask(address, token, "/v1/models/layers:predict", {"instances": [{"point": [0.5, 1]}]})
assert "the model's Examples have no 'point'" in wrong["error"], wrong
assert ask(address, token, "/v1/models/layers/metadata")["metadata"]["instances"] == "examples"
PY
premade=$(ls -d of-premade/1/1)
expect 0 "$regimen" model register kept again --registry registry
mv mine/moons.so moons.aside
export XDG_STATE_HOME="$work/state"
"$regimen" answer a="$premade" layers=of-layers/1/1 moons="$moons" model:kept --registry registry \
    --listen 127.0.0.1:0 >served 2>&1 &
server=$!
wait_for grep -q '^answer ' served
python3 -B ask.py "$(sed -n 's/^answer *//p' served)" "$(sed -n 's/^token *\([0-9a-f]*\)$/\1/p' served)" \
    again/ckpt/step-00000250/weights.safetensors || fail "what trials of one's own answer"
kill -TERM $server
wait $server || fail "answer ends with $?: $(cat served)"
says "a: version 1 of of-premade/1/1, asked in examples" served
says "layers: version 1 of of-layers/1/1, asked in examples" served
says "moons: version 1 of .*, asked in rows" served
mv moons.aside mine/moons.so
expect 1 "$regimen" answer a="$moons/export" --listen 127.0.0.1:0
says "/export is an export without model.yaml.*served by its run folder" "$work/err"
expect 1 "$regimen" answer a=silent --listen 127.0.0.1:0
says "the task 'moons' predicts nothing" "$work/err"
grep -q entrypoint premade.yaml && fail "what a premade trial found needs the program"
expect 2 "$regimen" run kinds/layers.yaml --set hyperparameters.units=4 --set hyperparameters.dropout=0 --run-dir none \
    --set 'trainer.checkpoint.exports=[predictor]'
says "trainer.checkpoint.exports: receivers are not written as 'predictor'; there are onnx, saved_model" "$work/err"

# A search stays with the code that it began with, whatever is built meanwhile; so do its copies.
cd "$work/mine" || exit 1
one="--slots 1 --set searcher.max_trials=2 --set reproducibility.experiment_seed=1"
expect 0 "$regimen" experiment run moons.yaml --master whole $one
expect 0 "$regimen" trial logs 1/1 --master whole # a trial tells its story, too
for line in 'begin [|] step: +0 [|]' 'train [|] step: ' ' eval [|] step: ' 'checkpoint [|] step: ' 'end [|] step: '; do
    says "^regimen: info: $line" "$work/out"
done
"$regimen" experiment trials 1 --master whole --csv | cut -d, -f2-8 >"$work/whole.csv"
sed -i 's/hidden = rgm_dropout/hidden = rgm_scale(hidden, 0); hidden = rgm_dropout/' moons.c
expect 0 "$regimen" experiment create moons.yaml --master kept --set searcher.max_trials=2 \
    --set reproducibility.experiment_seed=1
expect 0 make
expect 0 "$regimen" experiment run moons.yaml --master kept $one
says "moons.so is not what it was when the experiment began" "$work/err"
"$regimen" experiment trials 1 --master kept --csv | cut -d, -f2-8 >"$work/kept.csv"
cmp "$work/whole.csv" "$work/kept.csv" || fail "a search took code that was built while it ran"
expect 0 "$regimen" experiment run moons.yaml --master anew $one
"$regimen" experiment trials 1 --master anew --csv | cut -d, -f2-8 >"$work/anew.csv"
cmp -s "$work/whole.csv" "$work/anew.csv" && fail "what was built anew gives the same"
finish
