#!/bin/sh
# What stands beside words and before targets, by the command: tasks that only factors or tags tell, by runs and by exports;
# what is refused.
. "$(dirname "$0")/lib.sh"
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
cd "$work" || exit 1

# Letters, to be written small or large as a factor says. Another one says nothing: the place in the line, odd or even.
mkdir data
awk 'BEGIN {
    srand(3)
    for (i = 0; i < 1240; i++) {
        part = i < 1200 ? "train" : "valid"
        s = c = p = t = w = ""
        for (k = 0; k <= i % 3; k++) {
            n = int(rand() * 8)
            small = substr("abcdefgh", n + 1, 1); large = substr("ABCDEFGH", n + 1, 1)
            up = rand() < 0.5; gap = k ? " " : ""
            s = s gap small; c = c gap (up ? "upper" : "lower"); p = p gap (k % 2 ? "odd" : "even")
            t = t gap (up ? large : small)
            w = w gap small "|" (up ? "upper" : "lower") "|" (k % 2 ? "odd" : "even")
        }
        print s > ("data/" part ".src"); print t > ("data/" part ".tgt"); print w "\t" t > ("data/" part ".tsv")
        print c > ("data/" part ".case"); print p > ("data/" part ".place"); print w > ("data/" part ".words")
    }
}'
expect 0 "$regimen" text train-tokenizer --vocab-size 36 --type bpe --out data/joint.model data/train.src data/train.tgt
cat >letters.yaml <<'YAML'
data:
  path: data
  train: [train.src, train.tgt, train.case, train.place]
  valid: [valid.src, valid.tgt, valid.case, valid.place]
  factors: {case: [lower, upper], place: [odd, even]}
  tokenizer: joint.model
  batch_tokens: 256
task: {type: translation, search: {beam_size: 2, extra_decode_length: 4}, label_smoothing: 0}
model:
  type: seq2seq_transformer
  embedding_width: 32
  dropout_rate: 0
  encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64, dropout_rate: 0, attention_dropout_rate: 0, intermediate_dropout: 0}
  decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64, dropout_rate: 0, attention_dropout_rate: 0, intermediate_dropout: 0}
optimizer: {type: adam, learning_rate: {type: cosine, initial: 5e-3, warmup: {steps: 20}}}
trainer: {epochs: 60}
runtime: {seed: 1, threads: 2}
YAML
# matches LOG MORE|LESS SHARE: how many translations of a validation are right.
matches() {
    awk -v how="$2" -v share="$3" '{ for (i = 1; i < NF; i++) if ($i == "exact_match") x = $(i + 1) }
        END { exit !(x != "" && (how == "MORE" ? x >= share : x <= share)) }' "$1" || fail "exact_match: $(cat "$1")"
}

expect 0 "$regimen" run letters.yaml --run-dir run
says '"case": \["lower", "upper"\]' run/factors.yml
expect 0 "$regimen" eval run --part valid
matches out MORE 0.95
sed '/factors:/d; s/, train.case, train.place//; s/, valid.case, valid.place//' letters.yaml >plain.yaml
expect 0 "$regimen" run plain.yaml --run-dir blind
[ ! -e blind/factors.yml ] || fail "a run without factors keeps some"
expect 0 "$regimen" eval blind --part valid
matches out LESS 0.5 # by chance: 7 in 24

# The same with factors in the words: the same weights.
expect 0 "$regimen" run letters.yaml --run-dir words --set 'data.train=[train.tsv]' --set 'data.valid=[valid.tsv]' --set runtime.threads=1
cmp -s run/ckpt/step-*/weights.safetensors words/ckpt/step-*/weights.safetensors || fail "factors in files and in words give other weights"

# Lines, by the run and by its exports; their scores by tokens; alignments.
expect 0 "$regimen" translate run --scores <data/valid.words
cp out by_run
cut -f 2 by_run | diff - data/valid.tgt >differ
[ "$(grep -c '^>' differ)" -le 4 ] || fail "translations of lines: $(cat differ)"
expect 0 "$regimen" export run --to plain --format predictor
says '^    "place": \["odd", "even"\]$' plain/model.yaml
expect 0 "$regimen" translate plain --scores <data/valid.words
cmp -s out by_run || fail "an export with factors translates otherwise than its run"
expect 0 "$regimen" export run --to small --format predictor --precision int8
expect 0 "$regimen" translate run --int8 --scores <data/valid.words
cp out in_int8
expect 0 "$regimen" translate small --scores <data/valid.words
cmp -s out in_int8 || fail "an export in 8 bits with factors translates otherwise than its run"
expect 0 "$regimen" score-pairs run --alignment <data/valid.tsv
[ "$(wc -l <out)" = 40 ] || fail "$(wc -l <out) scores of 40 pairs"
awk '$1 < -1 { bad++ } END { exit bad > 6 }' out || fail "log-probabilities of right targets: $(cat out)"
sed 's/upper/LOWER/g; s/lower/upper/g; s/LOWER/lower/g' data/valid.tsv >turned.tsv
expect 0 "$regimen" score-pairs run <turned.tsv
awk '$1 > -1 { bad++ } END { exit bad > 6 }' out || fail "log-probabilities of targets of the other case: $(cat out)"
expect 0 "$regimen" translate run --alignment --with words --json <<'END'
{"text": "a|upper|even b|lower|odd", "alignment": "pieces"}
END
says '"text": "A b".*"alignment": "[0-9]+-[0-9]+' out
expect 0 "$regimen" export run --verify --to onnx
says '^onnx/translation.json  verified on [0-9]+ items' out
/usr/bin/env python3 - onnx/translation.json <<'PY' || fail "translation.json of a model with factors"
import json, sys
about = json.load(open(sys.argv[1]))
assert [i["name"] for i in about["encoder"]["inputs"]] == ["source", "source_factors"], about["encoder"]["inputs"]
assert about["source"]["factors"] == [{"name": "case", "values": {"lower": 1, "upper": 2}},
                                      {"name": "place", "values": {"odd": 3, "even": 4}}], about["source"]
PY
rm -f told
"$regimen" answer plain --listen 127.0.0.1:0 >told 2>log &
server=$!
wait_for grep -qs '^token ' told || fail "nothing is served: $(cat log)"
expect 0 python3 - "$(sed -n 's/^answer *//p' told)" "$(sed -n 's/^token *//p' told)" <<'PY'
import json, sys, urllib.error, urllib.request
def ask(text):
    body = json.dumps({"instances": [text]}).encode()
    headers = {"Authorization": "Bearer " + sys.argv[2]}
    return urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/v1/models/plain:predict", body, headers)).read().decode()
print(ask("c|lower|even d|upper|odd"))
try:
    ask("c d")
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
PY
kill "$server" && wait "$server"
says 'c D' out
says "word 1, 'c', lacks factors" out

# Behind the piece, with a table of its own.
concat="--set model.embeddings=target --set model.factors.combine=concat --set model.factors.width=4"
# shellcheck disable=SC2086
expect 0 "$regimen" run letters.yaml --run-dir behind $concat
expect 0 "$regimen" eval behind --part valid
matches out MORE 0.95
expect 0 "$regimen" export behind --verify --to behind_onnx
expect 2 "$regimen" run letters.yaml --run-dir no --set model.factors.combine=concat
says 'model.factors.combine is concat, .* model.embeddings is shared: use target or untied' err

# What is refused, and where it stands.
printf 'a|upper|even\na|title|even\nb|lower|odd\n' >lines
expect 1 "$regimen" translate run <lines
says "/dev/stdin:2: word 1 has 'title', which is not in data.factors.case" err
[ "$(cat out)" = A ] || fail "the line before a bad one: $(cat out)"
expect 1 "$regimen" translate run <data/valid.src
says "/dev/stdin:1: word 1, '[a-h]', lacks factors: data.factors has 2, so that a word is word.case.place" err
sed '5s/ [a-z]*$//' data/train.place >data/short.place
expect 1 "$regimen" run letters.yaml --run-dir no --set 'data.train=[train.src, train.tgt, train.case, short.place]'
says "data.train: .*short.place:5: 1 factors, but the source's line has 2 words" err
expect 2 "$regimen" run letters.yaml --run-dir run --set 'data.factors={case: [upper, lower], place: [odd, even]}' --set trainer.epochs=17
says 'run was begun with another (configuration|factors.yml)' err
expect 2 "$regimen" translate run --with blind <data/valid.words
says '--with blind: it has other data.factors' err
expect 1 "$regimen" export run --to ct2 --format ctranslate2
says 'writes no models with data.factors' err
expect 1 "$regimen" export run --to hf --format huggingface
says 'MarianMT of Transformers has no such model: data.factors' err
expect 2 "$regimen" run plain.yaml --run-dir no --set task.distillation.teacher=run
says 'task.distillation.teacher: run reads other data.factors' err
expect 0 "$regimen" run letters.yaml --run-dir drawn --set data.subword_alpha=0.2 --set trainer.epochs=2
expect 0 "$regimen" config check plain.yaml --set model.factors.combine=concat
says 'model.factors.combine .*has no effect: only with data.factors != null' err

# Tags before targets, by set: the same sources, to be written small or large.
for part in train valid; do
    tr 'a-h' 'A-H' <data/$part.src >data/$part.large
done
sed 's/train.tgt/train.src/; s/valid.tgt/valid.src/; s/^  tokenizer:.*/&\
  train_sets: {large: [train.src, train.large]}\
  valid_sets: {large: [valid.src, valid.large]}\
  target_tag: a\
  target_tags: {large: A}/' plain.yaml >tags.yaml
expect 0 "$regimen" run tags.yaml --run-dir tags --set trainer.epochs=30
expect 0 "$regimen" eval tags --part valid
cp out judged
grep valid_large judged >large || fail "no scores of the other set: $(cat judged)"
grep -v valid_large judged >small_set
matches large MORE 0.95
matches small_set MORE 0.95
expect 0 "$regimen" translate tags <<'END'
a b
END
says '^a b$' out
expect 0 "$regimen" translate tags --set data.target_tag=A <<'END'
a b
END
says '^A B$' out
expect 0 "$regimen" export tags --to tags_export --format predictor
says '^  target_tag: "a"$' tags_export/model.yaml
expect 0 "$regimen" translate tags_export --json <<'END'
{"text": "c d", "target_tag": "A", "alignment": "pieces"}
{"text": "c d"}
END
says '"text": "C D"' out
says '"text": "c d"' out
paste data/valid.src data/valid.large >pairs
expect 0 "$regimen" score-pairs tags --set data.target_tag=A <pairs
awk '$1 < -1 { bad++ } END { exit bad > 6 }' out || fail "log-probabilities with the right tag: $(cat out)"
expect 0 "$regimen" score-pairs tags <pairs
awk '$1 > -1 { bad++ } END { exit bad > 6 }' out || fail "log-probabilities with the other tag: $(cat out)"
expect 0 "$regimen" export tags --verify --to tags_onnx
expect 0 "$regimen" export tags --to tags_ct2 --format ctranslate2
says '"decoder_start_token": "a"' tags_ct2/config.json
expect 1 "$regimen" export tags --to tags_hf --format huggingface
says 'MarianMT of Transformers has no such model: data.target_tag' err
expect 2 "$regimen" run plain.yaml --run-dir no --set task.distillation.teacher=tags
says 'task.distillation.teacher: tags has another data.source_tag or data.target_tag' err
expect 1 "$regimen" translate tags --json <<'END'
{"text": "c d", "target_tag": "<2fr>"}
END
says "/dev/stdin:1: the target_tag '<2fr>' is no piece that a target can begin with" err
expect 1 "$regimen" translate run --json <<'END'
{"text": "c|lower|even", "target_tag": "A"}
END
says "a target_tag 'A' is asked for, but the model was trained without data.target_tag" err
expect 2 "$regimen" run tags.yaml --run-dir no --set 'data.target_tags={larg: [A]}'
says 'data.target_tags.larg: no set has that name' err
expect 2 "$regimen" run plain.yaml --run-dir no --set 'data.target_tags={train: [A]}'
says 'data.target_tags are of some sets: data.target_tag says' err
expect 2 "$regimen" run tags.yaml --run-dir no --set data.target_tag=xyz
says "data.target_tag is 'xyz', which is no piece of .*joint.model that a target can begin with" err
finish
