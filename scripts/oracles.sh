#!/bin/sh
# A virtual environment with the programs that own our formats (onnxruntime, tensorboard,
# safetensors, protobuf) or compute the same (optuna), pinned in tests/oracle/requirements.txt. Tests that need it say so when it
# is absent. Nothing of it is needed at run time.
set -eu
cd "$(dirname "$0")/.."
venv=build/oracle
stamp=$venv/.made
[ -f "$stamp" ] && cmp -s tests/oracle/requirements.txt "$stamp" && exit 0
echo "oracles  installing $(tr '\n' ' ' < tests/oracle/requirements.txt)" >&2
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
if "$venv/bin/pip" install -q --disable-pip-version-check -r tests/oracle/requirements.txt >&2; then
    cp tests/oracle/requirements.txt "$stamp"
else
    echo "oracles  not installed: the oracle tests will be reported as skipped" >&2
    exit 1
fi
