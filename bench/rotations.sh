#!/bin/sh
# A knowledge graph whose answers are known: entities are the numbers 0 .. 119 on a circle, relation r<k> goes k further
# round, for k = 1, 2, 3, 5, 8, 13, 21, 34 (sums of two before: compositions), and for the inverse of 3, 117; `twin` is the
# half turn, its own inverse. Each fact follows from the turns that the other facts of its relation show, so the best filtered
# MRR is 1. usage: bench/rotations.sh FOLDER: writes train.tsv, valid.tsv and test.tsv, 80/10/10.
set -eu
mkdir -p "$1"
awk -v folder="$1" '
BEGIN {
    count = split("1 2 3 5 8 13 21 34 117 60", turns, " ")
    state = 12345
    for (k = 1; k <= count; k++)
        for (i = 0; i < 120; i++) {
            state = (state * 16807) % 2147483647 # Park and Miller
            share = state / 2147483647
            part = share < 0.8 ? "train" : share < 0.9 ? "valid" : "test"
            name = turns[k] == 60 ? "twin" : "r" turns[k]
            printf "e%d\t%s\te%d\n", i, name, (i + turns[k]) % 120 > folder "/" part ".tsv"
        }
}'
