#!/bin/sh
# onnxruntime runs what we export: every op and model of the tests of exports, then models trained on Cora (or
# on a generated graph without REGIMEN_DATA), on the inputs of every test node.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import onnxruntime, safetensors' 2>/dev/null; then
    echo "SKIPPED: build/oracle lacks onnxruntime (scripts/oracles.sh installs it)"
    exit 77
fi
. "$here/../lib.sh"

mkdir "$work/tests"
for test in export/onnx_ops_test graph_tasks/gnn_export_test graph_tasks/export_tables_test; do
    expect 0 env RGM_ONNX_DUMP="$work/tests" "$RGM_BUILD/src/$test"
done
"$python" "$here/onnx_oracle.py" tests "$work/tests" || fail "onnxruntime differs on export's tests"

# trained NAME CONFIG OPTIONS...
trained() {
    name=$1
    shift
    expect 0 "$regimen" run "$@" --run-dir "$work/$name"
    expect 0 "$regimen" export "$work/$name" --to "$work/$name.onnx" --dump "$work/$name.dump"
    "$python" "$here/onnx_oracle.py" run "$work/$name.onnx/model.onnx" "$work/$name.dump" ||
        fail "onnxruntime differs on $name"
}
configs=$here/../../configs
data=${REGIMEN_DATA:-}/cora
if [ -d "$data" ]; then
    for name in gcn gat sage; do
        trained "$name" "$configs/cora_$name.yaml" --set "data.path=$data" --set trainer.epochs=5
    done
    trained mpnn "$configs/cora_mpnn_sampled.yaml" --set "data.path=$data" --set trainer.epochs=2
    [ ! -d "$REGIMEN_DATA/imdb" ] ||
        trained imdb "$configs/imdb.yaml" --set "data.path=$REGIMEN_DATA/imdb" --set trainer.epochs=5
    [ ! -d "$REGIMEN_DATA/mutag" ] ||
        trained mutag "$configs/mutag.yaml" --set "data.path=$REGIMEN_DATA/mutag" --set trainer.fold=1 --set trainer.epochs=2 \
            --set 'model.input={standardize: [feat]}'
else
    trained demo "$configs/demo.yaml" --set trainer.epochs=5
fi
trained named "$configs/demo.yaml" --set trainer.epochs=2 --set 'task.class_names=[art, "b, c", d, e, f, g, h]' \
    --set 'task.num_classes=~'
finish
