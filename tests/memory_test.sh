#!/bin/sh
# Memory that is short inside other people's libraries (SentencePiece, FreeType, jansson, libyaml): told, and
# nothing else. No signal ends the command, nothing is left half written, and what succeeds is right.
. "$(dirname "$0")/lib.sh"
[ -z "${RGM_SANITIZE:-}" ] || { echo "SKIPPED: sanitizers take the address space"; exit 77; }
fast_work
small_experiment "$work/small.yaml"
cd "$work" || exit 1
awk 'BEGIN { srand(3); for (i = 0; i < 400; i++) { line = ""; n = 2 + int(rand() * 9)
             for (k = 0; k < n; k++) line = line (k ? " " : "") substr("abcdefghij", 1 + int(rand() * 10), 1 + int(rand() * 3))
             print line } }' >text
expect 0 "$regimen" text train-tokenizer --vocab-size 40 --type bpe --out model text
"$regimen" text encode --model model text >ids
expect 0 "$regimen" run small.yaml --run-dir run --set trainer.epochs=5
expect 0 "$regimen" plot run -o picture.svg
expect 0 "$regimen" plot run -o picture.png

# The least address space in which the libraries load and nothing is done.
least=20000
until (ulimit -v $least && "$regimen" --version) >/dev/null 2>&1; do
    least=$((least + 1000))
    [ $least -lt 4000000 ] || { fail "no address space is enough"; finish; }
done

# judge WHAT: a command that ended with $code and printed to out and err, where it should print `sound` to $made.
judge() {
    case $code in
    0) cmp -s "$made" "$sound" || fail "$1: another result" ;;
    1) [ -s err ] || fail "$1: failed without a word"
       refused=$((refused + 1)) ;;
    *) fail "$1: exit $code: $(tail -1 err)" ;;
    esac
    left=$(ls | grep -E 'tmp-|partial-')
    [ -z "$left" ] || fail "$1: left $left"
}

# within SOUND MADE COMMAND...: in 40 sizes of address space.
within() {
    sound=$1 made=$2
    shift 2
    refused=0
    for more in $(seq 0 500 4000) $(seq 5000 1000 20000) $(seq 30000 10000 150000); do
        rm -f made.*
        (ulimit -v $((least + more)) && exec timeout 20 "$@") >out 2>err
        code=$?
        judge "$* in $((least + more)) KB"
    done
}
within ids out "$regimen" text encode --model model text
[ $refused -gt 0 ] || fail "encoding failed in no size: nothing was tested"
within model made.model "$regimen" text train-tokenizer --vocab-size 40 --type bpe --out made.model text
[ $refused -gt 0 ] || fail "training failed in no size: nothing was tested"
within picture.svg made.svg "$regimen" plot run -o made.svg
within picture.png made.png "$regimen" plot run -o made.png

# without LIBRARY SOUND MADE COMMAND...: each of the library's allocations fails, alone and with all behind it
# (not jansson's: it asserts that a character which it had no memory for is there to be taken back).
[ -n "${RGM_PRELOAD:-}" ] || { fail "RGM_PRELOAD is not set"; finish; }
without() {
    library=$1 sound=$2 made=$3
    shift 3
    refused=0
    for more in '' 1; do
        [ -z "$more" ] || [ "$library" != libjansson ] || continue
        for at in $(seq 0 40) 50 60 80 100 150 200 300 500 1000; do
            rm -f made.*
            LD_PRELOAD=$RGM_PRELOAD RGM_FAIL_IN=$library RGM_FAIL_AT=$at ${more:+env RGM_FAIL_MORE=1} \
                timeout 20 "$@" >out 2>err
            code=$?
            grep -q . err && cp err told
            judge "$library without its allocation $at${more:+ and more}: $*"
        done
    done
    [ $refused -gt 0 ] || fail "$library: no allocation failed: nothing was tested"
}
without libfreetype picture.png made.png "$regimen" plot run -o made.png
"$regimen" predict run -q >predictions
without libjansson predictions out "$regimen" predict run -q
says 'out of memory parsing' told
finish
