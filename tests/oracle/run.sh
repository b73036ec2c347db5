#!/bin/sh
# Run an oracle script with the environment that scripts/oracles.sh made, else with any python3; a
# script whose oracle is not installed exits 77, which is reported as skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/oracle/bin/python
[ -x "$python" ] || python=$(command -v python3) || {
    echo "SKIPPED: there is no python3"
    exit 77
}
script=$1
shift
exec "$python" "$here/$script" "$@"
