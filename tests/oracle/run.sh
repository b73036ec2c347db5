#!/bin/sh
# Run an oracle script with the environment that scripts/oracles.sh made, else with the system's python3, which
# may have what that lacks (PyTorch is the distribution's); a script whose oracle is not installed exits 77,
# which is reported as skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
script=$1
shift
for python in "$here/../../build/oracle/bin/python" /usr/bin/python3 python3; do
    command -v "$python" >/dev/null || continue
    code=0
    "$python" "$here/$script" "$@" || code=$?
    [ "$code" = 77 ] || exit "$code"
done
echo "SKIPPED: no python3 here has what $script needs"
exit 77
