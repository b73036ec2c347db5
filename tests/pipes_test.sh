#!/bin/sh
# A named pipe in the place of any file that is read: told at once, never waited for (it may have no writer
# ever). What is read once as a stream, and the caller's own pipes, are read on.
. "$(dirname "$0")/lib.sh"
fast_work
small_experiment "$work/small.yaml"
position_experiment records "$work/records.yaml"
position_experiment subgraphs "$work/subgraphs.yaml"
cd "$work" || exit 1

# What the rows below need, sound.
mkdir words ogb ogb/raw csv csv/split csv/split/a
awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) { line = ""; n = 2 + int(rand() * 4)
             for (k = 0; k < n; k++) line = line (k ? " " : "") substr("abcdefghij", 1 + int(rand() * 10), 1)
             print line } }' >words/source
cp words/source words/target
paste words/source words/target >words/pairs.tsv
expect 0 "$regimen" text train-tokenizer --vocab-size 24 --type bpe --out words/joint.model words/source
cat >words.yaml <<'YAML'
data: {path: words, train: [source, target], valid: [source, target], tokenizer: joint.model, batch_tokens: 64, batch_shapes: 2}
task: {type: translation}
model: {type: seq2seq_transformer, embedding_width: 8, max_positions: 64,
        encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16},
        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 1}
YAML
sed -e 's/train: \[source, target\]/train: pairs.tsv/' words.yaml >tsv.yaml
sed -e 's/tokenizer: joint.model/train_tokenizer: {type: bpe, vocab_size: 24}/' words.yaml >trained.yaml
printf '3\n' >ogb/raw/num-node-list.csv
printf '2\n' >ogb/raw/num-edge-list.csv
printf '0,1\n1,2\n' >ogb/raw/edge.csv
cat >csv/schema.pbtxt <<'PBTXT'
node_sets { key: "n" value { metadata { filename: "n.csv" } } }
edge_sets { key: "e" value { source: "n" target: "n" metadata { filename: "e.csv" } } }
PBTXT
printf 'id\na\nb\n' >csv/n.csv
printf 'source,target\na,b\n' >csv/e.csv
printf 'a\n' >csv/split/a/train.csv
printf '0\n' >seeds
expect 0 "$regimen" data generate citation --to graph --nodes 60 --edges 120 --words 20 --words-per-node 3 \
    --classes 4 --train-per-class 5 --valid 20 --test 20
cat >spec.pbtxt <<'PBTXT'
seed_op { op_name: "seed" node_set_name: "nodes" }
sampling_ops { op_name: "hop" input_op_names: "seed" edge_set_name: "edges" sample_size: 3 strategy: RANDOM_UNIFORM }
PBTXT
records=$(ls graph/*.tfrecord | head -1)
expect 0 "$regimen" run small.yaml --run-dir run --set trainer.epochs=8
expect 0 "$regimen" run words.yaml --run-dir spoken
weights=$(ls -d run/ckpt/step-* | tail -1)

# refuses FILE COMMAND...: with a pipe in the place of that file.
refuses() {
    file=$1
    shift
    [ -e "$file" ] || fail "there is no $file to take the place of"
    mv "$file" aside
    mkfifo "$file"
    timeout 20 "$@" >out 2>err </dev/null
    code=$?
    case $code in
    1 | 2) says "$(basename "$file")'? is a pipe, not a file|not a regular file|is a device or pipe" err ;;
    *) fail "exit $code with a pipe in place of $file: $*" ;;
    esac
    rm "$file"
    mv aside "$file"
    tried=$((tried + 1))
}
tried=0

# Experiments, their data, and what a run begins with.
refuses small.yaml "$regimen" run small.yaml --run-dir none
refuses small.yaml "$regimen" config check small.yaml
refuses small.yaml "$regimen" run records.yaml --config small.yaml --run-dir none
refuses records.yaml.csv "$regimen" run records.yaml --run-dir none
refuses words/source "$regimen" run words.yaml --run-dir none
refuses words/target "$regimen" config check words.yaml --data
refuses words/pairs.tsv "$regimen" run tsv.yaml --run-dir none
refuses words/source "$regimen" run trained.yaml --run-dir none
refuses words/joint.model "$regimen" run words.yaml --run-dir none
refuses "$weights/weights.safetensors" "$regimen" run small.yaml --run-dir begun \
    --set "trainer.initialize.checkpoint=$weights/weights.safetensors"

# Graph data.
for file in num-node-list num-edge-list edge; do
    refuses ogb/raw/$file.csv "$regimen" data import ogb ogb --to none
done
for file in schema.pbtxt n.csv e.csv split/a/train.csv; do
    refuses csv/$file "$regimen" data import csv csv/schema.pbtxt --to none
done
for verb in inspect validate stats; do
    refuses "$records" "$regimen" data $verb graph
    refuses graph/schema.pbtxt "$regimen" data $verb graph
done
refuses "$records" "$regimen" data sample graph --to none --hops edges:2
refuses spec.pbtxt "$regimen" data sample graph --to none --spec spec.pbtxt
refuses seeds "$regimen" data sample graph --to none --hops edges:2 --seeds seeds
refuses "$records" "$regimen" run small.yaml --run-dir none --set data.type=folder --set data.path=graph \
    --set data.citation=~

# Text.
refuses words/source "$regimen" text train-tokenizer --vocab-size 24 --type bpe --out none words/source
refuses words/joint.model "$regimen" text encode --model words/joint.model words/source
refuses words/source "$regimen" text stats --model words/joint.model words/source
refuses words/pairs.tsv "$regimen" text stats --model words/joint.model --tsv words/pairs.tsv

# A run folder's own.
refuses run/config.yaml "$regimen" eval run
for file in manifest.json weights.safetensors; do # an older checkpoint takes the place of a damaged one
    mv "$weights/$file" aside && mkfifo "$weights/$file"
    expect 0 timeout 20 "$regimen" eval run --last
    says 'skipping the checkpoint of step 8' err
    rm "$weights/$file" && mv aside "$weights/$file"
done
refuses run/metrics.jsonl "$regimen" plot run -o none.svg
for file in .lock log.txt metrics.jsonl env.json config.yaml export/model.onnx; do
    refuses run/$file "$regimen" run small.yaml --run-dir run --set trainer.epochs=10
done
refuses spoken/tokenizer.model "$regimen" translate spoken
mv run/metrics.jsonl aside && mkfifo run/metrics.jsonl
timeout 20 "$regimen" runs . >out 2>err || fail "runs: exit $? with a pipe for metrics"
rm run/metrics.jsonl && mv aside run/metrics.jsonl
[ ! -e none ] || fail "a refused command has left something"

# Streams: a pipe with a writer is read as far as it goes, standard input and the caller's descriptors too.
mkfifo stream
timeout 20 cat words/source >stream &
expect 0 timeout 20 "$regimen" score --ref words/target stream
says '100\.0' out
timeout 20 cat words/source >stream &
expect 0 timeout 20 "$regimen" text encode --model words/joint.model stream
[ "$(wc -l <out)" = 60 ] || fail "text encode read $(wc -l <out) lines of a pipe"
cat "$records" | expect 0 timeout 20 "$regimen" data validate /dev/stdin --schema graph/schema.pbtxt
cat words/source | expect 0 timeout 20 "$regimen" text train-tokenizer --vocab-size 24 --type bpe \
    --out streamed.model /dev/stdin
cmp -s streamed.model words/joint.model || fail "a tokenizer trained on standard input is another one"
cat small.yaml | expect 0 timeout 20 "$regimen" config check /dev/fd/0
echo "$tried places"
[ "$tried" -ge 40 ] || fail "only $tried places were tried"
finish
