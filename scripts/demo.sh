#!/bin/sh
# Train a graph network with progress on screen: on Cora when the folder named by REGIMEN_DATA has
# it, else on a generated citation-like graph.
set -eu
cd "$(dirname "$0")/.."
if [ -n "${REGIMEN_DATA:-}" ] && [ -d "$REGIMEN_DATA/cora/raw" ]; then
    config=configs/cora_gcn.yaml
    set -- --set "data.path=$REGIMEN_DATA/cora"
else
    config=configs/demo.yaml
    set --
fi
rm -rf runs/demo
build/regimen run "$config" --run-dir runs/demo "$@"
echo
echo "next     build/regimen serve runs     build/regimen eval runs/demo     less README.md"
