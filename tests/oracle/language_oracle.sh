#!/bin/sh
# onnxruntime writes with what we export: a language model's export folder, alone, gives generate_onnx.py the texts that `regimen
# generate` gives, with their log-probabilities: every kind of positions, grouped heads, adapters; prompts at once and token by token,
# rows alone and together.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import onnxruntime' 2>/dev/null; then
    echo "SKIPPED: build/oracle lacks onnxruntime (scripts/oracles.sh installs it)"
    exit 77
fi
command -v spm_encode >/dev/null || { echo "SKIPPED: spm_encode is not installed"; exit 77; }
. "$here/../lib.sh"
fast_work
cd "$work" || exit 1

mkdir data
awk 'BEGIN {
    n = split("one zwölf größer Übung été собака 犬 naïve five six", w, " ")
    for (i = 0; i < 400; i++) {
        s = ""
        for (k = 0; k < 2 + i % 7; k++) s = s (k ? " " : "") w[1 + (i * 3 + k * (1 + i % 2)) % n]
        print s "." > ("data/" (i < 360 ? "train" : "test") ".txt")
    }
}'
cat >lm.yaml <<'YAML'
data:
  path: data
  train: [train.txt]
  test: [test.txt]
  train_tokenizer: {type: bpe, vocab_size: 70}
  block_length: 32
  batch_tokens: 256
task: {type: language_model, generate: {temperature: 0, max_tokens: 24}}
model:
  type: decoder_transformer
  embedding_width: 32
  max_positions: 48
  decoder: {num_layers: 2, num_attention_heads: 4, intermediate_size: 48}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 3}
runtime: {seed: 1, threads: 2}
YAML
# Words as they were trained on, none at all, others, and as long as the model reads.
{
    cut -d' ' -f1-3 data/test.txt | head -12
    printf '\none one one\nzwölf  Übung\n犬犬 собака ?\n'
    tr '\n' ' ' <data/test.txt | cut -c1-60
} >prompts

# written NAME: by the run and by its export, which stands in a folder of its own.
written() {
    expect 0 "$regimen" export "$1" --to "$1.alone" --verify
    says 'language_model.json  verified on [0-9,]+ items, largest difference [0-9.]+e-0[5-9]$' out
    expect 0 "$regimen" generate "$1" --input prompts --json
    cp out ours
    [ "$(wc -l <ours)" = "$(wc -l <prompts)" ] || fail "$1: $(wc -l <ours) texts"
    "$python" "$here/generate_onnx.py" "$1.alone" ours || fail "$1: onnxruntime differs"
}

expect 0 "$regimen" run lm.yaml --run-dir rotary
written rotary
says '"end": "end"' ours
expect 0 "$regimen" run lm.yaml --run-dir gpt2 --set model.type=decoder_transformer_gpt2 --set model.dropout_rate=0 --set model.decoder.dropout_rate=0
written gpt2
expect 0 "$regimen" run lm.yaml --run-dir alibi --set model.positions=alibi --set model.decoder.num_key_value_heads=2 --set model.tied=false
written alibi
expect 0 "$regimen" run lm.yaml --run-dir relative --set model.positions=relative --set model.decoder.num_key_value_heads=1 \
    --set model.decoder.attention_window=5 --set model.scale_embeddings=true
written relative
expect 0 "$regimen" run lm.yaml --run-dir lora --set trainer.initialize.checkpoint=rotary --set 'trainer.initialize.except=["*/lora_*"]' \
    --set data.tokenizer="$work/rotary/tokenizer.model" --set data.train_tokenizer.vocab_size=0 --set task.lora.rank=4 --set trainer.epochs=1
written lora
# Prompts alone, as those of an import may be: none is empty then.
grep . prompts >filled
mv filled prompts
expect 0 "$regimen" run lm.yaml --run-dir unbegun --set task.generate.begin=false --set trainer.epochs=1
written unbegun
finish
