#!/bin/sh
# scripts/data_sets.py on downloads as small as can be, and what the command reads of what it wrote.
. "$(dirname "$0")/lib.sh"
mkdir "$work/digits" "$work/mutag" "$work/cora"
awk 'BEGIN { srand(3); for (i = 0; i < 60; i++) { for (k = 0; k < 64; k++) printf "%d,", 17 * rand(); print i % 10 } }' \
    | tee "$work/digits/optdigits.tra" >"$work/digits/optdigits.tes"
expect 0 python3 scripts/data_sets.py digits "$work/digits" "$work/data/digits"
expect 0 "$regimen" config check digits_mlp --data --set data.path="$work/data/digits"
expect 1 python3 scripts/data_sets.py digits "$work/digits" "$work/data/digits"
says 'is there already, and stays as it is' "$work/err"
echo 1,2 >>"$work/digits/optdigits.tes"
expect 1 python3 scripts/data_sets.py digits "$work/digits" "$work/data/other"
says 'a line has not 65 numbers: 1,2' "$work/err"

# Twenty molecules of three atoms in a row.
awk -v to="$work/mutag/MUTAG_" 'BEGIN {
    for (g = 0; g < 20; g++) {
        for (i = 1; i < 4; i++) { print g + 1 > (to "graph_indicator.txt"); print (g + i) % 7 > (to "node_labels.txt") }
        for (i = 1; i < 3; i++) {
            a = 3 * g + i
            print a ", " a + 1 > (to "A.txt"); print a + 1 ", " a > (to "A.txt")
        }
        print g % 2 ? 1 : -1 > (to "graph_labels.txt")
    } }'
mkdir "$work/mutag/10fold_idx"
for fold in 1 2; do
    seq $((10 * fold - 10)) $((10 * fold - 1)) >"$work/mutag/10fold_idx/test_idx-$fold.txt"
    seq $((20 - 10 * fold)) $((29 - 10 * fold)) >"$work/mutag/10fold_idx/train_idx-$fold.txt"
done
expect 0 python3 scripts/data_sets.py mutag "$work/mutag" "$work/data/mutag"
expect 0 "$regimen" data import ogb "$work/data/mutag" --to "$work/imported" --split fold-2
says '^data     20 graphs .*; split 10 / 0 / 10 of graphs$' "$work/err"
expect 0 "$regimen" data stats "$work/imported"
says 'nodes' "$work/out"
expect 0 "$regimen" config check mutag --data --set data.path="$work/data/mutag" --set trainer.folds=2 --set trainer.fold=1

# A pickle may name any function; none is called.
printf 'cos\nsystem\n(S"touch %s/called"\ntR.' "$work" >"$work/cora/ind.cora.y"
expect 1 python3 scripts/data_sets.py cora "$work/cora" "$work/data/cora"
says 'os.system is in the file, which only arrays should be|posix.system' "$work/err"
[ ! -e "$work/called" ] || fail "a pickle was run"
[ ! -e "$work/data/cora" ] || fail "half a data set was left"
finish
