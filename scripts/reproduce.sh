#!/bin/sh
# Are two builds the same? The sources are copied into two folders of different names and lengths, built
# and installed from each; every installed file must have the same bytes, and none may hold a folder's
# name. Then one small run of each kind is trained with the command built by gcc and by clang: weights,
# metrics and exports must be the same bytes.
#   scripts/reproduce.sh             all of it, some minutes
#   scripts/reproduce.sh compilers   the second part alone, with build/regimen and build/clang/regimen if
#                                    they are there (REGIMEN and REGIMEN_CLANG name others)
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d /tmp/regimen-reproduce-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
bad=0

# build FOLDER COMPILER: the sources of the working tree, installed into FOLDER.usr.
build() {
    mkdir -p "$1"
    git ls-files -z | xargs -0 tar -c 2>/dev/null | tar -x -C "$1"
    CC=$2 CCACHE_DISABLE=1 cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DRGM_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX="$1/prefix" >/dev/null
    CCACHE_DISABLE=1 cmake --build "$1/build" -j "${JOBS:-$(nproc)}" --target regimen_cli regimen_static >/dev/null
    DESTDIR='' cmake --install "$1/build" --prefix "$1.usr" >/dev/null
}

two_builds() {
    build "$scratch/a" "${CC:-cc}"
    build "$scratch/another/much/longer/folder" "${CC:-cc}"
    b=$scratch/another/much/longer/folder.usr
    files=0
    for file in $(cd "$scratch/a.usr" && find . -type f -o -type l | sort); do
        files=$((files + 1))
        cmp "$scratch/a.usr/$file" "$b/$file" || bad=1
    done
    [ "$files" = "$(find "$b" -type f -o -type l | wc -l)" ] || { echo "the builds have other files"; bad=1; }
    grep -rlF "$scratch" "$scratch/a.usr" && { echo "the files above hold a folder's name"; bad=1; }
    echo "builds   $files installed files, $(du -sh "$scratch/a.usr" | cut -f1), of two folders: $([ $bad = 0 ] && echo the same bytes || echo DIFFERENT)"
}

# . tests/lib.sh makes the experiments; it takes the command as its first argument.
two_compilers() {
    gcc=$(realpath "${REGIMEN:-build/regimen}")
    clang=$(realpath "${REGIMEN_CLANG:-build/clang/regimen}")
    [ -x "$gcc" ] || { build "$scratch/gcc" gcc; gcc=$scratch/gcc/build/regimen; }
    [ -x "$clang" ] || { build "$scratch/clang" clang; clang=$scratch/clang/build/regimen; }
    case $("$gcc" --version; "$clang" --version) in *gcc*clang*) ;; *) echo "not by gcc and clang"; exit 2 ;; esac
    for kind in graph records private sampled subgraphs translation gat sage; do
        (
            set -- "$gcc"
            . tests/lib.sh
            cd "$work"
            case $kind in
            graph) small_experiment $kind.yaml ;;
            gat | sage)
                small_experiment $kind.yaml
                [ $kind = gat ] && model='{type: gat_v2, hidden: [8], heads: 2, dropout: 0.3}' ||
                    model='{type: graph_sage, hidden: [8]}'
                sed -i "s/^model: .*/model: $model/; s/head: none/label: label/" $kind.yaml
                ;;
            *) position_experiment $kind $kind.yaml ;;
            esac
            for by in gcc clang; do
                [ $by = gcc ] && regimen=$gcc || regimen=$clang
                expect 0 "$regimen" run $kind.yaml --run-dir $by
                mkdir -p $by/best # of runs that save it
            done
            same_run gcc clang "$kind of gcc and clang"
            echo "runs     $kind: $(find gcc/ckpt gcc/export -type f | wc -l) files of checkpoints and export by gcc and clang: $([ $failures = 0 ] && echo the same bytes || echo DIFFERENT)"
            exit $failures
        ) || bad=1
    done
}

[ "${1:-}" = compilers ] || two_builds
two_compilers
exit $bad
