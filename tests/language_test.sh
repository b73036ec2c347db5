#!/bin/sh
# A language model by what is in its folder: text or token files, packed or as a stream, with the same numbers by each way; it
# goes on where it was, scores lines, writes texts that depend on their number alone, and exports its steps.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# Sentences of twelve words by a formula, which a small model learns.
mkdir data
awk 'BEGIN {
    split("one two three four five six seven eight nine ten eleven twelve", w, " ")
    for (i = 0; i < 640; i++) {
        s = ""
        for (k = 0; k < 3 + i % 6; k++) s = s (k ? " " : "") w[1 + (i + k) % 12]
        print s "." > ("data/" (i < 560 ? "train" : (i < 600 ? "valid" : "test")) ".txt")
    }
}'
cat >lm.yaml <<'YAML'
data:
  path: data
  train: [train.txt]
  valid: [valid.txt]
  test: [test.txt]
  train_tokenizer: {type: bpe, vocab_size: 60}
  block_length: 32
  batch_tokens: 256
task: {type: language_model, generate: {temperature: 0, max_tokens: 20}}
model:
  type: decoder_transformer
  embedding_width: 32
  max_positions: 64
  decoder: {num_layers: 2, num_attention_heads: 2, intermediate_size: 64}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 4, checkpoint: {every_epochs: 1}}
runtime: {seed: 1, threads: 2}
YAML
expect 0 "$regimen" run lm.yaml --run-dir run --json
cp out result
says '"bits_per_byte": ' result
expect 0 "$regimen" eval run --part test
cp out tested
# A start that saved nothing binds nobody: its tokenizer is made anew.
for folder in anew fresh; do
    [ $folder = fresh ] || expect 0 "$regimen" run lm.yaml --run-dir anew --set trainer.epochs=1
    rm -rf anew/ckpt
    expect 0 "$regimen" run lm.yaml --run-dir $folder --set trainer.epochs=1 --set data.train_tokenizer.vocab_size=50
done
for file in fresh/tokenizer.*; do
    cmp "$file" "anew/${file#fresh/}" || fail "a run has the tokenizer of a start that failed"
done
mv data elsewhere # what follows needs none of it
expect 0 "$regimen" generate run --prompt "three four" --prompt "" --temperature 0
says '^ five six' out
[ "$(wc -l <out)" = 2 ] || fail "two prompts became $(wc -l <out) lines"
expect 0 "$regimen" generate run --prompt "three four" --top-k 3
says 'task.generate.top_k [(]--set[)] has no effect: only with task.generate.temperature > 0' err

# Drawn texts depend on seed and number: not on what is beside them, nor on threads.
seq 40 | sed 's/.*/one two/' >prompts
expect 0 "$regimen" generate run --input prompts --temperature 1.5 --top-k 40 --top-p 0.98 --seed 7
cp out drawn
[ "$(sort -u drawn | wc -l)" -gt 5 ] || fail "draws are alike"
expect 0 "$regimen" generate run --input prompts --temperature 1.5 --top-k 40 --top-p 0.98 --seed 7 \
    --set task.generate.batch_size=3 --threads 1
cmp -s out drawn || fail "other texts in batches of three with one thread"
expect 0 "$regimen" generate run --input prompts --temperature 1.5 --top-k 40 --top-p 0.98 --seed 8
cmp -s out drawn && fail "another seed draws the same"
expect 0 "$regimen" generate run --prompt "one two" --stop "ree" --json
says '"text": " th", "tokens": [0-9]+, "log_probability": -[0-9.]+, "end": "stop"' out
expect 0 "$regimen" generate run --prompt "one two" --max-tokens 2 --json
says '"end": "length"' out
says '^cut +1 of 1 texts' err
expect 1 "$regimen" generate run --prompt "one two" --prompt "" --no-begin
says 'prompt 2: it is empty, and with task.generate.begin false' err
expect 0 "$regimen" generate run --prompt "two three four" --no-begin --json
says ".text.: . five six" out
expect 2 "$regimen" generate run --prompt a --top-p 0
expect 2 "$regimen" generate run --prompt a --input prompts
expect 1 "$regimen" generate run --prompt "$(seq 100)"
says 'prompt 1: [0-9]+ tokens with its begin, but model.max_positions is 64' err
says '1 of 1 prompts could not be read' err

# One bad prompt of many: the others have their texts, in their lines.
{
    head -3 prompts
    seq 100 | tr '\n' ' '
    echo
    tail -36 prompts
} >some_bad
expect 1 "$regimen" generate run --input some_bad --temperature 1.5 --top-k 40 --top-p 0.98 --seed 7
says '^left out +prompt 4: [0-9]+ tokens with its begin' err
says '1 of 40 prompts could not be read' err
sed 4s/.*// drawn | cmp -s - out || fail "a bad prompt changes the texts of others"
expect 1 "$regimen" generate run --input some_bad --json
[ "$(grep -c '"error": ' out)" = 1 ] && [ "$(grep -c '"log_probability": -' out)" = 39 ] || fail "one of 40 has an error"

# What a text's log-probability is called is what its own scoring finds, where its tokens are those of its text.
seq 60 | sed 's/.*//' >empty
expect 0 "$regimen" generate run --input empty --json --temperature 1 --seed 5 --max-tokens 60
cp out written
/usr/bin/env python3 -c '
import json, sys
for t in map(json.loads, open("written")):
    if t["end"] == "end" and "\n" not in t["text"] and t["text"]: print(t["text"])' >texts
mv elsewhere data
expect 0 "$regimen" predict run --input texts
mv data elsewhere
/usr/bin/env python3 - out <<'PY' || fail "texts are scored otherwise than they were written"
import csv, json, sys
written = [t for t in map(json.loads, open("written")) if t["end"] == "end" and "\n" not in t["text"] and t["text"]]
rows = list(csv.reader(open(sys.argv[1])))[1:]
assert len(rows) == len(written) > 20, (len(rows), len(written))
same = [(t["log_probability"], float(r[2])) for t, r in zip(written, rows) if t["tokens"] + 1 == float(r[3])]
assert len(same) > 20, len(same)
close = sum(abs(a - b) < 1e-3 for a, b in same)
assert close >= len(same) - 2, (close, same)  # as many tokens may be others
PY

# An export alone writes and scores the same.
expect 0 "$regimen" export run --format predictor --to alone
[ "$(ls alone)" = "$(printf 'model.safetensors\nmodel.yaml\ntokenizer.model')" ] || fail "the export has $(ls alone)"
expect 0 "$regimen" generate alone --input prompts --temperature 1.5 --top-k 40 --top-p 0.98 --seed 7 --threads 1
cmp -s out drawn || fail "an export writes other texts than its run"
expect 2 "$regimen" generate alone --prompt a --top-p 0
says 'task.generate.top_p' err
expect 2 "$regimen" generate alone --prompt a --top-k x
says "'x' is no whole number" err
expect 1 "$regimen" eval alone
says 'alone is an export, which has no data' err
expect 2 "$regimen" generate alone --prompt a --last
says 'it has one set of weights' err
expect 1 "$regimen" export run --format predictor --precision int8 --to no
says 'does not keep its weights in 8 bits' err
mv elsewhere data
expect 0 "$regimen" predict run --input data/test.txt
cp out lines.csv
expect 0 "$regimen" predict alone --input data/test.txt
cmp -s out lines.csv || fail "an export scores lines otherwise than its run"

# The log-probability of each line: together that of the test, whose documents stand packed in blocks.
expect 0 "$regimen" predict run
cp out lines.csv
head -1 out | grep -q '^item,node,prediction_0,prediction_1$' || fail "predict begins with $(head -1 out)"
expect 0 "$regimen" predict run --input data/test.txt
cut -d, -f3- out >b
cut -d, -f3- lines.csv | cmp -s - b || fail "lines of a file are scored as others"
/usr/bin/env python3 - lines.csv tested data/test.txt <<'PY' || fail "validation and predictions differ"
import csv, math, re, sys
rows = [(float(r[2]), float(r[3])) for r in list(csv.reader(open(sys.argv[1])))[1:]]
told = {k: float(v) for k, v in re.findall(r"(\w+) ([0-9.]+)", open(sys.argv[2]).read())}
nats, tokens = -sum(r[0] for r in rows), sum(r[1] for r in rows)
size = len(open(sys.argv[3], "rb").read())
assert len(rows) == 40, len(rows)
assert abs(nats / tokens - told["loss"]) < 1e-4, (nats / tokens, told)
assert abs(math.exp(nats / tokens) - told["perplexity"]) < 1e-3, told
assert abs(nats / math.log(2) / size - told["bits_per_byte"]) < 1e-4, (nats / math.log(2) / size, told)
PY

# Token files instead of text, and a run that is stopped and goes on: the same weights to the byte.
for part in train valid test; do
    expect 0 "$regimen" text tokens --model run/tokenizer.model --out data/$part.tokens data/$part.txt
done
sum() {
    cat "$1"/ckpt/*/weights* | cksum
}
tokens="--set data.train=[train.tokens] --set data.valid=[valid.tokens] --set data.test=[test.tokens]
    --set data.train_tokenizer.vocab_size=0 --set data.tokenizer=$work/run/tokenizer.model"
# shellcheck disable=SC2086
expect 0 "$regimen" run lm.yaml --run-dir tokens $tokens --set runtime.threads=1
[ "$(sum tokens)" = "$(sum run)" ] || fail "token files train other weights than text"
expect 0 "$regimen" run lm.yaml --run-dir parts --set trainer.epochs=2
expect 0 "$regimen" run lm.yaml --run-dir parts
[ "$(sum parts)" = "$(sum run)" ] || fail "a run that went on has other weights"
"$regimen" text train-tokenizer --vocab-size 40 --type bpe --out data/other.model data/train.txt 2>err || fail "$(cat err)"
# shellcheck disable=SC2086
expect 1 "$regimen" run lm.yaml --run-dir other $tokens --set data.tokenizer=other.model
says 'train.tokens was made with another tokenizer than .*other.model' err

# A student learns from the run, of one with adapters from the sum; a teacher with other tokens is told.
small="--set model.decoder.num_layers=1 --set trainer.epochs=1"
# shellcheck disable=SC2086
expect 0 "$regimen" run lm.yaml --run-dir untaught $small
# shellcheck disable=SC2086
expect 0 "$regimen" run lm.yaml --run-dir taught $small --set task.distillation.teacher=run
[ "$(sum taught)" != "$(sum untaught)" ] || fail "the teacher changes nothing"
expect 0 "$regimen" run lm.yaml --run-dir adapted --set trainer.initialize.checkpoint=run --set task.lora.rank=2 \
    --set trainer.epochs=1
# shellcheck disable=SC2086
expect 0 "$regimen" run lm.yaml --run-dir of_adapted $small --set task.distillation.teacher=adapted
[ "$(sum of_adapted)" != "$(sum taught)" ] || fail "a teacher's adapters change nothing"
# shellcheck disable=SC2086
expect 2 "$regimen" run lm.yaml --run-dir no $small --set task.distillation.teacher=run --set data.train_tokenizer.vocab_size=50
says 'task.distillation.teacher: run has another tokenizer' err

# As a stream, and what cannot be.
expect 0 "$regimen" run lm.yaml --run-dir stream --set data.packing=stream
says 'tokens at the ends in no block of an epoch' err
expect 2 "$regimen" run lm.yaml --run-dir no --set data.batch_tokens=100
says 'data.batch_tokens is 100, no multiple of data.block_length' err
expect 2 "$regimen" run lm.yaml --run-dir no --set data.block_length=128 --set data.batch_tokens=256
says 'data.block_length is 128, above model.max_positions' err
expect 2 "$regimen" run lm.yaml --run-dir no --set data.tokenizer=a.model
says 'data.train_tokenizer makes the tokenizer' err

# Adapters alone are trained: every other weight stays to the bit, and texts and export have them merged.
sed 's/four/twelve/g' data/train.txt >data/other.txt
cat >lora.yaml <<YAML
data: {train: [other.txt], tokenizer: $work/run/tokenizer.model, train_tokenizer: {vocab_size: 0}}
task: {lora: {rank: 4, targets: [query, value, inner]}}
trainer: {initialize: {checkpoint: run, except: ["*/lora_*"]}}
YAML
expect 2 "$regimen" run lm.yaml --run-dir no --set task.lora.rank=4
says 'trainer.initialize.checkpoint is not set .*adapters change weights that stay' err
expect 2 "$regimen" run lm.yaml --config lora.yaml --run-dir no --set 'task.lora.targets=[key, no_such]'
says "task.lora.targets: no layer with a kernel is called 'no_such'" err
expect 0 "$regimen" run lm.yaml --config lora.yaml --run-dir lora
expect 0 "$regimen" generate lora --prompt "two three"
says '^ twelve' out
expect 0 "$regimen" export lora --verify
expect 0 "$regimen" generate lora --input prompts --json
cp out by_run
expect 0 "$regimen" export lora --format predictor --to lora_alone
expect 0 "$regimen" generate lora_alone --input prompts --json
cmp -s out by_run || fail "an export of adapters writes otherwise than its run"
grep -q lora_ lora_alone/model.safetensors && fail "the export has adapters that are not merged"
/usr/bin/env python3 - run lora <<'PY' || fail "weights beside the adapters changed"
import glob, json, struct, sys
def tensors(run):
    data = open(sorted(glob.glob(run + "/ckpt/step-*/weights.safetensors"))[-1], "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    places = {k: v["data_offsets"] for k, v in json.loads(data[8:8 + size]).items() if k != "__metadata__"}
    return {k: data[8 + size + a:8 + size + b] for k, (a, b) in places.items()}
before, after = (tensors(run) for run in sys.argv[1:])
assert len(set(after) - set(before)) == 12 and not set(before) - set(after), sorted(set(after) ^ set(before))
assert all(after[k] == before[k] for k in before)
PY

expect 0 "$regimen" export run --verify
says 'language_model.json  verified on [0-9,]+ items' out
expect 0 "$regimen" export run --verify --to short --set data.block_length=2 # less than a first step of others
says 'language_model.json  verified on [0-9,]+ items' out
[ -s run/export/model.onnx ] && cmp -s run/tokenizer.model run/export/tokenizer.model || fail "the export lacks a file"
finish
