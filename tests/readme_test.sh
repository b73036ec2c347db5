#!/bin/sh
# README.md as a newcomer follows it: each of its commands in its order, as it is written. What takes longer than a
# test may is shortened by REGIMEN_TRAINER__*, which lies over the files and says nothing of a command; what
# cannot be typed here is listed below, each line with what is done in its place.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pages.sh"
have=${REGIMEN_DATA:-}
open_pages
HOME=$work/home
export HOME
unset MAKEFLAGS MFLAGS MAKEOVERRIDES DESTDIR PREFIX LIBDIR
mkdir -p data "$HOME"
for name in cora mutag digits imdb multi30k-de-en; do
    [ -d "$have/$name" ] && ln -s "$have/$name" "data/$name"
done
cp examples/04_node_classification.c net.c
printf 'A dog runs.\nTwo men talk.\n' | tee test.en >hypotheses.en
untyped=0

# needs NAME: whether data/NAME is there; else the line is told.
needs() {
    [ -e "data/$1" ] && return 0
    echo "not typed, there is no data/$1: $line"
    untyped=$((untyped + 1))
    return 1
}

# The builds of this test are the one that it was given: it is installed, and libraries are found there.
type_readme() {
    line=$1
    case $line in
    'make demo' | 'make test' | 'make deps' | make | 'make install'* | 'make uninstall'*) # install_test does these
        expect 0 sh -c "$(echo "$line" | sed 's/^make/make -n/')"
        [ "$line" != make ] || ! grep -q deps.sh "$work/out" || fail "make would install something"
        ;;
    'cmake -S'*) expect 0 sh -c "$(echo "$line" | sed "s| -B build| -B '$work/cmake'|")" ;;
    'cmake --build'*) expect 0 ninja -C "$work/cmake" -n regimen regimen_static regimen_cli ;;
    'cmake --install'*) expect 0 cmake --install "$RGM_BUILD" --prefix "$HOME/.local" ;;
    'cc net.c'*)
        library=$(dirname "$(find "$HOME/.local" -name regimen.pc)")/..
        expect 0 env PKG_CONFIG_PATH="$library/pkgconfig" sh -c "$line"
        expect 0 env LD_LIBRARY_PATH="$library" ./net
        ;;
    'build/regimen run configs/cora_gcn.yaml --set trian'*)
        expect 2 sh -c "$line"
        says "unknown section 'trian'; did you mean 'trainer'" "$work/err"
        ;;
    *cora_gcn* | *runs/gcn*) needs cora && expect 0 sh -c "$line" </dev/null ;;
    'regimen train digits_cnn'*)
        # '&': the other process follows it, and both end.
        needs digits && REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line"
        ;;
    *'--mode continuous_eval') needs digits && REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line" ;;
    *digits_private*) needs digits && REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line" ;;
    'regimen run digits'*) needs digits && REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line" ;;
    'regimen run mutag'*) needs mutag && REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line" ;;
    'regimen run reverse'*) REGIMEN_TRAINER__EPOCHS=1 expect 0 sh -c "$line" ;;
    'regimen run multi30k'* | 'regimen translate'* | 'regimen run tiny_lm'* | 'regimen generate'* | \
        'regimen distil'* | 'regimen import'*)
        # minutes to hours, or another program's folder; the tests translation, language, distil and import have them on other data
        expect 0 sh -c "$(echo "$line" | sed 's/^regimen \(run\|translate\|generate\|distil\|import\).*/regimen \1 --help/')"
        ;;
    'regimen plot runs/a runs/b'*)
        [ -d runs/b ] || cp -r runs/rev runs/b
        [ -d runs/a ] || cp -r runs/rev runs/a
        expect 0 sh -c "$line"
        ;;
    *digits_search* | 'regimen experiment'*) needs digits && expect 0 sh -c "$line" </dev/null ;;
    'regimen serve runs experiments')
        mkdir -p experiments
        regimen serve runs experiments >"$work/out" 2>"$work/err" &
        server=$!
        wait_for grep -q 'open this address' "$work/err" "$work/out"
        cat "$work/out" >>"$work/err"
        says 'http://127.0.0.1:[0-9]+/\?token=' "$work/err"
        kill -INT "$server"
        wait "$server" || fail "the page's server ended with status $?"
        ;;
    'regimen answer runs/rev'*)
        sh -c "exec $line" >"$work/out" 2>"$work/err" </dev/null &
        server=$!
        wait_for grep -q '^model .*asked in lines' "$work/err" "$work/out"
        kill -TERM "$server"
        wait "$server" || fail "the models' server ended with status $?"
        ;;
    *) expect 0 sh -c "$line" </dev/null ;;
    esac
}
type=type_readme
type_page README.md 30
for file in predictions.csv best.yaml search.html curves.svg; do
    case $file in
    predictions.csv) [ -e data/cora ] || continue ;;
    best.yaml | search.html) [ -e data/digits ] || continue ;;
    esac
    [ -s $file ] || fail "$file is missing"
done
[ $untyped = 0 ] || echo "$untyped commands of README.md were not typed: REGIMEN_DATA lacks their data"
finish
