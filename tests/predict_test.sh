#!/bin/sh
# New records are scored in one line, by a run and by its export, without the data that it was trained on.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1
awk -v OFS=, 'BEGIN { srand(5); print "a,b,c,y"; for (i = 0; i < 400; i++) { c = int(rand() * 3)
              print rand() + (c == 0), rand() + (c == 1), rand(), c } }' >train.csv
cat >records.yaml <<'YAML'
data: {path: ., train: train.csv, valid_fraction: 0.2, batch_size: 16, header: true}
task: {type: classification, class_names: [red, green, "sky, blue"]}
model: {type: mlp, hidden: [8]}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 20}
export: [{type: onnx}]
YAML
expect 0 "$regimen" run records.yaml --run-dir run
says '^\{"shape": \[3\], "columns": \["a", "b", "c", "y"\]\}$' run/record.json
"$regimen" predict run --part valid >own || fail "predict"
cut -d, -f1-3 train.csv >unlabelled.csv
sed '1!s/,[0-9]$/,unknown/' train.csv >wrong_labels.csv
awk -F, -v OFS=, '{ print "id" NR, $3, $4, $1, $2 }' train.csv | sed '1s/^id1/id/' >other_order.csv
mv train.csv gone.csv # a run needs its training data no more
for input in gone.csv unlabelled.csv wrong_labels.csv other_order.csv 'unlab*.csv' "$work/gone.csv"; do
    for who in run run/export; do
        expect 0 "$regimen" predict $who --input "$input"
        [ "$(wc -l <out)" = 401 ] || fail "$who $input: $(wc -l <out) lines for 400 records"
        [ -e first ] || cp out first
        cmp -s out first || fail "$who $input: other predictions"
    done
done
says '^item,node,prediction,logit_0,logit_1,logit_2,class,probability$' first
says '^[0-9]+,,2,.*,"sky, blue",0\.[0-9]+$' first
# Without a header columns are in their places.
tail -n +2 gone.csv >bare.csv
sed 's/train.csv/bare.csv/; s/header: true/header: false/' records.yaml >bare.yaml
expect 0 "$regimen" run bare.yaml --run-dir bare
says '^\{"shape": \[3\]\}$' bare/record.json
mv bare.csv bare_gone.csv
for who in bare bare/export; do
    expect 0 "$regimen" predict $who --input bare_gone.csv
    cmp -s out first || fail "$who without a header: other predictions"
done
cut -d, -f1-2 bare_gone.csv >few.csv
expect 1 "$regimen" predict bare --input few.csv
says 'few.csv: 2 columns; the model takes 3 numbers a record, with a label.s column or without' err
# The run's own predictions are among them: the same logits for the records that were held out.
cut -d, -f4-6 own | tail -n +2 | sort -u >held_out
cut -d, -f4-6 first | tail -n +2 | sort -u >all
[ "$(comm -23 held_out all | wc -l)" = 0 ] || fail "records of files have other logits than the run's own"
# A run of an earlier version has no record.json and learns the shape from its data.
mv run/record.json .
expect 1 "$regimen" predict run --input unlabelled.csv
says 'data.train is not in data.path \(elsewhere: --set data.path=DIR\): .*train.csv: No such file' err
cp gone.csv train.csv
expect 0 "$regimen" predict run --input unlabelled.csv
cmp -s out first || fail "without record.json: other predictions"
mv record.json run
# What does not fit is told.
cut -d, -f1-2 gone.csv >few.csv
expect 1 "$regimen" predict run --input few.csv
says "few.csv: no column 'c', which the model was trained with" err
sed '1s/b/a/' unlabelled.csv >twice.csv
expect 1 "$regimen" predict run/export --input twice.csv
says "twice.csv: two columns 'a'" err
expect 1 "$regimen" predict run/export --input nothing.csv
says 'nothing.csv: No such file' err
printf 'a,b,c\n1,2,x\n' >text.csv
expect 1 "$regimen" predict run --input text.csv
says "text.csv:2:5: .x. is not a number" err
printf 'a,b,c\n' >empty.csv
expect 1 "$regimen" predict run --input empty.csv
says 'empty.csv: no records' err
# Data of another width are another model.
sed -i 's/$/,1/' train.csv
expect 2 "$regimen" run records.yaml --run-dir run --set trainer.epochs=21
says 'run was begun with another record\.json' err
echo '{"shape": [0]}' >run/record.json
expect 1 "$regimen" predict run --input unlabelled.csv
says 'record.json: the shape has no number above 0 at place 1' err
finish
