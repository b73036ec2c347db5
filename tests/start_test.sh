#!/bin/sh
# docs/graph_tasks_start.md as a new user follows it: its files, then its commands in their order, each as it is written.
. "$(dirname "$0")/lib.sh"
repo=$PWD
cd "$work" || exit 1
ln -s "$repo/tests" tests
ln -s "$repo/include" include
ln -s "$RGM_BUILD" build
mkdir shop

# Each block of a file begins with a comment that names it.
awk '/^```(pbtxt|yaml|c)$/ { block = 1; next } /^```/ { block = 0; file = "" }
     block && file == "" { file = $2; sub(/:$/, "", file) }
     block { print > file }' "$repo/docs/graph_tasks_start.md"
awk '/^```/ { console = $0 == "```console" } console && sub(/^\$ /, "")' "$repo/docs/graph_tasks_start.md" >commands
[ "$(wc -l <commands)" -ge 14 ] || fail "only $(wc -l <commands) commands were found on the page"
while read -r line; do
    expect 0 sh -c "$line" </dev/null
    cat err out >>told
done <commands

# What the page shows of it.
says '^data     1 graphs in shop/data; split 360 / 120 / 120 of customer$' told
says '^items    360 train, 120 valid, 120 test of 900 customer; 300 in no part$' told
says '^leaves   product.title .*bought.amount' told
says 'model.onnx  verified on 120 items' told
says '^item 0 of test, node 8: class' told
awk '/^test / { for (i = 1; i < NF; i++) if ($i == "accuracy") good = $(i + 1) > 0.8 }
     END { exit !good }' told || fail "the test accuracy is no more than 0.8: $(grep '^test ' told)"
[ "$(wc -l <shop/predictions.csv)" = 121 ] || fail "not every test customer is in predictions.csv"
for file in why.svg states.npy run/export/signature.json; do
    [ -s "shop/$file" ] || fail "shop/$file is missing"
done

# The served answer is that of predict.
expect 0 shop/serve shop/data shop/run/export 8
served=$(awk '{ best = 1; for (i = 2; i <= 3; i++) if ($i > $best) best = i; print best - 1 }' out)
[ "$served" = "$(sed -n 2p shop/predictions.csv | cut -d, -f3)" ] ||
    fail "customer 8 is of class $served where it is served, predict says: $(sed -n 2p shop/predictions.csv)"

# What a new user tries first, and what is said of it.
expect 0 build/regimen predict shop/run/export --input 'shop/data/*.tfrecord'
[ "$(wc -l <out)" = 901 ] || fail "not all 900 customers are predicted for: $(wc -l <out) lines"
expect 1 build/regimen data import csv shop/schema.pbtxt --to shop/other
says "customer.csv:[0-9]+:[0-9]+: an empty field .*name 'age' among the labels \(--label\)" err
expect 1 build/regimen data import csv shop/customer.csv --to shop/other
says "the tables' schema: shop/customer.csv:1:" err
mv shop/split shop/lists
expect 0 build/regimen data import csv shop/schema.pbtxt --to shop/whole --label label --label age
expect 1 build/regimen config check shop/shop.yaml --data --set data.path=shop/whole
says 'no training part: list it in split/NAME/train.csv beside what is imported, or let trainer.folds' err
expect 0 build/regimen run shop/shop.yaml --run-dir shop/fold --set data.path=shop/whole --set trainer.epochs=2 \
    --set trainer.folds=3 --set trainer.fold=1 --set trainer.fold_valid=0.2
says '^items    320 train, 80 valid, 200 test of 901 customer; 301 in no part$' err
mv shop/lists shop/split
awk -F, -v OFS=, 'NR > 1 { $2 = "" } 1' shop/product.csv >product.csv
cp product.csv shop/product.csv
expect 0 build/regimen data import csv shop/schema.pbtxt --to shop/holes --label label --label age --label price
expect 1 build/regimen config check shop/shop.yaml --data --set data.path=shop/holes --set model.input.standardize=[]
says "node set 'product': feature 'price': item 0 is nan, which no model can read: fill it in" err
finish
