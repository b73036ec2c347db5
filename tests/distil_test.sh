#!/bin/sh
# Students. A run with a teacher, killed and continued, ends with the same bytes, needs its teacher only while it
# trains, and says so where teacher and student do not fit. The steps of a file are killed where each begins, in the
# middle and where it ends, are stopped and have a full disk; done ones are not repeated until what they read changes.
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

# ---- steps of a file -----------------------------------------------------------------------------

cat >student.yaml <<'YAML'
description: a student of a teacher and of what a reverse model makes
steps:
  teacher: {type: train, experiment: words.yaml}
  reverse:
    type: train
    experiment: words.yaml
    tokenizer: teacher
    over: {data: {train: [train.en, train.de], valid: [valid.en, valid.de]}, trainer: {epochs: 2}}
  taught:
    type: translate
    models: [teacher, whole]
    source: data/train.de
    reference: data/train.en
    nearest: chrf
    search: {beam_size: 3, n_best: 3}
    shard: 50
  sure: {type: score, model: teacher, pairs: taught, shard: 70}
  kept: {type: filter, pairs: taught, scores: sure, min_log_probability: -0.6, max_ratio: 3}
  back:
    type: back_translate
    models: reverse
    target: data/valid.en
    tag: <BT>
    search: {sample: true, beam_size: 1, seed: 3}
  student:
    type: train
    experiment: words.yaml
    over:
      data: {weights: {train: 1, kept: 2}}
      model: {embedding_width: 16}
      trainer: {checkpoint: {every_steps: 10}, epochs: 2}
    pairs: [kept, back]
    original: true
    tokenizer: teacher
    teachers: teacher
YAML
products="teacher/ckpt teacher/metrics.jsonl reverse/ckpt taught sure kept back student/ckpt student/metrics.jsonl
    student/step.json"
expect 0 "$regimen" distil student.yaml --dir work --plan
says '^teacher +train +new$' out
says '^sure +score +waits for teacher$' out
[ ! -e work ] || fail "a plan makes folders"
expect 0 "$regimen" distil student.yaml --dir work
says '^kept +[0-9]+ of 257 pairs; left out: .*[0-9]+ improbable' err
says '^<BT> ' work/back/source.txt
cmp -s work/back/target.txt data/valid.en || fail "back-translation has other targets than it was given"
[ ! -e work/taught/shards ] || fail "shards are left"
expect 0 "$regimen" distil student.yaml --dir work --plan
[ "$(grep -c ' done$' out)" = 7 ] || fail "not all is done: $(cat out)"
cp -R work again
expect 0 "$regimen" distil student.yaml --dir again
diff -r work again >diff.txt || fail "done steps are repeated: $(head -3 diff.txt)"

expect 1 flock work/distil.lock "$regimen" distil student.yaml --dir work
says 'another process works on the steps in .*/work: wait for it' err

# The pieces are those of other verbs.
expect 0 "$regimen" translate work/teacher --with whole --beam 3 --n-best 3 <data/train.de
/usr/bin/env python3 - out data work/taught <<'PY' || fail "other translations than regimen translate has, or not the nearest"
import sys
lines = lambda name: open(name, newline="\n").read().split("\n")[:-1]
made = {}
for line in lines(sys.argv[1]):
    number, text = line.split("\t")
    made.setdefault(int(number) - 1, []).append(text)
sources, references = lines(sys.argv[2] + "/train.de"), lines(sys.argv[2] + "/train.en")
whole = [i for i in range(len(sources)) if made[i][0] or any(made[i])]
taught = list(zip(lines(sys.argv[3] + "/source.txt"), lines(sys.argv[3] + "/target.txt")))
at, better = 0, 0
for source, target in taught:
    while sources[at] != source or target not in made[at]:
        at += 1
    assert references[at] not in made[at] or target == references[at], (source, target, made[at])
    better += target != made[at][0]
    at += 1
assert len(taught) > 200 and better > 0, (len(taught), better)
PY
paste work/taught/source.txt work/taught/target.txt | "$regimen" score-pairs work/teacher >scores 2>err || fail "$(cat err)"
/usr/bin/env python3 - scores work <<'PY' || fail "other scores or pairs than they should be"
import json, sys
a = [tuple(map(float, line.split())) for line in open(sys.argv[1])]
b = [tuple(map(float, line.split())) for line in open(sys.argv[2] + "/sure/scores.txt")]
assert len(a) == len(b) > 200 and all(abs(x[0] - y[0]) < 1e-5 and x[1] == y[1] for x, y in zip(a, b))
lines = lambda name: open(sys.argv[2] + "/" + name).read().split("\n")[:-1]
kept, seen = [], set()
for s, t, (p, n) in zip(lines("taught/source.txt"), lines("taught/target.txt"), b):
    w = sorted((len(s.split()), len(t.split())))
    if w[0] > 0 and s != t and w[1] <= 3 * w[0] and p / n >= -0.6 and (s, t) not in seen:
        seen.add((s, t))
        kept.append((s, t))
assert kept == list(zip(lines("kept/source.txt"), lines("kept/target.txt"))), len(kept)
figures = json.load(open(sys.argv[2] + "/kept/step.json"))["figures"]
assert figures["kept"] == len(kept) and sum(figures.values()) == len(b), figures
PY

# life CODE SIGNAL NAME: a life that gets the signal when it has written a file or folder of that name.
life() {
    expect "$1" env LD_PRELOAD="$RGM_PRELOAD" RGM_SIGNAL="$2" RGM_SIGNAL_AT="$3" "$regimen" distil student.yaml --dir life
}
for at in step.json step-00000068 50-000001 50-000004 source.txt target.txt 70-000002 scores.txt 1000-000000 step-00000010; do
    life 137 9 $at
done
life 75 15 step-00000020
says '^stopped +what was made is in life; the same command goes on' err
expect 0 "$regimen" distil student.yaml --dir life --plan
says '^student +train +begun$' out
expect 0 "$regimen" distil student.yaml --dir life
results=$products same_run work life "killed and continued"
rm -rf life
life 75 2 50-000002
[ -e life/taught/shards/50-000002 ] || fail "a stop loses a shard"
[ ! -e life/taught/shards/50-000003 ] || fail "a stop comes too late"
expect 0 "$regimen" distil student.yaml --dir life --threads 2
results=$products same_run work life "stopped, and continued with two threads"

# A full disk loses nothing.
mkdir disk
if mount -t tmpfs -o size=4m none disk 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    mkdir disk/full
    cp -R work/teacher work/reverse disk/full
    head -c 8m /dev/zero >disk/filled 2>/dev/null
    expect 1 "$regimen" distil student.yaml --dir disk/full
    says '^regimen: .*No space left on device' err
    rm disk/filled
    expect 0 "$regimen" distil student.yaml --dir disk/full
    results=$products same_run work disk/full "a full disk"
    umount disk
    trap 'rm -rf "$work"' EXIT
else
    echo "SKIPPED in part: no file system can be mounted here"
fi

# What changed is made again, and what follows from it; what was made before stays. A longer training goes on.
narrow="--dir work --set steps.kept.max_ratio=1.5"
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow --plan
says '^kept +filter +changed: max_ratio$' out
says '^student +train +waits for kept$' out
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow
says '^kept +what it had made is in .*/work/kept.old-1$' err
says '^step +student: train, changed: pairs.kept.source, pairs.kept.target$' err
results="step.json source.txt target.txt" same_run work/kept.old-1 life/kept "what was made before"
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow --set steps.student.over.trainer.epochs=3
says '^resume +from step [0-9]+$' err
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow --set steps.student.over.trainer.epochs=3 \
    --set 'steps.student.over.export=[{type: predictor}]'
says '^step +student: train, begun$' err
expect 0 "$regimen" translate work/student/export <data/valid.de
cp data/train.de before
sed -i '1s/.*/ein/' data/train.de
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow --plan
says '^teacher +train +changed: data.train\[0\]$' out
mv before data/train.de
echo changed >>work/kept/source.txt
echo "by hand" >>work/kept/target.txt
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow
says '^note +source.txt, target.txt of kept changed since the step wrote it, and is used as it is' err
rm work/sure/scores.txt
# shellcheck disable=SC2086
expect 0 "$regimen" distil student.yaml $narrow --plan
says '^sure +score +changed: scores.txt is gone$' out

# A run searches with the shortlist that it names, and puts its tag before sources: others are a change.
shortlist() {
    expect 0 "$regimen" text train-shortlist --model teacher/tokenizer.model --first "$1" --best 2 --out data/short.list \
        data/train.de data/train.en
}
shortlist 20
expect 0 "$regimen" run words.yaml --run-dir short --set data.shortlist=short.list
echo 'steps: {t: {type: translate, models: short, source: data/train.de}}' >short.yaml
expect 0 "$regimen" distil short.yaml --dir short-work
expect 0 "$regimen" distil short.yaml --dir short-work --plan
says '^t +translate +done$' out
shortlist 24
expect 0 "$regimen" distil short.yaml --dir short-work --plan
says '^t +translate +changed: models$' out
shortlist 20
expect 0 "$regimen" distil short.yaml --dir short-work --plan
says '^t +translate +done$' out
sed -i 's/^data:$/data:\n  source_tag: ein/' short/config.yaml
expect 0 "$regimen" distil short.yaml --dir short-work --plan
says '^t +translate +changed: models$' out

# Pairs of files, and a student of them alone.
cat >alone.yaml <<'YAML'
steps:
  kept: {type: filter, source: data/train.de, target: data/train.en, max_words: 3}
  student: {type: train, experiment: words.yaml, pairs: kept, over: {trainer: {epochs: 1}}}
YAML
expect 0 "$regimen" distil alone.yaml --dir alone
says '^kept +[0-9]+ of 260 pairs; left out: [0-9]+ above_max_words, [0-9]+ duplicates$' err
expect 0 "$regimen" run words.yaml --run-dir of_kept --set trainer.epochs=1 --set data.train=~ \
    --set "data.train_sets={kept: [$work/alone/kept/source.txt, $work/alone/kept/target.txt]}"
results="ckpt metrics.jsonl" same_run of_kept alone/student "a student of pairs alone"

# Lines that cannot be translated or scored are left out and told.
seq 1100 | tr '\n' ' ' >long
echo >>long
{ echo ein; cat long; echo; echo zwei; } >lines
cat >lines.yaml <<'YAML'
steps:
  t: {type: translate, models: teacher, source: lines}
  s: {type: score, model: teacher, source: lines, target: lines}
YAML
expect 0 "$regimen" distil lines.yaml --dir lines-work
says '^left out +1 of 4 lines that cannot be translated; line 2: .*model.max_positions is 1024' err
says '^pairs +2 of 4 lines, without those that are empty$' err
says '^unscored +2 of 4 pairs have no score; pair 2: ' err
[ "$(cat lines-work/t/source.txt)" = "$(printf 'ein\nzwei')" ] || fail "other pairs: $(cat lines-work/t/source.txt)"
cp long lines
expect 1 "$regimen" distil lines.yaml --dir no
says 'step t: no line of lines has a translation: line 1: ' err

# Mistakes are told before any work.
teacher='a: {type: train, experiment: words.yaml}'
wrong() {
    printf 'steps: {%s}\n' "$2" >wrong.yaml
    expect "$1" "$regimen" distil wrong.yaml --dir wrong-work
    says "$3" err
    [ ! -d wrong-work/a/ckpt ] || fail "a step was taken: $3"
}
wrong 2 "$teacher, b: {type: translate, modles: a, source: x}" \
    "wrong.yaml:1:.*unknown key 'steps.b.modles'; did you mean 'steps.b.models'"
wrong 2 "$teacher, b: {type: translat, models: a, source: x}" "did you mean 'translate'"
wrong 2 "$teacher, b: {type: score, model: a, pairs: t}" "steps.b.pairs: no step above this one is called 't'"
wrong 2 "$teacher, b: {type: filter, pairs: a}" "steps.b.pairs: step 'a' makes a model, not pairs"
wrong 2 "$teacher, b: {type: translate, models: a, source: x, search: {beam_sise: 3}}" "did you mean 'steps.b.search.beam_size'"
wrong 2 "$teacher, b: {type: translate, models: a, source: x, nearest: bleu}" "'nearest' and 'reference' go together"
wrong 2 "$teacher, b: {type: train, experiment: words.yaml, over: {trainer: {epoch: 3}}}" "step b: .*trainer.epoch'; did you mean"
wrong 1 "a: {type: translate, models: nowhere, source: data/train.de}" \
    "step a: models: 'nowhere' is neither the folder of a run nor an export"
wrong 1 "a: {type: translate, models: teacher, source: nowhere}" "step a: source: .*nowhere"
printf 'steps: {%s, b: {type: train, experiment: words.yaml, teachers: a, over: {data: {train_tokenizer: {vocab_size: 40}}}}}\n' \
    "$teacher" >wrong.yaml
expect 2 "$regimen" distil wrong.yaml --dir wrong-work
says 'step b: task.distillation.teacher: .*/a has other tokenizers' err
expect 2 "$regimen" distil wrong.yaml --dir wrong-work --set steps.b.over.data.train_tokenizer.vocab_size=41
[ ! -e wrong-work/b.old-1 ] || fail "a step that made nothing is kept"
mkdir -p taken/a && echo x >taken/a/y
expect 2 "$regimen" distil wrong.yaml --dir taken
says 'taken/a is there and has no step.json' err
expect 2 "$regimen" distil wrong.yaml
says 'dir is needed' err

finish
