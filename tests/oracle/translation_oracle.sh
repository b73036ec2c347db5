#!/bin/sh
# onnxruntime decodes what we export: a translation run's export folder, alone, gives decode_onnx.py the same
# translations as `regimen translate` gives: numbers written backwards; text in other scripts, empty lines and
# unknown characters; tokenizers of one and of both sides; greedy, beams and n-best lists. So do the lines of docs/export.md.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import onnxruntime' 2>/dev/null; then
    echo "SKIPPED: build/oracle lacks onnxruntime (scripts/oracles.sh installs it)"
    exit 77
fi
command -v spm_encode >/dev/null || { echo "SKIPPED: spm_encode is not installed"; exit 77; }
. "$here/../lib.sh"
fast_work
configs=$here/../../configs
cd "$work" || exit 1

# decoded NAME LINES OPTIONS...: by the run and by its export, which stands in a folder of its own.
decoded() {
    name=$1 lines=$2
    shift 2
    expect 0 "$regimen" translate "$name" "$@" --scores <"$lines"
    cp out ours
    expect 0 "$python" "$here/decode_onnx.py" "$name.alone" "$@" --scores <"$lines"
    [ -s ours ] || fail "$name: nothing was translated"
    python3 - ours out <<'PY' || fail "$name $*: onnxruntime's translations differ"
import sys
ours, theirs = ([line.split("\t") for line in open(path, encoding="utf-8").read().split("\n")[:-1]]
                for path in sys.argv[1:])
assert len(ours) == len(theirs), (len(ours), len(theirs))
ties = 0
for a, b in zip(ours, theirs):
    score = len(a) - 2  # behind the line's number, where there is one
    assert abs(float(a.pop(score)) - float(b.pop(score))) < 1e-4, (a, b)
    assert a[:score] == b[:score], (a, b)
    if a != b:  # hypotheses of equal scores, between which the last bit of a sum decides
        print("equally good:", a, b)
        ties += 1
assert ties <= len(ours) // 100, f"{ties} of {len(ours)} translations differ"
PY
}

# trained NAME EXPERIMENT OPTIONS...: and exported.
trained() {
    name=$1
    shift
    expect 0 "$regimen" run "$@" --run-dir "$name"
    expect 0 "$regimen" export "$name" --to "$name.alone" --verify
    says 'translation.json  verified on [0-9]+ items, largest difference [0-9.]+e-0[5-9]$' out
}

# ---- numbers -------------------------------------------------------------------------------------

awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) {
    s = ""; n = i % 20 == 7 ? 0 : 1 + int(rand() * 10)
    for (k = 0; k < n; k++) s = s (k ? " " : "") (2 + int(rand() * 16))
    print s } }' >numbers
quick="--set task.decode=false --set trainer.checkpoint.best.metric=valid.loss --set data.reverse.train=6000
       --set optimizer.learning_rate.warmup.steps=20"
# shellcheck disable=SC2086
trained reverse "$configs/reverse.yaml" $quick --set trainer.epochs=4
decoded reverse numbers --beam 1
decoded reverse numbers
decoded reverse numbers --beam 4 --n-best 3
# shellcheck disable=SC2086
trained post "$configs/reverse.yaml" $quick --set trainer.epochs=2 --set model.encoder.norm_first=false \
    --set model.decoder.norm_first=false --set model.decoder.activation=gelu --set model.embeddings=untied \
    --set model.positions=learned --set model.decoder.num_layers=1 --set model.encoder.use_bias=true
decoded post numbers --beam 1
decoded post numbers --beam 3

# ---- text ----------------------------------------------------------------------------------------

mkdir data
awk 'BEGIN {
    n = split("ein zwölf größer läuft Straße Übung été собака 犬 naïve", de, " ")
    split("one twelve bigger runs street exercise summer dog Dog naive", en, " ")
    for (i = 0; i < 600; i++) {
        s = t = ""
        for (k = 0; k <= i % 5; k++) {
            w = 1 + (i * 7 + k * k * 3 + int(i / 10) * k) % n
            s = s (k ? " " : "") de[w]; t = en[w] (k ? " " : "") t
        }
        if (i % 3 == 0) { s = s "."; t = t "!" }
        part = i < 560 ? "train" : "valid"
        print s > ("data/" part ".de"); print t > ("data/" part ".en")
    }
}'
expect 0 "$regimen" text train-tokenizer --type bpe --vocab-size 80 --out data/joint.model data/train.de data/train.en
expect 0 "$regimen" text train-tokenizer --vocab-size 32 --out data/en.model data/train.en
cat >words.yaml <<'YAML'
data:
  path: data
  train: [train.de, train.en]
  valid: [valid.de, valid.en]
  tokenizer: joint.model
  batch_tokens: 256
task: {type: translation, search: {beam_size: 4, alpha: 1, extra_decode_length: 12}}
model:
  type: seq2seq_transformer
  embedding_width: 48
  encoder: {num_layers: 2, num_attention_heads: 3, intermediate_size: 96}
  decoder: {num_layers: 2, num_attention_heads: 3, intermediate_size: 96}
optimizer: {type: adam, learning_rate: {type: cosine, initial: 5e-3, warmup: {steps: 20}}}
trainer: {epochs: 10}
runtime: {seed: 1, threads: 2}
YAML
{
    cat data/valid.de
    printf '\nein  zwölf\t été \n   \n犬犬犬 собака\n🙂 ein ▁ Ω?\nein\302\240zwölf e\314\201te\314\201\n'
    tr '\n' ' ' <data/valid.de | cut -c1-300
} >lines
trained words words.yaml
trained both words.yaml --set data.target_tokenizer=en.model --set model.embeddings=target --set trainer.epochs=6
[ -f both.alone/tokenizer.model ] && cmp -s both.alone/target_tokenizer.model data/en.model ||
    fail "the export lacks a tokenizer"

# Factors of words, a tag before sources and one before targets.
with_factors() {
    awk '{ s = ""; n = 0
        for (i = 1; i <= NF; i++) { n++; s = s (i > 1 ? " " : "") $i "|" (n % 2 ? "odd" : "even") "|" (length($i) > 4 ? "long" : "short") }
        print s }' FS='[ \t]+' "$1"
}
for part in train valid; do
    with_factors data/$part.de | paste - data/$part.en >data/$part.tsv
done
sed 's/^ *//; s/[ \t]*$//' lines | with_factors /dev/stdin >lines.factors
for combine in sum concat; do
    trained $combine words.yaml --set 'data.train=[train.tsv]' --set 'data.valid=[valid.tsv]' --set trainer.epochs=6 \
        --set 'data.factors={place: [odd, even], length: [short, long]}' --set model.embeddings=target --set model.factors.combine=$combine \
        --set data.source_tag=a --set data.target_tag=e
done
# The lines of docs/export.md, with a tokenizer of each side and a bound of the length. spm_encode stands for the module.
mkdir page
cat >page/sentencepiece.py <<'PY'
import subprocess

class SentencePieceProcessor:
    def __init__(self, model_file):
        self.model = model_file

    def run(self, name, option, line):
        made = subprocess.run([name, "--model=" + self.model, option], input=line.encode() + b"\n", check=True, stdout=subprocess.PIPE)
        return made.stdout.decode().rstrip("\n")

    def encode(self, line):
        return [int(i) for i in self.run("spm_encode", "--output_format=id", line).split()]

    def decode(self, ids):
        return self.run("spm_decode", "--input_format=id", " ".join(map(str, ids)))
PY
sed -n '/^import json, numpy as np, onnxruntime as ort, sentencepiece$/,/^```$/p' "$here/../../docs/export.md" | sed '$d' >page/decode.py
printf 'import sys\nfor line in sys.stdin.read().split("\\n")[:-1]:\n    print(translate(line))\n' >>page/decode.py
expect 0 "$regimen" export both --to page/export --set task.search.decode_max_length=5
expect 0 "$regimen" translate both --beam 1 --set task.search.decode_max_length=5 <data/valid.de
cp out ours
(cd page && "$python" -B decode.py) <data/valid.de >out 2>err || fail "the lines of docs/export.md: $(cat err)"
cmp ours out || fail "the lines of docs/export.md translate otherwise"
rm -r data # the runs and the exports go on without
for combine in sum concat; do
    decoded $combine lines.factors --beam 1
    decoded $combine lines.factors --beam 4 --n-best 3
done
for name in words both; do
    decoded $name lines --beam 1
    decoded $name lines
    decoded $name lines --beam 5 --n-best 5
done

finish
