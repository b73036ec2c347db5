#!/bin/sh
# `regimen import` of what `regimen export --format huggingface` writes: the same bytes of weights, which every verb
# takes: texts, scores, metrics on data of one's own, exports, adapters, a registered model.
. "$(dirname "$0")/lib.sh"
corpus=$(cd "$(dirname "$0")/../fuzz/corpus" && pwd)
fast_work
cd "$work" || exit 1

mkdir data
awk 'BEGIN {
    split("one two three four five six seven eight nine ten eleven twelve", w, " ")
    for (i = 0; i < 300; i++) {
        s = ""
        for (k = 0; k < 3 + i % 6; k++) s = s (k ? " " : "") w[1 + (i + k) % 12]
        print s "." > ("data/" (i < 260 ? "train" : "test") ".txt")
    }
}'
cat >lm.yaml <<'YAML'
data: {path: data, train: [train.txt], test: [test.txt], train_tokenizer: {type: bpe, vocab_size: 56}, block_length: 32, batch_tokens: 256}
task: {type: language_model, generate: {temperature: 0, max_tokens: 12}}
model:
  type: decoder_transformer
  embedding_width: 32
  max_positions: 64
  decoder: {num_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, intermediate_size: 48, qkv_bias: true}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 5}
runtime: {seed: 1, threads: 2}
export: [{type: huggingface}]
YAML
expect 0 "$regimen" run lm.yaml --run-dir run
says '"model_type": "qwen2"' run/export/config.json
cmp -s run/tokenizer.model run/export/tokenizer.model || fail "the export lacks the tokenizer"

# weights RUN: those of its newest checkpoint.
weights() {
    for file in "$1"/ckpt/step-*/weights.safetensors; do :; done
    printf '%s' "$file"
}
expect 0 "$regimen" import run/export --out there
says '^model.layers.1.self_attn.k_proj.bias +f32\[16\] +as is +decoder/layer_1/attention/key/bias$' out
says '^import +qwen2 of Hugging Face: [0-9,]+ weights in there$' err
# With 56 tokens the tables have no rows of padding, which an import sets to 0.
cmp "$(weights run)" "$(weights there)" || fail "weights came back with other bytes"
expect 0 "$regimen" import run/export --out again/deep --json
says '"family": "qwen2"' out
/usr/bin/env python3 -c 'import json, sys; json.load(open(sys.argv[1]))' out || fail "--json prints none"
cmp "$(weights there)" "$(weights again/deep)" || fail "two imports differ"

# Every verb takes it.
expect 0 "$regimen" generate run --prompt "three four" --prompt "" --last
cp out texts
expect 0 "$regimen" generate there --prompt "three four" --prompt "" --temperature 0 --max-tokens 12
cmp out texts || fail "the import writes other texts"
expect 0 "$regimen" predict run --input data/test.txt --last
cp out scores
expect 0 "$regimen" predict there --input data/test.txt
cmp -s out scores || fail "the import scores otherwise"
expect 0 "$regimen" eval there --part test --set data.path=data --set 'data.test=[test.txt]'
says '^test +loss [0-9.]+ perplexity' out
expect 0 "$regimen" export there --to onnx
[ -s onnx/model.onnx ] || fail "no ONNX of the import"
expect 0 "$regimen" export there --to back --format huggingface
for file in config.json model.safetensors tokenizer.model tokenizer_config.json; do
    cmp "run/export/$file" "back/$file" || fail "$file came back with other bytes"
done
expect 2 "$regimen" export there --to back --format predictor
says 'back has an export of another format, whose model.safetensors this one would replace: remove it, or name another folder' err
cmp run/export/model.safetensors back/model.safetensors || fail "an export has replaced another's weights"
expect 0 "$regimen" export there --to served --format predictor
expect 2 "$regimen" export there --to served --format huggingface
says 'served has an export of another format, whose model.safetensors' err
# A run that goes on with another exporter hears of it before its first step, wherever it would write.
cp -r run on
cp run/metrics.jsonl before.jsonl
for other in '' '--set trainer.exports.validations=true --set trainer.exports.dirs=[elsewhere]' '--set trainer.exports.dirs=[served,back]'; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" run lm.yaml --run-dir on --set trainer.epochs=6 --set 'export=[{type: predictor}]' $other
    says "exporter 'predictor': (on/export|back) has an export of another format, whose model.safetensors .*: remove it, or" err
    cmp -s on/metrics.jsonl before.jsonl || fail "it has made steps that nothing comes of"
done
rm -r on/export
expect 0 "$regimen" run lm.yaml --run-dir on --set trainer.epochs=6 --set 'export=[{type: predictor}]'
[ -s on/export/model.yaml ] || fail "no export of the run that went on"
expect 2 "$regimen" run there/config.yaml --run-dir no
says 'data.train: name the files to train on' err
sed 's/four/twelve/g' data/train.txt >data/other.txt
expect 0 "$regimen" run there/config.yaml --run-dir tuned --set data.path=data --set 'data.train=[other.txt]' \
    --set data.tokenizer="$work/there/tokenizer.model" --set trainer.initialize.checkpoint=there --set task.lora.rank=4 \
    --set 'trainer.initialize.except=["*/lora_*"]' --set optimizer.type=adam --set optimizer.learning_rate=1e-2 \
    --set trainer.epochs=10
expect 0 "$regimen" generate tuned --prompt "two three" --temperature 0 --max-tokens 12
says '^ twelve' out
expect 0 "$regimen" export tuned --to tuned.hf --format huggingface
expect 0 "$regimen" import tuned.hf --out merged
expect 0 "$regimen" generate merged --prompt "two three" --temperature 0 --max-tokens 12
says '^ twelve' out
expect 0 "$regimen" model register counting there --registry registry
expect 0 env REGIMEN_REGISTRY=registry "$regimen" generate model:counting --prompt "three four" --temperature 0 --max-tokens 12
head -1 texts | cmp -s - out || fail "the registered import writes another text"

# A translation goes out as a MarianMT and comes back; its import goes on learning.
cat >mt.yaml <<'YAML'
data: {path: data, train: [train.txt, train.txt], max_length: 24, batch_tokens: 512, train_tokenizer: {type: bpe, vocab_size: 56}}
task:
  type: translation
  decode: false
  search: {beam_size: 3, alpha: 0.7, length_penalty: power, end_within_beam: true, no_padding: true, decode_max_length: 20}
model:
  type: seq2seq_transformer
  embedding_width: 32
  positions: sinusoidal_paper
  output_bias: true
  max_positions: 64
  encoder: {num_layers: 1, num_attention_heads: 4, intermediate_size: 48, use_bias: true, norm_first: false, final_norm: false, norm_epsilon: 1e-5}
  decoder: {num_layers: 1, num_attention_heads: 4, intermediate_size: 48, use_bias: true, norm_first: false, final_norm: false, norm_epsilon: 1e-5}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 3}
runtime: {seed: 1, threads: 2}
export: [{type: huggingface}]
YAML
expect 0 "$regimen" run mt.yaml --run-dir mt
expect 0 "$regimen" import mt/export --out mt.there
says '^model.shared.weight +f32\[56,32\] +as is, a row a token +embedding/table$' out
says '^import +marian of Hugging Face: [0-9,]+ weights in mt.there$' err
grep '^generation_config.json' out && fail "a search that was taken over as it is is told to be another"
expect 0 "$regimen" translate mt <data/test.txt
cp out texts
expect 0 "$regimen" translate mt.there <data/test.txt
cmp -s out texts || fail "the imported translation model writes other texts"
[ "$(sort -u texts | wc -l)" -gt 5 ] || fail "few different translations: $(sort -u texts)"
expect 0 "$regimen" export mt.there --to mt.back --format huggingface
for file in config.json generation_config.json model.safetensors vocab.json source.spm target.spm tokenizer_config.json; do
    cmp "mt/export/$file" "mt.back/$file" || fail "$file of a translation came back with other bytes"
done
expect 2 "$regimen" run mt.there/config.yaml --run-dir no
says 'data.train: name the files to train on' err
expect 0 "$regimen" run mt.there/config.yaml --run-dir mt.tuned --set data.path=data --set 'data.train=[train.txt, other.txt]' \
    --set data.tokenizer="$work/mt.there/tokenizer.model" --set data.target_tokenizer="$work/mt.there/target_tokenizer.model" \
    --set data.vocabulary="$work/mt.there/vocabulary.yml" --set trainer.initialize.checkpoint=mt.there \
    --set task.decode=false --set optimizer.type=adam --set optimizer.learning_rate=1e-3 --set trainer.epochs=1
says 'initialized ([0-9]+) of \1 parameters' mt.tuned/log.txt
# Two vocabularies: one number of padding, which neither file has and which so comes last, stands for both there.
expect 0 "$regimen" text train-tokenizer --type bpe --vocab-size 56 --out data/both.model data/train.txt
expect 0 "$regimen" text encode --model data/both.model --pieces data/train.txt
{ printf '</s>\n<unk>\n' && tr ' ' '\n' <out | sort -u; } | awk '{ printf "\"%s\": %d\n", $0, NR - 1 }' >data/small.yml
{ cat data/small.yml && awk 'END { printf "\"more\": %d\n\"still more\": %d\n", NR, NR + 1 }' data/small.yml; } >data/large.yml
# two STATUS RUN SOURCE TARGET: a run with these vocabularies.
two() {
    expect "$1" "$regimen" run mt.yaml --run-dir "$2" --set data.train_tokenizer=~ --set data.tokenizer=both.model \
        --set data.target_tokenizer=both.model --set data.vocabulary="$3.yml" --set data.target_vocabulary="$4.yml" \
        --set model.embeddings=target --set trainer.epochs=1
}
two 1 no small large
says 'no such model: data.target_vocabulary: the number of its padding is one of the source' err
[ ! -e no/ckpt ] || fail "a model that cannot be exported was trained"
rm -rf no
two 0 mt.two large small
[ -s mt.two/export/target_vocab.json ] || fail "the target's vocabulary is no file of its own"
expect 0 "$regimen" import mt.two/export --out mt.two.there
expect 0 "$regimen" translate mt.two <data/test.txt
cp out texts
expect 0 "$regimen" translate mt.two.there <data/test.txt
cmp -s out texts || fail "an import with two vocabularies writes other texts"
# Another tokenizer: rows by their pieces, where that is asked for.
expect 2 "$regimen" run mt.yaml --run-dir no --set data.train_tokenizer.vocab_size=40 --set trainer.initialize.checkpoint=mt
says 'trainer.initialize.checkpoint .* another tokenizer.model' err
rm -rf no
expect 0 "$regimen" run mt.yaml --run-dir mt.other --set data.train_tokenizer.vocab_size=40 --set trainer.epochs=1 \
    --set trainer.initialize.checkpoint=mt --set 'trainer.initialize.adapt=["embedding/*", "output/*"]'
says 'embedding/table: from embedding/table, by piece$' mt.other/log.txt
says 'output/bias: from output/bias, by piece$' mt.other/log.txt
says 'encoder/layer_0/ffn/inner/kernel: from encoder/layer_0/ffn/inner/kernel$' mt.other/log.txt
expect 2 "$regimen" run mt.yaml --run-dir no --set data.train_tokenizer.vocab_size=40 \
    --set trainer.initialize.checkpoint=mt --set 'trainer.initialize.adapt=["output/*"]'
says "'embedding/table' has a row for each token, and the tokens of mt have other numbers" err
rm -rf no
# The search goes there and back, key by key; what has no place there is told.
expect 0 "$regimen" export mt --to mt.rules --format huggingface --set task.search.repetition_penalty=1.3 \
    --set task.search.decode_min_length=2 --set task.search.n_best=2 --set task.search.coverage=0.2 \
    --set task.search.length_penalty=gnmt
says 'export: task.search.length_penalty is gnmt: Transformers divides by the length to the power of alpha' err
says 'export: task.search.coverage is set: Transformers has no such penalty' err
[ "$(grep -c 'export: task.search' err)" = 2 ] || fail "other keys are told: $(cat err)"
expect 0 "$regimen" import mt.rules --out mt.ruled
for key in 'repetition_penalty: 1.3' 'decode_min_length: 2' 'n_best: 2' 'decode_max_length: 20' 'beam_size: 3'; do
    says "^ *$key\$" mt.ruled/config.yaml
done
expect 0 "$regimen" export mt --to mt.drawn --format huggingface --set task.search.sample=true --set task.search.beam_size=1 \
    --set task.search.temperature=0.7
expect 0 "$regimen" import mt.drawn --out mt.draws
for key in 'sample: true' 'temperature: 0.7' 'top_k: 0'; do
    says "^ *$key\$" mt.draws/config.yaml
done
# A student takes the tokenizers of an import with its vocabulary, and those of a tokenizer.json.
cp -R mt.there mt.teacher
cat >student.yaml <<'YAML'
steps: {student: {type: train, experiment: mt.yaml, tokenizer: mt.teacher, teachers: mt.teacher, over: {trainer: {epochs: 1}}}}
YAML
expect 0 "$regimen" distil student.yaml --dir taught
for file in tokenizer.model target_tokenizer.model vocabulary.yml; do
    cmp "mt.teacher/$file" "taught/student/$file" || fail "the student has another $file"
done
expect 0 "$regimen" distil student.yaml --dir taught --plan
says '^student +train +done$' out
echo '# the same, in other bytes' >>mt.teacher/vocabulary.yml
expect 0 "$regimen" distil student.yaml --dir taught --plan
says '^student +train +changed: tokenizer, teachers$' out
expect 0 "$regimen" run lm.yaml --run-dir lm.json --set data.train_tokenizer=~ --set trainer.epochs=1 \
    --set data.tokenizer="$corpus/tokenizer/gpt2.json"
cat >student.yaml <<'YAML'
steps: {student: {type: train, experiment: lm.yaml, tokenizer: lm.json, teachers: lm.json, over: {trainer: {epochs: 1}}}}
YAML
expect 0 "$regimen" distil student.yaml --dir lm.taught
cmp lm.json/tokenizer.json lm.taught/student/tokenizer.json || fail "the student has another tokenizer.json"
expect 1 "$regimen" export mt --to no --format huggingface --set model.positions=sinusoidal
says 'MarianMT of Transformers has no such model: model.positions: they are sinusoidal_paper there' err

# What is refused, and leaves nothing behind.
expect 1 "$regimen" import run/export --out there
says 'there is not empty: an import begins a folder' err
expect 2 "$regimen" import run/export
says '--out DIR says where' err
expect 1 "$regimen" import data --out no
says 'data is nothing that can be imported' err
sed 's/"rope_type": "default"/"rope_type": "yarn"/' run/export/config.json >back/config.json
expect 1 "$regimen" import back --out no
says 'rope_parameters is \{"rope_type":"yarn".*rotary positions are not stretched here' err
sed 's/"model_type"/"new_key": 1, "model_type"/' run/export/config.json >back/config.json
expect 1 "$regimen" import back --out no
says 'new_key is 1: not known of this family' err
expect 0 "$regimen" import back --out ignored --ignore new_key
[ ! -e no ] || fail "a failed import left a folder"
ls | grep -q partial && fail "a failed import left a part"

# Models that Transformers does not have.
expect 1 "$regimen" export run --to no --format huggingface --set model.positions=alibi
says 'model.positions: they are learned \(GPT-2\) or rotary \(Llama\) there' err
expect 2 "$regimen" export run --to no --format huggingface --verify
finish
