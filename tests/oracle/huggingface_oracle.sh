#!/bin/sh
# Transformers writes small models of each family, `regimen import` takes them: the same logits and texts; and
# what `regimen export --format huggingface` writes gives the same logits and tokens there.
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle-hf/bin/python
if ! [ -x "$python" ] || ! "$python" -c 'import torch, transformers, onnxruntime' 2>/dev/null; then
    echo "SKIPPED: build/oracle-hf lacks Transformers or PyTorch (scripts/oracles.sh hf installs them)"
    exit 77
fi
. "$here/../lib.sh"
fast_work
cd "$work" || exit 1
export HF_HUB_OFFLINE=1 TRANSFORMERS_VERBOSITY=error HF_HUB_DISABLE_PROGRESS_BARS=1
expect 0 "$python" "$here/huggingface_oracle.py" "$regimen"
cat out

# A model of ours, trained here, with a SentencePiece model of either kind.
mkdir data
awk 'BEGIN {
    split("one two three four fünf six seven eight nine ten eleven twelve", w, " ")
    for (i = 0; i < 300; i++) {
        s = ""
        for (k = 0; k < 3 + i % 6; k++) s = s (k ? " " : "") w[1 + (i + k) % 12]
        print s "." > "data/train.txt"
    }
}'
cat >lm.yaml <<'YAML'
data: {path: data, train: [train.txt], block_length: 32, batch_tokens: 256, train_tokenizer: {type: bpe, vocab_size: 50}}
task: {type: language_model}
model:
  type: decoder_transformer
  embedding_width: 32
  max_positions: 64
  decoder: {num_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, intermediate_size: 64, attention_window: 9}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 1}
runtime: {seed: 1, threads: 2}
export: [{type: huggingface}]
YAML
for kind in bpe unigram; do
    expect 0 "$regimen" run lm.yaml --run-dir $kind --set data.train_tokenizer.type=$kind \
        --set data.train_tokenizer.vocab_size=$([ $kind = bpe ] && echo 50 || echo 34)
    expect 0 "$python" "$here/huggingface_oracle.py" "$regimen" $kind $kind/export
    cat out
done
finish
