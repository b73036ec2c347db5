#!/bin/sh
# New graphs are scored in one line, by a run and by its export, without the data that it was trained on, without labels
# and without a split: CSV tables, folders of Examples, graph files, OGB folders, records; nodes, edges, graphs, pairs.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
fast_work
cd "$work" || exit 1

# both PATH WHAT [OPTIONS]: RUN and RUN/export score it, with the same bytes, which are left in out.
both() {
    run=$1
    input=$2
    shift 2
    expect 0 "$regimen" predict "$run" --input "$input" "$@"
    cp out of_run
    cp err told
    expect 0 "$regimen" predict "$run/export" --input "$input" "$@"
    cmp -s out of_run || fail "$run and its export score $input otherwise"
    cmp -s err told || fail "$run and its export tell otherwise of $input"
}

# refused PATTERN PATH [OPTIONS]: the run and its export say so.
refused() {
    pattern=$1
    input=$2
    shift 2
    for who in shop/run shop/run/export; do
        expect 1 "$regimen" predict $who --input "$input" "$@"
        says "$pattern" err
    done
}

# scores FILE: id and scores, without the item's number.
scores() { cut -d, -f2- "$1"; }

# ---- nodes of CSV tables ----
sh "$here/shop.sh" shop
cat >shop/schema.pbtxt <<'PBTXT'
node_sets { key: "customer" value {
  metadata { filename: "customer.csv" }
  features { key: "age" value { dtype: DT_INT64 } }
  features { key: "region" value { dtype: DT_INT64 } }
  features { key: "label" value { dtype: DT_INT64 } } } }
node_sets { key: "product" value {
  metadata { filename: "product.csv" }
  features { key: "price" value { dtype: DT_FLOAT } }
  features { key: "kind" value { dtype: DT_INT64 } }
  features { key: "title" value { dtype: DT_STRING } } } }
edge_sets { key: "bought" value { source: "customer" target: "product"
  metadata { filename: "bought.csv" }
  features { key: "amount" value { dtype: DT_INT64 } } } }
edge_sets { key: "rated" value { source: "customer" target: "product"
  metadata { filename: "rated.csv" }
  features { key: "stars" value { dtype: DT_FLOAT } } } }
PBTXT
cat >shop.yaml <<'YAML'
data: {type: folder, path: shop/data}
task: {type: node_classification, node_set: customer, class_names: [rare, "now, and then", often]}
model:
  type: vanilla_mpnn
  units: 8
  message_dim: 8
  receiver: both
  input: {boundaries: {age: [0, 30, 40, 50]}, vocabulary: {region: 1, kind: 1, title: 1}, standardize: [price]}
  edge_feature: stars
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 12}
export: [{type: predictor}]
YAML
expect 0 "$regimen" data import csv shop/schema.pbtxt --to shop/data --label label --label age
expect 0 "$regimen" run shop.yaml --run-dir shop/run
expect 0 "$regimen" predict shop/run
cp out own
mv shop/data data # a run needs its training data no more
mkdir new
cp shop/*.csv shop/schema.pbtxt new
both shop/run new
says '^item,node,prediction,logit_0,logit_1,logit_2,class,probability$' out
[ "$(wc -l <out)" = 901 ] || fail "$(wc -l <out) lines for 900 customers"
grep -q unseen err && fail "what the run has seen is told as new: $(cat err)"
cp out first
# The run's own predictions of the same customers, by their ids.
tail -n +2 own | cut -d, -f2- | sed 's/^/c/' | sort >expected
tail -n +2 first | cut -d, -f2- | sort >all
[ "$(comm -23 expected all | wc -l)" = 0 ] || fail "other scores than the run's own of $(comm -23 expected all | wc -l) customers"

# Labels are used for nothing: without their column, with others, and with text in their place.
cut -d, -f1-3 shop/customer.csv >new/customer.csv
cut -d, -f1-2 shop/bought.csv >new/bought.csv # which the model does not read
both shop/run new/schema.pbtxt
cmp -s out first || fail "without labels: other predictions"
sed 's/,[012]*$/,7/' shop/customer.csv | sed '1s/7$/label/' >new/customer.csv
both shop/run new
cmp -s out first || fail "with other labels: other predictions"
cp -r shop/split new/split && cp -r new/split/known new/split/other
both shop/run new
cmp -s out first || fail "beside two splits: other predictions"

# Ids are what the tables say, in their order: with commas, quotes, spaces, of another script, and gaps between numbers.
# Several components, customers without any edge, values that training has not seen.
mkdir odd
cp shop/schema.pbtxt odd
cat >odd/customer.csv <<'CSV'
id,region,age
"Meier, Anna",1,33
"the ""old"" one",9,
Жанна,2,51
17,9,20
1000000,77,64
CSV
cat >odd/product.csv <<'CSV'
title,kind,price,id
new,100,3.5,17
"no. 0, as new",104,20,lamp
CSV
printf 'source,target\n"Meier, Anna",17\n"the ""old"" one",lamp\n17,lamp\n' >odd/bought.csv
printf 'source,target,stars\nЖанна,lamp,4\n' >odd/rated.csv
both shop/run odd
cut -d, -f1,2,3 out >ids
cat >wanted <<'CSV'
item,node,prediction
0,"Meier, Anna"
1,"the ""old"" one"
2,Жанна
3,17
4,1000000
CSV
while read -r line; do grep -q "^$line" out || fail "no line begins with $line"; done <wanted
says '^unseen +customer.region 3 of 5 values, the first 9; product.kind 1 of 2 values, the first 104; product.title 1 of 2 values, the first "new"$' err
# Only some of them, in the order in which they are asked for.
printf 'why,id\nx,17\ny,"Meier, Anna"\n' >some.csv
scores out | grep '^17,' >expected
scores out | grep '^"Meier, Anna",' >>expected
both shop/run odd --items some.csv
scores out | tail -n +2 >got
cmp -s got expected || fail "items that are named are scored otherwise"

# What does not fit is told with file, column and what was expected.
printf 'id\nc8\nc1999\n' >some.csv
refused "^regimen: some.csv:3: 'c1999' is no id of node set 'customer'" new --items some.csv
printf 'node\nc8\n' >some.csv
refused "^regimen: some.csv: there is no column 'id'" new --items some.csv
printf 'id\n' >some.csv
refused '^regimen: some.csv: no items' new --items some.csv
changed() {
    rm -rf bad
    cp -r new bad
}
changed
cut -d, -f1,2 shop/customer.csv >bad/customer.csv
refused "^regimen: bad/customer.csv: no column 'region' for node set 'customer', which the model reads: one integer an item was expected" bad
changed
sed -i '/"region"/d' bad/schema.pbtxt
refused "^regimen: bad/customer.csv: no column 'region' for node set 'customer'" bad/schema.pbtxt
changed
sed -i 's/"price" value { dtype: DT_FLOAT }/"price" value { dtype: DT_FLOAT shape { dim { size: 2 } } }/' bad/schema.pbtxt
sed -i '1s/price/price.0/' bad/product.csv
refused "^regimen: bad/product.csv: there is no column 'price.1'" bad
awk -F, -v OFS=, '{ print $1, $2, $3, (NR > 1 ? 1 : "price.1") }' bad/product.csv >product.csv
mv product.csv bad
refused "^regimen: bad: node set 'product': feature 'price' is 2 floats an item, but the model was trained with one float" bad
changed
sed -i 's/"kind" value { dtype: DT_INT64 }/"kind" value { dtype: DT_STRING }/' bad/schema.pbtxt
refused "^regimen: bad: node set 'product': feature 'kind' is one text an item, but the model was trained with one integer" bad
changed
sed -i '3s/,[0-9.]*,/,,/' bad/product.csv
refused "^regimen: bad: node set 'product': feature 'price': item 1 is nan" bad
changed
echo c5,p3, >>bad/rated.csv # which the model reads as it is
refused "^regimen: bad: edge set 'rated': feature 'stars': item [0-9]+ is nan" bad
changed
sed -i '3s/^p1/p0/' bad/product.csv
refused "^regimen: bad/product.csv:3: id 'p0' is also row 0 of node set 'product'" bad
changed
echo c5,p777 >>bad/bought.csv
refused "^regimen: bad/bought.csv:4502: .*target 'p777' is no id of node set 'product'" bad
changed
sed -i 's/key: "rated"/key: "ratings"/' bad/schema.pbtxt
refused "^regimen: bad: no edge set 'rated', which the model was trained with" bad
changed
sed -i 's/"rated" value { source: "customer" target: "product"/"rated" value { source: "product" target: "customer"/' bad/schema.pbtxt
sed -i '1s/.*/target,source,stars/' bad/rated.csv
refused "edge set 'rated' goes from 'product' to 'customer', but the model was trained with 'customer' to 'product'" bad
mkdir nothing
refused '^regimen: nothing: neither a schema.pbtxt' nothing
refused "^regimen: no file matches 'nowhere'" nowhere
expect 2 "$regimen" predict shop/run --items some.csv
says 'of the data that --input names' err

# ---- other forms of the same graph ----
both shop/run data
sed 's/^\([0-9]*\),c/\1,/' first >numbered
cmp -s out numbered || fail "a folder of Examples: other predictions than of its tables"
both shop/run 'data/*.tfrecord'
cmp -s out numbered || fail "records: other predictions than of their folder"
expect 0 "$regimen" data import folder data --to graph.file --format graph
both shop/run graph.file
cmp -s out numbered || fail "a graph file: other predictions than of the folder"
# A feature named id says what items are called, a text or an integer.
sed 's/features { key: "age"/features { key: "id" value { dtype: DT_STRING } }\n  &/' shop/schema.pbtxt >new/schema.pbtxt
cp shop/*.csv new
rm -r new/split
expect 0 "$regimen" data import csv new/schema.pbtxt --to named --label label --label age
both shop/run named
cmp -s out first || fail "ids of a folder are not told"
sed 's/"id" value { dtype: DT_STRING }/"id" value { dtype: DT_INT64 }/' new/schema.pbtxt >new/s.pbtxt
for table in customer bought rated; do sed 's/^c\([0-9]\)/7\1/' shop/$table.csv >new/$table.csv; done
expect 0 "$regimen" data import csv new/s.pbtxt --to named7 --label label --label age
both shop/run named7
sed 's/^\([0-9]*\),c/\1,7/' first >sevens
cmp -s out sevens || fail "integer ids of a folder are not told"
# The run's own data are still there for --part.
expect 0 "$regimen" predict shop/run --set data.path=data
cmp -s out own || fail "the run's own part: other predictions"
# A run of before kept no schema, and learns it from its data.
mv shop/run/schema.pbtxt kept.pbtxt
refused_before=$("$regimen" predict shop/run --input new/s.pbtxt 2>&1 >/dev/null)
case $refused_before in *shop/data*) ;; *) fail "without a schema: $refused_before" ;; esac
expect 0 "$regimen" predict shop/run --input new/s.pbtxt --set data.path=data
cmp -s out sevens || fail "without a schema in its folder: other predictions"
mv kept.pbtxt shop/run/schema.pbtxt
# ---- edges ----
cp shop/*.csv shop/schema.pbtxt new
cat >edges.yaml <<'YAML'
data: {type: folder, path: data, edge_split: {valid: 0.1, test: 0.1}}
task: {type: edge_regression, edge_set: rated, label: stars, hidden: [8]}
model: {type: vanilla_mpnn, units: 8, message_dim: 8, receiver: both, input: {vocabulary: {region: 1, kind: 1}, standardize: [price]}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 3}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run edges.yaml --run-dir edges
expect 0 "$regimen" predict edges --part test
cp out own
mv data gone
cut -d, -f1,2 shop/rated.csv >new/rated.csv
both edges new
says '^item,source,target,prediction$' out
# Each edge in the order of its table, and the run's own among them.
cut -d, -f2,3 out | tail -n +2 >got
tail -n +2 shop/rated.csv | cut -d, -f1,2 >expected
cmp -s got expected || fail "edges are not told by source and target in their order"
tail -n +2 own | sed 's/^\([0-9]*\),\([0-9]*\),\([0-9]*\),/\1,c\2,p\3,/' | sort >expected
tail -n +2 out | sort >all
[ "$(comm -23 expected all | wc -l)" = 0 ] || fail "other scores than the run's own of edges"
both edges odd
says '^0,Жанна,lamp,' out
[ "$(wc -l <out)" = 2 ] || fail "not one rated edge: $(cat out)"
printf 'source,target\nc0,p176\n' >some.csv
expect 1 "$regimen" predict edges --input new --items some.csv
says "^regimen: some.csv: the task 'edge_regression' is of every edge or graph of the data" err

# ---- pairs ----
cat >links.yaml <<'YAML'
data: {type: folder, path: gone, links: {edge_sets: [bought], valid: 0.1, test: 0.1}}
task: {type: link_prediction, head: mlp, hidden: 8}
model: {type: vanilla_mpnn, units: 8, message_dim: 8, receiver: both, input: {vocabulary: {region: 1, kind: 1}, standardize: [price]}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 20}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run links.yaml --run-dir links
mv gone data
printf 'target,when,source\np1,1,c5\np2,2,c7\np1,1,c5\n' >pairs.csv
both links new --items pairs.csv
says '^item,source,target,prediction,probability,logit_0$' out
says '^0,c5,p1,' out
says '^1,c7,p2,' out
sed -n 2p out | cut -d, -f2- >first_pair
sed -n 4p out | cut -d, -f2- | cmp -s - first_pair || fail "the same pair has two scores"
[ "$(sed 1d out | cut -d, -f6 | sort -u | wc -l)" = 2 ] || fail "all pairs have one score: $(cat out)"
printf 'source,target\nc7,p2\n' >pairs.csv
grep '^1,' out | cut -d, -f2- >expected
both links new --items pairs.csv
sed 1d out | cut -d, -f2- | cmp -s - expected || fail "a pair's score depends on the others that are asked about"
printf 'source,target\n17,lamp\n1000000,17\n' >pairs.csv
both links odd --items pairs.csv
says '^1,1000000,17,[01],' out
expect 1 "$regimen" predict links --input new
says '^regimen: new names no pairs of nodes: --items FILE does, a CSV file with the columns source and target' err
printf 'source,target\nc7,c2\n' >pairs.csv
expect 1 "$regimen" predict links/export --input new --items pairs.csv
says "^regimen: pairs.csv:2: 'c2' is no id of node set 'product'" err

# ---- one number a node, an order ----
for kind in node_regression node_ranking; do
    sed "s/node_classification, node_set: customer.*/$kind, node_set: customer}/; s/shop\/data/data/; s/epochs: 12/epochs: 2/" shop.yaml >$kind.yaml
    expect 0 "$regimen" run $kind.yaml --run-dir $kind
    expect 0 "$regimen" predict $kind
    sed 1d out | cut -d, -f2- | sed 's/^/c/' | sort >expected
    both $kind shop/schema.pbtxt
    says '^item,node,prediction$' out
    sed 1d out | cut -d, -f2- | sort >all
    [ "$(comm -23 expected all | wc -l)" = 0 ] || fail "$kind: other scores than the run's own"
done

# ---- states without labels ----
cat >states.yaml <<'YAML'
data: {type: folder, path: data}
task: {type: deep_graph_infomax, node_set: customer}
model: {type: vanilla_mpnn, units: 4, message_dim: 8, receiver: both, input: {vocabulary: {region: 1, kind: 1}, standardize: [price]}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run states.yaml --run-dir states
expect 0 "$regimen" predict states
cut -d, -f3- out >expected
mv data gone
both states shop/schema.pbtxt
says '^item,node,prediction_0,prediction_1,prediction_2,prediction_3$' out
says '^899,c899,' out
cut -d, -f3- out | cmp -s - expected || fail "states: other than the run's own"
mv gone data

# ---- whole graphs ----
mkdir -p mol/raw mol/split/a
awk -v OFS=, 'BEGIN { srand(3); for (g = 0; g < 60; g++) { n = 4 + int(rand() * 5); y = g % 2
    for (i = 0; i < n; i++) print int(rand() * 3) + y, 6 > "mol/raw/node-feat.csv"
    for (i = 1; i < n; i++) { print i - 1, i > "mol/raw/edge.csv"; print y + 1 > "mol/raw/edge-feat.csv" }
    print n > "mol/raw/num-node-list.csv"; print n - 1 > "mol/raw/num-edge-list.csv"; print y > "mol/raw/graph-label.csv"
    print g > (g < 40 ? "mol/split/a/train.csv" : g < 50 ? "mol/split/a/valid.csv" : "mol/split/a/test.csv") } }'
cat >mol.yaml <<'YAML'
data: {type: ogb, path: mol, batch_size: 8}
task: {type: graph_classification, node_set: nodes, class_names: [inert, active]}
model: {type: gin, input: {vocabulary: {feat: 1}}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 4}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run mol.yaml --run-dir molecules
expect 0 "$regimen" predict molecules --part test
cut -d, -f3- out >expected
cp -r mol fresh
rm -r fresh/split fresh/raw/graph-label.csv
mv mol mol_gone
both molecules fresh
[ "$(wc -l <out)" = 61 ] || fail "$(wc -l <out) lines for 60 graphs"
(sed -n 1p out && tail -n 10 out) | cut -d, -f3- | cmp -s - expected || fail "graphs: other scores than the run's own"
sed -i '1s/.*/7,6/' fresh/raw/node-feat.csv
both molecules fresh
says '^unseen +nodes.feat 1 of [0-9]+ values, the first 7$' err
sed -i 's/$/,1/' fresh/raw/node-feat.csv
expect 1 "$regimen" predict molecules --input fresh
says "^regimen: fresh/raw: node set 'nodes': feature 'feat' is 3 integers an item, but the model was trained with 2 integers" err
# What a file of numbers looks like by chance is not what it is: the run says.
sed -i '1s/^7,/6.5,/; s/,1$//' fresh/raw/node-feat.csv
expect 1 "$regimen" predict molecules --input fresh
says "feature 'feat' is 2 floats an item, but the model was trained with 2 integers" err
rm fresh/raw/node-feat.csv
expect 1 "$regimen" predict molecules/export --input fresh
says "^regimen: fresh/raw: no feature 'feat' for node set 'nodes', which the model reads: 2 integers an item was expected" err
mv mol_gone mol

# A homogeneous OGB folder whose numbers are floats, or rows of 0 and 1, in training.
for form in sparse dense; do
    mkdir -p $form/raw $form/split/a
    awk -v OFS=, -v form=$form 'BEGIN { srand(4); n = 80; raw = form "/raw/"
        for (i = 0; i < n; i++) { y = i % 2; row = ""
            for (k = 0; k < 20; k++) row = row (k ? "," : "") (form == "sparse" ? (int(rand() * 20) < 1 + 2 * (k % 2 == y)) : rand() + (k % 2 == y))
            print row > (raw "node-feat.csv"); print y > (raw "node-label.csv"); print i, (i + 2) % n > (raw "edge.csv")
            print i > (form "/split/a/" (i < 50 ? "train" : i < 60 ? "valid" : "test") ".csv") }
        print n > (raw "num-node-list.csv"); print n > (raw "num-edge-list.csv") }'
    sed -i "/data:/s/.*/data: {type: ogb, path: $form, undirected: false}/; /task:/s/.*/task: {type: node_classification, node_set: nodes, num_classes: 2}/; s/model: .*/model: {type: gcn, hidden: [8], output: 8}/" mol.yaml
    expect 0 "$regimen" run mol.yaml --run-dir $form.run
    expect 0 "$regimen" predict $form.run
    cut -d, -f3- out >expected
    cp -r $form fresh_$form
    rm -r fresh_$form/split fresh_$form/raw/node-label.csv
    mv $form ${form}_gone
    both $form.run fresh_$form
    [ "$(wc -l <out)" = 81 ] || fail "$form: $(wc -l <out) lines for 80 nodes"
    (sed -n 1p out && tail -n 20 out) | cut -d, -f3- | cmp -s - expected || fail "$form: other scores than the run's own"
    awk -F, -v OFS=, -v form=$form '{ for (k = 1; k <= 20; k++) $k = form == "sparse" ? 1 : NR + k; print }' fresh_$form/raw/node-feat.csv >numbers
    mv numbers fresh_$form/raw/node-feat.csv
    both $form.run fresh_$form
    [ "$(wc -l <out)" = 81 ] || fail "$form: numbers of another form: $(wc -l <out) lines for 80 nodes"
    rm -r fresh_$form
done

# Rows of 0 and 1 beside numbers: each set of a new folder becomes what it became for the run.
cp -r sparse_gone mixed
awk -v OFS=, 'BEGIN { for (i = 0; i < 80; i++) print i % 3, i % 2, 4 }' >mixed/raw/edge-feat.csv
sed '/data:/s/path: dense/path: mixed/' mol.yaml >mixed.yaml
expect 0 "$regimen" run mixed.yaml --run-dir mixed.run
cp -r mixed fresh_mixed
rm -r fresh_mixed/split fresh_mixed/raw/node-label.csv
sed 's/0/1/g' mixed/raw/node-feat.csv >fresh_mixed/raw/node-feat.csv
awk 'BEGIN { for (i = 0; i < 80; i++) print "0,0,0" }' >fresh_mixed/raw/edge-feat.csv
both mixed.run fresh_mixed
[ "$(wc -l <out)" = 81 ] || fail "both forms: $(wc -l <out) lines for 80 nodes"

# A folder of data keeps how an OGB folder's edges were read: new ones are read likewise.
expect 0 "$regimen" data import ogb dense_gone --directed --to imported
sed '/data:/s/.*/data: {type: folder, path: imported}/' mol.yaml >imported.yaml
expect 0 "$regimen" run imported.yaml --run-dir imported.run
both imported.run imported
cp out expected
both imported.run dense_gone
cmp -s out expected || fail "an OGB folder is read with reversed edges, which its import left out"

# Edges of an OGB graph that has no split: states of its nodes, which nobody asks about; no folds.
cp -r dense_gone edged
rm -r edged/split
awk 'BEGIN { for (i = 0; i < 80; i++) print i % 2 }' >edged/raw/edge-label.csv
cat >edged.yaml <<'YAML'
data: {type: ogb, path: edged, edge_split: {valid: 0.2, test: 0.2}}
task: {type: edge_classification, edge_set: edges, num_classes: 2}
model: {type: gcn, hidden: [8], output: 8}
trainer: {epochs: 2}
YAML
expect 0 "$regimen" run edged.yaml --run-dir edged.run
expect 0 "$regimen" predict edged.run --embeddings
[ "$(wc -l <out)" = 81 ] || fail "$(wc -l <out) lines of states for 80 nodes"
expect 2 "$regimen" config check edged.yaml --set trainer.folds=5
says 'edges are not split into folds; runtime.seeds repeats a run' err

# ---- runs that were trained on samples ----
# Subgraphs are drawn of a new graph as they were of the run's: with its numbers and seed the scores are the same ones.
expect 0 "$regimen" data generate citation --to whole --nodes 400 --edges 900 --classes 4 --words 200 --words-per-node 8 \
    --train-per-class 10 --valid 100 --test 200
cat >sampled.yaml <<'YAML'
data: {type: folder, path: whole, batch_size: 16}
task: {type: node_classification, node_set: nodes, num_classes: 4}
model: {type: vanilla_mpnn, units: 8, message_dim: 8}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
export: [{type: predictor}]
YAML
for sampling in '{sizes: [3, 2]}' '{sizes: [100, 100], store: memory, once: true}' '{type: shadow}' '{type: random_walk}' \
    '{type: saint}' '{type: cluster, cluster: {parts: 20}}'; do
    rm -rf sampled
    expect 0 "$regimen" run sampled.yaml --run-dir sampled --set "data.sampling=$sampling"
    expect 0 "$regimen" predict sampled
    cp out expected
    (echo id && sed 1d out | cut -d, -f2) >some.csv
    mv whole elsewhere
    both sampled elsewhere --items some.csv
    cmp -s out expected || fail "$sampling: other scores than the run's own"
    both sampled elsewhere
    [ "$(wc -l <out)" = 401 ] || fail "$sampling: $(wc -l <out) lines for 400 nodes"
    case $sampling in
    *saint* | *cluster*) says '^whole +all neighbours of a node were read; training drew some of them$' err ;;
    *) says '^sampled +subgraphs were drawn around what is asked about, as in training$' err ;;
    esac
    printf 'id\n17\n3\n' >some.csv
    both sampled elsewhere --items some.csv
    [ "$(sed 1d out | cut -d, -f2 | sort -n | tr '\n' ' ')" = '3 17 ' ] || fail "$sampling: other items than those asked about"
    mv elsewhere whole
done
# What training drew a graph by is not asked of one that is read whole: one of fewer nodes than clusters.
expect 0 "$regimen" data generate citation --to few --nodes 12 --edges 8 --classes 4 --words 200 --words-per-node 8 \
    --train-per-class 1 --valid 2 --test 2
for sampling in '{type: cluster, cluster: {parts: 20}}' '{type: saint, saint: {draw: edge, budget: 50}}'; do
    rm -rf sampled
    expect 0 "$regimen" run sampled.yaml --run-dir sampled --set "data.sampling=$sampling"
    both sampled few
    [ "$(wc -l <out)" = 13 ] || fail "$sampling: $(wc -l <out) lines for 12 nodes"
    grep -q 'clusters:' err && fail "$sampling: cut again: $(cat err)"
done
# One sample that was drawn before asks about its own node, like several.
echo 17 >one
expect 0 "$regimen" data sample whole --to one_drawn --seeds one --hops edges:4,edges:4
expect 0 "$regimen" run sampled.yaml --run-dir sampled_one --set 'data.sampling={sizes: [3, 2], store: memory}'
both sampled_one one_drawn
[ "$(sed 1d out | cut -d, -f1,2)" = 0,17 ] || fail "one sample is asked about other nodes than its own: $(cat out)"
cat >graphspec.txt <<'SPEC'
seed_op { op_name: "seed" node_set_name: "nodes" }
sampling_ops { op_name: "hop" input_op_names: "seed" edge_set_name: "edges" sample_size: 4 strategy: RANDOM_UNIFORM }
SPEC
rm -rf sampled
expect 0 "$regimen" run sampled.yaml --run-dir sampled --set 'data.sampling={spec: graphspec.txt, store: memory}'
rm graphspec.txt # an export has what the file said
mv whole elsewhere
expect 0 "$regimen" predict sampled/export --input elsewhere
cp out by_export
expect 1 "$regimen" predict sampled --input elsewhere
says 'graphspec.txt' err
mv elsewhere whole
# Around links nothing is drawn, which is told.
sed -i 's/^task: .*/task: {type: link_prediction, head: dot}/; s/batch_size: 16/links: {batch_size: 16, undirected: true}/' sampled.yaml
expect 0 "$regimen" run sampled.yaml --run-dir sampled_links --set 'data.sampling={sizes: [3], store: memory}'
printf 'source,target\n17,3\n' >pairs.csv
mv whole elsewhere
both sampled_links elsewhere --items pairs.csv
says '^whole +all neighbours of a node were read; training drew some of them$' err

# Examples that were drawn before the run: of those nobody knows how, and a whole graph is told to be one.
expect 0 "$regimen" data sample elsewhere --to asked --hops edges:5,edges:5 --label label
cat >records.yaml <<'YAML'
data: {type: records, schema: asked/schema.pbtxt, train: "asked/train-*.tfrecord", batch_size: 8}
task: {type: root_node_classification, node_set: nodes, num_classes: 4}
model: {type: vanilla_mpnn, units: 8, message_dim: 8}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 2}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run records.yaml --run-dir records
for hops in edges:5 '<edges:5'; do
    rm -rf drawn
    expect 0 "$regimen" data sample elsewhere --to drawn --hops "$hops" --label label
    expect 0 "$regimen" config check records.yaml --data --set data.schema=drawn/schema.pbtxt --set "data.train=drawn/train-*.tfrecord"
    if [ "$hops" = edges:5 ]; then
        says "the first example was drawn from the source of edges, where 'nodes' has [0-9]+, but model.receiver is target, where it has 0" err
    else
        grep 'hears little' err && fail "what is drawn for the model's end is told as unheard"
    fi
done
both records 'asked/test-*.tfrecord'
[ "$(wc -l <out)" = 201 ] || fail "records: $(wc -l <out) lines for 200 roots"
[ ! -s err ] || fail "records: $(cat err)"
cp out expected
both records asked
sed 1d expected | cut -d, -f2- | sort >wanted
sed 1d out | cut -d, -f2- | sort | comm -23 wanted - | grep -q . && fail "a folder of records: other scores than of its files"
both records elsewhere
[ "$(wc -l <out)" = 401 ] || fail "records: $(wc -l <out) lines for 400 nodes"
says '^whole +all neighbours' err
sed -i 's/root_node_classification/node_classification/' records.yaml
expect 0 "$regimen" run records.yaml --run-dir records_of_nodes
both records_of_nodes 'asked/test-*.tfrecord'
[ "$(wc -l <out)" = 201 ] || fail "records: $(wc -l <out) lines for 200 nodes"

# Several graphs without a readout: every node of each, by its number there.
cat >two.pbtxt <<'PBTXT'
node_sets { key: "nodes" value { features { key: "words" value { dtype: DT_INT64 shape { dim { size: -1 } } source: "one_hot:200" } } } }
edge_sets { key: "edges" value { source: "nodes" target: "nodes" } }
PBTXT
expect 0 "$regimen" data generate random --schema two.pbtxt --to several --count 5
both records_of_nodes several
cut -d, -f2 out | sed 1d >numbers
awk 'NR > 1 && $1 > 0 && $1 != last + 1 { exit 1 } { last = $1; if ($1 == 0) graphs++ } END { exit graphs < 5 }' numbers ||
    fail "nodes of several graphs are not numbered in their own: $(tr '\n' ' ' <numbers)"

# ---- a knowledge graph ----
awk -v OFS='\t' 'BEGIN { for (i = 0; i < 24; i++) for (r = 0; r < 3; r++)
    print "e" i, "turn" r, "e" (i + r + 1) % 24 > ((i + r) % 6 ? "kg_train.tsv" : "kg_valid.tsv") }'
cat >kg.yaml <<'YAML'
data: {type: triples, train: [kg_train.tsv], valid: [kg_valid.tsv], links: {batch_size: 16, negatives: 4, eval_negatives: 0}}
task: {type: link_prediction, head: rotate, relation: relation, gamma: 6, loss: self_adversarial}
model: {type: vanilla_mpnn, layers: 0, units: 16, message_dim: 16, encode: false, input: {latent: 16}}
optimizer: {type: adam, learning_rate: 1e-2}
trainer: {epochs: 5}
export: [{type: predictor}]
YAML
expect 0 "$regimen" run kg.yaml --run-dir kg
expect 0 "$regimen" predict kg --part valid
sed 1d out | grep -E ',(turn[012]),' | cut -d, -f2- | sort -u >expected
expect 0 "$regimen" data import triples kg_train.tsv --valid kg_valid.tsv --to facts
(echo source,target,relation && cut -d, -f1-3 expected) >asked.csv
rm kg_train.tsv kg_valid.tsv
both kg facts --items asked.csv
sed 1d out | cut -d, -f2- | sort -u >got
cmp -s got expected || fail "a knowledge graph: other scores than the run's own"
printf 'source,target,relation\ne1,e2,turns\n' >asked.csv
expect 1 "$regimen" predict kg --input facts --items asked.csv
says "^regimen: asked.csv:2: 'turns' is no relation of the model" err
printf 'e1\tturn0\te2\ne0\tturn1\te2\n' >other.tsv
expect 0 "$regimen" data import triples other.tsv --to others
printf 'source,target,relation\ne1,e2,turn0\n' >asked.csv
expect 1 "$regimen" predict kg/export --input others --items asked.csv
says "number 0 of the entities is 'e1', but 'e0' in training \(entities.txt\)" err

finish
