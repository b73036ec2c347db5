#!/bin/sh
# Students. A run with a teacher, killed and continued, ends with the same bytes, needs its teacher only while it
# trains, and says so where teacher and student do not fit.
. "$(dirname "$0")/lib.sh"
[ -z "${RGM_SANITIZE:-}" ] || { echo "SKIPPED: $RGM_PRELOAD does not go with sanitizers"; exit 77; }
fast_work
cd "$work" || exit 1

# Ten words and their translations, in every order that a formula makes of them.
mkdir data
awk 'BEGIN {
    split("ein zwei drei vier Hund Katze Haus laeuft schlaeft singt", de, " ")
    split("one two three four Dog Cat house runs sleeps sings", en, " ")
    for (i = 0; i < 300; i++) {
        s = t = ""
        for (k = 0; k <= i % 4; k++) {
            w = 1 + (i * 7 + k * k * 3 + int(i / 10) * k) % 10
            s = s (k ? " " : "") de[w]; t = t (k ? " " : "") en[w]
        }
        if (i % 3 == 0) { s = s "."; t = t "." }
        part = i < 260 ? "train" : (i < 280 ? "valid" : "test")
        print s > ("data/" part ".de"); print t > ("data/" part ".en")
    }
}'
cat >words.yaml <<'YAML'
data:
  path: data
  train: [train.de, train.en]
  valid: [valid.de, valid.en]
  train_tokenizer: {type: bpe, vocab_size: 45}
  batch_tokens: 256
task: {type: translation, search: {beam_size: 2, extra_decode_length: 8}}
model:
  type: seq2seq_transformer
  embedding_width: 32
  encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64}
  decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64}
optimizer: {type: adam, learning_rate: 5e-3}
trainer: {epochs: 4}
runtime: {seed: 1, threads: 1}
YAML

# ---- word by word --------------------------------------------------------------------------------

expect 0 "$regimen" run words.yaml --run-dir teacher
taught="--set task.distillation.teacher=teacher --set model.embedding_width=16 --set trainer.checkpoint.every_steps=2"
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir whole $taught
# shellcheck disable=SC2086
expect 137 env LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL=9 RGM_SIGNAL_AT=step-00000004 \
    "$regimen" run words.yaml --run-dir killed $taught
cp -R teacher elsewhere
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir killed $taught --set task.distillation.teacher=elsewhere
results="ckpt metrics.jsonl" same_run whole killed "killed and continued, with the teacher elsewhere"
expect 0 "$regimen" run words.yaml --run-dir untaught --set model.embedding_width=16
cmp -s whole/metrics.jsonl untaught/metrics.jsonl && fail "the teacher changes nothing"
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir two $taught --set 'task.distillation={teacher: [teacher, untaught], weight: 0.9, temperature: 2}'
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir parts $taught --set runtime.shards=2 --set runtime.mixed_precision=bf16
expect 0 "$regimen" export whole --to small --format predictor
grep -q distillation small/model.yaml && fail "the export knows the teacher's folder: $(cat small/model.yaml)"
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir of_export $taught --set task.distillation.teacher=small
mv teacher away
expect 0 "$regimen" translate whole <data/valid.de
expect 0 "$regimen" eval whole --part valid
# shellcheck disable=SC2086
expect 1 "$regimen" run words.yaml --run-dir no $taught
says 'task.distillation.teacher teacher: teacher has no model.yaml' err
mv away teacher
# shellcheck disable=SC2086
expect 2 "$regimen" run words.yaml --run-dir no $taught --set data.train_tokenizer.vocab_size=40
says 'task.distillation.teacher: teacher has other tokenizers; .*data.tokenizer' err
# shellcheck disable=SC2086
expect 2 "$regimen" run words.yaml --run-dir killed $taught --set task.distillation.teacher=untaught
says 'task.distillation.teacher was .* and is now untaught: files or contents there are others' err
expect 2 "$regimen" run words.yaml --run-dir no --set task.distillation.weight=1.5
says 'weight' err
[ ! -d no/ckpt ] || fail "a step was taken"

finish
