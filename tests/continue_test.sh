#!/bin/sh
# A run goes on with other keys: what may differ, what is told, what is refused; and with data that have moved.
. "$(dirname "$0")/lib.sh"
fast_work
cd "$work" || exit 1
small_experiment small.yaml

# ---- keys that change no step: said in the log alone ----
expect 0 "$regimen" run small.yaml --run-dir free
expect 0 "$regimen" run small.yaml --run-dir free --set trainer.epochs=60 --set trainer.max_seconds=3000 \
    --set trainer.checkpoint.keep=5 --set trainer.exports.every_steps=20 --set trainer.exports.keep=2 \
    --set runtime.threads=1 --set 'description=longer' --set runtime.input_workers.ahead=8
[ -s err ] && grep warning err && fail "a key that changes nothing is warned of"
says 'info the run continues with another value of trainer.epochs: it was 40 and is now 60$' free/log.txt
says '"key": "trainer.max_seconds", "was": "", "is": "3000"}$' free/changes.jsonl
[ -d free/export/60 ] || fail "exports that were asked for later are not made"
expect 0 "$regimen" run small.yaml --run-dir longer --set trainer.epochs=60
cmp -s free/metrics.jsonl longer/metrics.jsonl || fail "longer from the start and made longer differ"

# ---- the rate: a warning, and other steps from there on ----
expect 0 "$regimen" run small.yaml --run-dir rate
cp rate/metrics.jsonl before.jsonl
expect 0 "$regimen" run small.yaml --run-dir rate --set trainer.epochs=60 --set optimizer.learning_rate=1e-3 --set model.dropout=0.1
says 'warning: the run continues with another value of optimizer.learning_rate: it was 1e-2 and is now 1e-3$' err
says 'warning: the run continues with another value of model.dropout: it was 0.5 and is now 0.1$' err
sed -i '/"split":"test"/d' before.jsonl # of the run's end, which is now a later one
head -n "$(wc -l <before.jsonl)" rate/metrics.jsonl | cmp -s - before.jsonl || fail "what was measured has changed"
cmp -s rate/metrics.jsonl longer/metrics.jsonl && fail "the new rate was not used"
expect 0 "$regimen" eval rate
expect 0 "$regimen" predict rate

# ---- batches in the order in which they come are others than those before ----
expect 0 "$regimen" run small.yaml --run-dir free --set trainer.epochs=60 --set runtime.input_workers.order=arrival
says 'warning: the run continues with another value of runtime.input_workers.order: it was not set and is now arrival$' err

# ---- a rate that decays to the end: a longer run has another curve, and says so ----
cosine='optimizer.learning_rate={type: cosine, initial: 1e-2}'
expect 0 "$regimen" run small.yaml --run-dir decay --set "$cosine"
expect 0 "$regimen" run small.yaml --run-dir decay --set "$cosine" --set trainer.epochs=60
says 'warning: the run continues with another value of trainer.epochs: it was 40 and is now 60$' err
cosine='optimizer.learning_rate={type: cosine, initial: 1e-2, decay_steps: 70}'
expect 0 "$regimen" run small.yaml --run-dir curve --set "$cosine"
expect 0 "$regimen" run small.yaml --run-dir curve --set "$cosine" --set trainer.epochs=60
grep 'trainer.epochs' err && fail "a length that no rate depends on is warned of"
expect 0 "$regimen" run small.yaml --run-dir whole --set "$cosine" --set trainer.epochs=60
cmp -s curve/metrics.jsonl whole/metrics.jsonl || fail "with decay_steps, longer from the start and made longer differ"

# ---- what would mean something else ----
for key in model.hidden=[9] optimizer.type=sgd 'optimizer.average={decay: 0.9}' runtime.seed=4 \
    trainer.checkpoint.best.metric=valid.loss data.citation.words=300 'optimizer.rates={"conv_0/*": 0}'; do
    expect 2 "$regimen" run small.yaml --run-dir rate --set trainer.epochs=60 --set "$key"
    says "rate was begun with another configuration: line [0-9]+, ${key%%=*} was .* and is now .*: what was learned would mean" err
done

# adafactor has a slot more where beta_1 is not 0
expect 0 "$regimen" run small.yaml --run-dir factors --set optimizer.type=adafactor
expect 2 "$regimen" run small.yaml --run-dir factors --set optimizer.type=adafactor --set trainer.epochs=60 --set optimizer.beta_1=0.9
says "factors was begun with another configuration: line [0-9]+, optimizer.beta_1 was .* and is now 0.9: what was learned would mean" err

# ---- early stopping and plateaus by another metric: what was the best of one says nothing of the other ----
expect 0 "$regimen" run small.yaml --run-dir watched --set trainer.early_stopping.patience=100 \
    --set trainer.reduce_on_plateau.patience=100
by_loss='--set trainer.early_stopping.metric=valid.loss --set trainer.reduce_on_plateau.metric=valid.loss'
# shellcheck disable=SC2086
expect 0 "$regimen" run small.yaml --run-dir watched $by_loss --set trainer.early_stopping.patience=15 \
    --set trainer.reduce_on_plateau.patience=15 --set trainer.epochs=60
says 'early stopping goes by the smallest valid.loss from here on, and begins to count anew$' watched/log.txt
says 'reduce_on_plateau goes by the smallest valid.loss from here on, and begins to count anew$' watched/log.txt
says '"epoch":60,' watched/metrics.jsonl # the loss falls, far above the accuracy that was the best
grep -E 'valid.loss has not improved' watched/log.txt && fail "the loss was compared with an accuracy"

# ---- what early stopping has ended stays ended, and says so ----
expect 0 "$regimen" run small.yaml --run-dir ended --set trainer.early_stopping.patience=1
cp ended/metrics.jsonl before.jsonl
expect 0 "$regimen" run small.yaml --run-dir ended --set trainer.early_stopping.patience=30 --set trainer.epochs=60
says 'early stopping has ended this run: nothing is trained$' ended/log.txt
cmp -s ended/metrics.jsonl before.jsonl || fail "a run that has ended made steps"

# ---- what a loop reports may change between loops ----
expect 0 "$regimen" run small.yaml --run-dir reports
expect 0 "$regimen" run small.yaml --run-dir reports --set trainer.epochs=60 --set trainer.flops=true --set trainer.norms=true
says '"split":"train".*"flops_per_step":' reports/metrics.jsonl
expect 0 "$regimen" run small.yaml --run-dir reports --set trainer.epochs=80
tail -3 reports/metrics.jsonl | grep flops_per_step && fail "operations are reported still"

# ---- sets that the best is judged by are as fixed as data.valid ----
for kind in records private; do
    position_experiment $kind $kind-judged.yaml
    head -60 $kind-judged.yaml.csv >judged_easy.csv
    tail -60 $kind-judged.yaml.csv >judged_hard.csv
    expect 0 "$regimen" run $kind-judged.yaml --run-dir $kind-judged --set 'data.valid_sets={news: judged_easy.csv}' \
        --set trainer.checkpoint.best.metric=valid_news.accuracy
    expect 2 "$regimen" run $kind-judged.yaml --run-dir $kind-judged --set 'data.valid_sets={news: judged_hard.csv}' \
        --set trainer.checkpoint.best.metric=valid_news.accuracy --set trainer.train_steps=40
    says 'data.valid_sets.* was .*judged_easy.csv.* and is now .*judged_hard.csv' err
    expect 0 "$regimen" run $kind-judged.yaml --run-dir $kind-beside --set 'data.valid_sets={news: judged_easy.csv}'
    expect 0 "$regimen" run $kind-judged.yaml --run-dir $kind-beside --set 'data.valid_sets={news: judged_hard.csv}' \
        --set trainer.train_steps=40
done

# ---- batches of another size, in the middle of a pass: a new pass begins, the same one after a kill ----
for kind in records sampled subgraphs mixed translation; do
    position_experiment $kind $kind.yaml
    key=data.batch_size=4
    [ $kind != translation ] || key=data.batch_tokens=96
    expect 0 "$regimen" run $kind.yaml --run-dir $kind
    cp -r $kind $kind-again
    expect 0 "$regimen" run $kind.yaml --run-dir $kind --set $key --set trainer.train_steps=40
    says "warning: the run continues with another value of ${key%%=*}" err
    says 'warning: the data begin a new pass: the position was saved for the data' err
    # Stopped before its first save with the new size: config.yaml has it, the checkpoint has not.
    expect 0 "$regimen" run $kind.yaml --run-dir $kind-again --set $key
    expect 0 "$regimen" run $kind.yaml --run-dir $kind-again --set $key --set trainer.train_steps=40
    same_run $kind $kind-again "$kind, batches of another size"
    expect 0 "$regimen" eval $kind --part valid
done
position_experiment private private.yaml
expect 0 "$regimen" run private.yaml --run-dir private
expect 2 "$regimen" run private.yaml --run-dir private --set data.batch_size=4
says 'data.batch_size was 16 and is now 4: what was learned would mean' err

# ---- another run's weights: its best ones, and what means something else there is told ----
expect 0 "$regimen" run small.yaml --run-dir tuned --set trainer.initialize.checkpoint=free --set trainer.epochs=1
says 'info initialized ([0-9]+) of \1 parameters from the best weights of free; 0 of its tensors unused$' tuned/log.txt
grep -q 'trainer.initialize: ' tuned/log.txt && fail "equal keys are told"
expect 0 "$regimen" run small.yaml --run-dir newest --set trainer.initialize.checkpoint=free --set trainer.epochs=1 \
    --set trainer.initialize.best=false
says 'from the newest weights of free' newest/log.txt
expect 0 "$regimen" run small.yaml --run-dir named --set trainer.initialize.checkpoint=free --set trainer.epochs=1 \
    --set 'task.class_names=[a, b, c, d]' --set task.num_classes=~
says 'warning: trainer.initialize: task.class_names is \[a, b, c, d\] here and not set in free' err
step=$(ls free/ckpt | tail -1)
expect 0 "$regimen" run small.yaml --run-dir file --set "trainer.initialize.checkpoint=free/ckpt/$step/weights.safetensors" \
    --set trainer.epochs=1 --set 'task.class_names=[a, b, c, d]' --set task.num_classes=~
says 'warning: trainer.initialize: task.class_names is ' err
# Of several tasks each by its name; one that the other run has not begins anew, whatever else it has.
sed -e 's/^task: .*/tasks:\n  topic: {type: node_classification, node_set: nodes, class_names: [a, b, c, d]}\n  infomax: {type: deep_graph_infomax, node_set: nodes}/' \
    -e 's/ output: 4,//; s/valid.accuracy/valid.topic_accuracy/' small.yaml >two.yaml
expect 0 "$regimen" run two.yaml --run-dir two
expect 0 "$regimen" run two.yaml --run-dir turned --set trainer.initialize.checkpoint=two --set trainer.epochs=1 \
    --set 'tasks.topic.class_names=[d, c, b, a]'
says 'warning: trainer.initialize: tasks.topic.class_names is \[d, c, b, a\] here and \[a, b, c, d\] in two, whose' err
[ "$(grep -c 'trainer.initialize: ' err)" = 1 ] || fail "other than one key is told: $(cat err)"
expect 0 "$regimen" run two.yaml --run-dir new-head --set trainer.initialize.checkpoint=free --set trainer.epochs=1
grep 'trainer.initialize: ' err && fail "keys of a task are told that the other run does not have"
one='--set tasks.infomax=~ --set trainer.checkpoint.best.metric=valid.accuracy'
# shellcheck disable=SC2086
expect 0 "$regimen" run two.yaml --run-dir alone --set trainer.initialize.checkpoint=free --set trainer.epochs=1 $one
says 'warning: trainer.initialize: tasks.topic.class_names is \[a, b, c, d\] here and not set in free' err
says 'warning: trainer.initialize: tasks.topic.num_classes is not set here and 4 in free' err
expect 0 "$regimen" run records.yaml --run-dir scaled --set trainer.initialize.checkpoint=records --set data.scale=4
says 'warning: trainer.initialize: data.scale is 4 here and not set in records, whose weights were trained with it$' err

# ---- data that have moved ----
expect 0 "$regimen" data generate citation --to here --nodes 400 --edges 900 --words 200 --words-per-node 8 \
    --classes 4 --train-per-class 10 --valid 100 --test 200
sed '/^  citation:/,/train_per_class/d; s/type: citation/type: folder/' small.yaml | sed 's/^data:$/data: {/; s/^  type: folder$/  type: folder, path: here}/' >moved.yaml
expect 0 "$regimen" run moved.yaml --run-dir moved
cp -r here there
expect 0 "$regimen" run moved.yaml --run-dir moved --set data.path=there --set trainer.epochs=50
says 'data.path: it was here and is now there, with the same content$' moved/log.txt
expect 0 "$regimen" run moved.yaml --run-dir stayed --set trainer.epochs=50
cmp -s moved/metrics.jsonl stayed/metrics.jsonl || fail "data that have moved give other metrics"
expect 0 "$regimen" data generate citation --to other --nodes 400 --edges 900 --words 200 --words-per-node 8 \
    --classes 4 --train-per-class 10 --valid 100 --test 200 --seed 8
expect 2 "$regimen" run moved.yaml --run-dir moved --set data.path=other --set trainer.epochs=60
says 'data.path was there and is now other: files or contents there are others than at the start' err
# A run among its data is no part of them.
(cd here && sed 's/path: here/path: ./' ../moved.yaml >m.yaml && expect 0 "$regimen" run m.yaml --run-dir runs/e-1 &&
    { ! grep 'files or contents' "$work/err" || fail "a run's own files are data"; } &&
    expect 0 "$regimen" run m.yaml --run-dir runs/e-1 --set data.path="$work/here" --set trainer.epochs=50 &&
    says 'with the same content$' runs/e-1/log.txt; [ "$failures" = 0 ]) || fail "a run folder in data.path (above)"
rm -r there
cp -r other there
expect 0 "$regimen" run moved.yaml --run-dir moved --set data.path=there --set trainer.epochs=60
says 'warning: data.path: files or contents there are others than at the start' err
finish
