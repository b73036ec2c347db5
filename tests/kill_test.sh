#!/bin/sh
# A run killed with SIGKILL at random moments and continued by the same command ends with the same
# bytes; so do 1 and 2 threads. KILLS (default 100) moments in all, over as many lives as it takes.
. "$(dirname "$0")/lib.sh"
small_experiment "$work/small.yaml"
cd "$work" || exit 1
kills=${KILLS:-100}
run="run small.yaml --set trainer.epochs=600 --set trainer.checkpoint.every_steps=5"

# shellcheck disable=SC2086
"$regimen" $run --run-dir whole >/dev/null 2>err || fail "the whole run failed: $(tail -1 err)"

# Everything that results, without what tells of time and process.
compare() {
    for file in ckpt metrics.jsonl export; do
        diff -r "whole/$file" "$1/$file" >diff.txt || {
            fail "$2: $file differs"
            head -3 diff.txt
        }
    done
}

# shellcheck disable=SC2086
"$regimen" $run --run-dir again >/dev/null 2>err || fail "the second run failed"
compare again "the same command twice"

done_kills=0
round=0
while [ "$done_kills" -lt "$kills" ] && [ "$failures" = 0 ]; do
    round=$((round + 1))
    rm -rf "life"
    lives=0
    while :; do
        lives=$((lives + 1))
        # shellcheck disable=SC2086
        "$regimen" $run --run-dir life >/dev/null 2>err &
        pid=$!
        if [ "$lives" -le 12 ] && [ "$done_kills" -lt "$kills" ]; then
            moment=$(awk -v s="$round$lives" 'BEGIN { srand(s * 7919); printf "%.3f", 0.005 + rand() * 0.12 }')
            sleep "$moment"
            kill -KILL $pid 2>/dev/null && done_kills=$((done_kills + 1))
            wait $pid 2>/dev/null
            code=$?
        else
            wait $pid
            code=$?
        fi
        [ $code = 0 ] && break
        [ $code = 137 ] || { fail "life $lives ended with $code: $(tail -1 err)"; break; }
    done
    compare life "killed and continued, round $round"
done
echo "$done_kills kills in $round rounds"

sed 's/threads: 2/threads: 1/' small.yaml >one.yaml
mv small.yaml two.yaml && mv one.yaml small.yaml
# shellcheck disable=SC2086
"$regimen" $run --run-dir one >/dev/null 2>err || fail "the run with one thread failed"
compare one "1 and 2 threads"
finish
