#!/bin/sh
# Samplers and searchers beside random and halving, as a user's search: killed and gone on with they come to the same trials;
# several metrics and a bound make a front; a searcher of one's own out of a shared object.
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
fast_work
cd "$work" || exit 1
unset REGIMEN_MASTER
cat >base.yaml <<'YAML'
data:
  type: citation
  citation: {nodes: 400, edges: 900, classes: 4, words: 200, words_per_node: 8,
             train_per_class: 10, valid: 100, test: 200}
task: {type: node_classification, node_set: nodes, num_classes: 4, head: none}
model: {type: gcn, hidden: [8], output: 4, dropout: 0.5}
optimizer: {type: adam}
hyperparameters:
  optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}
  model.dropout: {type: double, minval: 0, maxval: 0.9}
  model.hidden: {type: categorical, vals: [[4], [8], [16]]}
batches_per_step: 5
reproducibility: {experiment_seed: 7}
YAML

# search NAME SEARCHER: a file; one trial at a time, since two are told in the order in which they end.
search() {
    printf 'extends: base.yaml\nsearcher: {max_concurrent_trials: 1, %s}\n' "$2" >"$1.yaml"
}
search sobol 'name: random, metric: valid.loss, max_trials: 8, max_length: 1, sampler: sobol'
search cma 'name: random, metric: valid.loss, max_trials: 12, max_length: 1, sampler: {type: cma, population: 3}'
search bohb 'name: bohb, metric: valid.loss, max_trials: 12, max_length: 3'
search front 'name: random, metrics: [{name: loss}, {name: accuracy, smaller_is_better: false},
    {name: valid.loss, at_least: 0.8}], max_trials: 14, max_length: 2, sampler: {type: nsga2, population: 4}'

# what MASTER: trials with their points, lengths and metrics.
what() {
    "$regimen" experiment trials 1 --master "$1" --csv | cut -d, -f2-7,9-10 # no ids, no restarts, no times
}

for name in sobol cma bohb front; do
    expect 0 "$regimen" experiment run $name.yaml --slots 1 --master $name
    what $name >reference
    [ "$(wc -l <reference)" -gt 8 ] || fail "$name: $(wc -l <reference) lines"
    for delay in 0.3 0.7 1.1; do
        timeout -s KILL $delay "$regimen" experiment run $name.yaml --slots 1 --master killed-$name -q >/dev/null 2>&1
    done
    expect 0 "$regimen" experiment run $name.yaml --slots 1 --master killed-$name
    what killed-$name >got
    cmp -s reference got || fail "$name, killed three times, came to something else: $(diff reference got)"
done

# The front, from the numbers of all validations by another program.
"$regimen" experiment describe 1 --master front --json >front.json || fail "describe --json"
python3 - front.json <<'PY' >want || fail "the front: $(cat want)"
import json, sys
trials = json.load(open(sys.argv[1]))[0]["trial_rows"]
found = {}
for t in trials:
    last = max(t["validation_rows"], key=lambda v: v["step_id"])
    loss, accuracy = last["metrics"]["loss"], last["metrics"]["accuracy"]
    assert (last["metric"] is None) == (loss < 0.8), last
    if loss >= 0.8:
        found[t["number"]] = loss, accuracy
assert 0 < len(found) < len(trials), "the bound keeps all or none"
for n, (loss, accuracy) in sorted(found.items(), key=lambda item: (item[1][0], -item[1][1], item[0])):
    if not any(l <= loss and a >= accuracy and (l, a) != (loss, accuracy) for l, a in found.values()):
        print(n)
PY
expect 0 "$regimen" experiment best 1 --master front
sed -n '/^ *FRONT/,$p' out | sed 1d | awk '{ print $1 }' >got
cmp -s want got || fail "the front is $(cat got), not $(cat want)"
says "FRONT: TRIAL +valid.loss +valid.accuracy" out
expect 0 "$regimen" experiment describe 1 --master front
sed -n '/^ *FRONT/,$p' out | sed 1d | awk '{ print $1 }' >got
cmp -s want got || fail "describe: the front is $(cat got), not $(cat want)"
expect 0 "$regimen" experiment report 1 --master front -o report.html
says "<h2>Pareto front</h2>" report.html
says "^<p class=\"note\">$(wc -l <want | tr -d ' ') of [0-9]+ trials" report.html
expect 0 "$regimen" experiment best 1 --master sobol
grep -q FRONT out && fail "a search for one metric has a front"
expect 0 "$regimen" config check front.yaml
says "for the smallest valid.loss, largest valid.accuracy, with valid.loss at least 0.8$" out
expect 2 "$regimen" config check front.yaml --data --set 'searcher.metrics=[{name: valid.los}, {name: accuracy}]'
says "valid.loss" err

# A searcher that is a program: our own stream, whose trials are those of the search that it streams; killed, too.
cat >inner.yaml <<'YAML'
extends: base.yaml
searcher: {name: adaptive_asha, metric: valid.loss, max_trials: 6, max_length: 4, divisor: 2, max_concurrent_trials: 1, sampler: tpe}
YAML
printf 'extends: base.yaml\nsearcher: {name: program, command: [%s, search, stream, -, --file, inner.yaml], metric: valid.loss, max_length: 4}\n' "$regimen" >outer.yaml
values() { "$regimen" experiment trials 1 --csv --master "$1" | cut -d, -f2,4-7; }
expect 0 "$regimen" experiment run inner.yaml --slots 1 --master inner
expect 0 "$regimen" experiment run outer.yaml --slots 1 --master outer
says "^state +COMPLETED" "$work/out"
values inner >want
values outer >got
cmp -s want got || fail "a streamed search has other trials than the search: $(diff want got)"
for delay in 0.4 0.9; do
    timeout -s KILL $delay "$regimen" experiment run outer.yaml --slots 1 --master killed-outer -q >/dev/null 2>&1
done
expect 0 "$regimen" experiment run outer.yaml --slots 1 --master killed-outer
values killed-outer >got
cmp -s want got || fail "a streamed search, killed twice, came to something else: $(diff want got)"
printf '#!/bin/sh\nread -r line\nexit 3\n' >dies.sh
expect 2 "$regimen" experiment create outer.yaml --master dies --set 'searcher.command=[sh, dies.sh]'
says "ended with exit code 3 before it answered, and did so when it was begun again" err
expect 2 "$regimen" config check outer.yaml --set searcher.command=[]
says "'searcher.command' must be given" err

# A searcher and a sampler of one's own.
sieve=$RGM_BUILD/examples/sieve.so
[ -e "$sieve" ] || { echo "no $sieve: build example_14_own_searcher"; exit $((failures > 0 ? 1 : 77)); }
mkdir own && cp "$sieve" own/sieve.so
printf 'extends: ../base.yaml\nsearcher: {name: ./sieve.so, metric: valid.loss, max_trials: 6, first_steps: 1, max_steps: 4, sampler: ./sieve.so:near}\n' >own/sieve.yaml
expect 0 "$regimen" search preview own/sieve.yaml
expect 0 "$regimen" experiment run own/sieve.yaml --slots 1 --master sieve
what sieve >reference
[ "$(wc -l <reference)" = 7 ] || fail "sieve: $(cat reference)"
for delay in 0.3 0.7; do
    timeout -s KILL $delay "$regimen" experiment run own/sieve.yaml --slots 1 --master killed-sieve -q >/dev/null 2>&1
done
expect 0 "$regimen" experiment run own/sieve.yaml --slots 1 --master killed-sieve
what killed-sieve >got
cmp -s reference got || fail "sieve, killed twice, came to something else: $(diff reference got)"
expect 2 "$regimen" search preview own/sieve.yaml --set searcher.sampler=own/sieve.so:far
says "no sampler 'far'; RGM_SAMPLER_OBJECT\(far, row\)" err
expect 2 "$regimen" search preview own/sieve.yaml --set searcher.first_step=3
says "first_steps" err
# Who looks at one that is over, or trains one of its trials further, needs no object.
mv own/sieve.so away.so
expect 0 "$regimen" experiment report 1 --master sieve -o sieve.html
says "train_steps: 20" sieve.html
expect 0 "$regimen" trial continue 1 --steps 5 --master sieve
mv away.so own/sieve.so
# A search under way that its master may not load is told, and is there for one that may.
"$regimen" experiment run own/sieve.yaml --slots 1 --master gated -q >/dev/null 2>&1 &
search=$!
wait_for [ -s gated/1/1/metrics.jsonl ]
kill -KILL $search
wait $search
"$regimen" master --slots 1 --master gated >master.out 2>master.err &
master=$!
wait_for grep -q "start the master with --own-searchers" master.err
kill -INT $master
wait $master
# Nor is it loaded to look at it where no master is at work.
mv own/sieve.so away.so
printf '#!/bin/sh\n' >own/sieve.so
expect 0 "$regimen" experiment describe 1 --master gated
expect 0 "$regimen" experiment report 1 --master gated -o gated.html
mv away.so own/sieve.so
expect 0 "$regimen" experiment run own/sieve.yaml --slots 1 --master gated
what gated >got
cmp -s reference got || fail "sieve, refused once, came to something else: $(diff reference got)"
"$regimen" master --slots 1 --master served >master.out 2>master.err &
master=$!
wait_for [ -S served/master.sock ]
expect 2 "$regimen" experiment create own/sieve.yaml --master served
says "start the master with --own-searchers" err
kill -INT $master
wait $master
"$regimen" master --slots 1 --master served --own-searchers >master.out 2>master.err &
master=$!
wait_for [ -S served/master.sock ]
expect 0 "$regimen" experiment create own/sieve.yaml --master served
expect 0 "$regimen" experiment wait 1 --master served
what served >got
cmp -s reference got || fail "sieve at a master came to something else: $(diff reference got)"
kill -INT $master
wait $master

exit $((failures > 0))
