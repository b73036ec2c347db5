#!/bin/sh
# A small translation model behind `regimen answer`, asked by Debian's wrk: first as fast as it answers, then for MINUTES at
# 90 % of that. Prints lost requests, latencies and memory; ends with 1 if a request was lost or memory grows.
# usage: bench/answer.sh [MINUTES] [CONNECTIONS], by default 10 and 32
set -u
minutes=${1:-10} connections=${2:-32} threads=2
here=$(cd "$(dirname "$0")" && pwd)
regimen=${REGIMEN:-$here/../build/regimen}
command -v wrk >/dev/null || {
    echo "wrk is not there: scripts/deps.sh bench" >&2
    exit 77
}
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT

"$regimen" run reverse --run-dir "$work/words" --set trainer.epochs=~ --set trainer.train_steps=300 \
    --set 'export=[{type: predictor}]' --set task.search.beam_size=1 >"$work/out" 2>"$work/err" || {
    tail -3 "$work/err" >&2
    exit 1
}
"$regimen" answer "words=$work/words/export" --listen 127.0.0.1:0 >"$work/told" 2>"$work/log" &
server=$!
for _ in $(seq 600); do
    grep -qs '^token ' "$work/told" && break
    sleep 0.1
done
address=$(sed -n 's/^answer *//p' "$work/told")
ANSWER_TOKEN=$(sed -n 's/^token *//p' "$work/told")
export ANSWER_TOKEN

# ask SECONDS [RATE]: wrk's line "result requests seconds errors p50 p99 p99.9 max", in $result.
ask() {
    ANSWER_RATE=${2:-} wrk -t "$threads" -c "$connections" -d "$1s" --timeout 10s -s "$here/answer.lua" "$address" >"$work/wrk"
    result=$(sed -n 's/^result //p' "$work/wrk")
    [ -n "$result" ] || {
        cat "$work/wrk" "$work/log" >&2
        exit 1
    }
}

resident() { awk '/^VmRSS/ { print $2 }' "/proc/$server/status"; }
answered() {
    python3 -c '
import sys, urllib.request
text = urllib.request.urlopen(urllib.request.Request(sys.argv[1] + "/metrics", headers={"Authorization": "Bearer " + sys.argv[2]})).read().decode()
print(next(line.split()[1] for line in text.splitlines() if line.startswith("regimen_requests_total{model=\"words\",code=\"200\"}")))
' "$address" "$ANSWER_TOKEN"
}

ask 10
ask 20
full=$(echo "$result" | awk '{ print $1 / $2 }')
rate=$(awk -v full="$full" -v threads="$threads" 'BEGIN { print full * 0.9 / threads }')
printf 'full     %.0f requests/s by %s connections, p50 %s ms, p99 %s ms\n' "$full" "$connections" \
    "$(echo "$result" | cut -d ' ' -f 4)" "$(echo "$result" | cut -d ' ' -f 5)"

before=$(answered)
: >"$work/memory"
(while kill -0 "$server" 2>/dev/null; do
    resident >>"$work/memory"
    sleep 5
done) 2>/dev/null &
ask "$(awk -v m="$minutes" 'BEGIN { print int(m * 60) }')" "$rate"
after=$(answered)
kill -TERM "$server"
wait "$server" || echo "the server ended with $?" >&2
server=
echo "$result" | awk -v full="$full" -v counted="$((after - before))" -v memory="$work/memory" '
    {
        while ((getline kib < memory) > 0) { n++; at[n] = kib; if (kib > most) most = kib }
        half = int(n / 2); quarter = int(n / 4)
        for (i = quarter + 1; i <= half; i++) { early += at[i]; a++ }
        for (i = n - quarter; i <= n; i++) { late += at[i]; b++ }
        growth = a > 0 && b > 0 ? (late / b) / (early / a) - 1 : 0
        printf "load     %d requests in %.0f s, %.0f/s, %.0f %% of full; %d lost; the server counted %d answers\n", $1, $2, $1 / $2,
            100 * $1 / $2 / full, $3, counted
        printf "latency  p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, longest %.1f ms\n", $4, $5, $6, $7
        printf "memory   %.1f MiB at most; the last quarter %+.2f %% on the second\n", most / 1024, 100 * growth
        exit $3 > 0 || counted < $1 || growth > 0.02
    }'
