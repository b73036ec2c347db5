#!/bin/sh
# The tests of build/, the quick ones first so that there is something to read at once.
#   scripts/tests.sh         of every day: those of each layer, then those of the command and the oracles
#   scripts/tests.sh slow    the long ones, which have the label slow
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0

run() {
    (cd build && ctest --output-on-failure -j "${JOBS:-$(nproc)}" "$@") || bad=1
}

case ${1:-} in
slow)
    scripts/oracles.sh || true # which says that the tests of oracles will be skipped
    run -L slow
    ;;
*)
    run -LE 'command|oracle|slow'
    scripts/oracles.sh || true
    run -L 'command|oracle' -LE slow
    echo "tests    $(cd build && ctest -N -L slow | sed -n 's/^Total Tests: //p') long ones were not among these: make slow" >&2
    ;;
esac
exit $bad
