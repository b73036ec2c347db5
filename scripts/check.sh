#!/bin/sh
# What a merge needs: what can be read off the sources (format, headers, functions, docs, names), every test (the
# graph of layers is one), what can be read off their build (circles, unused public functions), what oclgrind says of
# the kernels for devices, cppcheck, then the tests again by the second compiler, optimized and under its address and
# undefined-behaviour sanitizers, and the threaded ones under the thread sanitizer.
#   scripts/check.sh         all of it
#   scripts/check.sh rest    without `make test` and `make slow`, for one who ran those, and without what takes minutes more
#                            and shows little more: oclgrind, the second compiler's optimized build
set -eu
cd "$(dirname "$0")/.."
scripts/deps.sh build test check

look() {
    echo "$1"
    case $1 in
    *.py) python3 "$1" ;;
    *) "$1" ;;
    esac
}

built="scripts/check_circles.sh scripts/check_public.py" # and check_layers.py, which the test layers runs
for check in scripts/check_*; do
    case " $built scripts/check_layers.py scripts/check_devices.sh " in
    *" $check "*) continue ;;
    esac
    look "$check"
done
if [ "${1:-}" != rest ]; then
    make --no-print-directory test
    make --no-print-directory slow
fi
for check in $built; do
    look "$check"
done
[ "${1:-}" = rest ] || look scripts/check_devices.sh
make --no-print-directory lint
[ "${1:-}" = rest ] || make --no-print-directory clang
make --no-print-directory sanitize
make --no-print-directory tsan
