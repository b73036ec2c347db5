#!/bin/sh
# Run an oracle script with the environment that scripts/oracles.sh made, else with those that have the PyTorch or the
# Transformers that it lacks (scripts/peer.sh torch, scripts/oracles.sh hf), or with the system's python3; a script whose
# oracle is not installed exits 77, which is reported as skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
script=$1
shift
build=$here/../../build
for python in "$build/oracle/bin/python" "$build/peer_torch/bin/python" "$build/oracle-hf/bin/python" \
    /usr/bin/python3 python3; do
    command -v "$python" >/dev/null || continue
    code=0
    "$python" "$here/$script" "$@" || code=$?
    [ "$code" = 77 ] || exit "$code"
done
echo "SKIPPED: no python3 here has what $script needs"
exit 77
