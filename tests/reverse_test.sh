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
expect 0 "$regimen" translate "$work/run" --n-best 3 --scores --threads 1 <"$work/in"
cmp -s "$work/out" "$work/scored" || fail "--threads changes n-best lists"

# Lines before one that cannot be translated are there; the message has its number.
# refuse TEXT PATTERN: one good line, then TEXT.
refuse() {
    printf "3 4\n$1" >"$work/bad"
    expect 1 "$regimen" translate "$work/run" <"$work/bad"
    says "$2" "$work/err"
    [ "$(cat "$work/out")" = "4 3" ] || fail "the line before a bad one is missing: $2"
}
refuse '3 x\n' "/dev/stdin:2: 'x' is no token"
refuse '3 4\377\n' '/dev/stdin:2:4: not UTF-8'
refuse '3\0004\n' '/dev/stdin:2:2: a zero byte'
refuse "$(yes 3 | head -1024 | tr '\n' ' ')" '/dev/stdin:2: 1024 tokens and an end, but model.max_positions is 1024'
refuse "$(head -c 1100000 /dev/zero | tr '\0' '3')" '/dev/stdin:2:1: the line has more than 1048576 bytes'

# CRLF and a byte order mark are no part of the text; a last line may lack its end; nothing is nothing.
printf '\357\273\277 3 4\r\n\r\n5' >"$work/odd"
expect 0 "$regimen" translate "$work/run" <"$work/odd"
[ "$(cat "$work/out")" = "$(printf '4 3\n\n5')" ] || fail "CRLF, byte order mark or last line"
expect 0 "$regimen" translate "$work/run" </dev/null
[ ! -s "$work/out" ] || fail "no lines became some"

# What a model that has learnt to write backwards attends to is the token that it writes.
awk 'BEGIN { srand(3); for (i = 0; i < 300; i++) { s = ""; n = 1 + i % 10; for (k = 0; k < n; k++) s = s (k ? " " : "") (2 + int(rand() * 16)); print s } }' >"$work/lines"
# links COLUMN: links of tab-separated lines, those from i to n - 1 - i, and tokens; texts are in the last column.
links() {
    awk -F '\t' -v at="$1" '{ n = split($NF, word, " "); m = split($at, link, " "); tokens += n
        for (i = 1; i <= m; i++) { split(link[i], x, "-"); all++; right += x[1] == n - 1 - x[2] } }
        END { print all, right, tokens }'
}
# mostly ALL RIGHT TOKENS: a link for each token, nearly all of them right.
mostly() {
    [ "$1" = "$3" ] && [ "$2" -ge $(($3 * 95 / 100)) ] || fail "$1 links of $3 tokens, $2 right"
}
expect 0 "$regimen" translate "$work/run" --beam 1 --alignment <"$work/lines"
cp "$work/out" "$work/aligned"
# shellcheck disable=SC2046
mostly $(links 1 <"$work/aligned")
expect 0 "$regimen" translate "$work/run" --beam 1 --alignment --alignment-pieces --threads 1 <"$work/lines"
cmp -s "$work/out" "$work/aligned" || fail "numbers are words and pieces"
expect 0 "$regimen" translate "$work/run" --beam 1 <"$work/lines"
cut -f 2 "$work/aligned" | cmp -s - "$work/out" || fail "--alignment changes translations"
paste "$work/lines" "$work/out" >"$work/pairs"
expect 0 "$regimen" score-pairs "$work/run" --alignment <"$work/pairs"
cut -f 3 "$work/out" >"$work/of_pairs"
cut -f 1 "$work/aligned" | cmp -s - "$work/of_pairs" || fail "given pairs are aligned otherwise"
expect 0 "$regimen" translate "$work/run" --beam 1 --alignment --alignment-threshold 0.5 <"$work/lines"
# shellcheck disable=SC2046
set -- $(links 1 <"$work/out")
[ "$1" -lt "$3" ] && [ "$2" -ge $(($1 * 98 / 100)) ] || fail "with a threshold $1 links of $3 tokens, $2 right"
expect 2 "$regimen" translate "$work/run" --alignment-pieces <"$work/lines"
says 'alignment-pieces goes with --alignment' "$work/err"
expect 2 "$regimen" score-pairs "$work/run" --alignment --alignment-threshold 2 <"$work/pairs"
says 'the threshold of an alignment is 2; it is in \[0, 1\]' "$work/err"

# Many lines, by blocks: in order, nothing held. Who reads them may go away; Ctrl-C ends at once.
awk 'BEGIN { for (i = 0; i < 3000; i++) print 2 + i % 16, 2 + int(i / 16) % 16, 2 + int(i / 256) % 16 }' >"$work/many"
awk '{ print $3, $2, $1 }' "$work/many" >"$work/wanted"
expect 0 "$regimen" translate "$work/run" --beam 1 <"$work/many"
[ "$(diff "$work/out" "$work/wanted" | grep -c '^<')" -le 30 ] || fail "3000 lines are not in their order"
first=$("$regimen" translate "$work/run" --beam 1 <"$work/many" 2>"$work/err" | head -1)
[ "$first" = "$(head -1 "$work/wanted")" ] || fail "head -1"
mkfifo "$work/pipe" "$work/answers"

# A program that goes on when it has its answer: one line in, one line out.
"$regimen" translate "$work/run" <"$work/pipe" >"$work/answers" 2>"$work/err" &
exec 3>"$work/pipe" 4<"$work/answers"
for pair in '7:7' '3 4 5:5 4 3' '9 8:8 9'; do
    echo "${pair%:*}" >&3
    answer=$(timeout 20 head -n 1 <&4)
    [ "$answer" = "${pair#*:}" ] || fail "the answer to '${pair%:*}' is '$answer'"
done
exec 3>&- 4<&-
wait $!

# The same when what is written is compressed, each line a member of its own.
"$regimen" translate "$work/run" <"$work/pipe" >"$work/answers" 2>"$work/err" &
exec 3>"$work/pipe" 4<"$work/answers"
for pair in '7:7' '3 4 5:5 4 3' '9 8:8 9'; do
    echo "${pair%:*}" | gzip >&3
    answer=$(timeout 20 head -n 1 <&4)
    [ "$answer" = "${pair#*:}" ] || fail "the answer to '${pair%:*}' in gzip is '$answer'"
done
exec 3>&- 4<&-
wait $!

"$regimen" translate "$work/run" <"$work/pipe" >"$work/out" 2>"$work/err" &
pid=$!
(while cat "$work/many"; do :; done) >"$work/pipe" 2>/dev/null &
feeder=$!
wait_for [ -s "$work/out" ]
kill -TERM $pid
wait $pid 2>/dev/null
[ $? = 143 ] || fail "SIGTERM did not end translate at once"
kill $feeder 2>/dev/null
[ -s "$work/out" ] && [ "$(tail -c 1 "$work/out" | od -An -tx1)" = " 0a" ] || fail "no whole lines before SIGTERM"
expect 2 "$regimen" translate "$work/run" --beam 2 --n-best 3 </dev/null
says 'task\.search\.n_best is 3, above beam_size \(2\)' "$work/err"
for how in "--beam 0" "--beam 65" "--n-best 0" "--alpha -1" "--alpha nan" "--average 0" "--average-best -1" "--threads -1" \
    "--beam 99999999999999999999"; do
    # shellcheck disable=SC2086
    expect 2 "$regimen" translate "$work/run" $how </dev/null
done
says "beam_size" "$work/err"
expect 1 "$regimen" translate "$work" </dev/null
says 'is not a run folder: it has no config.yaml' "$work/err"

finish
