#!/bin/sh
# A translation run by what is in its folder: the tokenizer travels with the weights, so that the data may go.
. "$(dirname "$0")/lib.sh"
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
expect 0 "$regimen" text train-tokenizer --vocab-size 45 --type bpe --out data/joint.model data/train.de data/train.en
cat >words.yaml <<'YAML'
data:
  path: data
  train: [train.de, train.en]
  valid: [valid.de, valid.en]
  test: [test.de, test.en]
  tokenizer: joint.model
  batch_tokens: 256
task: {type: translation, search: {beam_size: 2, extra_decode_length: 8}}
model:
  type: seq2seq_transformer
  embedding_width: 32
  encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64}
  decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 64}
optimizer: {type: adam, learning_rate: {type: cosine, initial: 5e-3, warmup: {steps: 20}}}
trainer: {epochs: 12}
runtime: {seed: 1, threads: 2}
YAML
expect 0 "$regimen" run words.yaml --run-dir run
cmp -s data/joint.model run/tokenizer.model || fail "the run folder keeps another tokenizer"
expect 0 "$regimen" eval run
cp out eval_before
expect 0 "$regimen" translate run <data/test.de
cp out translated
[ "$(wc -l <translated)" = 20 ] || fail "20 lines became $(wc -l <translated)"
cp data/test.de source

expect 1 "$regimen" predict run
says "run translates: 'regimen translate'" err

# Scores of a validation are those of `regimen score`, with the same options by the same names.
# score_key NAME FILE: the number behind NAME in the line of eval.
score_key() {
    sed -n "s/.* $1 \([0-9.]*\).*/\1/p" "$2"
}
expect 0 "$regimen" eval run --set 'task.score={metrics: [bleu, ter, chrf], tokenize: none, lowercase: true}'
cp out judged
expect 0 "$regimen" score --ref data/test.en --tokenize none --lowercase --json translated
/usr/bin/env python3 - out "$(score_key bleu judged)" "$(score_key chrf judged)" "$(score_key ter judged)" <<'PY' || fail "eval and score differ"
import json, sys
r = json.load(open(sys.argv[1]))
for name, got in zip(("bleu", "chrf", "ter"), sys.argv[2:]):
    assert abs(r[name]["score"] - float(got)) < 1e-4, (name, r[name]["score"], got)
PY
says ' ter [0-9.]+ exact_match' judged
grep -q ' ter ' eval_before && fail "TER without having been asked for"
expect 2 "$regimen" run words.yaml --run-dir no --set 'task.score.metrics=[blue]'
says "no 'blue'; did you mean 'bleu'" err

# The best checkpoint by TER, smallest first; a metric that there is not is told before the first step.
expect 2 "$regimen" run words.yaml --run-dir no --set trainer.checkpoint.best.metric=valid.ter
says "'valid.ter' is not a validation metric of this task; there are:.* valid.bleu valid.chrf valid.exact_match" err
[ ! -d no/ckpt ] || fail "a step was taken"
expect 0 "$regimen" run words.yaml --run-dir by_ter --set trainer.checkpoint.best.metric=valid.ter \
    --set 'task.score.metrics=[ter]' --set trainer.checkpoint.best.save=true
/usr/bin/env python3 - by_ter <<'PY' || fail "the best weights by TER are not those of the smallest"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1] + "/metrics.jsonl")]
ter = [l["metrics"]["ter"] if "metrics" in l else l["ter"] for l in lines if l.get("split") == "valid"]
best = json.load(open(sys.argv[1] + "/best/info.json"))
assert len(set(ter)) > 1 and best["ter"] == min(ter), (ter, best)
PY

# Weights in 8 bits and a shortlist: by the run and by its export, to the bit, and what they change is told.
expect 0 "$regimen" text train-shortlist --model data/joint.model --first 4 --best 0 --out copies.shortlist data/train.de data/train.en
says '^text +copies.shortlist: 4 frequent tokens and 0\.[5-9] more for each of 45' err # its own, unless it is special or frequent
expect 0 "$regimen" text train-shortlist --model data/joint.model --first 4 --best 3 --out words.shortlist data/train.de data/train.en
says '^text +words.shortlist: 4 frequent tokens and [0-9.]+ more for each of 45, of 260 pairs$' err
expect 0 "$regimen" translate run --scores <source
cp out in_f32
expect 0 "$regimen" translate run --int8 --scores <source
cp out in_int8
cmp -s in_f32 in_int8 && fail "--int8 changes nothing"
expect 0 "$regimen" translate run --scores --set task.search.int8=true <source
cmp -s out in_int8 || fail "--int8 is not task.search.int8"
expect 0 "$regimen" translate run --int8 --shortlist words.shortlist --scores <source
cp out in_both
printf '{"text": "ein"}\n{"text": "ein", "prefix": "A"}\n' | { "$regimen" translate run --shortlist words.shortlist --json >out 2>err; [ $? = 1 ] ||
    fail "a prefix with a shortlist: $(cat err)"; }
says '^regimen: /dev/stdin:2: a search with a shortlist .* takes no prefix, required or banned texts' err
[ "$(wc -l <out)" = 1 ] || fail "the line before one that asks too much: $(cat out)"
cmp -s in_int8 in_both && fail "--shortlist changes nothing"
expect 0 "$regimen" export run --to small --format predictor --precision int8 --set data.shortlist="$PWD/words.shortlist"
says '^small/model.yaml$' out
/usr/bin/env python3 - small/quality.json <<'PY' || fail "quality.json: $(cat small/quality.json)"
import json, sys
q = json.load(open(sys.argv[1]))
assert q["data"] == "valid" and q["pairs"] == 20 and q["beam_size"] == 2, q
for way in ("int8", "f32_shortlist", "int8_shortlist"):
    for score in ("bleu", "chrf"):
        assert abs(q[way][score + "_difference"] - (q[way][score] - q["f32"][score])) < 1e-6, (way, q)
assert abs(q["int8"]["chrf_difference"]) < 10 and q["f32"]["chrf"] > 5, q
PY
expect 0 "$regimen" translate small --scores <source
cmp -s out in_both || fail "the export of 8 bits translates as the run does not"
expect 0 "$regimen" export run --to large --format predictor
[ "$(wc -c <small/model.safetensors)" -lt "$(($(wc -c <large/model.safetensors) / 2))" ] || fail "8 bits take more than half of f32"
expect 0 "$regimen" translate large --scores --threads 1 <source
cmp -s out in_f32 || fail "the export in f32 translates as the run does not"
expect 0 "$regimen" translate large --int8 --shortlist words.shortlist --scores <source
cmp -s out in_both || fail "8 bits and shortlist asked for with an export in f32"
expect 0 "$regimen" translate run --coverage 3 --scores <source
cmp -s out in_f32 && fail "--coverage changes nothing"
cp out covered
expect 0 "$regimen" translate run --set task.search.coverage=3 --scores <source
cmp -s out covered || fail "--coverage is not task.search.coverage"
expect 0 "$regimen" translate large --coverage 3 --scores <source
cmp -s out covered || fail "the export covers otherwise than its run"
expect 2 "$regimen" translate run --set task.search.attention.layer=1 <source
says 'task.search.attention.layer is 1, but the decoder has the layers 0 .. 0' err
expect 1 "$regimen" predict large --input source
says "large translates: 'regimen translate' has what it predicts" err
expect 2 "$regimen" translate large --set runtime.threads=1 <source
says 'large is an export: it has one set of weights' err
for how in "--n-best 0" "--n-best -1" "--n-best 65" "--alpha nan" "--beam nan" "--beam 1e300"; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" translate large $how <source
done
expect 2 "$regimen" translate large --n-best -1 <source
says 'task\.search\.n_best is -1, but must be in 1 .. 64' err
expect 2 "$regimen" translate large --beam 3.5 <source
says "beam: '3.5' is no whole number" err
expect 2 "$regimen" export run --precision int8
says 'precision is for --format predictor' err
printf x | dd of=small/shortlist.safetensors bs=1 seek=900 conv=notrunc 2>/dev/null
expect 1 "$regimen" translate small <source
says 'is no shortlist, or damaged' err
expect 0 "$regimen" text train-tokenizer --vocab-size 45 --type unigram --out uni.model data/train.de data/train.en
expect 0 "$regimen" text train-shortlist --model uni.model --out uni.shortlist data/train.de data/train.en
expect 2 "$regimen" translate large --shortlist uni.shortlist <source
says 'uni.shortlist was learned with other tokenizers than the model' err
expect 2 "$regimen" translate run --shortlist uni.shortlist <source
says 'data.shortlist: .*uni.shortlist was learned with other tokenizers' err
expect 1 "$regimen" translate run --shortlist nothing <source
says "'nothing': No such file" err
expect 2 "$regimen" run words.yaml --run-dir no --set 'export=[{type: predictor, precision: int4}]'

# Alignments: learned of a corpus whose words stand in one order, and taught to a head, by words and by pieces.
# in_order FILE SHARE: that share of the links of a file of alignments, or more, and of its lines' words, is i-i.
in_order() {
    awk -v share="$2" '{ for (i = 1; i <= NF; i++) { split($i, x, "-"); all++; right += x[1] == x[2] } }
        END { exit !(all > 0 && right >= share * all) }' "$1" || fail "links in order of $1: $(head -3 "$1")"
}
expect 0 "$regimen" text align --model data/joint.model data/train.de data/train.en
cp out data/train.align
[ "$(wc -l <out)" = 260 ] || fail "$(wc -l <out) alignments of 260 pairs"
in_order data/train.align 0.9
expect 0 "$regimen" text align --both --model data/joint.model data/train.de data/train.en
in_order out 0.98
expect 0 "$regimen" text align --pieces --both --model data/joint.model data/train.de data/train.en
cp out data/pieces.align
cmp -s data/pieces.align data/train.align && fail "words and pieces have the same numbers"
expect 2 "$regimen" text align --model data/joint.model --diagonal -1 data/train.de data/train.en
expect 0 "$regimen" run words.yaml --run-dir taught --set data.alignments=train.align --set task.guided_alignment.weight=2
paste data/test.de data/test.en >given
expect 0 "$regimen" score-pairs taught --alignment <given
cut -f 3 out >given.align
in_order given.align 0.75 # of a model of 12 epochs; without weight 0.5
expect 0 "$regimen" translate taught --alignment --beam 1 <source
cut -f 1 out >taught.align
expect 0 "$regimen" export taught --to taught_small --format predictor
expect 0 "$regimen" translate taught_small --alignment --beam 1 <source
cut -f 1 out | cmp -s - taught.align || fail "an export aligns by another attention than its run"
expect 0 "$regimen" run words.yaml --run-dir by_pieces --set data.alignments=pieces.align --set data.alignment_units=pieces \
    --set task.guided_alignment.weight=0.5 --set trainer.epochs=1 --set optimizer.learning_rate.warmup.steps=5
head -259 data/train.align >data/short.align
expect 1 "$regimen" run words.yaml --run-dir no --set data.alignments=short.align --set task.guided_alignment.weight=1
says 'data.alignments: .*short.align has 259 lines, but data.train has 260 pairs' err
sed '3s/$/ 0-9/' data/train.align >data/far.align
expect 1 "$regimen" run words.yaml --run-dir no --set data.alignments=far.align --set task.guided_alignment.weight=1
says 'data.alignments: .*far.align:3: a link to number 9 of the target, which has 3 words' err
sed '3s/$/ 0:0/' data/train.align >data/far.align
expect 1 "$regimen" run words.yaml --run-dir no --set data.alignments=far.align --set task.guided_alignment.weight=1
says 'far.align:3: no alignment: it is numbers 0-0 1-2' err
expect 2 "$regimen" run words.yaml --run-dir no --set task.guided_alignment.weight=1
says 'task.guided_alignment.weight is 1: name the alignments, data.alignments' err
expect 2 "$regimen" run words.yaml --run-dir no --set data.alignments=train.align --set 'task.guided_alignment={weight: 1, head: 2}'
says "task.guided_alignment.head is 2, but the decoder's attentions have the heads 0 .. 1" err
expect 2 "$regimen" run words.yaml --run-dir no --set data.alignments=train.align --set task.guided_alignment.weight=1 --set data.subword_alpha=0.1
says 'data.subword_alpha must be 0' err
expect 0 "$regimen" config check words.yaml --set data.alignments=train.align
says 'data.alignments .*has no effect: only with task.guided_alignment.weight > 0' err

# A tag before each source, which lines need not have: trained with, exported, aligned without it.
expect 0 "$regimen" run words.yaml --run-dir tagged --set data.source_tag=z --set data.alignments=train.align --set task.guided_alignment.weight=2 \
    --set trainer.epochs=3
expect 0 "$regimen" score-pairs tagged --alignment <given
cp out tagged.given
[ "$(wc -l <tagged.given)" = 20 ] || fail "pairs of a run with a tag"
expect 0 "$regimen" score-pairs tagged --alignment --set data.source_tag=H <given
cmp -s out tagged.given && fail "another tag changes nothing"
expect 0 "$regimen" translate tagged --scores <source
cp out tagged.out
expect 0 "$regimen" export tagged --to tagged_small --format predictor
says '^  source_tag: "z"$' tagged_small/model.yaml
expect 0 "$regimen" translate tagged_small --scores <source
cmp -s out tagged.out || fail "the export of a run with a tag translates otherwise"
expect 0 "$regimen" export tagged --verify --to tagged_onnx
/usr/bin/env python3 - tagged_onnx/translation.json run/tokenizer.model <<'PY' || fail "begin_id of a source with a tag"
import json, sys
side = json.load(open(sys.argv[1]))["source"]
assert isinstance(side["begin_id"], int) and side["begin_id"] > 2, side
PY
expect 1 "$regimen" export tagged --to tagged_ct2 --format ctranslate2
says 'ctranslate2 has no place for data.source_tag' err
expect 1 "$regimen" export tagged --to tagged_hf --format huggingface
says 'MarianMT of Transformers has no such model: data.source_tag' err
expect 2 "$regimen" run words.yaml --run-dir no --set 'data.source_tag=<2en>'
says "data.source_tag is '<2en>', which is no piece of .*joint.model that a source can begin with" err
expect 2 "$regimen" run words.yaml --run-dir no --set data.source_tag=z --set data.subword_alpha=0.1
says 'data.subword_alpha draws sources without data.source_tag' err
if command -v spm_train >/dev/null; then
    expect 0 spm_train --input=data/train.de,data/train.en --model_prefix=data/marked --model_type=bpe --vocab_size=48 --pad_id=0 --eos_id=1 \
        --unk_id=2 --bos_id=-1 '--user_defined_symbols=<2en>,<2de>'
    expect 0 "$regimen" run words.yaml --run-dir marked --set data.tokenizer=marked.model --set 'data.source_tag=<2en>' --set trainer.epochs=1 \
        --set optimizer.learning_rate.warmup.steps=5
    expect 0 "$regimen" translate marked <source
fi

# Without the data: what does not read them gives the same bytes, what does says what it lacks.
mv data elsewhere
expect 0 "$regimen" translate run <source
cmp -s out translated || fail "translations change when the data go"
expect 0 "$regimen" export run
says '^run/export/translation\.json$' out
cmp -s run/export/tokenizer.model run/tokenizer.model || fail "the export lacks the tokenizer"
says '"tokenizer": "tokenizer.model"' run/export/translation.json
expect 1 "$regimen" export run --verify
says 'data\.[a-z]+ is not in data\.path' err
expect 0 "$regimen" export run --verify --to verified --set data.path=elsewhere
says '^verified/translation\.json  verified on 96 items, largest difference [0-9.]+e-0[5-9]$' out
for file in encoder.onnx decoder_step.onnx translation.json tokenizer.model; do
    cmp -s verified/$file run/export/$file || fail "two exports differ in $file"
done
expect 1 "$regimen" export run --to dumped --dump dump --set data.path=elsewhere
says "exports graphs that feed each other" err
expect 0 "$regimen" run words.yaml --mode export --run-dir run
cmp -s verified/decoder_step.onnx run/export/decoder_step.onnx || fail "--mode export wrote other weights"
expect 0 "$regimen" export run --to blind --format predictor --precision int8
says '"why": "the validation data are not there"' out
expect 1 "$regimen" eval run
says 'data\.test is not in data\.path \(elsewhere: --set data\.path=DIR\): .*data/test\.de' err
expect 1 "$regimen" run words.yaml --run-dir run
says 'data/joint\.model' err
expect 0 "$regimen" eval run --set data.path=elsewhere
cmp -s out eval_before || fail "eval from another folder differs"
mkdir only_test
cp elsewhere/test.* only_test
expect 0 "$regimen" eval run --set data.path=only_test
cmp -s out eval_before || fail "eval needs more than the part it is asked for"
expect 1 "$regimen" eval run --part valid --set data.path=only_test
says 'data\.valid is not in data\.path' err
expect 0 "$regimen" export run --verify --to verified --set data.path=only_test
says 'verified on 96 items' out
expect 0 "$regimen" export run --verify --to verified --set data.path=elsewhere --set 'data.test=[]'
says 'verified on [0-9]+ items' out
expect 0 "$regimen" run words.yaml --mode eval --run-dir run --set data.path=elsewhere
mv elsewhere data

# A run goes on with the tokenizer it was begun with, and with no other.
expect 0 "$regimen" run words.yaml --run-dir run --set trainer.epochs=13
cp data/joint.model kept.model
expect 0 "$regimen" text train-tokenizer --vocab-size 45 --type unigram --out other.model data/train.de data/train.en
cp other.model data/joint.model
expect 2 "$regimen" run words.yaml --run-dir run --set trainer.epochs=14
says 'run was begun with another tokenizer\.model \([0-9]+ bytes\) than now \(data/joint\.model, [0-9]+ bytes\)' err
says 'Put the old one back, run/tokenizer\.model is a copy, or take another run folder' err
cmp -s run/tokenizer.model kept.model || fail "the kept tokenizer was replaced"
expect 0 "$regimen" translate run --last <source
mkdir unborn # begun, but without weights yet: any will do
cp run/config.yaml run/tokenizer.model unborn
expect 0 "$regimen" run words.yaml --run-dir unborn --set trainer.epochs=2
cmp -s unborn/tokenizer.model other.model || fail "a run without weights keeps a tokenizer that is not its own"
cp run/tokenizer.model data/joint.model
expect 0 "$regimen" run words.yaml --run-dir run --set trainer.epochs=14

# Weights of another run are taken with its tokenizer, the best ones, or by names that the user chose.
cp other.model data/joint.model
from_run="--set trainer.initialize.checkpoint=run --set trainer.epochs=2 --set optimizer.learning_rate=1e-4"
# shellcheck disable=SC2086
expect 2 "$regimen" run words.yaml --run-dir tuned $from_run
says 'trainer.initialize.checkpoint .*: run was begun with another tokenizer\.model' err
for weights in run/ckpt run/ckpt/step-*/best.safetensors; do # and those of files that lie in the run
    expect 2 "$regimen" run words.yaml --run-dir tuned --set trainer.initialize.checkpoint="$weights" --set trainer.epochs=2
    says 'trainer.initialize.checkpoint .* was begun with another tokenizer\.model' err
done
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir tuned $from_run --set 'trainer.initialize.except=["*embedding*"]'
says 'warning: trainer.initialize: run was begun with another tokenizer\.model' err
says ' info [a-z_]*embedding[a-z/_]*: not asked for$' tuned/log.txt
cp kept.model data/joint.model
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir tuned_whole $from_run
says ' info initialized ([0-9]+) of \1 parameters from the best weights of run; 0 of its tensors unused$' tuned_whole/log.txt

# Two layers of one: the second begins as the first.
deeper="--set model.encoder.num_layers=2 --set model.decoder.num_layers=2"
# shellcheck disable=SC2086
expect 2 "$regimen" run words.yaml --run-dir deeper $from_run $deeper --set 'trainer.initialize.names={"*coder/layer_2/*": "*coder/layer_0/*"}'
says "trainer.initialize.names: '\*coder/layer_2/\*' matches none of [0-9]+ parameters; one is named " err
# shellcheck disable=SC2086
expect 0 "$regimen" run words.yaml --run-dir deeper $from_run $deeper --set 'trainer.initialize.names={"*coder/layer_1/*": "*coder/layer_0/*"}'
says ' info initialized ([0-9]+) of \1 parameters from the best weights of run; 0 of its tensors unused$' deeper/log.txt
says ' info decoder/layer_1/ffn/inner/kernel: from decoder/layer_0/ffn/inner/kernel$' deeper/log.txt

# A run that trains its tokenizer does so once, goes on with it, and needs no data to translate.
sed 's/tokenizer: joint.model/train_tokenizer: {type: bpe, vocab_size: 45}/' words.yaml >whole.yaml
expect 0 "$regimen" run whole.yaml --run-dir whole
cmp -s kept.model whole/tokenizer.model || fail "data.train_tokenizer makes another tokenizer"
expect 0 "$regimen" run whole.yaml --run-dir whole --set trainer.epochs=13
cp data/train.en train.en
sed 's/Dog/wolf/' train.en >data/train.en
expect 0 "$regimen" run whole.yaml --run-dir whole --set trainer.epochs=14
cmp -s kept.model whole/tokenizer.model || fail "a run that goes on trained another tokenizer"
cp train.en data/train.en
expect 2 "$regimen" run whole.yaml --run-dir whole --set trainer.epochs=15 --set data.train_tokenizer.vocab_size=44
says 'was begun with another configuration: line [0-9]+, data.train_tokenizer.vocab_size was 45 and is now 44' err
expect 0 "$regimen" run whole.yaml --mode continuous_eval --run-dir unborn_whole --set trainer.continuous_eval_timeout=0.5
cp -r whole bare
rm bare/tokenizer.model
expect 1 "$regimen" translate bare <source
says 'bare keeps no tokenizer\.model, which its weights were trained with' err
mv data elsewhere
expect 0 "$regimen" translate whole <source
expect 1 "$regimen" run whole.yaml --run-dir other
says 'data\.train is not in data\.path \(elsewhere: --set data\.path=DIR\): .*train\.de' err
mv elsewhere data
expect 2 "$regimen" run whole.yaml --run-dir other --set data.tokenizer=joint.model
says 'data\.train_tokenizer makes the tokenizer of both sides: data\.tokenizer does not go with it' err
expect 1 "$regimen" run whole.yaml --run-dir other --set data.train_tokenizer.vocab_size=90000
says 'data\.train_tokenizer: training a tokenizer: SentencePiece: Vocabulary size too high' err
expect 1 "$regimen" run whole.yaml --run-dir other --set data.train_tokenizer.sentences=100
says 'max_sentences is 100; it is 0 \(all\) or more than 100' err
expect 2 "$regimen" text train-tokenizer --coverage 3 --out no.model data/train.de
expect 2 "$regimen" run words.yaml --run-dir other --set task.search.n_best=3
says 'task\.search\.n_best is 3, above beam_size \(2\)' err
[ ! -d other/ckpt ] || fail "a step was taken with a search that cannot be"

# What nobody sees in the lines is told: cut ones, and searches that found less than was asked for.
expect 0 "$regimen" translate run --set task.search.decode_max_length=1 <source
says '^cut +(19|20) of 20 translations at their maximum length .*, of the lines [12], [0-9, ]+ and others$' err
expect 0 "$regimen" translate run --set task.search.decode_length_factor=0 --set task.search.extra_decode_length=2 --json <<'JSON'
{"text": "ein Hund schlaeft"}
JSON
says '"cut": (true, "tokens": 2|false, "tokens": [01]), "longest": 2' out
expect 0 "$regimen" translate run --beam 3 --n-best 3 --set task.search.decode_max_length=2 <source
[ "$(wc -l <out)" = 60 ] || says '^fewer +[0-9]+ of 20 lines have less than 3 translations' err
expect 0 "$regimen" translate run --beam 1 <source
grep -q '^fewer' err && fail "one translation of each line is told as fewer than one"

# What is asked of a translation, and how probable given ones are.
cat >asked <<'JSON'
{"text": "ein Hund"}
{"text": "ein Hund", "prefix": "Cat"}
{"text": "ein Hund schlaeft", "required": ["house"], "banned": ["Dog"]}
JSON
expect 0 "$regimen" translate run --json --beam 4 <asked
cp out asked.out
expect 0 /usr/bin/env python3 - asked.out <<'PY'
import json, sys
plain, begun, terms = [json.loads(line)["translations"] for line in open(sys.argv[1])]
assert begun[0]["text"].startswith("Cat") and not plain[0]["text"].startswith("Cat"), (plain, begun)
assert begun[0]["log_probability"] < plain[0]["log_probability"], (plain, begun)
assert "house" in terms[0]["text"] and "Dog" not in terms[0]["text"], terms
assert terms[0]["missing"] == terms[0]["banned"] == 0 and not terms[0]["cut"], terms
with open("pairs", "w") as out:
    for source, t in zip(("ein Hund", "ein Hund", "ein Hund schlaeft"), (plain, begun, terms)):
        out.write(source + "\t" + t[0]["text"] + "\n")
PY
# Links of words stand for those of their pieces.
cat >aligned <<'JSON'
{"text": "ein Hund schlaeft", "alignment": "pieces"}
{"text": "ein Hund schlaeft", "alignment": "words"}
{"text": "ein Hund schlaeft"}
{"text": ""}
JSON
expect 0 "$regimen" translate run --json --alignment <aligned
cp out aligned.out
printf 'ein Hund schlaeft\n' | "$regimen" text encode --model run/tokenizer.model --pieces >source.pieces
/usr/bin/env python3 - aligned.out <<'PY' >target.txt
import json, sys
print(json.loads(next(open(sys.argv[1])))["translations"][0]["text"])
PY
"$regimen" text encode --model run/tokenizer.model --pieces target.txt >target.pieces
expect 0 /usr/bin/env python3 - aligned.out source.pieces target.pieces <<'PY'
import json, sys
of_pieces, of_words, default, empty = [json.loads(line)["translations"][0] for line in open(sys.argv[1])]
def words(path):
    at, out = -1, []
    for piece in open(path).read().split():
        at += piece.startswith("\u2581")
        out.append(at)
    return out
source, target = words(sys.argv[2]), words(sys.argv[3])
links = [tuple(map(int, x.split("-"))) for x in of_pieces["alignment"].split()]
assert sorted(t for s, t in links) == list(range(len(target))) and len(source) > 3, (links, source, target)
want = " ".join("%d-%d" % x for x in sorted({(source[s], target[t]) for s, t in links}))
assert of_words["alignment"] == default["alignment"] == want, (want, of_words, default)
assert empty["alignment"] == "" == empty["text"], empty
PY
expect 0 "$regimen" score-pairs run <pairs
cp out pairs.out
expect 0 "$regimen" score-pairs run --json <pairs
expect 0 /usr/bin/env python3 - asked.out pairs.out out <<'PY'
import json, sys
asked, lines, objects = [open(f).read().splitlines() for f in sys.argv[1:]]
for a, line, o in zip(asked, lines, objects):
    t, (total, count), o = json.loads(a)["translations"][0], line.split("\t"), json.loads(o)
    assert abs(float(total) - t["log_probability"]) < 1e-4, (t, total)
    assert len(o["tokens"]) == int(count), (o, count)
    assert abs(sum(x["log_probability"] for x in o["tokens"]) - float(total)) < 1e-4, o
PY
expect 0 "$regimen" translate run <source
cp out alone
expect 0 "$regimen" translate run --with run --with run <source
cmp -s alone out || fail "a model beside itself translates something else"
expect 0 "$regimen" translate tagged --set data.source_tag=H <source
cp out alone
expect 0 "$regimen" translate tagged --with tagged --set data.source_tag=H <source
cmp -s alone out || fail "two models with another tag translate something else than one"
expect 1 "$regimen" translate run --mbr 8 --json <asked
says '^regimen: /dev/stdin:3: required texts need task.search.beam_size of 2' err
[ "$(wc -l <out)" = 2 ] || fail "the lines before one that asks too much: $(cat out)"
head -2 asked >drawn
expect 0 "$regimen" translate run --mbr 8 --json <drawn
says '"score": [0-9.]+, "log_probability": -[0-9.]+' out
for how in "--n-best 2" "--beam 2" "--alpha 1"; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" translate run --mbr 8 $how <asked
    says "mbr draws and takes one of each line: no ${how% *}" err
done
expect 1 "$regimen" translate run --mbr 18014398509481984 <source
says '18014398509481984 samples of each line; 1 to 1048576 are possible' err
printf 'a\tb\nno tab\n' | { "$regimen" score-pairs run >out 2>err; [ $? = 1 ] || fail "a line without a TAB: $(cat err)"; }
says '^regimen: /dev/stdin:2: no TAB between a source and a target' err
[ "$(wc -l <out)" = 1 ] || fail "the pair before a bad line: $(cat out)"
echo '{"text": "ein", "must": []}' | { "$regimen" translate run --json >out 2>err; [ $? = 1 ] || fail "an unknown key: $(cat err)"; }
says '^regimen: /dev/stdin:1: unknown key "must"; there are text, target_tag, prefix, required, banned and alignment' err
echo '{"text": "ein", "banned": ["\u4e2d"]}' | { "$regimen" translate run --json >out 2>err; [ $? = 1 ] || fail "an unknown character: $(cat err)"; }
says "^regimen: /dev/stdin:1: the banned text .* has a character that the tokenizer does not know" err
expect 2 "$regimen" translate run --beam 3 --set task.search.diversity_groups=2 <source
says 'diversity_groups is 2, but must divide beam_size \(3\)' err

# Standard input is read on from where it stands, whatever it is.
(read -r first && "$regimen" translate run) <source >out || fail "translate behind a first line"
[ "$(wc -l <out)" = 19 ] || fail "$(wc -l <out) of 19 lines behind a first one"
gzip -c source source >twice.gz
(head -c 0 && "$regimen" text encode --model run/tokenizer.model) <twice.gz >out || fail "gzip from standard input"
[ "$(wc -l <out)" = 40 ] || fail "$(wc -l <out) of 40 lines in two members"
/usr/bin/env python3 - "$regimen" source <<'PY' || fail "a socket as standard input"
import socket, subprocess, sys
ours, theirs = socket.socketpair()
p = subprocess.Popen([sys.argv[1], "translate", "run"], stdin=theirs, stdout=subprocess.PIPE)
theirs.close()
ours.sendall(open(sys.argv[2], "rb").read())
ours.shutdown(socket.SHUT_WR)
lines = p.communicate()[0].splitlines()
assert p.returncode == 0 and len(lines) == 20, (p.returncode, len(lines))
PY

# Blocks of today by their keys; computed again in the backward pass they learn the same weights; what cannot be is refused.
cat >today.yaml <<'YAML'
data: {reverse: {vocabulary: 10, min_length: 1, max_length: 6, train: 600, valid: 40}, batch_tokens: 128, batch_shapes: 4}
task: {type: translation}
model:
  type: seq2seq_transformer
  embedding_width: 32
  max_positions: 64
  positions: rotary
  embeddings: inputs
  output_bias: true
  encoder: {num_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, intermediate_size: 32, norm: rms, activation: silu, gated: true}
  decoder: {num_layers: 2, num_attention_heads: 4, num_key_value_heads: 1, intermediate_size: 32, norm: rms, activation: gelu_tanh,
            ffn_bias: false, attention_window: 8, attention_output_dropout: 0.2}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: ~, train_steps: 12, steps_per_loop: 6, validation_interval: 12}
runtime: {seed: 3, threads: 1}
export: [{type: onnx}]
YAML
expect 0 "$regimen" run today.yaml --run-dir today
expect 0 "$regimen" run today.yaml --run-dir again --set trainer.activation_checkpointing=true --set runtime.threads=2
says 'plan \| layers compute their insides again' again/log.txt
for file in $(cd today && find . -name '*.safetensors' -o -name '*.onnx'); do
    cmp -s "today/$file" "again/$file" || fail "computed again $file has other bytes"
done
[ -n "$(find today -name 'decoder_step.onnx')" ] || fail "no export of blocks of today: $(find today -type f)"
expect 2 "$regimen" config check today.yaml --set model.encoder.num_key_value_heads=3
says 'model.encoder.num_key_value_heads is 3, which does not divide num_attention_heads \(4\)' err
expect 0 "$regimen" config check today.yaml --set model.relative_buckets=8
says 'model.relative_buckets .*has no effect: only with model.positions == relative' err
expect 2 "$regimen" run demo --run-dir none --set trainer.activation_checkpointing=true
says 'trainer.activation_checkpointing: this model has no blocks' err

# Tokenizers that cannot serve.
if command -v spm_train >/dev/null; then
    expect 0 spm_train --input=data/train.de,data/train.en --model_prefix=usual --model_type=bpe --vocab_size=45
    expect 0 spm_train --input=data/train.de,data/train.en --model_prefix=last --model_type=bpe --vocab_size=45 --pad_id=3
    cp usual.model last.model data
    expect 1 "$regimen" run words.yaml --run-dir usual --set data.tokenizer=usual.model
    says 'usual\.model: its padding has no id, but .*regimen text train-tokenizer' err
    expect 1 "$regimen" run words.yaml --run-dir last --set data.tokenizer=last.model
    says 'last\.model: its padding has the id 3, but' err
else
    echo "SKIPPED: there is no spm_train to make tokenizers that cannot serve"
fi

finish
