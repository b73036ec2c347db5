#!/bin/sh
# Long runs take no more memory and no more descriptors than short ones: a run of each kind trains, validates,
# saves and logs in one process. After a third of its time, and 1,500 steps (warm-up: shapes of batches, the
# history of epochs), the largest resident set of the second third is held against that of the last, and the
# fewest descriptors against the fewest.
# SOAK_SECONDS: for all kinds together, 90 by default; an hour by hand:
#   SOAK_SECONDS=3600 tests/soak_test.sh build/regimen
. "$(dirname "$0")/lib.sh"
regimen=$(realpath "$regimen")
: "${SOAK_SECONDS:=90}"
: "${SOAK_KINDS:=graph records private sampled subgraphs translation}"
[ "$SOAK_SECONDS" -gt 600 ] || fast_work
cd "$work" || exit 1
room=128 # KiB that the last third may have above the second: an allocator's pages (68 were seen once), not a leak of each step
files=4 # more descriptors: files that are being saved come and go, what is never closed adds up
case $(sed -n 's/^RGM_SANITIZE:STRING=//p' "${RGM_BUILD:-/nowhere}/CMakeCache.txt" 2>/dev/null) in
    ?*) exit 77 ;; # a sanitizer keeps what is freed
esac

# resident PID: KiB; descriptors PID: how many are open.
resident() {
    awk '/^RssAnon:/ { print $2 }' "/proc/$1/status" 2>/dev/null
}
descriptors() {
    ls "/proc/$1/fd" 2>/dev/null | wc -l
}

# watch PID SECONDS STEPS: until both are over, the largest resident set and the fewest descriptors meanwhile, in
# $most and $open.
watch() {
    most=0
    open=1000000
    until=$(($(date +%s) + $2))
    while [ "$(date +%s)" -lt $until ] || [ "$(counted "$kind")" -lt "$3" ]; do
        now=$(resident "$1")
        [ -n "$now" ] || { fail "$kind: the run ended by itself: $(tail -3 err.txt)"; return 1; }
        [ "$now" -le $most ] || most=$now
        now=$(descriptors "$1")
        [ "$now" -ge $open ] || open=$now
        sleep 0.05
    done
}

# counted FOLDER: how far the run's log says that it is.
counted() {
    { tail -n 2 "$1/metrics.jsonl" 2>/dev/null || echo; } | sed -n 's/.*"step": *\([0-9]*\).*/\1/p' | head -n 1 | grep . || echo 0
}

third=$((SOAK_SECONDS / 3 / $(echo "$SOAK_KINDS" | wc -w)))
[ $third -gt 0 ] || third=1
for kind in $SOAK_KINDS; do
    case $kind in
    graph)
        small_experiment $kind.yaml
        sed -i 's/epochs: 40/epochs: 100000000/' $kind.yaml
        ;;
    *)
        position_experiment $kind $kind.yaml
        sed -i 's/train_steps: 23/train_steps: 100000000/; s/every_steps: 5, keep: 100/every_steps: 50, keep: 3/' $kind.yaml
        ;;
    esac
    "$regimen" run $kind.yaml --run-dir $kind >out.txt 2>err.txt &
    pid=$!
    watch $pid $third 1500 || continue
    watch $pid $third 0 || continue
    before=$most
    before_open=$open
    watch $pid $third 0 || continue
    kill -TERM $pid
    wait $pid
    code=$?
    [ $code = 75 ] || fail "$kind: exit $code after SIGTERM, expected 75: $(tail -3 err.txt)"
    echo "$kind: $(counted $kind) steps: $before KiB, then $most KiB; $before_open descriptors, then $open"
    [ $((most - before)) -le $room ] || fail "$kind: memory grew by $((most - before)) KiB in $third s"
    [ "$open" -le $((before_open + files)) ] || fail "$kind: descriptors grew from $before_open to $open"
    rm -rf $kind
done
finish
