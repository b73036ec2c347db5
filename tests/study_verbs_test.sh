#!/bin/sh
# regimen search ask, tell, stream, show: a study driven by scripts, by several at once, by a program that keeps a
# stream open and is killed; and what is wrong.
. "$(dirname "$0")/lib.sh"
fast_work
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$work" || exit 1
cat >square.yaml <<'YAML'
hyperparameters: {x: {type: double, minval: -2, maxval: 2}}
searcher: {name: random, sampler: tpe, metric: loss, max_trials: 24, max_length: 1}
reproducibility: {experiment_seed: 3}
YAML

# drive STUDY: pieces until it is over; the loss is x^2.
drive() {
    while :; do
        "$regimen" search ask "$1" --file square.yaml --workers 3 >"$1.$2" || return 1
        grep -q '"over": true' "$1.$2" && return 0
        grep -q '"wait": true' "$1.$2" && continue
        trial=$(sed 's/.*"trial": \([0-9]*\),.*/\1/' "$1.$2")
        loss=$(sed 's/.*"x": \([-0-9.e]*\)}.*/\1/' "$1.$2" | awk '{ printf "%.17g", $1 * $1 }')
        "$regimen" search tell "$1" --trial "$trial" "loss=$loss" || return 1
    done
}
for i in 1 2 3; do
    drive study "$i" &
    pids="${pids:-} $!"
done
for pid in $pids; do
    wait "$pid" || fail "a process of the study failed"
done
expect 0 "$regimen" search show study
says "^study +square, 100.0%, over" "$work/err"
[ "$(grep -c ' OVER ' "$work/out")" = 24 ] || fail "trials: $(cat "$work/out")"
expect 0 "$regimen" search show study --csv
awk -F, 'NR > 1 { x = $0; sub(/.*"x"": /, "", x); sub(/}.*/, "", x); if (x * x - $4 > 1e-5 || $4 - x * x > 1e-5) exit 1 }' out || fail "told otherwise: $(cat out)"

expect 1 "$regimen" search ask nothing
says "there is no study nothing" "$work/err"
expect 1 "$regimen" search tell study --trial 25 loss=1
says "there is no trial 25 in study, which has 24" "$work/err"
expect 2 "$regimen" search tell study --trial 1
says "the searcher's metric is missing: valid.loss=NUMBER" "$work/err"
expect 2 "$regimen" search tell study --trial 1 loss=low
says "'loss=low' is not NAME=NUMBER" "$work/err"
expect 2 "$regimen" search tell study loss=1
expect 2 "$regimen" search tell study --trial 1 --failed loss=1
echo '{}' >none
expect 1 "$regimen" search ask none --file square.yaml
says "none is no study, or damaged" "$work/err"
expect 2 "$regimen" search ask other --file square.yaml --set searcher.max_trials=0
says "max_trials" "$work/err"
expect 0 "$regimen" search ask other --file square.yaml
expect 0 "$regimen" search ask other --lost 0.001
says '"trial": 1,' "$work/out"
expect 0 "$regimen" search tell other --trial 1 --failed
expect 0 "$regimen" search ask other
says '"trial": 2,' "$work/out"
expect 0 "$regimen" search tell other --trial 2 loss=nan
expect 2 "$regimen" search ask other --lost 0
says "lost is a number of seconds above 0" "$work/err"

# The search of a study is the one that it began with, however it is named, and with however many workers.
expect 0 "$regimen" search ask other --file square.yaml --workers 2
sed 's/maxval: 2/maxval: 3/' square.yaml >wider.yaml
cp other before
expect 2 "$regimen" search ask other --file wider.yaml
says "other began with another search than wider.yaml says now: leave out --file" "$work/err"
expect 2 "$regimen" search ask other --file square.yaml --set searcher.max_trials=99
cmp -s other before || fail "a refused search changed the study"

# A late result, told without saying to which length, while somebody is at the next one.
cat >halving.yaml <<'YAML'
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: adaptive_asha, metric: loss, max_trials: 3, max_length: 9, divisor: 3, max_rungs: 2}
reproducibility: {experiment_seed: 1}
YAML
for i in 1 2 3; do
    expect 0 "$regimen" search ask late --file halving.yaml --workers 3
done
for i in 1 2 3; do
    expect 0 "$regimen" search tell late --trial $i "loss=0.$i"
done
expect 0 "$regimen" search ask late
says '"trial": 1, .*"from": 3, "to": 9' "$work/out"
expect 1 "$regimen" search tell late --trial 1 loss=0.1
says "was told to 3, and is asked to 9 now: say which of them this is .--at 9" "$work/err"
expect 0 "$regimen" search tell late --trial 1 --at 3 loss=0.1
expect 0 "$regimen" search tell late --trial 1 --at 9 loss=0.05
expect 0 "$regimen" search ask late
says '"over": true' "$work/out"

# ---- streams -----------------------------------------------------------------------------------
printf '{"type": "ask"}\n{"type": "ask"}\n{"type": "tell", "trial": 1' >lines
expect 0 "$regimen" search stream half --file square.yaml <lines
says '"trial": 1' "$work/out"
says '^{"wait": true, "out": 1}$' "$work/out"
echo '{"type": "ask"}' >lines
expect 0 "$regimen" search stream half <lines # given back at the end; half a line says nothing
says '"trial": 1' "$work/out"
expect 2 "$regimen" search ask - --file square.yaml
says "a study in memory, -, is over with this process" "$work/err"
if ! python3 -c 'import json' 2>/dev/null; then
    echo "SKIPPED in part: there is no python3"
    finish
    exit
fi
ln -s "$regimen" regimen
PATH=$work:$PATH
cp "$here/examples/18_drive.py" "$here/examples/18_drive.yaml" .
expect 0 python3 18_drive.py whole 18_drive.yaml
expect 0 "$regimen" search show whole --csv
[ "$(grep -c ',OVER,' out)" = 30 ] || fail "trials: $(cat out)"
cp out whole.csv
expect 0 python3 18_drive.py whole 18_drive.yaml # it is over
awk -F, 'NR > 1 { if (best == "" || $4 < best) best = $4 } END { exit !(best < 0.01) }' whole.csv || fail "best: $(cat whole.csv)"

# Killed behind any of its lines: the program; the stream, then the program; the stream alone, whose answer the program
# then tells another one. The trials are those of a program that nobody disturbed.
cat >die.py <<'PY'
import os, signal, sys
source = open("18_drive.py").read().replace("raise SystemExit", "raise RuntimeError")
left, whom = int(sys.argv.pop()), sys.argv.pop()
real, count = None, 0
def wrapped(**line):
    global count
    count += 1
    if count != left:
        return real(**line)
    answer = real(**line) if left % 2 else None
    if whom != "program":
        space["search"].kill()
    if whom != "stream":
        os.kill(os.getpid(), signal.SIGKILL)
    space["search"].wait()
    space["search"] = space["subprocess"].Popen(["regimen", "search", "stream", sys.argv[1], "--file", sys.argv[2]],
                                                stdin=-1, stdout=-1, text=True)
    return answer or real(**line)
head, tail = source.split("\n\nwhile", 1)
space = {"__name__": "drive"}
exec(head, space)
real, space["say"] = space["say"], wrapped
exec("while" + tail, space)
PY
for whom in program both stream; do
    for left in 1 2 27 60; do
        rm -f hurt
        python3 die.py hurt 18_drive.yaml $whom $left >/dev/null 2>&1
        expect 0 python3 18_drive.py hurt 18_drive.yaml
        "$regimen" search show hurt --csv >hurt.csv
        cmp -s whole.csv hurt.csv || fail "$whom killed behind line $left: other trials"
    done
done

# Two programs at once, and one that asks and tells by itself.
python3 18_drive.py shared square.yaml >/dev/null 2>shared.err &
pid=$!
drive shared 9 || fail "beside a stream"
wait $pid || fail "the stream beside others: $(cat shared.err)"
expect 0 "$regimen" search show shared --csv
[ "$(grep -c ',OVER,' out)" = 24 ] || fail "shared: $(cat out)"
finish
