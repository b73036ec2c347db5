#!/bin/sh
# regimen score: numbers a reader can check, files that do not fit, and everything that can be typed wrong.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

printf 'the cat sat on the mat .\nHello, world!\n' >ref
printf 'the cat sat on the mat .\nHello, world!\n' >same
printf 'the cat on the mat .\nhello world\n' >worse
printf '\n\n' >blank

expect 0 "$regimen" score --ref ref same
says '^BLEU 100\.00 \(100\.0/100\.0/100\.0/100\.0 BP 1\.000 ratio 1\.000 hyp 11 ref 11\)   nrefs:1\|case:mixed\|eff:no\|tok:13a\|smooth:exp\|version:regimen-0\.1$' out
says '^chrF2 100\.00   nrefs:1\|case:mixed\|eff:yes\|nc:6\|nw:0\|space:no\|version:regimen-0\.1$' out
says '^TER 0\.00 \(0 edits, 9\.0 words\)   nrefs:1\|case:lc\|tok:tercom\|norm:no\|punct:yes\|asian:no' out
[ "$(wc -l <out)" = 3 ] || fail "three metrics are not three lines"

# Standard input, gzip, several references, options that show in the signature.
gzip -k ref worse
expect 0 sh -c 'gzip -c worse | "$0" score --ref ref.gz --metrics ter,bleu --lowercase --tokenize none' "$regimen"
says '^BLEU .*case:lc\|eff:no\|tok:none' out
says '^TER 33\.33 \(3 edits, 9\.0 words\)' out
expect 0 "$regimen" score --ref ref --ref worse --metrics chrf --word-order 2 worse.gz
says '^chrF2\+\+ 100\.00   nrefs:2\|.*nw:2' out
sed 's/the/The/' ref >cased
expect 0 "$regimen" score --ref ref --metrics ter cased
says '^TER 0\.00 \(0 edits.*case:lc' out
expect 0 "$regimen" score --ref ref --metrics ter --case-sensitive cased
says '^TER 11\.11 \(1 edits.*case:mixed' out
expect 0 "$regimen" score --ref ref --metrics bleu --smooth floor --smooth-value 0.25 worse
says 'smooth:floor\[0\.25\]' out
expect 0 "$regimen" score --ref ref blank
says '^BLEU 0\.00 .*BP 0\.000 ratio 0\.000' out
says '^TER 100\.00' out

# Line by line, as text and as JSON.
expect 0 "$regimen" score --ref ref --sentence worse
says '^1	BLEU [0-9.]+	chrF2 [0-9.]+	TER 14\.29$' out
says '^2	BLEU 18\.39	chrF2 [0-9.]+	TER 100\.00$' out
says '^BLEU of single lines   nrefs:1\|case:mixed\|eff:yes' out
expect 0 "$regimen" score --ref ref --sentence --json worse
python3 - out <<'PY' || fail "the result is not the JSON object that was promised"
import json, sys
r = json.load(open(sys.argv[1]))
assert sorted(r) == ["bleu", "chrf", "lines", "sentences", "ter"] and r["lines"] == 2, sorted(r)
assert len(r["sentences"]) == 2 and abs(r["sentences"][0]["ter"] - 100 / 7) < 1e-6
assert abs(r["ter"]["score"] - 100 * 3 / 9) < 1e-6 and r["ter"]["edits"] == 3
assert "eff:yes" in r["bleu"]["sentence_signature"] and len(r["bleu"]["precisions"]) == 4
PY

# Files that do not fit.
printf 'one\n' >short
expect 1 "$regimen" score --ref ref short
says 'short has 1 line, but ref has 2: short is 1 short' err
expect 1 "$regimen" score --ref ref --ref short worse
says 'short has 1 line, but (ref|worse) has 2' err
printf 'fine\nb\377d\n' >bad
expect 1 "$regimen" score --ref ref bad
says 'bad:2:2: not UTF-8' err
expect 1 "$regimen" score --ref bad ref
says 'bad:2:2' err
: >empty
expect 1 "$regimen" score --ref empty empty
says 'empty has no lines' err
expect 1 "$regimen" score --ref missing ref
says 'missing' err
head -c 40 ref.gz >cut.gz
expect 1 "$regimen" score --ref cut.gz ref
says 'cut.gz: gzip' err

# What can be typed wrong.
expect 2 "$regimen" score ref
says '--ref FILE' err
expect 2 "$regimen" score --ref ref --metrics bleu,chr ref
says "no 'chr'; did you mean 'chrf'" err
expect 2 "$regimen" score --ref ref --tokenize 13b ref
says "did you mean '13a'" err
expect 2 "$regimen" score --ref ref --word-order 11 ref
says 'word-order is 11, but must be in \[0, 10\]' err
expect 2 "$regimen" score --ref ref --smooth-value -1 ref
says "smooth-value is -1, but must be above 0" err
expect 2 "$regimen" score --ref ref --smooth floor --smooth-value 0 ref
says "smooth-value is 0, but must be above 0 \(--smooth none adds nothing\)" err
expect 2 "$regimen" score --ref ref --smooth-value 0.5 ref
says "smooth-value is of --smooth floor and add-k, and this is --smooth exp" err
expect 0 "$regimen" score --help
says '--case-sensitive' out

# A line of a megabyte, and of one word: seconds, not hours.
python3 -c 'print("a b c d e f g h " * 65536); print("x" * (1 << 20))' >long
python3 -c 'print("b a c d e f g i " * 65536); print("y" * (1 << 20))' >long_ref
expect 0 timeout 120 "$regimen" score --ref long_ref long
says '^TER' out
finish
