#!/bin/sh
# run --profile: a table and a trace of some steps, of any run, also of one that is stopped.
. "$(dirname "$0")/lib.sh"
fast_work
small_experiment "$work/small.yaml"
cd "$work" || exit 1

# The trace is JSON of nested complete events; ops take no longer than the steps around them.
check_trace() {
    python3 - "$1" "$2" <<'PY' || fail "$1/profile.json"
import json, sys
trace = json.load(open(sys.argv[1] + "/profile.json"))
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
assert all(e["dur"] >= 0 and e["pid"] == 1 and e["tid"] == 1 for e in events)
assert [e["ts"] for e in events] == sorted(e["ts"] for e in events)
steps = [e for e in events if e["cat"] == "step"]
assert len(steps) == trace["otherData"]["steps"] == int(sys.argv[2]), len(steps)
numbers = [e["args"]["number"] for e in steps]
assert numbers == list(range(numbers[0], numbers[0] + len(steps))), numbers
open_spans = []
for e in events:
    while open_spans and open_spans[-1]["ts"] + open_spans[-1]["dur"] <= e["ts"] + 1e-6:
        open_spans.pop()
    if open_spans:
        assert e["ts"] + e["dur"] <= open_spans[-1]["ts"] + open_spans[-1]["dur"] + 1e-6, (e, open_spans[-1])
    open_spans.append(e)
for s in steps:
    ops = [e for e in events if e["cat"] == "op" and s["ts"] <= e["ts"] < s["ts"] + s["dur"]]
    assert ops and sum(e["dur"] for e in ops) <= s["dur"] + 1e-3
    assert {"matmul", "spmm"} <= {e["name"].split("_")[0] for e in ops}, {e["name"] for e in ops}
    assert any(e["args"].get("scope") for e in ops)
PY
}

recovery_experiment run.yaml
expect 0 "$regimen" run run.yaml --run-dir plain
[ ! -e plain/profile.json ] || fail "a profile that nobody asked for"
expect 0 "$regimen" run run.yaml --run-dir watched --profile
check_trace watched 20
same_run plain watched "a run with a profile"
says '^op +ms +share +calls +GFLOP/s +GB/s$' out
says '^(matmul|spmm)[a-z_]* +[0-9.]+ +[0-9.]+% +[0-9.]+ +[0-9.]+ +[0-9.]+$' out
says '^step +[0-9.]+ +100.0%  of one step: mean of 20 from step 11$' out
says '^evaluation +[0-9.]+ +4[0-9]  in all' out
says '^(checkpoint|export|summaries) +[0-9.]+ +[0-9]+  in all' out
says '^profile +watched/profile.json$' out
says 'profile \| step ' watched/log.txt

# By the file's keys, which hold with --profile too; --json has the rows.
expect 0 "$regimen" run small.yaml --run-dir keys --profile --json --set trainer.profile.steps=3 \
    --set trainer.profile.skip_steps=30
check_trace keys 3
python3 - out <<'PY' || fail "the profile of --json"
import json, sys
p = json.load(open(sys.argv[1]))["profile"]
assert (p["steps"], p["first_step"], p["dropped_events"]) == (3, 31, 0), p
assert abs(sum(r["seconds"] for r in p["rows"]) - p["seconds"]) < 1e-9 * 100
assert {"data", "update", "other"} < {r["name"] for r in p["rows"]}
assert "evaluation" in {r["name"] for r in p["beside"]}
PY

# More than there is room for is told; a run that goes on is profiled anew.
expect 0 "$regimen" run small.yaml --run-dir short --profile --set trainer.profile.max_events=100
says 'warning trainer.profile: [0-9]+ of [0-9]+ events are not in profile.json' short/log.txt
expect 0 "$regimen" run small.yaml --run-dir short --profile --set trainer.epochs=45 \
    --set trainer.profile.skip_steps=0
check_trace short 5

# Stopped by a signal: what was recorded is there.
"$regimen" run small.yaml --run-dir stopped --profile --set trainer.epochs=1000000 \
    --set trainer.profile.steps=1000000 --set trainer.checkpoint.every_epochs=~ >out 2>err &
pid=$!
wait_for sh -c '[ -s stopped/metrics.jsonl ] && [ -d stopped/ckpt ]'
kill -INT $pid
wait $pid
code=$?
[ $code = 75 ] || fail "a stopped run ended with $code"
says '^step +[0-9.]+ +100.0%' err
python3 -c "
import json
t = json.load(open('stopped/profile.json'))
assert t['otherData']['steps'] > 0, t['otherData']" || fail "the profile of a stopped run"

expect 2 "$regimen" run small.yaml --mode eval --run-dir plain --profile
says 'profile does not go with --mode' err
expect 2 "$regimen" config check small.yaml --set trainer.profile.stepz=3
says "did you mean 'trainer.profile.steps'" err
expect 0 "$regimen" config check small.yaml --set trainer.profile.max_events=300
says 'note +trainer.profile.max_events .* has no effect: only with trainer.profile.steps > 0' err
finish
