#!/bin/sh
# Every workload of regimen_bench runs a few steps on a small graph and tells a time above zero.
set -eu
bench=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$bench" make "$folder/cora" nodes=60 pairs=120 words=50 share=0.1 classes=3 train=20
"$bench" make "$folder/large" nodes=300 pairs=900 feat=128 classes=5 train=150 skew=2
"$bench" make-records "$folder/records" "$folder/large" records=40

expect() {
    line=$("$bench" "$@" --threads 2 --steps 2)
    case $line in
    *'"seconds": 0.0000000'* | '') echo "bench $*: no time in '$line'" >&2; exit 1 ;;
    *'"seconds": '*) ;;
    *) echo "bench $*: no time in '$line'" >&2; exit 1 ;;
    esac
}
expect gcn --data "$folder/cora"
expect gat --data "$folder/cora"
expect gat --data "$folder/cora" --form nodropout
expect sage --data "$folder/large"
expect hgt --data "$folder/large" --size 16
expect aggregate --data "$folder/large" --size 128
expect minibatch --data "$folder/large" --size 16
expect minibatch --data "$folder/large" --size 16 --form sampling
expect minibatch --data "$folder/large" --size 16 --form whole
expect sample --data "$folder/large" --size 16
for form in read example graph loop; do
    expect records --data "$folder/records" --form $form
done
expect molecules --data "$folder/large"
expect runner --data "$folder/records"
expect sampled_run --data "$folder/large" --size 16
"$bench" make-graph "$folder/mapped" nodes=500 edges=3000 feat=8
expect mapped --data "$folder/mapped" --size 16
expect limits --size 2400000
expect bf16 --size 96
expect loop
for form in small small-bf16; do
    expect translate --size 2 --form $form
done
for form in greedy beam greedy-bf16 beam-bf16; do
    expect decode --size 2 --form $form
done
for form in save restore dd; do
    expect checkpoint --data "$folder" --size 4000000 --form $form
done

# The protocol that the driver speaks.
lines=$(printf 'threads 1\ngo 1\ngo 3\n' | "$bench" gcn --data "$folder/cora")
[ "$(printf '%s\n' "$lines" | wc -l)" = 3 ]
printf '%s\n' "$lines" | tail -1 | grep -q '"steps": 3,'
# A form that is nearly one is none: it would time something else.
for wrong in 'decode --form greedy-xyz' 'decode --form beamer' 'translate --form smallest' 'checkpoint --form sav' \
    'records --form grap' 'minibatch --form wole' 'gat --form nodrop' 'gcn --form sparse'; do
    # shellcheck disable=SC2086
    ! said=$("$bench" $wrong --data "$folder/cora" --steps 1 2>&1)
    case $said in
    *"has no form '${wrong##* }'; there are "*) ;;
    *) echo "bench $wrong: $said" >&2; exit 1 ;;
    esac
done
# Reading what was not made by it is an error, told.
! "$bench" gcn --data "$0" --steps 1 2>/dev/null
