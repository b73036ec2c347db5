#!/bin/sh
# TensorFlow runs what we export as SavedModels: every op and model of the tests of exports, then trained models, on
# the inputs of every test node. For `make oracle TF=1`.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle-tf/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import tensorflow' 2>/dev/null; then
    echo "SKIPPED: build/oracle-tf lacks TensorFlow (scripts/oracles.sh tf installs it)"
    exit 77
fi
. "$here/../lib.sh"

# tensorflow ARGUMENTS...: saved_model_oracle.py, without what Grappler says of graphs without elements.
tensorflow() {
    "$python" "$here/saved_model_oracle.py" "$@" 2>"$work/said" && return
    fail "TensorFlow differs: $*"
    grep -v '^W0000\|^WARNING' "$work/said" | tail -25
}

# In memory where that is possible: a save waits for the disk, and there are 15,000 files.
tests=$(mktemp -d /dev/shm/regimen-cli-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$work" "$tests"' EXIT
for test in export/onnx_ops_test graph_tasks/gnn_export_test graph_tasks/export_tables_test; do
    expect 0 env RGM_SAVED_MODEL_DUMP="$tests" "$RGM_BUILD/src/$test"
done
tensorflow tests "$tests"

# trained NAME CONFIG OPTIONS...
trained() {
    name=$1
    shift
    expect 0 "$regimen" run "$@" --run-dir "$work/$name"
    expect 0 "$regimen" export "$work/$name" --format saved_model --to "$work/$name.saved" --dump "$work/$name.dump"
    tensorflow run "$work/$name.saved" "$work/$name.dump"
    expect 0 "$regimen" export "$work/$name" --format saved_model --examples --to "$work/$name.parsed"
    tensorflow examples "$work/$name.parsed" "$work/$name.dump"
}

# A program's receiver that parses records.
tensorflow_parses() {
    expect 0 env RGM_PARSING_DUMP="$work/parsing" "$RGM_BUILD/src/trial/hooks_examples_test"
    tensorflow parsing "$work/parsing"
}
tensorflow_parses
configs=$here/../../configs
trained demo "$configs/demo.yaml" --set trainer.epochs=5
data=${REGIMEN_DATA:-}
if [ -d "$data/cora" ]; then
    for name in gcn gat sage; do
        trained "$name" "$configs/cora_$name.yaml" --set "data.path=$data/cora" --set trainer.epochs=3
    done
    trained mpnn "$configs/cora_mpnn_sampled.yaml" --set "data.path=$data/cora" --set trainer.epochs=1
fi
[ ! -d "$data/imdb" ] || trained imdb "$configs/imdb.yaml" --set "data.path=$data/imdb" --set trainer.epochs=2
[ ! -d "$data/mutag" ] ||
    trained mutag "$configs/mutag.yaml" --set "data.path=$data/mutag" --set trainer.fold=1 --set trainer.epochs=2 \
        --set 'model.input={standardize: [feat]}'
finish
