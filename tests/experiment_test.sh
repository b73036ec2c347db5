#!/bin/sh
# regimen experiment and its kin as a user types them: a search alone and at a master, stopped, killed and gone on
# with, looked at, steered, and taken away.
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
fast_work
cd "$work" || exit 1
unset REGIMEN_MASTER
cat >search.yaml <<'YAML'
description: a small search
data:
  type: citation
  citation: {nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4, dropout: 0.5}
optimizer: {type: adam}
hyperparameters:
  optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}
  model.hidden: {type: categorical, vals: [[4], [8], [16]]}
searcher: {name: adaptive_asha, metric: valid.accuracy, smaller_is_better: false, max_trials: 8,
           max_length: 8, max_rungs: 2, mode: aggressive}
batches_per_step: 5
reproducibility: {experiment_seed: 7}
labels: [small]
YAML

# The same by chance: asynchronous halving goes by who is first, this does not.
cat >random.yaml <<'YAML'
extends: search.yaml
searcher: {name: random, mode: ~, max_rungs: ~}
YAML

# what EXPERIMENT: trials with their points, lengths and metrics.
what() {
    "$regimen" experiment trials "$1" --csv | cut -d, -f2-7,9-10 # no ids, no restarts, no times
}

# The plan, before anything runs.
expect 0 "$regimen" search preview search.yaml
says "^8 trials, 28 steps in all \(64 " out
says "^ +2 +8 +2 x step, 1 x validation, 6 x step, 1 x validation$" out
[ -e experiments ] && fail "a preview made a folder"
expect 2 "$regimen" search preview search.yaml --set searcher.max_trials=0 --set searcher.name=adaptive_asah
says "adaptive_asha" err

# Nothing is there yet.
expect 1 "$regimen" experiment list
says "no such folder; --master DIR" err
expect 2 "$regimen" experiment run nowhere.yaml

# Alone, from beginning to end.
expect 0 "$regimen" experiment run search.yaml --slots 2 --json
cp out run.json
python3 - run.json <<'PY' || fail "run --json: $(cat run.json)"
import json, os, sys
e = json.load(open(sys.argv[1]))
assert e["state"] == "COMPLETED" and e["trials"] == 8 and e["progress"] == 1, e
best = e["best_trial"]
assert best["best_metric"] > 0.3 and set(best["hyperparameters"]) == {"model", "optimizer"}, best
assert os.path.isfile(e["best_run_dir"] + "/config.yaml"), e["best_run_dir"]
PY
[ "$(what 1 | wc -l)" = 9 ] || fail "8 trials: $(what 1)"
expect 0 "$regimen" experiment run random.yaml --slots 2 --master undisturbed
REGIMEN_MASTER=undisturbed what 1 >reference

# What is there, in each form.
expect 0 "$regimen" experiment list
says "^ID +NAME +STATE" out
says "^ 1 +search +COMPLETED +100.0% +8/8 +valid.accuracy +0\.[0-9]+ " out
expect 0 "$regimen" experiment list --csv
says "^1,search,COMPLETED,100.0%,8/8,valid.accuracy," out
expect 0 "$regimen" experiment describe 1 --metrics --outdir tables
expect 2 "$regimen" experiment describe 1 --json --outdir nothing
says "take one of the two" err
head -1 tables/steps.csv >out
says "^TRIAL,STEP,STATE,.*Training Metric: loss,CHECKPOINT.*Validation Metric: accuracy" out
says "^1,search,COMPLETED,100.0%,8/8,valid.accuracy,0\.[0-9]+," tables/experiments.csv
[ "$(wc -l <tables/trials.csv)" = 9 ] || fail "trials.csv has $(wc -l <tables/trials.csv) lines"
expect 0 "$regimen" experiment trials 1 --sort metric --csv
best=$(sed -n '2s/^[0-9]*,\([0-9]*\),.*/\1/p' out)
expect 0 "$regimen" experiment best 1 -o best.yaml
says "^trial +1/$best " out
expect 0 "$regimen" run best.yaml --run-dir again -q
says "^valid " out
expect 2 "$regimen" experiment run search.yaml --new --set searcher.source_trial_id=77 # this process is the master
says "there is no trial 77" err
expect 0 "$regimen" trial describe "1/$best"
expect 0 "$regimen" trial describe "1/$best" --json
python3 - out best.yaml <<'PY' || fail "trial describe --json: $(head -30 out)"
import json, re, sys
t = json.load(open(sys.argv[1]))
rate = re.search(r"learning_rate: (\S+)", open(sys.argv[2]).read()).group(1)
assert repr(t["hyperparameters"]["optimizer"]["learning_rate"]) == repr(float(rate)), (t, rate) # every digit
assert len(t["step_rows"]) == t["steps"] and len(t["checkpoint_rows"]) >= 1, t
assert max(v["metrics"]["accuracy"] for v in t["validation_rows"]) == t["best_metric"], t
PY
expect 0 "$regimen" experiment describe 1 --json
python3 -c 'import json; e = json.load(open("out"))[0]
assert all(len(t["step_rows"]) == t["steps"] for t in e["trial_rows"]), e' || fail "describe --json has no steps"
expect 1 "$regimen" trial describe 1/99
says "experiment 1 has 8 trials, no 99" err
expect 0 "$regimen" experiment checkpoints 1 --best 1 --csv
uuid=$(sed -n '2p' out | cut -d, -f7)
expect 0 "$regimen" checkpoint describe "$uuid"
expect 0 "$regimen" checkpoint download "$uuid" -o copy
[ -f copy/manifest.json ] || fail "no checkpoint in copy: $(ls copy)"
expect 2 "$regimen" checkpoint describe ../../etc
expect 0 "$regimen" experiment export 1 --to model
[ -f model/model.onnx ] || fail "no model.onnx"
expect 0 "$regimen" runs experiments/1
expect 0 "$regimen" plot "experiments/1/$best" -o curves.svg
expect 0 "$regimen" experiment logs 1 --tail 3
for form in html svg csv; do
    expect 0 "$regimen" experiment report 1 -o "report.$form"
    [ -s "report.$form" ] || fail "no report.$form"
done
says "valid.accuracy" report.html
says "items</th><td class=\"text\">40 train, 100 valid, 200 test of 400 nodes; 60 in no part" report.html # of its best trial
says "warnings</th><td class=\"text\">none" report.html
[ "$(wc -l <report.csv)" = 9 ] || fail "report.csv: $(wc -l <report.csv) lines"
expect 2 "$regimen" experiment report 1 -o report.doc
expect 0 "$regimen" queue

# Killed again and again, then let run to its end: the same trials, points, lengths, metrics.
for delay in 0.15 0.3 0.45 0.6; do
    timeout -s KILL $delay "$regimen" experiment run random.yaml --slots 2 --master killed -q >/dev/null 2>&1
done
expect 0 "$regimen" experiment run random.yaml --slots 2 --master killed
REGIMEN_MASTER=killed what 1 >got
cmp -s reference got || fail "a search killed four times came to something else: $(diff reference got)"

# Another unfinished search of the folder is not run with it, which is told; nor is what could never start.
expect 0 "$regimen" experiment create search.yaml --master both
expect 0 "$regimen" experiment run random.yaml --slots 2 --master both
says "^waits .*experiment 1, search, which is unfinished too" err
expect 0 "$regimen" experiment list --master both --csv
grep -q "^1,search,ACTIVE,0" out || fail "experiment 1 was run too: $(cat out)"
expect 2 "$regimen" experiment run random.yaml --slots 2 --set resources.slots_per_trial=3 --master wide
says "slots_per_trial is 3, but there are 2 slots" err

# Ctrl-C: saved, and the same command goes on. As many trials as a quick machine does not end before it is stopped.
"$regimen" experiment run search.yaml --slots 2 --master stopped --set searcher.max_trials=160 >out 2>err &
search=$!
wait_for [ -s stopped/1/1/metrics.jsonl ]
kill -INT $search
wait $search
[ $? = 75 ] || fail "Ctrl-C: $(cat out err)"
says "the same command continues" err
pgrep -f "trial run --master $work/stopped" >/dev/null && fail "processes are left behind"
expect 0 "$regimen" experiment run search.yaml --slots 2 --master stopped --set searcher.max_trials=160
says "experiment 1 goes on" err

# At a master: handed over, followed, steered.
"$regimen" master --slots 2 --master served >master.out 2>master.err &
master=$!
wait_for [ -S served/master.sock ] # or the next one would be the master, without end
export REGIMEN_MASTER=served
expect 1 timeout 60 "$regimen" master --slots 2
says "in use by another master: process $master" err
expect 0 "$regimen" experiment run random.yaml
what 1 >got
cmp -s reference got || fail "at a master: $(diff reference got)"
expect 2 "$regimen" experiment run search.yaml --slots 3 --new
says "its slots are told to .regimen master" err
expect 0 "$regimen" experiment create search.yaml --paused --description "another <b>one</b>"
says "^Created experiment 2$" out
printf '# Why\n\nIt was *odd*, \033[31mred\033[0m.\n' >"$work/note.md"
expect 0 "$regimen" experiment note 2 -f "$work/note.md"
expect 0 "$regimen" trial note 2/1 -m "the first"
expect 0 "$regimen" experiment note 2
says '^It was .odd., .x1b.31mred' "$work/out"
expect 0 "$regimen" experiment describe 2
says '^note of experiment 2:$' "$work/out"
says '^the first$' "$work/out"
expect 2 "$regimen" experiment note 2 -m a -f b
expect 0 "$regimen" experiment set 2 project "a b&c"
expect 0 "$regimen" experiment list --project "a b&c" --csv
[ "$(grep -c '^[0-9]' "$work/out")" = 1 ] || fail "--project: $(cat "$work/out")"
expect 0 "$regimen" experiment list --project nothing
says 'no experiments' "$work/err"
expect 0 "$regimen" master token create --scope read --days 1 --name page
[ "$(tr -d '\n' <"$work/out" | wc -c)" = 32 ] || fail "no token: $(cat "$work/out")"
says 'token +1, read, until 20' "$work/err"
expect 0 "$regimen" master token list
says '1  page  read' "$work/out"
expect 0 "$regimen" master token revoke 1
expect 1 "$regimen" master token create --scope admin
expect 0 "$regimen" webhook add http://127.0.0.1:1/x --on end --experiment 2
says 'secret +[0-9a-f]{32}, which signs' "$work/err"
expect 0 "$regimen" webhook list
says 'http://127.0.0.1:1/x +end +2 +[0-9]' "$work/out"
expect 0 "$regimen" webhook test 1
expect 0 "$regimen" webhook deliveries 1
says '1 +test +ACTIVE +[0-9]' "$work/out"
expect 0 "$regimen" webhook remove 1
expect 1 "$regimen" webhook remove 1
expect 0 "$regimen" experiment label add 2 fast
expect 0 "$regimen" experiment set 2 max-slots 1
expect 0 "$regimen" experiment set 2 priority 10
expect 1 "$regimen" experiment set 2 priority 1000
expect 0 "$regimen" experiment activate 2
expect 0 "$regimen" experiment wait 2
says "^COMPLETED$" out
expect 0 "$regimen" experiment fork 2 --set searcher.max_trials=3 --paused
says "^Created experiment 3$" out
expect 0 "$regimen" experiment config 3
says "max_trials: 3" out
expect 0 "$regimen" experiment kill 3
expect 1 "$regimen" experiment wait 3
says "^CANCELED$" out
expect 1 "$regimen" experiment pause 1
says "experiment 1 is COMPLETED" err
expect 0 "$regimen" experiment continue 2 --steps 2
says "^Created experiment 4$" out
expect 0 "$regimen" experiment wait 4
expect 0 "$regimen" experiment archive 3
expect 0 "$regimen" experiment list --csv
grep -q "^3," out && fail "an archived experiment is listed"
expect 2 "$regimen" experiment delete 3 </dev/null # nobody to ask
says "nothing is removed: .*-y" err
expect 0 "$regimen" experiment delete 3 -y
[ -e served/3 ] && fail "a deleted experiment's folder is there"
expect 0 "$regimen" experiment checkpoints 1 --csv
removed=$(($(grep -c ,COMPLETED, out) - 1))
[ $removed -gt 0 ] || fail "there is but one checkpoint to keep"
expect 2 "$regimen" experiment set 1 gc-policy 1 0 0 </dev/null
says "nothing is removed: .*-y" err
expect 0 "$regimen" experiment set 1 gc-policy 1 0 0 -y # lists what it removes, by trial and step
says "^ *[0-9]+ +[0-9]+ +[0-9]+ +COMPLETED +[0-9.]+ +[0-9,]+ +[0-9a-f-]{36} " out
[ "$(grep -c "COMPLETED.* 1/[0-9]" out)" = $removed ] || fail "gc-policy lists not $removed: $(cat out)"
expect 0 "$regimen" experiment checkpoints 1 --csv
[ "$(grep -c ,COMPLETED, out)" = 1 ] || fail "gc-policy 1 0 0 keeps $(grep -c ,COMPLETED, out)"

# Who follows a search that is paused hears so.
"$regimen" experiment run search.yaml --new --set searcher.max_trials=160 >followed.out 2>followed.err &
follower=$!
wait_for grep -q "^search .*from search.yaml" followed.err
paused=$(sed -n 's/^search *experiment \([0-9]*\), from.*/\1/p' followed.err)
expect 0 "$regimen" experiment pause "$paused"
wait_for grep -q "^waits  *it is paused: .regimen experiment activate ID. goes on" followed.err
# Who leaves it hears what becomes of it: nothing was stopped or saved.
kill -INT $follower
wait $follower
[ $? = 75 ] || fail "Ctrl-C of a follower: $(cat followed.err)"
says "^left +experiment $paused is PAUSED at its master$" followed.err
"$regimen" experiment run search.yaml --set searcher.max_trials=160 >followed.out 2>followed.err &
follower=$!
wait_for sh -c "'$regimen' experiment list --csv | grep -q '^$paused,search,ACTIVE'"
kill -INT $follower
wait $follower
[ $? = 75 ] || fail "Ctrl-C of a follower: $(cat followed.err)"
says "^left +experiment $paused goes on at its master; .*experiment pause $paused. stops it$" followed.err
grep stopped followed.err && fail "a search that goes on is told as stopped"
expect 0 "$regimen" experiment list --csv
says "^$paused,search,ACTIVE" out
expect 0 "$regimen" experiment kill "$paused"
expect 1 "$regimen" experiment wait "$paused"
expect 0 "$regimen" experiment delete "$paused" -y

# A search that is over goes on; slots are drained.
expect 0 "$regimen" experiment create random.yaml --paused
live=$(sed -n 's/^Created experiment //p' out)
expect 0 "$regimen" experiment activate "$live"
expect 0 "$regimen" experiment wait "$live"
trials=$("$regimen" experiment trials "$live" --csv | grep -c ,COMPLETED,)
expect 0 "$regimen" experiment set "$live" searcher.max_trials=$((trials + 1))
expect 0 "$regimen" experiment wait "$live"
expect 0 "$regimen" experiment try "$live" --like 1
says "trial $((trials + 2)), before those that wait" err
expect 0 "$regimen" experiment wait "$live"
[ "$("$regimen" experiment trials "$live" --csv | grep -c ,COMPLETED,)" = $((trials + 2)) ] || fail "no two trials more"
expect 0 "$regimen" experiment changes "$live"
says "searcher.max_trials +$((trials + 1))" out
expect 2 "$regimen" experiment set "$live" data.batch_size=7
says "'data' cannot be changed" err
expect 2 "$regimen" experiment set "$live" searcher.max_trials=9 nothing
expect 2 "$regimen" experiment try "$live"
expect 1 "$regimen" trial stop "$live/1"
says "is COMPLETED" err
expect 0 "$regimen" experiment delete "$live" -y
expect 0 "$regimen" master drain 1
says "^ *1 .*drained" out
expect 2 "$regimen" master drian 0
says "no verb .master drian.; did you mean .master drain.?" "$work/err"
expect 0 "$regimen" master slots --csv
says "^0,,free" out
expect 1 "$regimen" master enable 0-2
expect 2 "$regimen" master enable x
expect 0 "$regimen" master enable 0,1

kill -INT $master
wait $master
[ $? = 75 ] || fail "the master's end: $(cat master.err)"

exit $((failures > 0))
