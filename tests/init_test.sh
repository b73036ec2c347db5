#!/bin/sh
# `regimen init experiment` over each kind of folder: what it writes is checked, imported and trained by the commands
# that it names itself, each as it is printed.
. "$(dirname "$0")/lib.sh"
repo=$PWD
mkdir "$work/bin"
ln -s "$regimen" "$work/bin/regimen"
PATH=$work/bin:$PATH
cd "$work" || exit 1

# typed FOLDER: what the line "next" says, with a run folder.
typed() {
    sed -n 's/^next     //p' err >next
    [ -s next ] || fail "no line says what is next: $(cat err)"
    printf ' --run-dir "run %s" --set trainer.epochs=%s\n' "$1" "${2:-5}" >>next
    tr -d '\n' <next >command
    expect 0 sh -c "$(cat command)"
    cat out >>err
    says '^test ' err
}

# Tables of nodes and edges, and their lists; nobody has described them.
sh "$repo/tests/shop.sh" shop
expect 0 regimen init experiment shop
says '^wrote    shop/schema.pbtxt$' err
says 'data import csv shop/schema.pbtxt --to shop/data --label age --label label && regimen run shop/experiment.yaml$' err
cp err told
expect 1 regimen init experiment shop
says 'shop/experiment.yaml is there already, and stays as it is; another experiment: -o FILE' err
says '^#   rated: [0-9,]+ edges, customer -> product$' shop/experiment.yaml
says 'label: label   # 300 of 900 have none' shop/experiment.yaml
says 'num_classes: 3 ' shop/experiment.yaml
says 'vocabulary: {customer.region: 1, product.kind: 1}' shop/experiment.yaml
says 'boundaries: {customer.age: \[20, 2[0-9], .*\]}' shop/experiment.yaml
cp told err
expect 1 regimen run shop/experiment.yaml
says "data.path: there is no folder 'shop/data'.*, or make one by 'regimen data import'" err
expect 1 regimen data import csv shop --to shop/data
says "'shop' is a folder; name the schema in it, such as shop/schema.pbtxt" err
cp told err
typed shop 30
cp err ran
expect 1 regimen predict 'run shop' --input shop/customer.csv
says "shop/customer.csv: one table is no graph: name the folder of the tables and their schema.pbtxt" err
expect 2 regimen config check shop/experiment.yaml --data --set task.node_set=customers
says "no node set 'customers'; did you mean 'customer'" err
expect 2 regimen config check shop/experiment.yaml --data --set task.label=labl
says "no label feature 'labl' on 'customer'; did you mean 'label'" err
cp shop/schema.pbtxt before
expect 2 regimen init experiment shop --label price -o second.yaml
says 'split/known has lists of customer, but the label price is of product: put lists of it into .*split/known/product' err
expect 2 regimen config check shop/experiment.yaml --data --set task.node_set=product --set task.label=price
says "'product' has 'price', but '_readout', which says which nodes are asked about, has not" err
expect 0 regimen init experiment shop --label customer.age -o second.yaml # of the same data, with the same schema
says '^kept     shop/schema.pbtxt, which was there already$' err
says '^next     regimen run second.yaml$' err
cmp -s before shop/schema.pbtxt || fail "a schema that was there was written again"
expect 0 regimen config check second.yaml --data
expect 2 regimen predict 'run shop' -o predictions.csv
says 'go with --embeddings; predictions go to standard output: > FILE' err
cp ran err
awk '/^test / { for (i = 1; i < NF; i++) if ($i == "accuracy") good = $(i + 1) > 0.7 }
     END { exit !good }' err || fail "the test accuracy of the shop: $(grep '^test ' err)"
expect 0 regimen config check shop/experiment.yaml --data
says 'no mistakes, data included' out

# Other labels: a number, one of edges, one that is not there; none of a usual name.
rm -r shop/split shop/data shop/schema.pbtxt shop/experiment.yaml
expect 2 regimen init experiment shop --label amount
says "'amount' is a column of edges \(bought\)" err
expect 2 regimen init experiment shop --label prise
says 'no such column; there are customer.age, customer.region, customer.label, product.price' err
expect 2 regimen init experiment shop --label title
says "the label 'title' of product has texts" err
expect 0 regimen init experiment shop --label product.price -o price.yaml
says 'type: node_regression' price.yaml
says 'folds: 5   # no lists in split/' price.yaml
typed price
grep '^reads ' err | grep -q price && fail "the label is read: $(grep '^reads ' err)"
says 'mean_squared_error' err

# Cells that are empty, ends that are no nodes, wide features, names that need quotes, a table without ids, whose label
# is not meant.
mkdir 'odd data'
awk -v OFS=, 'BEGIN {
    srand(3); nodes = "odd data/my nodes.csv"; edges = "odd data/edges.csv"
    print "#id,x.0,x.1,x.2,full: part,holes,kind,Class" > nodes
    print "#source,#target,weight" > edges
    for (i = 0; i < 60; i++) {
        c = i % 2
        print "n" i, c + rand(), rand(), rand(), 10 * c + rand(), i % 7 ? rand() : "", i % 5 ? c : "", c > nodes
        for (k = 0; k < 3; k++) print "n" i, "n" (c + 2 * int(rand() * 30)), rand() > edges
    }
    print "n1", "nobody", 1 > edges
    print "label,b" > "odd data/other.csv"; print "1,2" > "odd data/other.csv" }'
expect 0 regimen init experiment 'odd data'
says '^# Left out: my nodes.holes, 9 of 60 cells are empty' 'odd data/schema.pbtxt'
says '^# Left out: other.csv, ' 'odd data/schema.pbtxt'
says 'edges, my nodes -> my nodes; of 1 rows or more an end is no node' 'odd data/experiment.yaml'
says '# edge_feature: weight ' 'odd data/experiment.yaml'
typed odd
says '^reads    my nodes.x, my nodes.full: part, my nodes.kind' err

# OGB: one graph with labels 0 and 5; words that are read as they are.
mkdir -p ogb/raw ogb/split/first ogb/split/second
awk -v OFS=, 'BEGIN {
    srand(4); print 80 > "ogb/raw/num-node-list.csv"
    for (i = 0; i < 80; i++) {
        c = i % 2
        print rand() + c, rand(), rand() - c > "ogb/raw/node-feat.csv"
        print 5 * c > "ogb/raw/node-label.csv"
        print i > ("ogb/split/first/" (i < 40 ? "train" : i < 60 ? "valid" : "test") ".csv")
        for (k = 0; k < 2; k++) { print i, c + 2 * int(rand() * 40) > "ogb/raw/edge.csv"; edges++ }
    }
    print edges > "ogb/raw/num-edge-list.csv" }'
cp ogb/split/first/* ogb/split/second
expect 0 regimen init experiment ogb
says 'split: first   # or one of 1 others below split/' ogb/experiment.yaml
says 'relabel: true' ogb/experiment.yaml
says 'num_classes: 2' ogb/experiment.yaml
says 'standardize: \[nodes.feat\]' ogb/experiment.yaml
[ ! -e ogb/schema.pbtxt ] || fail "a schema that nobody reads"
typed ogb

# OGB: graphs with labels, in folds.
mkdir -p graphs/raw graphs/split/fold-1 graphs/split/fold-2
awk -v OFS=, 'BEGIN {
    srand(5)
    for (g = 0; g < 24; g++) {
        c = g % 2; print 6 > "graphs/raw/num-node-list.csv"; print 5 > "graphs/raw/num-edge-list.csv"
        print c > "graphs/raw/graph-label.csv"
        for (i = 0; i < 6; i++) print rand() < 0.8 ? c : 2 > "graphs/raw/node-feat.csv"
        for (i = 0; i < 5; i++) print i, i + 1 > "graphs/raw/edge.csv"
        for (f = 1; f < 3; f++)
            print g > ("graphs/split/fold-" f "/" ((g < 12) == (f == 1) ? "test" : "train") ".csv")
    } }'
expect 0 regimen init experiment graphs
says 'split: fold-\*' graphs/experiment.yaml
says 'type: graph_classification' graphs/experiment.yaml
says 'vocabulary: {nodes.feat: 1}' graphs/experiment.yaml
typed graphs

# OGB: several kinds of nodes, without features.
mkdir -p kinds/raw/node-label/film kinds/raw/relations/film___by___person kinds/split/random/film
awk -v OFS=, 'BEGIN {
    srand(6); print "film,person" > "kinds/raw/num-node-dict.csv"; print "60,20" >> "kinds/raw/num-node-dict.csv"
    print "film,by,person" > "kinds/raw/triplets.csv"
    for (i = 0; i < 60; i++) {
        c = i % 3; print c > "kinds/raw/node-label/film/node-label.csv"
        print i, 3 * int(rand() * 6) + c > "kinds/raw/relations/film___by___person/edge.csv"
        print i > ("kinds/split/random/film/" (i < 40 ? "train" : "test") ".csv")
    } }'
expect 0 regimen init experiment kinds
says 'node_set: film' kinds/experiment.yaml
says 'latent: 32' kinds/experiment.yaml
says 'no validation part: the last weights are kept' kinds/experiment.yaml
typed kinds

# Records, without names of columns and with.
mkdir rows named
awk -v OFS=, 'BEGIN { srand(7); for (i = 0; i < 90; i++) {
    c = i % 3; line = rand() + c OFS 40 * rand() OFS c
    print line > ("rows/" (i < 60 ? "train" : "test") ".csv")
    if (i == 0) print "Class,height,width" > "named/all.csv"
    print c, rand() + c, rand() > "named/all.csv" } }'
expect 0 regimen init experiment rows
says 'label: last   # no header' rows/experiment.yaml
says 'train: \[train.csv\]' rows/experiment.yaml
says 'test: \[test.csv\]' rows/experiment.yaml
says '90 records of 2 numbers' rows/experiment.yaml
typed rows
expect 0 regimen init experiment named
says 'header: true' named/experiment.yaml
says 'label: "0"' named/experiment.yaml
expect 0 regimen run named/experiment.yaml --run-dir 'run named' --set trainer.epochs=3
echo '1,x,2' >>named/all.csv
expect 1 regimen init experiment named -o again.yaml
says 'all.csv: column height has texts; a record is numbers alone' err

# Records in several tables with names: the label is where the table to train on has it, and what the others have of a
# column counts for the column of that name. Only the test records have the class 3 and the 20.
mkdir order
awk -v OFS=, 'BEGIN {
    srand(8); print "label,x.0,x.1" > "order/test.csv"; print "x.0,x.1,label" > "order/train.csv"
    for (i = 0; i < 90; i++) {
        c = i % 3
        if (i < 60) print i % 10, rand() + c, c > "order/train.csv"
        else print c + (i == 89), 20, rand() + c > "order/test.csv"
    } }'
expect 0 regimen init experiment order
says '90 records of 2 numbers' order/experiment.yaml
says 'label: last$' order/experiment.yaml
says 'scale: 20 ' order/experiment.yaml
says 'num_classes: 4 ' order/experiment.yaml
typed order
expect 0 regimen init experiment order --label train.x.0 -o other.yaml
says 'label: "0" ' other.yaml
says 'num_classes: 21 ' other.yaml
expect 2 regimen init experiment order --label test.label -o none.yaml
says 'no such column; there are train.x.0, train.x.1, train.label$' err
sed -i '1s/x.0/z/' order/test.csv
expect 1 regimen init experiment order -o none.yaml
says "test.csv has no column 'x.0', which train.csv has: tables of records have the same columns" err
sed -i '1s/z/x.0/; s/$/,1/; 1s/1$/more/' order/test.csv
expect 1 regimen init experiment order -o none.yaml
says "test.csv has a column 'more', which train.csv has not: " err
sed -i 1d order/test.csv
expect 1 regimen init experiment order -o none.yaml
says 'train.csv names its columns in the first line, test.csv does not: both must' err
mv order/train.csv order/valid.csv
expect 1 regimen init experiment order -o none.yaml
says 'none of them is to train on by its name, as train.csv is' err

# A first column that is called 0, as pandas calls it; and columns that say which record it is.
mkdir pandas
printf '%s\n' 0,1,label 5,7,0 6,8,1 4,8,1 >pandas/train.csv
expect 0 regimen init experiment pandas
says 'header: true' pandas/experiment.yaml
says 'label: last$' pandas/experiment.yaml
expect 0 regimen config check pandas/experiment.yaml --data --set data.valid_fraction=0.4
for header in id,1,label ID,1,label ,1,label '#id,label,1'; do
    sed -i "1s/.*/$header/" pandas/train.csv
    expect 1 regimen init experiment pandas -o none.yaml
    says "train.csv: column '(id|ID)?' says which line it is, and of records .* take it away" err
done
[ ! -e none.yaml ] || fail "an experiment was written about tables that were refused"

# Names with line ends, quotes and escapes become neither keys nor commands nor colours.
mkdir evil
printf 'id,"y","a\nmodel: {type: gin}","\033[31mred","it'"'"'s $(touch called)"\n' >evil/nodes.csv
for i in $(seq 40); do printf 'n%s,%s,%s,%s,%s\n' "$i" $((i % 2)) "$((i % 3))" "$((i % 4))" "$([ $((i % 9)) = 0 ] || echo $((i % 5)))"; done >>evil/nodes.csv
{ echo source,target; for i in $(seq 39); do echo "n$i,n$((i + 1))"; done; } >evil/edges.csv
expect 0 regimen init experiment evil
[ "$(grep -c '^model:' evil/experiment.yaml)" = 1 ] || fail "a column's name has become a key"
grep -q "$(printf '\033')" err evil/experiment.yaml evil/schema.pbtxt && fail "an escape is printed as it is"
typed evil
says '^reads ' err
[ ! -e called ] || fail "a column's name was run"

# Nothing to look at.
mkdir none
expect 1 regimen init experiment none
says 'neither a folder raw/ .* nor a file \*.csv' err
expect 1 regimen init experiment nowhere
says "there is no folder 'nowhere'" err
[ -z "$(ls none)" ] || fail "something was written into a folder of nothing"
finish
