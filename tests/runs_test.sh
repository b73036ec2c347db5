#!/bin/sh
# The listing of run folders: what is known without loading them, in the order that was asked for.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1
for n in 1 2 10; do
    expect 0 "$regimen" run small.yaml --run-dir "runs/seed-$n" --json --set runtime.seed=$n \
        --set trainer.epochs=$((20 + n))
    cp out "seed-$n.json"
done
mkdir -p runs/sweep
expect 0 "$regimen" run small.yaml --run-dir runs/sweep/short --set trainer.epochs=1

# order: the runs of the last listing, one line.
order() {
    sed 1d out | awk '{ print $1 }' | paste -sd ' ' -
}
# ordered RUNS ARGUMENTS...
ordered() {
    runs=$1
    shift
    expect 0 "$regimen" runs "$@"
    [ "$(order)" = "$runs" ] || fail "runs $*: '$(order)', expected '$runs'"
}

# What it says is what the runs themselves said, and what their logs hold.
expect 0 "$regimen" runs --json
cp out runs.json
python3 - runs.json seed-1.json seed-2.json seed-10.json <<'PY' || fail "runs --json is not the truth"
import json, sys
runs = json.load(open(sys.argv[1]))
assert [r["run_dir"] for r in runs] == ["runs/seed-1", "runs/seed-2", "runs/seed-10", "runs/sweep/short"], runs
for run, path in zip(runs, sys.argv[2:]):
    told = json.load(open(path))
    log = [json.loads(line) for line in open(run["run_dir"] + "/metrics.jsonl")]
    assert run["state"] == "finished" and run["model"] == "gcn", run
    assert run["step"] == told["steps"] == run["epoch"] == run["epochs"] == told["epochs"], run
    best = run["best"]
    assert best["metric"] == "valid.accuracy" and best["step"] == told["best_step"], (best, told)
    values = [line["accuracy"] for line in log if line["split"] == "valid"]
    assert abs(best["value"] - max(values)) < 1e-9 and values.index(max(values)) + 1 == best["step"], best
    assert sorted(run["last"]) == ["test.accuracy", "test.cross_entropy", "test.loss", "train.accuracy", "train.cross_entropy",
                                   "train.learning_rate", "train.loss", "valid.accuracy", "valid.cross_entropy",
                                   "valid.loss"], run["last"]
    for name, value in told["metrics"]["test"].items():  # what was printed is kept
        assert abs(run["last"]["test." + name] - value) < 1e-8, (name, value, run["last"])
    result = run["result"]
    assert result["state"] == "finished" and result["step"] == run["step"] and result["best"]["step"] == best["step"], result
    assert result["weights_step"] == best["step"] and result["warnings"]["count"] == 0, result
    assert result["plan"] and result["plan"][0].startswith("items "), result["plan"]
    assert result["seconds"] > 0 and abs(run["seconds"] - result["seconds"]) < 1e-6, result
    for part, values in told["metrics"].items():
        for name, value in values.items():
            assert abs(result["final"][part][name] - value) < 1e-8, (part, name, result["final"])
    assert [line["split"] for line in log][-1] == "test" and [line["split"] for line in log].count("test") == 1, log[-2:]
    for part in "train", "valid", "test":
        line = [line for line in log if line["split"] == part][-1]
        for name in "loss", "accuracy":
            assert abs(run["last"][part + "." + name] - line[name]) < 1e-8 * abs(line[name]) + 1e-9, run
    assert len(run["modified"]) == 20 and run["modified"].endswith("Z"), run
PY

# The same command again changes nothing, and its log tells the run's story.
cp runs/seed-1/metrics.jsonl runs/seed-1/tables.jsonl .
expect 0 "$regimen" run small.yaml --run-dir runs/seed-1 --set runtime.seed=1 --set trainer.epochs=21
cmp metrics.jsonl runs/seed-1/metrics.jsonl || fail "a second start changes metrics.jsonl"
cmp tables.jsonl runs/seed-1/tables.jsonl || fail "a second start changes tables.jsonl"
for line in "begin [|] step: +0 [|] .* to epoch 21, .* parameters, seed 1" "plan [|] items " "train [|] step: +1 [|] epoch: 1 [|] loss" \
    " eval [|] step: +1 [|] epoch: 1 [|] loss" "best [|] step: .* valid.accuracy" "checkpoint [|] step: +21" \
    "restore [|] step: +21 " " test [|] step: +21 [|] epoch: 21 [|] loss .* accuracy" \
    "end [|] step: +21 [|] finished after .* s of training, best valid.accuracy .* at step"; do
    says "Z info $line" runs/seed-1/log.txt
done

# Without its checkpoints it is finished, and its best is known.
cp -r runs/seed-1 bare && rm -r bare/ckpt
expect 0 "$regimen" runs bare --json
python3 - out seed-1.json <<'PY' || fail "a run without checkpoints has no best or end"
import json, sys
[run], told = (json.load(open(path)) for path in sys.argv[1:])
assert run["state"] == "finished" and run["best"]["step"] == told["best_step"], run
PY

# One that ended by an error says so, and why.
expect 1 "$regimen" run small.yaml --run-dir broken --set optimizer.learning_rate=1e30
expect 0 "$regimen" runs broken
says "^broken +failed " out
says "Z info end [|] step: .*failed: " broken/log.txt

# Orders.
ordered "runs/seed-1 runs/seed-2 runs/seed-10 runs/sweep/short"
ordered "runs/sweep/short runs/seed-10 runs/seed-2 runs/seed-1" --reverse
ordered "runs/sweep/short runs/seed-1 runs/seed-2 runs/seed-10" --sort step
ordered "runs/seed-10 runs/seed-2 runs/seed-1 runs/sweep/short" --sort step --reverse
touch -d 2020-01-03 runs/seed-1/metrics.jsonl
touch -d 2020-01-01 runs/seed-10/metrics.jsonl
touch -d 2020-01-02 runs/seed-2/metrics.jsonl
ordered "runs/seed-10 runs/seed-2 runs/seed-1 runs/sweep/short" --sort time
for key in best valid.loss; do
    sorted=$(python3 - runs.json $key <<'PY'
import json, sys
runs, key = json.load(open(sys.argv[1])), sys.argv[2]
runs.sort(key=lambda r: r["best"]["value"] if key == "best" else r["last"][key])
print(*(r["run_dir"] for r in runs))
PY
)
    ordered "$sorted" --sort $key
done

# The table: aligned, with the metrics that were asked for, cut where the line ends.
expect 0 "$regimen" runs --metric valid.accuracy --metric train.loss
says "^RUN +STATE +EPOCH +STEP +BEST +VALUE +AT +valid.accuracy +train.loss +WARNINGS +TIME +MODIFIED" out
says "^runs/seed-2 +finished +22/22 +22 +valid.accuracy" out
expect 0 env COLUMNS=40 "$regimen" runs
python3 - out <<'PY' || fail "COLUMNS=40 is not kept to"
import sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
assert len(lines) == 5 and all(len(l) == 40 and l[-1] == "\u2026" for l in lines), lines
PY
expect 0 "$regimen" runs runs/seed-2 runs/sweep
[ "$(order)" = "runs/seed-2 runs/sweep/short" ] || fail "two folders: $(order)"

# A run under way, then the same one stopped.
"$regimen" run small.yaml --run-dir live/run --set trainer.epochs=1000000 >/dev/null 2>&1 &
pid=$!
lists_steps() { "$regimen" runs live >out 2>/dev/null && grep -q "1,000,000" out; }
wait_for lists_steps
says "^live/run +running +[0-9,]+/1,000,000" out
kill -TERM $pid
wait $pid
[ $? = 75 ] || fail "looking at a run has disturbed it"
expect 0 "$regimen" runs live
says "^live/run +stopped " out

# Damaged and foreign folders are named and do not end the listing.
cp -r runs/seed-1 runs/manifest
for file in runs/manifest/ckpt/*/manifest.json; do
    printf x >>"$file"
done
cp -r runs/seed-1 runs/config
echo 'data: [' >runs/config/config.yaml
cp -r runs/seed-1 runs/log
python3 - <<'PY'
data = bytearray(open("runs/log/metrics.jsonl", "rb").read())
data[-40] ^= 1
open("runs/log/metrics.jsonl", "wb").write(data)
PY
cp -r runs/seed-1 "runs/$(printf 'bad\377\033[31m')"
for name in a b c d e f notes; do
    mkdir -p "runs/notes/$name"
done
echo hello >runs/notes/text
expect 0 "$regimen" runs
says "^damaged +runs/manifest: .*manifest" err
says "^damaged +runs/config: runs/config/config.yaml:2:1" err
says "^damaged +runs/log: runs/log/metrics.jsonl:byte [0-9]+: the line is damaged" err
says "^foreign +runs/notes: neither it nor a folder in it is a run folder" err
expect 0 "$regimen" runs runs/notes
[ "$(grep -c ^foreign err)" = 1 ] || fail "a line for each foreign folder: $(cat err)"
says "^foreign +runs/notes/a, .*, runs/notes/e and others: neither they nor folders in them" err
expect 0 "$regimen" runs
says "^runs/seed-10 +finished" out
says "^runs/manifest +damaged" out
says '^runs/bad\\xff\\x1b\[31m +finished' out
grep -q "$(printf '\033')" out err && fail "an escape sequence reached the terminal"
expect 0 "$regimen" runs --json
python3 - out <<'PY' || fail "a damaged run has no reason"
import json, sys
runs = {r["run_dir"]: r for r in json.load(open(sys.argv[1]))}
assert len(runs) == 8, list(runs)
for name in "manifest", "config", "log":
    assert runs["runs/" + name]["state"] == "damaged" and runs["runs/" + name]["reason"], runs
assert "reason" not in runs["runs/seed-1"]
PY

# What can be typed wrong; nothing to list.
expect 1 "$regimen" runs nowhere
says "no folder 'nowhere'" err
expect 2 "$regimen" runs --sort valid.acuracy
says "did you mean 'valid.accuracy'" err
expect 2 "$regimen" runs --metric valid.acuracy
says "there are .*train.loss" err
expect 2 "$regimen" runs --sorted name
says "did you mean '--sort'" err
mkdir none
expect 0 "$regimen" runs none --json
[ "$(tr -d '\n ' <out)" = "[]" ] || fail "no runs are not []: $(cat out)"
expect 0 "$regimen" runs none
[ -s out ] && fail "a table of no runs"
"$regimen" runs >/dev/full 2>err && fail "a full stdout went unnoticed"
# A bit in the middle of a log, far from its end, is told; what can be read is shown.
expect 0 "$regimen" run small.yaml --run-dir hurt/long --set trainer.epochs=200
python3 - <<'PY'
data = bytearray(open("hurt/long/metrics.jsonl", "rb").read())
assert len(data) > 20000
data[3000] ^= 4
open("hurt/long/metrics.jsonl", "wb").write(data)
PY
line=$(head -c 3000 hurt/long/metrics.jsonl | wc -l)
expect 0 "$regimen" runs hurt
says "^hurt/long +damaged +200/200" out
says "^damaged +hurt/long: .*metrics.jsonl:$((line + 1)): the line is damaged" err
finish
