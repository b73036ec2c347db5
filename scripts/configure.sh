#!/bin/sh
# Configure build/ by CMake, unless it has these values already and all that may be missing. Installs nothing: what
# is missing is named.
#   scripts/configure.sh [-DNAME=VALUE...]
set -eu
cd "$(dirname "$0")/.."

same=1
for setting; do
    name=${setting#-D}
    grep -q "^${name%%=*}:[A-Z]*=${name#*=}\$" build/CMakeCache.txt 2>/dev/null || same=0
done
# What was installed since is built with: MPI, METIS.
grep -q '^M[EP][A-Z_]*:.*-NOTFOUND$' build/CMakeCache.txt 2>/dev/null && same=0
[ $same = 1 ] && [ -f build/build.ninja ] && exit 0

missing=
# A compiler may be one that CC and CXX name.
for tool in "cmake cmake" "ninja ninja-build" "${CC:-cc} build-essential" "${CXX:-c++} build-essential"; do
    program=${tool% *}
    command -v "${program%% *}" >/dev/null && continue
    case " $missing " in *" ${tool##* } "*) ;; *) missing="$missing ${tool##* }" ;; esac
done
if [ -n "$missing" ]; then
    echo "build    missing:$missing (Debian's names; other systems': scripts/deps.sh -l fedora, scripts/deps.sh -l arch)" >&2
    echo "build    \`make deps\` installs all that a build needs" >&2
    exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
