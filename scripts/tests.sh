#!/bin/sh
# The tests of build/, the quick ones first so that there is something to read at once.
#   scripts/tests.sh         of every day: those of each layer, then those of the command and the oracles
#   scripts/tests.sh slow    the long ones, which have the label slow
#   scripts/tests.sh long    the longest, which have the label long too, and whose shorter forms are among the others
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
jobs=${JOBS:-$(nproc)}

# run JOBS ARGUMENTS...
run() {
    at_once=$1
    shift
    (cd build && ctest --output-on-failure -j "$at_once" "$@") || bad=1
}
# Programs that wait for others (a master, ranks, a browser, a fake Slurm) leave a third of the cores idle, where
# there are as many tests at once as cores.
waiting=$((jobs + 1))

case ${1:-} in
slow)
    scripts/oracles.sh || true # which says that the tests of oracles will be skipped
    run $waiting -L slow -LE long
    ;;
long)
    scripts/oracles.sh || true
    run $waiting -L long
    ;;
*)
    run "$jobs" -LE 'command|oracle|slow'
    scripts/oracles.sh || true
    run $waiting -L 'command|oracle' -LE slow
    echo "tests    $(cd build && ctest -N -L slow | sed -n 's/^Total Tests: //p') long ones were not among these: make slow, make long" >&2
    ;;
esac
exit $bad
