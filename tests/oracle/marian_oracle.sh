#!/bin/sh
# Transformers writes a small MarianMT, and its weights are written as Marian's npz too: `regimen import` takes both,
# with the same probabilities to 1e-5 and the same translations of four beams as Transformers' model (for the
# npz with Marian's sinusoids and epsilons in it). What `regimen export --format huggingface` makes of an import has the
# same bytes in each tensor, and one of a model that was trained here translates alike there.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle-hf/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import torch, transformers, sentencepiece' 2>/dev/null; then
    echo "SKIPPED: build/oracle-hf lacks Transformers or PyTorch (scripts/oracles.sh hf installs them)"
    exit 77
fi
. "$here/../lib.sh"
fast_work
cd "$work" || exit 1
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error HF_HUB_DISABLE_PROGRESS_BARS=1
oracle=$here/marian_oracle.py

awk 'BEGIN {
    split("ein zwei drei Hunde laufen im Schnee über das Feld und spielen mit einem roten Ball", de, " ")
    split("a two three dogs run in the snow over the field and play with one red ball", en, " ")
    srand(7)
    for (i = 0; i < 200; i++) {
        s = t = ""
        n = 2 + int(rand() * 7)
        for (k = 0; k < n; k++) {
            w = 1 + int(rand() * 15)
            s = s (k ? " " : "") de[w]
            t = t (k ? " " : "") en[w + (w > 7)]
        }
        print s "." > "all.de"
        print t "." > "all.en"
    }
}'
head -40 all.de >lines
paste all.de all.en | head -20 >pairs
expect 0 "$regimen" text train-tokenizer --vocab-size 42 --out source.spm all.de
expect 0 "$regimen" text train-tokenizer --vocab-size 36 --out target.spm all.en
expect 0 "$python" "$oracle" make

# close FILE FILE: log-probabilities of tokens.
close() {
    python3 - "$1" "$2" <<'PY' || fail "$1 and $2: other probabilities"
import json, sys
ours, theirs = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
ours = [[t["log_probability"] for t in line["tokens"]] for line in ours]
assert len(ours) == len(theirs) == 20 and list(map(len, ours)) == list(map(len, theirs))
worst = max(abs(a - b) for x, y in zip(ours, theirs) for a, b in zip(x, y))
print(f"{sys.argv[1]}: {worst:.1e}")
assert worst < 1e-5, worst
PY
}

# agree RUN FOLDER MOST [OPTION...]: probabilities of pairs and translations of lines are those of FOLDER in Transformers,
# more than MOST different ones. (What reaches the maximum length competes with what has ended there, and not here.)
agree() {
    run=$1 folder=$2 most=$3
    shift 3
    expect 0 "$regimen" score-pairs "$run" --json <pairs
    cp out "$run.scores"
    close "$run.scores" "$folder.scores"
    python3 -c 'import json, sys; print(*(json.dumps({"text": x.rstrip("\n")}) for x in sys.stdin), sep="\n")' <lines >asked
    expect 0 "$regimen" translate "$run" --json "$@" <asked
    python3 - out "$folder.texts" "$most" <<'PY' || fail "$run: other translations than $folder"
import json, sys
ours = [json.loads(line)["translations"][0] for line in open(sys.argv[1], encoding="utf-8")]
theirs = open(sys.argv[2], encoding="utf-8").read().split("\n")[:-1]
assert len(ours) == len(theirs) == 40
pairs = [(o["text"], t) for o, t in zip(ours, theirs) if not o["cut"]]
other = [p for p in pairs if p[0] != p[1]]
assert not other, other[:4]
print(len(pairs), "translations,", len(set(pairs)), "different")
assert len(pairs) > 30 and len(set(pairs)) > int(sys.argv[3]), (len(pairs), len(set(pairs)))
PY
}

expect 0 "$regimen" import hf --out from_hf
says "^model.decoder.layers.2.fc2.weight +f32.32,48. +turned +decoder/layer_2/ffn/outer/kernel" out
says "^ids: padding is 0, its number there is" out
agree from_hf hf 15
expect 0 "$regimen" import marian --out from_marian
says "^decoder_l3_context_Wo_ln_bias +f32.1,32. +as is, its row +decoder/layer_2/cross_attention/norm/beta" out
agree from_marian marian 15 --set task.search.no_repeat_ngram=2 --set task.search.decode_max_length=48 \
    --set task.search.repetition_penalty=1.2 --set task.search.decode_min_length=5

# Back: the same tensors, vocabulary and models, and the same search.
expect 0 "$regimen" export from_hf --to back --format huggingface
expect 1 "$regimen" export from_marian --to never --format huggingface
says "no such model: model.encoder.norm_epsilon: it is 1e-5 there" err

# A model of ours with one tokenizer, trained here.
cat >ours.yaml <<'YAML'
data: {path: ., train: [all.de, all.en], max_length: 32, batch_tokens: 512, train_tokenizer: {type: unigram, vocab_size: 56}}
task: {type: translation, decode: false, search: {beam_size: 4, alpha: 1, length_penalty: power, end_within_beam: true, no_padding: true,
    no_repeat_ngram: 2, decode_max_length: 48, decode_min_length: 5, repetition_penalty: 1.2}}
model:
  type: seq2seq_transformer
  embedding_width: 32
  positions: sinusoidal_paper
  output_bias: true
  max_positions: 128
  encoder: &stack {num_layers: 1, num_attention_heads: 4, intermediate_size: 48, use_bias: true, norm_first: false, final_norm: false, norm_epsilon: 1e-5}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 3}
runtime: {seed: 1, threads: 2}
YAML
sed -i 's/&stack //' ours.yaml
sed -n 's/^  encoder: /  decoder: /p' ours.yaml >decoder
sed -i '/^  encoder: /r decoder' ours.yaml
expect 0 "$regimen" run ours.yaml --run-dir ours
expect 0 "$regimen" export ours --to ours.hf --format huggingface
expect 0 "$python" "$oracle" back
agree from_hf back 15
agree ours ours.hf 6
finish
