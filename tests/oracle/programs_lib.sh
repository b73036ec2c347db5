# What tests of programs as trials share: a search, undisturbed and disturbed. After lib.sh; $here is this folder.
fast_work
cp "$here"/../../examples/14_program/* "$work"
cd "$work" || exit 1
export OMP_NUM_THREADS=1

# Runs a program that is killed before its second report, once, and that waits before its fourth for the file $GO.
cat >gate.py <<'PY'
import json
import os
import runpy
import signal
import sys
import time

dumps = json.dumps


def gated(message, *rest, **more):
    if isinstance(message, dict) and message.get("type") == "report":
        if message["step"] == 2 and not os.path.exists("killed"):
            open("killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        while message["step"] == 4 and not os.path.exists(os.environ["GO"]):
            time.sleep(0.02)
    return dumps(message, *rest, **more)


json.dumps = gated
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
PY

# csv MASTER: the trials of its search, without restarts and times.
csv() {
    "$regimen" experiment trials 1 --master "$1" --csv | cut -d, -f2-7
}

# disturbed NAME FILE PYTHON WORDS: the search as it is, whose trials stop and go on at the rungs of a halving; then one
# whose trials are the same in any order: undisturbed, and with each program killed once, all of them paused by the
# master in the middle and activated.
disturbed() {
    name=$1 file=$2 python=$3 words=$4
    random='{name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, max_length: 8}'
    expect 0 "$regimen" experiment run "$file" --master "$name.halving" --slots 2 --set "entrypoint=[$python, $words]"
    says "^state +COMPLETED" "$work/out"
    cp out "$name.out"
    set -- --set "searcher=~" --set "searcher=$random"
    expect 0 "$regimen" experiment run "$file" --master "$name" --slots 2 --set "entrypoint=[$python, $words]" "$@"
    csv "$name" >"$name.csv"
    [ "$(grep -c COMPLETED "$name.csv")" = 2 ] || fail "$name: $(cat "$name.csv")"
    GO=$work/$name.go "$regimen" master --master "$name.again" --slots 2 >/dev/null 2>&1 &
    master=$!
    wait_for "$regimen" experiment list --master "$name.again"
    expect 0 "$regimen" experiment create "$file" --master "$name.again" --set "entrypoint=[$python, gate.py, $words]" "$@"
    wait_for sh -c '[ "$("$1" experiment trials 1 --master "$2" --csv | cut -d, -f4 | grep -c 3)" = 2 ]' - "$regimen" "$name.again"
    expect 0 "$regimen" experiment pause 1 --master "$name.again"
    touch "$name.go"
    wait_for sh -c '"$1" experiment describe 1 --master "$2" --json | grep -q "\"running\": 0"' - "$regimen" "$name.again"
    [ "$("$regimen" experiment trials 1 --master "$name.again" --csv | cut -d, -f4 | grep -c 4)" = 2 ] ||
        fail "$name: not paused behind step 4: $(csv "$name.again")"
    expect 0 "$regimen" experiment activate 1 --master "$name.again"
    expect 0 "$regimen" experiment wait 1 --master "$name.again"
    csv "$name.again" >"$name.again.csv"
    cmp "$name.csv" "$name.again.csv" || fail "$name: other trials where they were killed and paused"
    kill "$master"
    wait "$master"
}
