#!/bin/sh
# A virtual environment with a peer of the bench, of PyPI, pinned in bench/peer_NAME.txt; prints its Python.
# Nothing of it is needed to build, test or run.
#   scripts/peer.sh torch|dgl|ctranslate2|tfgnn|search
set -eu
cd "$(dirname "$0")/.."
venv=build/peer_$1
pins=bench/peer_$1.txt
if ! cmp -s "$pins" "$venv/.made"; then
    echo "peer     installing $(tr '\n' ' ' < "$pins")" >&2
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$pins" >&2
    cp "$pins" "$venv/.made"
fi
echo "$PWD/$venv/bin/python"
