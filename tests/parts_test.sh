#!/bin/sh
# One graph in parts, a rank each or several, against the same run in one process: GCN, SAGE and GAT on Cora, R-GCN and
# embeddings of nodes on films, with dropout, cut by METIS and by chance, on 1, 2 and 4 ranks: loss curve and final weights
# to 1e-5. What is refused, and by which words; a rank that is killed, and the run that goes on; one that goes on with fewer ranks.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/mpi_lib.sh"
fast_work
cd "$work" || exit 1
data=${REGIMEN_DATA:-/nowhere}

# same A B: curve and weights of two runs to 1e-5.
cat >same.py <<'PY'
import glob, json, struct, sys

def curve(run):
    lines = [json.loads(line) for line in open(run + "/metrics.jsonl")]
    return [(l["split"], l["step"], k, l[k]) for l in lines if "split" in l for k in ("loss", "cross_entropy", "accuracy") if k in l]

def weights(run):
    data = open(sorted(glob.glob(run + "/ckpt/*/weights.safetensors"))[-1], "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, form in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in form["data_offsets"])
            yield name, struct.unpack("<%df" % ((end - begin) // 4), data[begin:end])

a, b = (curve(run) for run in sys.argv[1:3])
assert len(a) > 20 and [x[:3] for x in a] == [x[:3] for x in b], "other curves"
worst = max(zip((abs(x[3] - y[3]) / max(1, abs(x[3])) for x, y in zip(a, b)), a))
assert worst[0] <= 1e-5, "curve: %s" % (worst,)
one, other = dict(weights(sys.argv[1])), dict(weights(sys.argv[2]))
assert one.keys() == other.keys() and len(one) > 1, "other weights"
for name in one:
    assert len(one[name]) == len(other[name])
    far = max(abs(x - y) for x, y in zip(one[name], other[name]))
    assert far <= 1e-5, "%s: %g" % (name, far)
PY

method=metis
"$regimen" data generate citation --to tiny --nodes 60 --edges 200 --classes 3 --words 20 --words-per-node 4 \
    --train-per-class 5 --valid 20 --test 20 >/dev/null || fail "no graph to cut"
if ! "$regimen" data partition tiny --to tiny.parts >out 2>err; then
    says 'this build has no METIS: install libmetis-dev and build again' err
    echo "this build has no METIS: parts are cut by multilevel"
    method=multilevel
    "$regimen" data partition tiny --to tiny.parts --method multilevel >out 2>err || fail "$(cat err)"
fi
says '^part +0: [0-9]+ nodes and copies of [0-9]+, [0-9]+ edges$' err
says "^data +tiny.parts, 2 parts by $method, seed 1, " err
"$regimen" data partition tiny --to again --method $method >out 2>&1 || fail "not cut again"
cmp -s tiny.parts/parts.json again/parts.json || fail "the same cut gives other parts"
rm -r again

# ---- the same as one process ----

# cut NAME OTHERS...: NAME.graph in 2 parts of few edges between them, and in 4 by chance, which have most.
cut() {
    "$regimen" data partition "$1.graph" --to "$1.2" --parts 2 --method $method >out 2>err &&
        "$regimen" data partition "$1.graph" --to "$1.4" --parts 4 --method random >out 2>err || fail "$1: $(cat err)"
}
if [ -d "$data/cora" ] && [ -d "$data/imdb" ]; then
    "$regimen" data import ogb "$data/cora" --to nodes.graph --format graph --node-set paper --edge-set cites >/dev/null 2>err &&
        "$regimen" data import ogb "$data/imdb" --to sets.graph --format graph --split random >/dev/null 2>err || fail "$(cat err)"
    set=paper classes=7 sets=movie
else
    echo "REGIMEN_DATA has no cora and no imdb: a generated graph in their place"
    "$regimen" data generate citation --to nodes.folder --nodes 900 --edges 3000 --classes 4 --words 200 --words-per-node 8 \
        --train-per-class 20 --valid 200 --test 300 >/dev/null 2>err &&
        "$regimen" data import folder nodes.folder --to nodes.graph --format graph >/dev/null 2>err || fail "$(cat err)"
    set=nodes classes=4 sets=
fi
cut nodes
[ -z "$sets" ] || cut sets

# experiment DATA SET CLASSES MODEL: to DATA.yaml. Adam divides by how large a gradient was: of one that is rounding alone it
# would make a step, so its epsilon is above that.
experiment() {
    cat >run.yaml <<YAML
data: {type: folder, path: $1.graph}
task: {type: node_classification, node_set: $2, label: label, num_classes: $3}
model: $4
optimizer: {type: adam, learning_rate: 1e-2, epsilon: 1e-4}
trainer: {epochs: 12, checkpoint: {best: {metric: valid.accuracy}}}
runtime: {seed: 3, threads: 1}
YAML
}

# on RANKS COMMAND...: one process is started as anybody starts it.
on() {
    if [ "$1" = 1 ]; then
        shift
        "$@"
    else
        ranks "$@"
    fi
}

# compare WHAT DATA: in 2 parts and in 4, with a rank for each and with fewer.
compare() {
    rm -rf one
    "$regimen" run run.yaml --run-dir one >out 2>err || fail "$1 in one process: $(tail -2 err)"
    for way in 1:2 2:2 1:4 2:4 4:4; do
        n=${way%:*} parts=${way#*:}
        rm -rf some
        on "$n" "$regimen" run run.yaml --set data.type=parts --set data.path="$2.$parts" --run-dir some >out 2>err ||
            fail "$1 in $parts parts on $n ranks: $(grep '^regimen: ' err)"
        [ "$(grep -c '^run ' out)" = 1 ] || fail "$1: not one of $n ranks tells how it ended: $(cat out)"
        python3 same.py one some 2>told || fail "$1 in $parts parts on $n ranks: $(tail -1 told)"
        [ $way != 2:4 ] || says '^parts +4, 2 a rank, joined \(' err
    done
}
experiment nodes $set $classes '{type: gcn, hidden: [16], dropout: 0.5, l2: 5e-4, input: {normalize: true}}'
compare GCN nodes
says '^items +140 train, 500 valid, 1000 test of 2708 paper$|^items .* of 900 nodes$' err
says '^parts +4, one a rank \(random, seed 1, [0-9.]+ % of the edges cut\); each has [0-9 to]+ (paper|nodes) and copies of [0-9 to]+$' err
experiment nodes $set $classes '{type: graph_sage, hidden: [16], aggregator: mean, dropout: 0.3}'
compare SAGE nodes
experiment nodes $set $classes '{type: gat_v2, hidden: [8], heads: 4, dropout: 0.5, attention_dropout: 0.5}'
compare GAT nodes
# A bound on the loss is of the whole: of a part alone it would be another.
for way in one two; do
    parts=
    [ $way = one ] || parts="--set data.type=parts --set data.path=nodes.2"
    rm -rf $way
    $([ $way = one ] || echo ranks 2) "$regimen" run run.yaml $parts --set trainer.recovery.policy=skip \
        --set trainer.recovery.loss_upper_bound=1 --set trainer.recovery.max_tries=2 --run-dir $way >out 2>err &&
        fail "$way: a loss above its bound"
    grep -o 'step [0-9]*: the loss is [0-9.]*' err >$way.steps
done
[ "$(wc -l <one.steps)" = 3 ] || fail "3 bad steps: $(cat one.steps)"
for way in one two; do sed "s/\(\.[0-9][0-9]\).*/\1/" $way.steps >$way.short; done
cmp -s one.short two.short || fail "bad steps of parts: $(cat two.steps), of the whole: $(cat one.steps)"
# Two nodes to learn from: at least two of four ranks have none.
"$regimen" data generate citation --to few --nodes 80 --edges 200 --classes 2 --words 20 --words-per-node 4 \
    --train-per-class 1 --valid 2 --test 20 >out 2>err && "$regimen" data import folder few --to few.graph --format graph >out 2>err || fail "$(cat err)"
cut few
experiment few nodes 2 '{type: graph_sage, hidden: [8]}'
compare "few labels" few
if [ -n "$sets" ]; then
    experiment sets $sets 3 '{type: rgcn, units: 16, layers: 2, dropout: 0.3, input: {latent: 16}}'
    compare R-GCN sets
    experiment sets $sets 3 '{type: graph_sage, hidden: [16, 16], aggregator: sum, receiver: both, dropout: 0.4, input: {latent: 16}}'
    compare "SAGE of several sets" sets
else
    echo "SKIPPED: a graph of several sets, of which REGIMEN_DATA has none"
fi

# ---- what is refused ----

# refused CODE PATTERN RANKS OPTIONS...: told once, by rank 0, before anything is trained.
refused() {
    code=$1 pattern=$2 number=$3
    shift 3
    rm -rf none
    expect "$code" ranks "$number" "$regimen" run run.yaml --set data.type=parts --run-dir none "$@"
    [ "$(grep -c "^regimen: .*$pattern" "$work/err")" = 1 ] || fail "not told once: $pattern: $(grep '^regimen' "$work/err")"
    [ ! -e none/ckpt ] || fail "$pattern: something was trained"
}
experiment nodes $set $classes '{type: gcn, hidden: [8]}'
refused 2 'nodes.2 has 2 parts, and there are 4 ranks: each rank needs one at least. Start it with mpirun -n 2 or fewer, or cut the graph with regimen data partition --parts 4' \
    4 --set data.path=nodes.2
refused 2 'data.sampling' 2 --set data.path=nodes.2 --set data.sampling.sizes='[3]'
refused 2 'runtime.shards is 4, but the data are in 2 parts' 2 --set data.path=nodes.2 --set runtime.shards=4
refused 2 'data.type.*parts' 2 --set data.path=nodes.2 --set runtime.distribution=asynchronous
refused 2 'trainer.accumulation_steps is 2, but data in parts are one batch' 2 --set data.path=nodes.2 --set trainer.accumulation_steps=2
refused 2 'trainer.validation_steps is 1, but data in parts are one batch' 2 --set data.path=nodes.2 --set trainer.validation_steps=1
refused 2 'trainer.folds' 2 --set data.path=nodes.2 --set trainer.folds=2
experiment nodes $set $classes '{type: gin, units: 8, layers: 2, norm: batch}'
refused 1 "layer_0.*'batch_moments' makes one thing of all nodes or edges, of which each rank has some" 2 --set data.path=nodes.2
experiment nodes $set $classes '{type: gcn, hidden: [8]}'
sed -i "s/^task:.*/task: {type: bgrl, node_set: $set, items: readout}/; s/, checkpoint: .*/}/" run.yaml
refused 1 'task bgrl compares nodes with each other, of which each rank has some' 2 --set data.path=nodes.2
# Labels are counted over all parts: of -1 and 1 all that is left would be one class.
mkdir -p signed/raw signed/split/ring
awk -v OFS=, 'BEGIN { n = 40; print n > "signed/raw/num-node-list.csv"; print n > "signed/raw/num-edge-list.csv"
    for (i = 0; i < n; i++) {
        print i, (i + 1) % n > "signed/raw/edge.csv"; print i % 2 + 0.5, i % 3 > "signed/raw/node-feat.csv"
        print i % 2 ? 1 : -1 > "signed/raw/node-label.csv"
        print i > ("signed/split/ring/" (i < 20 ? "train" : i < 30 ? "valid" : "test") ".csv")
    } }'
"$regimen" data import ogb signed --to signed.graph --format graph >out 2>err && cut signed || fail "$(cat err)"
experiment signed nodes 2 '{type: gcn, hidden: [4]}'
refused 1 "label 'label' is -1 or 1, but never 0: -1 is a label that is missing" 2 --set data.path=signed.2
expect 1 "$regimen" run run.yaml --run-dir none
says "label 'label' is -1 or 1, but never 0: -1 is a label that is missing" err
sed -i 's/^-1$/0/; 21,30s/.*/-1/' signed/raw/node-label.csv
rm signed.graph && rm -r signed.2 signed.4
"$regimen" data import ogb signed --to signed.graph --format graph >out 2>err && cut signed || fail "$(cat err)"
refused 1 "label 'label' is missing of all 10 items; leave the part out, or give some of them labels" 2 --set data.path=signed.2
sed -i '26,30s/.*/1/' signed/raw/node-label.csv
rm signed.graph && rm -r signed.2 signed.4
"$regimen" data import ogb signed --to signed.graph --format graph >out 2>err && cut signed || fail "$(cat err)"
compare "missing labels" signed
says '^missing +label of 5 of 10 valid$' err
cp -r nodes.2 spoiled
printf x | dd of=spoiled/part-00001-of-00002.graph bs=1 seek=5000 conv=notrunc 2>/dev/null
experiment nodes $set $classes '{type: gcn, hidden: [8]}'
refused 1 'part-00001-of-00002.graph is another file than parts.json was written with' 2 --set data.path=spoiled
# Each rank has a folder of its own, of two cuts that fit each other by their numbers.
for at in a b; do
    mkdir $at && cp run.yaml $at && cp -r nodes.2 $at/cut || fail "no copies"
done
sed -i 's/seed 1/seed 9/' b/cut/parts.json
on_folders() {
    timeout -k 5 120 mpirun -n 1 -wdir "$work/a" "$@" : -n 1 -wdir "$work/b" "$@"
}
rm -rf none
expect 1 on_folders "$regimen" run run.yaml --set data.type=parts --set data.path=cut --run-dir "$work/none"
says 'rank [01] has another parts.json than rank [01]: give each rank the same folder' "$work/err"
[ ! -e none/ckpt ] || fail "ranks with parts of two cuts trained something"
expect 1 "$regimen" data partition tiny --to three --parts 3 --method $method
says '3 parts: the number of ranks is a power of two' "$work/err"
expect 2 "$regimen" data partition tiny --to three --method knife
expect 1 "$regimen" data partition tiny --to tiny.parts --method $method
says 'tiny.parts is there already' "$work/err"
[ ! -e three ] || fail "a cut that was refused left something"

# ---- a rank that is killed ----
ranks_that_stand
if [ -n "${RGM_SANITIZE:-}" ]; then
    echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"
else
    experiment nodes $set $classes '{type: gcn, hidden: [8], dropout: 0.3}'
    sed -i -e 's/checkpoint: {best: {/checkpoint: {every_epochs: 3, keep: 9, best: {save: true, /' run.yaml
    echo 'export: [{type: onnx}]' >>run.yaml
    mkdir whole life
    for life in whole life; do
        (cd $life && ln -s ../nodes.2 nodes.2 && cp ../run.yaml .)
    done
    on_two() { ranks 2 ../start "$regimen" run run.yaml --set data.type=parts --set data.path=nodes.2 --run-dir run; }
    (cd whole && on_two >out 2>err) || fail "undisturbed: $(cat whole/err)"
    cd life || exit 1
    WHEN=06 on_two >out 2>err &
    job=$!
    lose_rank_1 $job
    on_two >out 2>err || fail "the rest: $(tail -3 err)"
    cd "$work" || exit 1
    same_run whole/run life/run "killed and continued"
    # What parts have trained predicts on the whole graph.
    expect 0 "$regimen" predict whole/run --set data.type=folder --set data.path=nodes.graph
    [ "$(wc -l <out)" -gt 100 ] || fail "no predictions"
    expect 1 "$regimen" predict whole/run --set data.path=nodes.2
    says 'data.type is parts: predictions are made on the whole graph' err

    # ---- with fewer ranks than before ----
    rm -rf one less
    expect 0 "$regimen" run run.yaml --run-dir one
    # stopped RANKS STEP: the last rank is asked to stop when the first has saved that step.
    stopped() {
        rm -f code.* pid.*
        WHEN=$2 ranks "$1" ./start "$regimen" run run.yaml --set data.type=parts --set data.path=nodes.4 --run-dir less >out 2>err &
        job=$!
        wait_for stands
        kill -TERM "$(cat pid.$(($1 - 1)))"
        kill -CONT "$(cat pid.0)"
        wait $job && fail "$1 ranks that are asked to stop end as if nothing was" # what mpirun ends the last ones with is its own affair
        says "^.* stop \\| step: +${2#0} \\| asked to stop; the state is saved" less/log.txt
    }
    stopped 4 03
    stopped 2 06
    says '^resume +from step 3 of less$' err
    "$regimen" run run.yaml --set data.type=parts --set data.path=nodes.4 --run-dir less >out 2>err || fail "the rest: $(tail -2 err)"
    says '^resume +from step 6 of less$' err
    python3 same.py one less 2>told || fail "on 4, 2 and 1 ranks: $(tail -1 told)"
fi
finish
