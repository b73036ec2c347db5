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
expect language --size 1 --form f32
expect language --size 1 --form bf16
expect translate_run --size 4 --form small --shards 2
expect sampled_run --data "$folder/large" --size 16 --shards 2
for form in greedy beam greedy-bf16 beam-bf16; do
    expect decode --size 2 --form $form
done
# Each sentence has as many tokens as its source, in f32 and in 8 bits: the step refuses others.
"$bench" make-served "$folder/served" vocabulary=120
for form in greedy beam greedy-int8 beam-int8; do
    expect served --data "$folder/served" --size 9 --form $form
done
for file in f32/model.safetensors int8/model.safetensors ctranslate2/model.bin; do
    [ -s "$folder/served/$file" ] || { echo "bench make-served: no $file" >&2; exit 1; }
done
for form in save restore dd; do
    expect checkpoint --data "$folder" --size 4000000 --form $form
done

# On a GPU at most 1.3 kernels for each of the CPU's: counted, no GPU is needed.
few() {
    most=$1
    shift
    line=$("$bench" "$@" --count gpu)
    cpu=$("$bench" "$@" --count cpu)
    printf '%s\n%s\n' "$line" "$cpu" | /usr/bin/python3 -c '
import json, sys
gpu, cpu = (json.loads(line) for line in sys.stdin)
most = float(sys.argv[1])
assert cpu["launches"] == 0 and 0 < cpu["ops"] == gpu["ops"], (cpu["ops"], gpu["ops"])
assert gpu["roofline"] > 0 and gpu["bytes"] >= cpu["bytes"] > 0 and gpu["flops"] >= cpu["flops"] > 0
launches = sum(row["launches"] for row in gpu["rows"])
assert abs(launches - gpu["launches"]) < 1e-6 * launches
assert launches <= most * cpu["ops"], "%g kernels of %g ops" % (launches, cpu["ops"])
' "$most" || { echo "bench $* --count: more than $most kernels an op, or no count" >&2; exit 1; }
}
"$bench" make "$folder/whole" nodes=2708 pairs=5429 words=1433 classes=7 train=140
few 1.3 gcn --data "$folder/whole"
few 1.3 gat --data "$folder/whole"
few 1.3 gat --data "$folder/whole" --form nodropout
few 1.3 sage --data "$folder/large"
few 1.3 minibatch --data "$folder/large" --size 16
few 1.3 hgt --data "$folder/large" --size 16
few 1.3 sampled_run --data "$folder/large" --size 16
few 1.3 runner --data "$folder/records"
few 1.3 molecules --data "$folder/large"
few 1.3 bf16 --size 96
few 1.3 translate --size 64 --form small
few 1.3 translate --size 64 --form small-bf16
few 1 aggregate --data "$folder/cora" --size 128 # no row of it is long
! "$bench" gcn --data "$folder/cora" --count abacus 2>/dev/null || exit 1

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
