#!/bin/sh
# configs/reverse.yaml from the first step to translations that are all right: data, training, search, scores.
. "$(dirname "$0")/lib.sh"

expect 0 "$regimen" run configs/reverse.yaml --run-dir "$work/run"
says '"split":"valid".*"exact_match":1(\.0)?[,}]' "$work/run/metrics.jsonl"
says '"split":"valid".*"bleu":100' "$work/run/metrics.jsonl"

# Lines in, lines out, in their order; the same bytes for one thread and two.
printf '3 4 5\n\n17 2\n9 8 7 6 5 4 3 2\n2\n' >"$work/in"
printf '5 4 3\n\n2 17\n2 3 4 5 6 7 8 9\n2\n' >"$work/wanted"
for how in "--beam 1" "--beam 4" "--set runtime.threads=1"; do
    # shellcheck disable=SC2086
    expect 0 "$regimen" translate "$work/run" $how <"$work/in"
    cmp -s "$work/out" "$work/wanted" || fail "translate $how"
done
expect 0 "$regimen" translate "$work/run" --n-best 3 --scores <"$work/in"
cp "$work/out" "$work/scored"
says '^4	-[0-9.]+	2 3 4 5 6 7 8 9$' "$work/scored"
expect 0 "$regimen" translate "$work/run" --n-best 3 --scores --set runtime.threads=1 <"$work/in"
cmp -s "$work/out" "$work/scored" || fail "threads change n-best lists"
printf '3 x\n' >"$work/bad"
expect 1 "$regimen" translate "$work/run" <"$work/bad"
says "line 1: 'x' is no token" "$work/err"
printf '3 4\377\n' >"$work/bad"
expect 1 "$regimen" translate "$work/run" <"$work/bad"
says 'UTF-8' "$work/err"

finish
