#!/bin/sh
# What searches find, as docs/search.md has it: a line for each seed, then means.
#   scripts/searches.sh asha [SEEDS]    adaptive_asha over 64 trials against 16 random ones at full length
#   scripts/searches.sh tpe [SEEDS]     TPE against random draws at equal trials, on digits
#   scripts/searches.sh idle            how long slots are empty between trials
# SLOTS (2): trials at once; REGIMEN (build/regimen): the command.
set -eu
cd "$(dirname "$0")/.."
regimen=$(realpath "${REGIMEN:-build/regimen}")
slots=${SLOTS:-2}
work=$(mktemp -d /tmp/regimen-searches-XXXXXX)
trap 'rm -rf "$work"' EXIT

# search SEED SETS...: best metric and batches trained in all, of a search to its end.
search() {
    seed=$1
    shift
    sets=
    for set in "$@"; do sets="$sets --set $set"; done
    rm -rf "$work/found"
    # shellcheck disable=SC2086
    "$regimen" experiment run digits_search --master "$work/found" --slots "$slots" -q --json \
        --set reproducibility.experiment_seed="$seed" $sets >"$work/out.json"
    python3 -c 'import json, sys
e = json.load(open(sys.argv[1]))
print(e["best_trial"]["best_metric"], e["batches"])' "$work/out.json"
}

random="searcher.name=random searcher.mode=~ searcher.max_rungs=~"
case ${1:-} in
asha)
    names="adaptive_asha random"
    first=
    second="$random searcher.max_trials=16"
    seeds=${2:-5}
    ;;
tpe)
    names="tpe random"
    common="$random searcher.max_trials=30 searcher.max_length.epochs=4 searcher.max_concurrent_trials=2"
    first="$common searcher.sampler=tpe"
    second=$common
    seeds=${2:-20}
    ;;
idle)
    "$regimen" experiment run digits_search --master "$work/found" --slots "$slots" -q >/dev/null
    exec python3 - "$work/found/master.db" <<'PY'
import collections, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
slots = collections.defaultdict(list)
for slot, begin, end in db.execute("SELECT slots, start_time, end_time FROM runs ORDER BY start_time"):
    slots[slot].append((begin, end))
gaps = [b[0] - a[1] for runs in slots.values() for a, b in zip(runs, runs[1:])]
waits = [x for x, in db.execute("SELECT min(s.start_time) - min(r.start_time) FROM runs r JOIN steps s"
                                " ON s.trial_id = r.trial_id GROUP BY r.trial_id")]
gap, wait = sum(gaps) / len(gaps), sum(waits) / len(waits)
print(f"between two processes on a slot {gap * 1e3:.0f} ms, from there to the first step {wait * 1e3:.0f} ms:"
      f" {(gap + wait) / 60:.2%} of a trial of one minute")
PY
    ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
for seed in $(seq 1 "$seeds"); do
    # shellcheck disable=SC2086
    found=$(search "$seed" $first)
    # shellcheck disable=SC2086
    other=$(search "$seed" $second)
    echo "$seed $found $other" | tee -a "$work/table"
done
python3 - "$work/table" $names <<'PY'
import statistics, sys
rows = [[float(x) for x in line.split()] for line in open(sys.argv[1])]
print(f"{'seed':>4} {'valid.cross_entropy, batches: ' + sys.argv[2]:>44} {sys.argv[3]:>22}")
for r in rows:
    print(f"{r[0]:4.0f} {r[1]:30.4f} {r[2]:13.0f} {r[3]:12.4f} {r[4]:9.0f}")
mean = [statistics.mean(r[i] for r in rows) for i in range(5)]
dev = [statistics.stdev(r[i] for r in rows) if len(rows) > 1 else 0 for i in range(5)]
print(f"mean {mean[1]:21.4f} +- {dev[1]:.4f} {mean[2]:12.0f} {mean[3]:7.4f} +- {dev[3]:.4f} {mean[4]:9.0f}")
print(f"{sys.argv[2]} is better in {sum(r[1] < r[3] for r in rows)} of {len(rows)}, with {mean[2] / mean[4]:.2f} of the batches")
PY
