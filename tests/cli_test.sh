#!/bin/sh
# The command as a new user runs it: the whole way once, then everything that can be typed wrong.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1

# The whole way.
expect 0 "$regimen" run small.yaml --run-dir run --json
python3 - out <<'PY' || fail "the result is not the JSON object that was promised"
import json, sys
r = json.load(open(sys.argv[1]))
assert sorted(r) == ["best_step", "epochs", "exports", "metrics", "plan", "run_dir", "seconds", "steps"], sorted(r)
assert r["plan"] == {"items": "40 train, 100 valid, 200 test of 400 nodes; 60 in no part", "reads": "nodes.words"}, r["plan"]
assert r["run_dir"] == "run" and r["steps"] == 40 and r["epochs"] == 40
assert r["exports"] == ["run/export"], r["exports"]
for part in "train", "valid", "test":
    assert 0 <= r["metrics"][part]["accuracy"] <= 1 and r["metrics"][part]["loss"] > 0
assert r["metrics"]["valid"]["accuracy"] > 0.4, r["metrics"]["valid"]
assert 1 <= r["best_step"] <= 40
PY
says '^items    40 train, 100 valid, 200 test of 400 nodes; 60 in no part$' err
says '^reads    nodes.words$' err
says 'info plan [|] items 40 train' run/log.txt
for file in config.yaml metrics.jsonl result.json env.json log.txt export/model.onnx train validation ckpt; do
    [ -e "run/$file" ] || fail "run/$file is missing"
done
[ "$(ls runs 2>/dev/null)" = "" ] || fail "--run-dir was given, runs/ was made"

# The same command on the same folder has nothing left to do and says the same.
cp out first.json
expect 0 "$regimen" run small.yaml --run-dir run --json
python3 - first.json out <<'PY' || fail "a finished run told again differs"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
del a["seconds"], b["seconds"]
assert a == b, (a, b)
PY
# Another experiment does not go on in it.
expect 2 "$regimen" run small.yaml --run-dir run --set runtime.seed=4
says "seed" err

# eval, predict, export say what run said.
expect 0 "$regimen" eval run --json
python3 - first.json out <<'PY' || fail "eval and run disagree on the test metrics"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["metrics"]["test"] == b["metrics"], (a["metrics"]["test"], b["metrics"])
PY
expect 0 "$regimen" eval run --part valid --last
says "^valid loss" out
# A validation of a few batches is one in eval, too, and says what the run said.
expect 0 "$regimen" run small.yaml --run-dir brief --set data.batch_size=8 --set trainer.validation_steps=2 \
    --set trainer.epochs=2 --set 'data.sampling={sizes: [3, 3], store: memory}'
grep '^valid ' out err | sed 's/^[a-z]*:valid *//' >said
expect 0 "$regimen" eval brief --part valid
sed 's/^valid *//' out | cmp -s - said || fail "eval says '$(cat out)' of a validation of two batches, the run '$(cat said)'"
cp out of_two
expect 0 "$regimen" eval brief --part valid --set trainer.validation_steps=-1
cmp -s out of_two && fail "eval ignores trainer.validation_steps"
expect 0 "$regimen" predict run
[ "$(wc -l <out)" = 201 ] || fail "predict printed $(wc -l <out) lines, expected 201"
says "^item,node,prediction,logit_0,logit_1,logit_2,logit_3,probability$" out
cp out numbered

# What a prediction rests on: as predict counts and names it, in a table and a picture.
node=$(sed -n 4p out | cut -d, -f2)
expect 0 "$regimen" explain run --item 2 --top 3 -o explained.svg
says "^item 2 of test, node $node: class" out
says "^of nothing it is" out
[ "$(grep -c '^edge  ' out)" = 3 ] || fail "explain --top 3 told $(grep -c '^edge  ' out) edges"
python3 - explained.svg <<'PY' || fail "the picture is no SVG of three edges"
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert len(root.findall("{http://www.w3.org/2000/svg}line")) == 3
PY
expect 0 "$regimen" explain run --node "$node" --method mask --steps 5 --edges -o explained.csv
says "^what,of" explained.csv
grep -q '^feature' out && fail "--edges told features"
[ ! -e run/explanations ] || fail "explain keeps what nobody asked to keep"
expect 0 "$regimen" explain run --item 2 --top 3 --keep
cp out told
expect 0 "$regimen" explain run --item 2 --top 4 --keep
expect 0 "$regimen" explain run --item 2 --method gradient --edges --class 1 --keep
says "^kept +run/explanations/test-2-class1-gradient-edges.json$" err
python3 - told "$node" <<'PY' || fail "what is kept is not what is told"
import json, os, sys
assert sorted(os.listdir("run/explanations")) == ["test-2-class1-gradient-edges.json", "test-2-integrated_gradients.json"]
kept = json.load(open("run/explanations/test-2-integrated_gradients.json"))
rows = [line.split() for line in open(sys.argv[1]) if line.startswith(("edge ", "feature "))]
assert (kept["part"], kept["item"], kept["node"], kept["weights"]) == ("test", 2, int(sys.argv[2]), "best"), kept
assert len(kept["edges"]) == len(kept["features"]) == 4 and kept["edge_total"] > 4 and kept["feature_total"] > 4
name = lambda i: kept["nodes"][i]["name"]
mine = [["edge", e["set"], name(e["from"]), name(e["to"])] for e in kept["edges"][:3]]
mine += [["feature", f"{f['set']}.{f['feature']}", f["item"], str(f["column"])] for f in kept["features"][:3]]
assert mine == [r[:4] for r in rows], (mine, rows)
scores = [e["score"] for e in kept["edges"][:3] + kept["features"][:3]]
assert all(abs(a - float(r[4])) <= 1e-3 * abs(a) for a, r in zip(scores, rows)), (scores, rows)
assert [n["name"] for n in kept["nodes"] if n["asked"]] in ([sys.argv[2]], [])
assert json.load(open("run/explanations/test-2-class1-gradient-edges.json"))["features"] == []
PY
expect 2 "$regimen" explain model:none --item 2 --keep
says "a registered version stays as it is" err
rm -r run/explanations
: >run/explanations
expect 1 "$regimen" explain run --item 2 --keep
rm run/explanations
expect 2 "$regimen" explain run
says "which prediction" err
expect 2 "$regimen" explain run --item 0 --method guess
expect 2 "$regimen" explain run --item 0 -o picture.bmp
expect 1 "$regimen" explain run --item 200
says "there is no item 200 in test" err
expect 1 "$regimen" explain run --item 0 --class 4
says "number 4 of an output of 4" err

# What a model attends to: a mean in the table, a column for each layer and head in the file.
expect 1 "$regimen" explain run --item 2 --method attention
says "models with it are gat_v2, hgt" err
expect 2 "$regimen" explain run --item 2 --method attention --features
expect 0 "$regimen" run small.yaml --run-dir attended --set trainer.epochs=2 \
    --set 'model={type: gat_v2, hidden: [4], heads: 2, output: 4, output_heads: 2}'
expect 0 "$regimen" explain attended --item 2 --method attention --top 10000 -o attention.csv
says "^mean weights of conv_0 .2 heads., conv_1 .2.$" out
python3 - attention.csv <<'PY' || fail "the weights of attention do not fit together"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
heads = [f"conv_{i} {h}" for i in range(2) for h in range(2)]
assert rows and list(rows[0])[5:] == heads, rows[0]
for row in rows:
    weights = [float(row[h]) for h in heads]
    means = [sum(weights[:2]) / 2, sum(weights[2:]) / 2]
    assert min(abs(float(row["score"]) - m) for m in (means[0], sum(means) / 2)) < 1e-5, row
PY
expect 0 "$regimen" explain attended --item 2 --method attention -o attention.svg
says "what is heard more is thicker; attention" attention.svg
expect 2 "$regimen" explain attended --item 2 --method attention --steps 7
says "method attention makes none; integrated_gradients and mask do" err
expect 2 "$regimen" explain attended --item 2 --method gradient --steps 7

# A node that hears nobody: an explanation with nothing in it is told as one.
expect 0 "$regimen" run small.yaml --run-dir lonely --set trainer.epochs=1 --set data.citation.edges=60 \
    --set 'model={type: gat_v2, hidden: [4], heads: 2, output: 4}'
expect 0 "$regimen" explain lonely --item 0 --method attention
says "^no edge is heard by what the prediction depends on$" out
expect 0 "$regimen" explain lonely --item 0 --method gradient --edges
says "^no edge or feature that is explained has a score$" out

# States are of all nodes, whatever parts and samples there are; files have what the rows have.
expect 0 "$regimen" predict run --embeddings
says "states of .*, width 4; at most .* beside data and weights" err
says "^graph,node,state_0,state_1,state_2,state_3$" out
cp out states.csv
[ "$(wc -l <states.csv)" = 401 ] || fail "predict --embeddings printed $(wc -l <states.csv) lines"
expect 0 "$regimen" predict run --embeddings --set 'data.sampling.sizes=[3,3]' --set data.sampling.store=memory
cmp -s out states.csv || fail "states of a sampled run are not those of the whole graph"
expect 0 "$regimen" predict run --embeddings --chunk 37
says "states of .*, 37 nodes at a time; rounds leave .* to the next" err
cmp -s out states.csv || fail "states made layer by layer are not those of the whole graph"
for pair in '--part valid --input x' '--part valid --embeddings' '--head 1 --embeddings' '--embeddings --input x'; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" predict run $pair
    says "^regimen: --[a-z]+( and --head)? (is|are) of .*--(input|embeddings)" err
done
expect 2 "$regimen" predict run --embeddings --chunk -1
expect 2 "$regimen" predict run --embeddings --chunk 0
says "chunk is 0, but must be 1 or more" err
expect 0 "$regimen" predict run --embeddings -o states.npy
expect 0 "$regimen" predict run --embeddings -o states.safetensors
python3 - <<'PY' || fail "embeddings as csv, npy and safetensors differ"
import json, struct
rows = [line.split(",") for line in open("states.csv").read().split()[1:]]
values = [float(x) for row in rows for x in row[2:]]
npy = open("states.npy", "rb").read()
start = 10 + struct.unpack("<H", npy[8:10])[0]
head = eval(npy[10:start])
assert head == {"descr": "<f4", "fortran_order": False, "shape": (len(rows), 4)} and start % 64 == 0, head
assert list(struct.unpack(f"<{len(values)}f", npy[start:])) == [struct.unpack("<f", struct.pack("<f", v))[0] for v in values]
file = open("states.safetensors", "rb").read()
size = struct.unpack("<Q", file[:8])[0]
head, data = json.loads(file[8:8 + size]), file[8 + size:]
begin, end = head["states"]["data_offsets"]
assert data[begin:end] == npy[start:]
begin, end = head["node"]["data_offsets"]
assert list(struct.unpack(f"<{len(rows)}q", data[begin:end])) == [int(row[1]) for row in rows]
PY
expect 2 "$regimen" predict run --embeddings --format npy
says "needs -o FILE" err
expect 2 "$regimen" predict run --embeddings --format xlsx -o states
expect 2 "$regimen" predict run --embeddings -o states.parquet
says "states.parquet: its ending is none of csv, npy, safetensors" err
expect 0 "$regimen" predict run --embeddings --format csv -o states.parquet
cmp -s states.parquet states.csv || fail "--format does not say more than the ending"
mkdir a.folder
expect 0 "$regimen" predict run --embeddings -o a.folder/states
cmp -s a.folder/states states.csv || fail "a file without an ending is no CSV"
ln -s a.folder/states linked.csv # a link goes on leading to its file, a pipe stays one
expect 0 "$regimen" predict run --embeddings -o linked.csv
[ -L linked.csv ] && cmp -s a.folder/states states.csv || fail "a link to a file was replaced by the states"
mkfifo pipe.csv
timeout 60 cat pipe.csv >piped.csv &
expect 0 "$regimen" predict run --embeddings -o pipe.csv
wait $!
[ -p pipe.csv ] && cmp -s piped.csv states.csv || fail "a pipe was replaced by the states"
mv pipe.csv pipe.safetensors
expect 1 "$regimen" predict run --embeddings -o pipe.safetensors
says "pipe.safetensors is no file" err
for kind in csv npy safetensors; do # before the work, so nothing is told of it
    expect 1 "$regimen" predict run --embeddings -o "nowhere/states.$kind"
    says "nowhere/states.$kind: No such file" err
    grep -q 'states of' err && fail "$kind: a place that cannot be written to was found too late"
    expect 1 "$regimen" predict run --embeddings -o a.folder --format "$kind"
    says "a.folder is a folder" err
    grep -q 'states of' err && fail "$kind: a folder in the file's place was found too late"
done
ls | grep -q partial && fail "trying a place leaves something there"
expect 2 "$regimen" predict run --node-set nodes
expect 2 "$regimen" predict run --embeddings --node-set nods
says "the data have no node set 'nods'" err
expect 0 "$regimen" export run --to onnx --verify
says "verified on 200 items" out
python3 - onnx/signature.json <<'PY' || fail "signature.json does not say what the file takes and gives"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["format"] == "regimen-signature" and s["file"] == "model.onnx"
inputs = {i["name"]: (i["dtype"], i["shape"]) for i in s["inputs"]}
for end in "source", "target":
    assert inputs[f"edges/edges.#{end}"] == ("int64", ["edges/edges"]), inputs
    assert inputs[f"edges/_readout/seed.#{end}"] == ("int64", ["edges/_readout/seed"]), inputs
assert inputs["nodes/nodes.words.d1"] == ("int64", ["nodes/nodes"]), inputs
assert all(i["doc"] for i in s["inputs"]) and not any("label" in name for name in inputs)
kinds = {o["name"]: (o["kind"], o["shape"]) for o in s["outputs"]}
assert kinds == {"classification_logits": ("logits", ["nodes/_readout", 4]),
                 "probabilities": ("probabilities", ["nodes/_readout", 4])}, kinds
PY
expect 0 "$regimen" export run --to tensorflow --format saved_model --dump tensorflow.dump
says '^tensorflow/saved_model.pb  1 batches in tensorflow.dump$' out
[ -s tensorflow/saved_model.pb ] && [ -s tensorflow/assets.extra/signature.json ] && [ ! -e tensorflow/model.onnx ] ||
    fail "export --format saved_model wrote $(ls tensorflow tensorflow/*)"
expect 2 "$regimen" export run --format savedmodel
says "there is no 'savedmodel'; did you mean 'saved_model'" err
expect 2 "$regimen" export run --format saved_model --verify
says 'verify runs ONNX' err
expect 0 "$regimen" export run --to renamed --format saved_model --set 'export=[{type: onnx, output_names: {probabilities: p}}]'
grep -q '"name": "p"' renamed/assets.extra/signature.json || fail "the names of the file's exporter are lost in the other's"
expect 2 "$regimen" export run --to refused --format saved_model --set 'export=[{type: onnx, output_names: {nothing: p}}]'
[ ! -e refused ] || fail "a refused export left a folder"

# The export alone answers Examples as the run does.
expect 0 "$regimen" data generate citation --to whole --nodes 400 --edges 900 --classes 4 --words 200 \
    --words-per-node 8 --train-per-class 10 --valid 100 --test 200
expect 0 "$regimen" data sample whole --to asked --hops edges:5,edges:5 --label label
expect 0 "$regimen" predict run --input 'asked/test-*.tfrecord'
cp out by-run
cp -r onnx alone
expect 0 "$regimen" predict alone --input 'asked/test-*.tfrecord'
[ "$(wc -l <out)" = 201 ] || fail "predict of an export printed $(wc -l <out) lines, expected 201"
cmp -s out by-run || fail "predict of an export differs from that of its run"

# Classes with names are told by them, behind the columns of those without; so by an export alone.
named='--set task.class_names=[art,"b,_c",d,e] --set task.num_classes=~'
# shellcheck disable=SC2086
expect 0 "$regimen" predict run $named
says '^item,node,prediction,logit_0,logit_1,logit_2,logit_3,class,probability$' out
python3 - out numbered <<'PY' || fail "classes by name or their probabilities are wrong"
import csv, math, sys
named, numbered = (list(csv.DictReader(open(p))) for p in sys.argv[1:])
assert len(named) == len(numbered) == 200
for a, b in zip(named, numbered):
    assert a.pop("class") == ["art", "b,_c", "d", "e"][int(a["prediction"])], a
    assert a == b, (a, b)
    logits = [float(b[f"logit_{u}"]) for u in range(4)]
    assert logits[int(b["prediction"])] == max(logits), b
    want = math.exp(max(logits)) / sum(map(math.exp, logits))
    assert abs(float(b["probability"]) - want) < 2e-5, (b, want)
PY
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml --run-dir named $named --set trainer.epochs=2
expect 0 "$regimen" export named --to named-alone
expect 0 "$regimen" predict named --input 'asked/test-*.tfrecord'
says ',"b,_c",[01][.0-9]*$' out
mv out by-run
expect 0 "$regimen" predict named-alone --input 'asked/test-*.tfrecord'
cmp -s out by-run || fail "predict of an export with class names differs from that of its run"
grep -aq '"probabilities": \["art", "b,_c", "d", "e"\]' named-alone/model.onnx || fail "model.onnx lacks class names"
expect 2 "$regimen" predict alone
says "alone is an export: it has one set of weights and no data" err
expect 2 "$regimen" predict alone --input x --last
: >alone/model.safetensors
expect 1 "$regimen" predict alone --input 'asked/test-*.tfrecord'
says "alone/model.safetensors" err

# A folder of its own where none is named.
expect 0 "$regimen" run small.yaml --set trainer.epochs=1
[ -d runs/small-1 ] || fail "runs/small-1 was not made"
expect 0 "$regimen" run small.yaml --set trainer.epochs=1
[ -d runs/small-2 ] || fail "runs/small-2 was not made"

# Data verbs, from nothing to a trained model.
expect 0 "$regimen" data generate citation --to graph --nodes 300 --edges 700 --words 100 \
    --words-per-node 6 --classes 4 --train-per-class 10 --valid 60 --test 60
expect 0 "$regimen" data validate graph
says "1 records, no mistakes" out
expect 0 "$regimen" data stats graph --json
python3 -m json.tool <out >/dev/null || fail "stats --json is not JSON"
expect 0 "$regimen" data inspect graph --items 2
says "nodes" out
expect 0 "$regimen" data sample graph --to one --hops edges:4,edges:4 --label label --threads 1
expect 0 "$regimen" data sample graph --to two --hops edges:4,edges:4 --label label --threads 2
diff -r one two >/dev/null || fail "sampling with 1 and 2 threads differs"
expect 1 "$regimen" data sample graph --to one --hops edges:4
says "one" err

# Several processes, and one that is killed again and again, write what one writes.
expect 0 "$regimen" data sample graph --to files --hops edges:4,edges:4 --seeds all --shards 5
for share in 2/3 3/3 1/3; do
    expect 0 "$regimen" data sample graph --to shared --hops edges:4,edges:4 --seeds all --shards 5 --shard $share
done
diff -r files shared >/dev/null || fail "three processes sampled something else than one"
expect 2 "$regimen" data sample graph --to none --hops edges:4 --shard 4/3
expect 2 "$regimen" data sample graph --to none --hops edges:4 --time when
says "^regimen: --time 'when' has no effect: edges are ranked by it with --strategy latest_k" err
expect 2 "$regimen" data sample graph --to none --spec spec --strategy weighted
says '^regimen: --strategy is of --hops; each op of a --spec says its own' err
patience=10
while [ ! -e killed ]; do
    timeout -s KILL "$(printf 0.%03d $patience)" "$regimen" data sample graph --to killed --hops edges:4,edges:4 --seeds all \
        --shards 5 >/dev/null 2>&1
    patience=$((patience + 10))
    [ $patience -lt 1000 ] || break
done
diff -r files killed >/dev/null || fail "a sampling that was killed has other bytes"
# The same from a graph file, mapped: samples of the same bytes, a run of the same metrics.
expect 2 "$regimen" data import folder graph --to graph.file --format none
expect 0 "$regimen" data import folder graph --to graph.file --format graph
expect 1 "$regimen" data import folder graph --to graph.file --format graph
says "graph.file is there already" err
expect 0 "$regimen" data validate graph.file
says "1 records, no mistakes" out
expect 0 "$regimen" data sample graph.file --to three --hops edges:4,edges:4 --label label
diff -r one three >/dev/null || fail "sampling a graph file differs from sampling its folder"
cat >mapped.yaml <<'YAML'
data: {type: folder, path: graph, batch_size: 8, sampling: {sizes: [4, 3], store: memory, once: true}}
task: {type: node_classification, node_set: nodes, num_classes: 4}
model: {type: graph_sage, hidden: [8], receiver: source}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 1}
YAML
expect 0 "$regimen" run mapped.yaml --run-dir by-folder
grep '^test' out >by-folder.test || grep '^test' err >by-folder.test
expect 0 "$regimen" run mapped.yaml --run-dir by-file --set data.path=graph.file
cat out err | grep -q "^mapped .* of the graph's file, read as needed" || fail "the plan does not tell what is mapped"
cat out err | grep '^test' | cmp -s - by-folder.test || fail "training from a graph file differs"
# Links, on subgraphs around them: from the file as from the folder, and no task about nodes.
cat >links.yaml <<'YAML'
data: {type: folder, path: graph, sampling: {sizes: [4, 3], store: memory}, links: {undirected: true, batch_size: 64}}
task: {type: link_prediction, head: dot}
model: {type: gcn, hidden: [8], output: 4}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
YAML
expect 0 "$regimen" run links.yaml --run-dir linked
cat out err | grep -q "messages are sampled around them" || fail "the plan does not tell of sampled links"
cat out err | grep '^test' >linked.test
expect 0 "$regimen" run links.yaml --run-dir linked-file --set data.path=graph.file --set runtime.threads=1
cat out err | grep '^test' | cmp -s - linked.test || fail "links of a graph file are predicted otherwise"
expect 0 "$regimen" predict linked
says "^item,source,target," out
cut -d, -f1-3 out >linked.pairs
# Which pairs are judged is data.links.seed's alone; that areas are means of batches is told.
expect 0 "$regimen" run links.yaml --run-dir linked-by-five --set data.links.batch_size=5 --set trainer.epochs=1
cat out err | grep -q "in test, .*; areas are means of [0-9]* batches" || fail "the plan does not tell of means of areas"
expect 0 "$regimen" predict linked-by-five
cut -d, -f1-3 out | cmp -s - linked.pairs || fail "other pairs are judged in batches of 5"
expect 2 "$regimen" run links.yaml --run-dir refused --set data.links.batch_size=0
says "data.links.batch_size is needed with data.sampling" err
whole="--set data.sampling.sizes=[] --set data.links.batch_size=0" # in memory it has no batches by nodes
for key in batch_size=4 batch_nodes=50 batch_edges=50; do
    more=
    [ "$key" = batch_size=4 ] || more=$whole
    for verb in "config check links.yaml" "run links.yaml --run-dir links-$key --set trainer.epochs=1"; do
        expect 0 "$regimen" $verb --set data.$key $more
        says "^note +data.${key%=*} \\(--set\\) has no effect: .*; links go by data.links.batch_size$" err
    done
done
expect 0 "$regimen" config check links.yaml --set data.drop_remainder=true
says "^note +data.drop_remainder \\(--set\\) has no effect: .*; links go by data.links.batch_size$" err
expect 2 "$regimen" run links.yaml --run-dir refused --set data.sampling.store=records
says "type tree, store memory" err
head -c 5000 graph.file >cut.file
expect 1 "$regimen" data validate cut.file
says "it was cut or has grown" err
expect 0 "$regimen" data validate one
cat >records.yaml <<'YAML'
data: {type: records, schema: one/schema.pbtxt, train: "one/train-*.tfrecord", valid: "one/valid-*.tfrecord",
       batch_size: 8, shuffle_size: 40}
task: {type: node_classification, node_set: nodes, num_classes: 4}
model: {type: vanilla_mpnn, units: 8, message_dim: 8}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
YAML
expect 0 "$regimen" run records.yaml --run-dir records
expect 0 "$regimen" predict records --input "one/test-*.tfrecord"
[ "$(wc -l <out)" = 61 ] || fail "predict --input printed $(wc -l <out) lines, expected 61"

# Training data of several sources, mixed by weight: 40 records of train, three of the others to each.
expect 0 "$regimen" run records.yaml --run-dir mixed --set 'data.train_sets={news: "one/valid-*.tfrecord"}' \
    --set 'data.weights={train: 0.5, news: 1.5}' --set trainer.epochs=10 --json
says '^mix +0.25 train, 0.75 news; an epoch ends with train$' err
python3 - out <<'PY' || fail "epochs of a mix are not as long as its weights say"
import json, sys
steps = json.load(open(sys.argv[1]))["steps"]
assert 160 < steps < 250, steps  # 10 epochs of some 160 records by 8
PY
expect 2 "$regimen" run records.yaml --run-dir no --set 'data.weights={train: 2}'
says "data.train is the only source; data.train_sets names more" err
expect 2 "$regimen" run records.yaml --run-dir no --set 'data.train_sets={news: x}' --set 'data.weights={nws: 2}'
says "data.weights.nws: no training data of that name but data.train" err
expect 2 "$regimen" run records.yaml --run-dir no --set 'data.train_sets={train: x}'
says "'train' is the name of data.train" err
expect 1 "$regimen" run records.yaml --run-dir no --set 'data.train_sets={news: "none-*.tfrecord"}'
says "data.train_sets.news: " err

# A flipped byte in a record: file, record and offset.
cp -r one broken
python3 - <<'PY'
import glob
path = sorted(glob.glob("broken/train-*.tfrecord"))[0]
data = bytearray(open(path, "rb").read())
data[len(data) // 2] ^= 1
open(path, "wb").write(data)
PY
expect 1 "$regimen" data validate broken
says "broken/train-.*record [0-9]+ at byte [0-9]+" err

# What can be typed wrong.
expect 2 "$regimen"
expect 0 "$regimen" --help
expect 0 "$regimen" --version
says "^regimen [0-9]" out
expect 2 "$regimen" rum small.yaml
says "did you mean 'run'" err
expect 2 "$regimen" run
says "usage: regimen run" err
expect 2 "$regimen" run small.yaml --run-dri x
says "did you mean '--run-dir'" err
expect 2 "$regimen" run small.yaml --epochs 3
says "unknown option '--epochs'; a key of the experiment file is set by --set trainer.epochs=VALUE" err
for option in seed:runtime.seed hidden:model.hidden lr:optimizer.learning_rate dropout:model.dropout; do
    expect 2 "$regimen" run small.yaml --${option%%:*} 3
    says "is set by --set ${option#*:}=VALUE" err
done
expect 2 "$regimen" run small.yaml --batch-size=8
says "set by --set data.batch_size=8" err
expect 2 "$regimen" runs --epochs 3
says "unknown option '--epochs'; see regimen runs --help" err
expect 0 "$regimen" help run
says "^usage: regimen run NAME" out
expect 0 "$regimen" help data import
says "^usage: regimen data import" out
expect 2 "$regimen" help rum
says "did you mean 'run'" err
expect 2 "$regimen" run nowhere.yaml
says "nowhere.yaml" err
expect 2 "$regimen" run small.yaml --set trian.epochs=3
says "small.yaml: --set trian.epochs: .*did you mean 'trainer'" err
expect 2 "$regimen" run small.yaml --set trainer.epohcs=3
says "did you mean 'trainer.epochs'" err
expect 2 "$regimen" run small.yaml --set model.hidden=wide
expect 2 "$regimen" run small.yaml --run-dir stuck --set 'optimizer.rates={"*": 0}'
says "optimizer.rates has the factor 0 for each of [0-9]+ parameters: nothing would be learnt" err
for verb in 'config check small.yaml --data' 'run small.yaml --run-dir unexported'; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" $verb --set export=[] --set trainer.exports.every_steps=10
    says "trainer.exports says when to export, but there is no exporter: add export:" err
    # shellcheck disable=SC2086
    expect 2 "$regimen" $verb --set export=[] --set trainer.exports.dirs=[elsewhere]
    says "trainer.exports.dirs says where to export, but there is no exporter: add export:" err
done
[ ! -e stuck ] && [ ! -e unexported ] || fail "a run that cannot be has left a folder"
expect 1 "$regimen" run small.yaml --run-dir unbegun --set trainer.initialize.checkpoint=nowhere
says "trainer.initialize.checkpoint: there is no nowhere" err
grep -q 'what was saved' err && fail "a run that was never begun is told to have saved something"
REGIMEN_ISA=avx2 expect 0 "$regimen" run small.yaml --run-dir narrow --set runtime.mixed_precision=bf16 --set trainer.epochs=1
says "runtime.mixed_precision is bf16, but nothing here multiplies in bf16" err
says "warning.*nothing here multiplies in bf16" narrow/log.txt
expect 1 "$regimen" run small.yaml --run-dir /proc/regimen
says "/proc/regimen" err
expect 1 "$regimen" eval nowhere
says "not a run folder" err
expect 2 "$regimen" eval run --part tset
expect 1 "$regimen" data validate nowhere
says "nowhere" err
expect 0 "$regimen" config keys trainer
says "^trainer.epochs " out
expect 0 "$regimen" config show small.yaml --set trainer.epochs=9
says "epochs: 9" out

# No terminal: plain lines, no carriage returns; no disk: said, and nothing half-written.
"$regimen" run small.yaml --run-dir plain >/dev/null 2>plain.err
grep -q "$(printf '\r')" plain.err && fail "a carriage return where there is no terminal"
"$regimen" eval run >/dev/full 2>err && fail "a full stdout went unnoticed"
if (ulimit -f 8; "$regimen" run small.yaml --run-dir limited >/dev/null 2>err); then
    fail "a run beyond the file size limit succeeded"
fi

# What is printed is not lost without a word, whatever printed it.
for verb in "--help" "--version" "help" "run --help" "config list" "config keys" "data --help" "runs run"; do
    # shellcheck disable=SC2086
    "$regimen" $verb >/dev/full 2>err && fail "$verb into a full disk succeeded"
    says "regimen: stdout: No space left on device" err
    # shellcheck disable=SC2086
    "$regimen" $verb >&- 2>err && fail "$verb without stdout succeeded"
    says "regimen: stdout: Bad file descriptor" err
done
# Without any of the three descriptors nothing is printed into files: the run is the same.
"$regimen" run small.yaml --run-dir headless <&- >&- 2>&- && fail "the result was printed nowhere, and nobody said so"
for part in ckpt metrics.jsonl; do
    diff -r plain/$part headless/$part >/dev/null || fail "a run without descriptors: $part differs"
done
for closed in "<&-" ">&-" "2>&-" "<&- 2>&-"; do
    eval "\"$regimen\" config list $closed" >/dev/null 2>&1 || [ "$closed" = ">&-" ] || fail "config list $closed"
done

# A metric that is no number is there, as null.
awk -v OFS=, 'BEGIN { srand(5); for (i = 0; i < 60; i++) print rand(), rand(), i % 2 }' >points.csv
cat >points.yaml <<'YAML'
data: {path: ., train: points.csv, valid_fraction: 0.2, batch_size: 16}
task: {type: classification, num_classes: 2}
model: {type: mlp, hidden: [64, 64]}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
YAML
expect 0 "$regimen" run points.yaml --run-dir points
expect 0 "$regimen" eval points --part valid --json --set data.scale=4e-39
says '"loss": null' out

# Names of a foreign schema do not reach the terminal as they are: ESC, BEL, U+009B, U+202E, U+2066.
mkdir hostile
printf 'node_sets { key: "a\\033[31m\\007\\302\\233\\342\\200\\256\\342\\201\\246b" value { } }\n' >hostile/schema.pbtxt
expect 0 "$regimen" data generate random --schema hostile/schema.pbtxt --to foreign --count 2
for verb in "data inspect foreign" "data stats foreign" "data validate foreign/graphs-00000-of-00001.tfrecord --schema small.yaml" \
    "config show $(printf 'a\033b')" "$(printf 'x\302\233y')" "runs $(printf 'r\033\342\200\256')"; do
    # shellcheck disable=SC2086
    "$regimen" $verb >out 2>&1
    cat out >>all_out
    LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" out && fail "a control character reaches the terminal: $verb"
    LC_ALL=C grep -Eq "$(printf '\302[\200-\237]|\342\200[\216\217\250-\256]|\342\201[\246-\251]')" out &&
        fail "a direction character reaches the terminal: $verb"
done
says 'a\\x1b\[31m\\x07\\u009b\\u202e\\u2066b' all_out

# A pipe in the place of a file is told, not waited for; a process substitution is the caller's own.
mkfifo pipe
printf 'extends: pipe\n' >extends.yaml
mkdir csv
printf 'node_sets { key: "a" value { metadata { filename: "a.csv" } } }\n' >csv/schema.pbtxt
mkfifo csv/a.csv
expect 2 timeout 10 "$regimen" config check pipe
says "'pipe' is a pipe, not a file" err
expect 2 timeout 10 "$regimen" config check extends.yaml
expect 1 timeout 10 "$regimen" data import csv csv/schema.pbtxt --to imported
says "a.csv' is a pipe, not a file" err
cat small.yaml | expect 0 timeout 10 "$regimen" config check /dev/stdin
rm csv/a.csv
printf 'id\n1\n2\000junk\n' >csv/a.csv
expect 1 "$regimen" data import csv csv/schema.pbtxt --to imported
says "a.csv:3: an id has a zero byte: '2" err

# Triples into a graph file, which a run then maps.
printf 'a\tr\tb\nb\tr\tc\nc\tq\ta\n' >facts.tsv
printf 'a\tq\tc\n' >asked.tsv
expect 2 "$regimen" data import csv csv/schema.pbtxt --to facts.graph --test asked.tsv
says "import csv: --test has no effect, it is for triples" err
# What is given in vain is told, by source and by format.
in_vain() {
    expect 2 "$regimen" data import "$1" csv/schema.pbtxt --to vain $3
    says "$2" err
    [ ! -e vain ] || fail "data import $1 $3 made something"
}
for option in "--split s" "--label y" --directed --relabel --skip-dangling; do
    in_vain triples "import triples: ${option%% *} has no effect, it is for (ogb|csv)" "$option"
done
for option in "--edge-set e" --directed --relabel "--valid asked.tsv"; do
    in_vain csv "import csv: ${option%% *} has no effect, it is for" "$option"
done
in_vain triples "--split has no effect, it is for ogb, csv and folder" "--split s"
in_vain ogb "import ogb: --label has no effect, it is for csv" "--label y"
in_vain folder "import folder: --node-set has no effect, it is for ogb, csv and triples" "--node-set n"
for option in --gzip "--shards 1"; do
    in_vain csv "--format graph: ${option%% *} has no effect, it is for records" "$option --format graph"
done
expect 0 "$regimen" data import triples facts.tsv --test asked.tsv --to facts.graph --format graph
expect 0 "$regimen" data stats facts.graph
expect 0 "$regimen" data import triples facts.tsv --test asked.tsv --to facts
expect 0 "$regimen" data import folder facts --to again.graph --format graph
expect 0 "$regimen" data validate facts.graph
says "^1 records, no mistakes$" out
cmp facts.graph again.graph || fail "triples by way of a folder make another graph file"

# Numbers that are none are told: the first, and how many; where they are meant they are allowed by name.
mkdir odd
cat >odd/schema.pbtxt <<'PBTXT'
node_sets { key: "n" value { metadata { filename: "n.csv" } features { key: "label" value { dtype: DT_FLOAT } }
    features { key: "x" value { dtype: DT_FLOAT shape { dim { size: 2 } } } } } }
PBTXT
printf 'id,x.0,x.1,label\na,1,2,1\nb,3,inf,nan\nc,nan,1,-inf\n' >odd/n.csv
expect 0 "$regimen" data import csv odd/schema.pbtxt --to odd/graph
says "1 graphs in odd/graph; no split" err
expect 1 "$regimen" data validate odd/graph
says "record 0: nodes/n: feature 'label' of item 1 is nan; of all records 4 numbers are NaN or infinite" err
expect 1 "$regimen" data validate odd/graph --allow-nan n.label
says "feature 'x' of item 1 is inf; of all records 2 numbers" err
expect 0 "$regimen" data validate odd/graph --allow-nan label --allow-nan n.x

# Predictions of edges are those of the part, each with its ends; an empty cell of an integer label is no number.
mkdir ends
cat >ends/schema.pbtxt <<'PBTXT'
node_sets { key: "p" value { metadata { filename: "p.csv" } features { key: "x" value { dtype: DT_FLOAT } } } }
edge_sets { key: "e" value { source: "p" target: "p" metadata { filename: "e.csv" }
    features { key: "rel" value { dtype: DT_INT64 } } } }
PBTXT
awk 'BEGIN { print "id,x"; for (i = 0; i < 20; i++) print "n" i "," i / 20 }' >ends/p.csv
awk 'BEGIN { print "source,target,rel"; for (i = 0; i < 60; i++)
    printf "n%d,n%d,%s\n", i % 20, (i * 7 + 3) % 20, i % 10 ? 4 + i % 3 : "" }' >ends/e.csv
cat >ends/ends.yaml <<'YAML'
data: {type: folder, path: ends/data, edge_split: {valid: 0.3, test: 0.3}}
task: {type: edge_regression, label: rel}
model: {type: gcn, hidden: [8], input: {features: [x]}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 100}
YAML
expect 0 "$regimen" data import csv ends/schema.pbtxt --to ends/data --label rel
expect 0 "$regimen" run ends/ends.yaml --run-dir ends/run
says "^missing +rel of [0-9] of [0-9]+ train" err
says "^test .*mean_squared_error [0-3][.]" out
: >ends/all
for part in train valid test; do
    expect 0 "$regimen" predict ends/run --part $part
    says "^item,source,target,prediction$" out
    tail -n +2 out >>ends/all
done
cut -d, -f1-3 ends/all | sort -n >ends/told
awk 'BEGIN { for (i = 0; i < 60; i++) print i "," i % 20 "," (i * 7 + 3) % 20 }' | cmp -s - ends/told ||
    fail "predictions of the three parts are not those of each edge once"

# SIGTERM, a terminal that is gone (unless nohup asked otherwise) and the end of the processor time save and
# exit with 75; the same command goes on to the same end.
stopped_by() {
    rm -rf stopped
    "$regimen" run small.yaml --run-dir stopped --set trainer.epochs=300000 >/dev/null 2>err &
    pid=$!
    wait_for [ -s stopped/metrics.jsonl ]
    kill "-$1" $pid
    wait $pid
    [ $? = 75 ] || fail "SIG$1 ended with another status than 75"
    ls stopped/ckpt | grep -q '^step-' || fail "SIG$1 saved nothing"
}
for signal in TERM HUP XCPU USR1; do stopped_by $signal; done
(ulimit -S -t 1; "$regimen" run small.yaml --run-dir short --set trainer.epochs=300000 >/dev/null 2>err)
[ $? = 75 ] || fail "the end of the processor time ended with another status than 75"
(trap '' HUP
 "$regimen" run small.yaml --run-dir nohup --set trainer.epochs=2000 >/dev/null 2>err &
 pid=$!
 wait_for [ -s nohup/metrics.jsonl ] || exit 1
 kill -HUP $pid
 wait $pid) || fail "nohup: SIGHUP ended the run"
# What this machine offers.
expect 0 "$regimen" doctor
for line in '^host     .* processors, may run on [0-9]+, .* of memory$' '^kernels  ' '^device   .*cuda' '^device   .*opencl' '^started  ' '^mpi      ' '^network  '; do
    says "$line" out
done

finish
