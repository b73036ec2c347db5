#!/bin/sh
# Install what the build and the tests need, by Debian package name. Does nothing (and needs no
# root) when everything is there already.
#   scripts/deps.sh          build and test
#   scripts/deps.sh bench    also the peers that `make bench` compares with
#   scripts/deps.sh lint     also what `make lint` reads the sources with
#   scripts/deps.sh scan     also what scripts/scan.sh looks for weaknesses of the page with
set -eu

build="build-essential cmake ninja-build pkg-config libdnnl-dev libyaml-dev libjansson-dev
       libprotobuf-c-dev protobuf-c-compiler zlib1g-dev libxxhash-dev libunistring-dev
       libplplot-dev plplot-driver-cairo libsentencepiece-dev
       libsqlite3-dev libmicrohttpd-dev libcurl4-openssl-dev node-d3"
check="libcmocka-dev clang clang-format libclang-rt-14-dev libomp-14-dev strace python3 python3-venv protobuf-compiler
       sentencepiece slurm-wlm munge chromium"
bench="python3-dev"
lint="cppcheck"
scan="wapiti"

want="$build $check"
[ "${1:-}" = bench ] && want="$want $bench"
[ "${1:-}" = lint ] && want="$want $lint"
[ "${1:-}" = scan ] && want="$want $scan"

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
