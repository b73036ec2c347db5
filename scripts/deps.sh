#!/bin/sh
# Install what is missing, by Debian package name. Does nothing (and needs no root) when everything is there.
#   scripts/deps.sh [GROUP...]      groups of the table below; without one: build
#   scripts/deps.sh -l [GROUP...]   print their names and install nothing
set -eu

# group  package               what for
table() {
    cat <<'TABLE'
build    build-essential       compilers for C and C++, make
build    cmake                 the build is described for it
build    ninja-build           runs the build
build    pkg-config            finds libraries
build    libdnnl-dev           matrix products
build    libyaml-dev           experiment files
build    libjansson-dev        JSON: logs, requests, the page's data
build    libprotobuf-c-dev     messages of event files, ONNX, SavedModel, graph schemas
build    protobuf-c-compiler   makes C of those messages' descriptions
build    zlib1g-dev            compressed records and CSV
build    libxxhash-dev         hashes of files in checkpoints
build    libunistring-dev      words and cases of text in every script
build    libfreetype-dev       letters and smooth lines of plots as PNG
build    fonts-dejavu-core     the font for them
build    libsentencepiece-dev  tokenizers
build    libsqlite3-dev        the master's database
build    libmicrohttpd-dev     serves requests
build    libcurl4-openssl-dev  asks a master
build    node-d3               d3.min.js, which the page draws with, becomes a part of the library
build    libcmocka-dev         test programs are configured with the library
test     strace                fails system calls, to see that saves survive
test     python3               scripts of tests, checks and benches
test     python3-venv          a place for oracles: other people's programs
test     protobuf-compiler     protoc, to compare our messages with
test     sentencepiece         its command, to compare ids with
test     slurm-wlm             a cluster of one node
test     munge                 that cluster's tokens
test     chromium              looks at the page
check    clang                 the second compiler
check    clang-format          the format of every file
check    libclang-rt-14-dev    clang's sanitizers
check    libomp-14-dev         clang's OpenMP, for benches
lint     cppcheck              reads the sources
bench    python3-dev           peers compile with it
scan     wapiti                attacks the page
TABLE
}

list=0
[ "${1:-}" = -l ] && { list=1; shift; }
want=
for group in "${@:-build}"; do
    names=$(table | awk -v group="$group" '$1 == group { print $2 }')
    [ -n "$names" ] || { echo "deps     there is no group '$group'" >&2; exit 2; }
    want="$want $names"
done
if [ $list = 1 ]; then
    # shellcheck disable=SC2086
    printf '%s\n' $want
    exit 0
fi

if ! command -v dpkg-query >/dev/null; then
    # shellcheck disable=SC2086
    echo "deps     no dpkg here, so nothing is looked for or installed; Debian's names of what is needed:" $want >&2
    exit 0
fi

missing=
for package in $want; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' \
        || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

echo "deps     installing$missing" >&2
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    echo "deps     not root and no sudo; as root run: apt-get install$missing" >&2
    exit 1
fi
$sudo env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 || true
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
