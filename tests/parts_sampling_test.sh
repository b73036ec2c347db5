#!/bin/sh
# Mini-batches sampled across the parts of one graph, against the same run on the whole graph in one process: the same
# bytes of checkpoints, metrics and exports on 2 and 4 ranks, however the graph was cut: SAGE and GCN on Cora with
# dropout, several node sets with embeddings on films. A rank that is killed while others sample, and the run that goes
# on with another number of ranks. What is refused, and by which words.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
fast_work
cd "$work" || exit 1
data=${REGIMEN_DATA:-/nowhere}

if [ -d "$data/cora" ] && [ -d "$data/imdb" ]; then
    "$regimen" data import ogb "$data/cora" --to nodes.graph --format graph --node-set paper --edge-set cites >/dev/null 2>err &&
        "$regimen" data import ogb "$data/imdb" --to sets.graph --format graph --split random >/dev/null 2>err || fail "$(cat err)"
    set=paper edges=cites classes=7 sets=movie
else
    echo "REGIMEN_DATA has no cora and no imdb: a generated graph in their place"
    "$regimen" data generate citation --to nodes.folder --nodes 900 --edges 3000 --classes 4 --words 200 --words-per-node 8 \
        --train-per-class 20 --valid 200 --test 300 >/dev/null 2>err &&
        "$regimen" data import folder nodes.folder --to nodes.graph --format graph >/dev/null 2>err || fail "$(cat err)"
    set=nodes edges=edges classes=4 sets=
fi
# In 2 parts of few edges between them, and in 4 by chance, where most neighbours are elsewhere.
for graph in nodes ${sets:+sets}; do
    "$regimen" data partition $graph.graph --to $graph.2 --parts 2 --method multilevel >out 2>err &&
        "$regimen" data partition $graph.graph --to $graph.4 --parts 4 --method random >out 2>err || fail "$graph: $(cat err)"
done

# experiment SET CLASSES SAMPLING MODEL: where it lies, `data.path` is a link to what a run has of the graph.
experiment() {
    cat >"$work/run.yaml" <<YAML
data: {type: folder, path: graph, batch_size: 16, sampling: {$3, store: memory}}
task: {type: root_node_classification, node_set: $1, label: label, num_classes: $2}
model: $4
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2, checkpoint: {every_steps: 3, keep: 9, best: {save: true, metric: valid.accuracy}}}
export: [{type: onnx}]
runtime: {seed: 3, threads: 1, shards: 4}
YAML
}

# in_folder NAME GRAPH: an empty one, whose link is GRAPH.
in_folder() {
    rm -rf "${work:?}/$1"
    mkdir "$work/$1"
    ln -s "../$2" "$work/$1/graph"
    cd "$work/$1" || exit 1
}

# on RANKS OPTIONS...: the run of this folder.
on() {
    count=$1
    shift
    ranks "$count" "$regimen" run ../run.yaml --run-dir run --set data.type=parts "$@"
}

# compare WHAT GRAPH OPTIONS...
compare() {
    what=$1 graph=$2
    shift 2
    in_folder one "$graph.graph"
    "$regimen" run ../run.yaml --run-dir run "$@" >out 2>err || fail "$what in one process: $(tail -2 err)"
    for n in 2 4; do
        in_folder on$n "$graph.$n"
        on $n "$@" >out 2>err || fail "$what on $n ranks: $(grep '^regimen: ' err)"
        [ "$(grep -c '^run ' out)" = 1 ] || fail "$what: not one of $n ranks tells how it ended: $(cat out)"
        says "^sampling across parts: of [0-9]+ nodes around 16 seeds [1-9][0-9]* % are other ranks'; [0-9.]+ MB" err
        cd "$work" || exit 1
        same_run one/run on$n/run "$what on $n ranks"
    done
    for n in 1 2; do # four parts on fewer ranks
        in_folder few$n "$graph.4"
        on $n "$@" >out 2>err || fail "$what on $n ranks with 4 parts: $(grep '^regimen: ' err)"
        cd "$work" || exit 1
        same_run one/run few$n/run "$what on $n ranks with 4 parts"
    done
    cd "$work" || exit 1
    [ "$(ls one/run/ckpt | wc -l)" -gt 1 ] || fail "$what: no checkpoints to compare"
}
experiment $set $classes 'sizes: [5, 5]' '{type: graph_sage, hidden: [16], aggregator: mean, dropout: 0.3}'
compare SAGE nodes
experiment $set $classes "sizes: [4, 3], edge_sets: ['<$edges', '<$edges'], once: true" '{type: gcn, hidden: [16], dropout: 0.5, l2: 5e-4}'
compare "GCN along edges" nodes --set trainer.accumulation_steps=2 --set trainer.validation_steps=6
if [ -n "$sets" ]; then
    cat >films.spec <<'TXT'
seed_op { op_name: "film" node_set_name: "movie" }
sampling_ops { op_name: "cast" input_op_names: "film" edge_set_name: "has_actor" sample_size: 3 strategy: RANDOM_UNIFORM }
sampling_ops { op_name: "films" input_op_names: "cast" edge_set_name: "<has_actor" sample_size: 2 strategy: RANDOM_UNIFORM }
sampling_ops { op_name: "words" input_op_names: "film" input_op_names: "films" edge_set_name: "has_keyword" sample_size: 2 strategy: RANDOM_UNIFORM }
TXT
    experiment $sets 3 "spec: $work/films.spec" '{type: graph_sage, hidden: [8, 8], aggregator: sum, receiver: both, dropout: 0.3, input: {latent: 8}}'
    compare "SAGE of several sets" sets
else
    echo "SKIPPED: a graph of several sets, of which REGIMEN_DATA has none"
fi

# ---- a rank that is killed, and another number of ranks ----
ranks_that_stand
experiment $set $classes 'sizes: [5, 5]' '{type: graph_sage, hidden: [16], aggregator: mean, dropout: 0.3}'
if [ -n "${RGM_SANITIZE:-}" ]; then
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
else
    sed -i 's/epochs: 2/epochs: 4/' run.yaml
    compare "four epochs" nodes
    in_folder life nodes.4
    WHEN=06 ranks 4 ../start "$regimen" run ../run.yaml --run-dir run --set data.type=parts >out 2>err &
    job=$!
    lose_rank_1 $job
    unset OMPI_MCA_odls_base_sigkill_timeout # what is refused below would wait for it
    on 2 >out 2>err || fail "the rest on 2 ranks: $(tail -3 err)"
    cd "$work" || exit 1
    same_run one/run life/run "killed on 4 ranks and continued on 2"
fi

# ---- what is refused ----

# refused CODE PATTERN RANKS OPTIONS...: told once, by rank 0, before anything is trained.
refused() {
    code=$1 pattern=$2 number=$3
    shift 3
    in_folder none nodes.2
    expect "$code" on "$number" "$@"
    [ "$(grep -c "^regimen: .*$pattern" "$work/err")" = 1 ] || fail "not told once: $pattern: $(grep '^regimen' "$work/err")"
    [ ! -e run/ckpt ] || fail "$pattern: something was trained"
    cd "$work" || exit 1
}
refused 2 'data.sampling.type is cluster: trees of neighbours alone' 2 --set data.sampling.sizes='[]' --set data.sampling.type=cluster
refused 2 'data.sampling.store is records' 2 --set data.sampling.store=records
refused 2 'seed_time_feature_name: owners of neighbours' 2 --set data.sampling.seed_time_feature_name=year
refused 2 'data.batch_size, batch_nodes and batch_edges' 2 --set data.sampling.sizes='[]' --set data.sampling.store=records
refused 2 'has 2 parts, and there are 4 ranks' 4
refused 2 'runtime.shards: 1 shards for 2 ranks' 2 --set runtime.shards=1
refused 2 'set runtime.shards to 2 or more' 1 --set runtime.shards=1
"$regimen" data key key >/dev/null || fail "no key of input workers"
refused 2 'runtime.input_workers: the trainer itself completes the batches' 1 \
    --set runtime.input_workers.address=127.0.0.1:0 --set runtime.input_workers.key="$work/key"
# What is wrong in a part has another number there than in the whole graph.
refused 1 "items as this rank's part numbers them (config check --data with data.type folder .*): .*must be 0..0" 1 --set task.num_classes=1
refused 2 'which trainer.validation_continues does not go with' 2 --set trainer.validation_steps=2 --set trainer.validation_continues=true
in_folder none nodes.2
expect 2 "$regimen" config check ../run.yaml --data --set data.type=parts --set data.sampling.store=records
says 'data.type is parts, and data.sampling.store is records' "$work/err"
finish
