#!/bin/sh
# CSV files of a small shop, the same ones everywhere, for docs/graph_tasks_start.md: customers and products, what was
# bought and rated. Every third customer has no label, every tenth no age; half of what the others buy is of
# the kind that their label says.
# usage: shop.sh FOLDER
set -e
mkdir -p "$1/split/known/customer"
awk -v OFS=, -v to="$1" '
function rnd(n) { state = state * 16807 % 2147483647; return int(state * n / 2147483647) }
BEGIN {
    state = 7
    products = to "/product.csv"; customers = to "/customer.csv"
    bought = to "/bought.csv"; rated = to "/rated.csv"
    print "id,price,kind,title" > products
    for (p = 0; p < 200; p++)
        print "p" p, (500 + rnd(4000)) / 100, 100 + p % 4, "\"no. " p ", as new\"" > products
    print "id,age,region,label" > customers
    print "source,target,amount" > bought
    print "source,target,stars" > rated
    for (c = 0; c < 900; c++) {
        label = rnd(3)
        age = rnd(10) ? 20 + 8 * label + rnd(30) : ""
        print "c" c, age, 1 + rnd(4), c % 3 ? label : "" > customers
        part = c % 10 < 6 ? "train" : c % 10 < 8 ? "valid" : "test"
        if (c % 3)
            print "c" c > (to "/split/known/customer/" part ".csv")
        for (b = 0; b < 5; b++) {
            p = 4 * rnd(50) + (rnd(2) ? label : rnd(4))
            print "c" c, "p" p, 1 + rnd(3) > bought
            if (rnd(5) < 2)
                print "c" c, "p" p, 1 + rnd(5) > rated
        }
    }
}'
