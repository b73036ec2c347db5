#!/bin/sh
# CTranslate2 reads the folder that `regimen export --format ctranslate2` writes and gives the translations of
# `regimen translate`: numbers written backwards and text, norms before and behind the blocks, tied and own
# tables, learned positions and sines, biases and GELU; greedy to the letter. A search by beams is another one there,
# but what ours finds has the same probability.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/peer_ctranslate2/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import ctranslate2' 2>/dev/null; then
    echo "SKIPPED: build/peer_ctranslate2 lacks CTranslate2 (scripts/peer.sh ctranslate2 installs it)"
    exit 77
fi
. "$here/../lib.sh"
fast_work
configs=$here/../../configs
cd "$work" || exit 1

# same NAME TOKENS OURS: greedily.
same() {
    expect 0 "$python" "$here/decode_ctranslate2.py" "$1.ct2" <"$2"
    python3 - "$3" out <<'PY' || fail "$1: CTranslate2's translations differ"
import sys
ours, theirs = ([line.rstrip() for line in open(path, encoding="utf-8").read().split("\n")[:-1]]
                for path in sys.argv[1:3])
theirs = ["".join(line.split(" ")).replace("▁", " ").strip() if "▁" in line else line for line in theirs]
assert len(ours) == len(theirs) > 20, (len(ours), len(theirs))
assert len(set(ours)) > 10, set(ours)
assert ours == theirs, [(a, b) for a, b in zip(ours, theirs) if a != b]
PY
}

# scored NAME TOKENS: what our beams find, by its log-probability there.
scored() {
    expect 0 "$regimen" translate "$1" --beam 4 --alpha 0 --scores --set task.search.extra_decode_length=12 <"$2"
    cut -f2 out | paste "$2" - >pairs
    cut -f1 out >ours
    expect 0 "$python" "$here/decode_ctranslate2.py" "$1.ct2" --score <pairs
    paste ours out | awk 'function off(a, b) { return a > b ? a - b : b - a }
        off($1, $3) > 1e-3 && off($1, $2) > 1e-3 { print; bad++ } off($1, $3) <= 1e-3 { whole++ }
        END { exit bad > 0 || whole < 20 }' || fail "$1: a translation has another probability in CTranslate2"
}

# ---- numbers -------------------------------------------------------------------------------------

awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) {
    s = ""; n = 1 + int(rand() * 10)
    for (k = 0; k < n; k++) s = s (k ? " " : "") (2 + int(rand() * 16))
    print s } }' >numbers
quick="--set task.decode=false --set trainer.checkpoint.best.metric=valid.loss --set data.reverse.train=3000
       --set optimizer.learning_rate.warmup.steps=20 --set trainer.epochs=2"
numbers() {
    name=$1
    shift
    # shellcheck disable=SC2086
    expect 0 "$regimen" run "$configs/reverse.yaml" $quick --run-dir "$name" "$@"
    expect 0 "$regimen" export "$name" --to "$name.ct2" --format ctranslate2
    says "^$name.ct2/model.bin$" out
    expect 0 "$regimen" translate "$name" --beam 1 --set task.search.extra_decode_length=12 <numbers
    cp out ours
    same "$name" numbers ours
    scored "$name" numbers
}
numbers reverse
numbers biased --set model.encoder.qkv_bias=true --set model.decoder.qkv_bias=true
numbers post --set model.encoder.norm_first=false --set model.decoder.norm_first=false \
    --set model.decoder.activation=gelu --set model.embeddings=untied --set model.positions=learned \
    --set model.decoder.num_layers=1 --set model.encoder.use_bias=true --set model.output_bias=true \
    --set model.decoder.ffn_bias=false --set model.encoder.final_norm=false --set model.encoder.activation=silu

# ---- text ----------------------------------------------------------------------------------------

mkdir data
awk 'BEGIN {
    n = split("ein zwei klein rot Haus Hund Baum gelb laut naiv", de, " ")
    split("one two small red house dog tree yellow loud naive", en, " ")
    for (i = 0; i < 600; i++) {
        s = t = ""
        for (k = 0; k <= i % 5; k++) {
            w = 1 + (i * 7 + k * k * 3 + int(i / 10) * k) % n
            s = s (k ? " " : "") de[w]; t = en[w] (k ? " " : "") t
        }
        part = i < 560 ? "train" : "valid"
        print s > ("data/" part ".de"); print t > ("data/" part ".en")
    }
}'
expect 0 "$regimen" text train-tokenizer --type bpe --vocab-size 61 --out data/joint.model data/train.de data/train.en
cat >words.yaml <<'YAML'
data: {path: data, train: [train.de, train.en], valid: [valid.de, valid.en], tokenizer: joint.model, batch_tokens: 256}
task: {type: translation, decode: false, search: {beam_size: 4, alpha: 0, extra_decode_length: 12}}
model:
  type: seq2seq_transformer
  embedding_width: 48
  embeddings: target
  encoder: {num_layers: 2, num_attention_heads: 3, intermediate_size: 96}
  decoder: {num_layers: 2, num_attention_heads: 3, intermediate_size: 96}
optimizer: {type: adam, learning_rate: {type: cosine, initial: 5e-3, warmup: {steps: 20}}}
trainer: {epochs: 4}
runtime: {seed: 1, threads: 2}
export: [{type: ctranslate2}]
YAML
expect 0 "$regimen" run words.yaml --run-dir words
[ -f words/export/tokenizer.model ] || fail "the export lacks the tokenizer"
mv words/export words.ct2
expect 0 "$regimen" text encode --model words.ct2/tokenizer.model --pieces data/valid.de
cp out pieces
expect 0 "$regimen" translate words --beam 1 <data/valid.de
cp out ours
same words pieces ours

# ---- what it cannot say --------------------------------------------------------------------------

# shellcheck disable=SC2086
expect 1 "$regimen" export reverse --to no --format ctranslate2 --set model.decoder.norm_epsilon=1e-3
says "CTranslate2 has one epsilon of layer norms" err
expect 1 "$regimen" export reverse --to no --format ctranslate2 --set model.positions=rotary
says "takes model.positions that are added to embeddings" err
[ ! -e no/model.bin ] || fail "an impossible export left files"

finish
