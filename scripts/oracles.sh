#!/bin/sh
# A virtual environment with the programs that own our formats (onnxruntime, tensorboard,
# safetensors, protobuf) or compute the same (optuna), pinned in tests/oracle/requirements.txt, and axe, which
# looks at pages as Deque's accessibility checker does (tests/oracle/axe.txt: the package for its axe.min.js
# alone, without the browser driver that it would bring). Tests that need it say so when it
# is absent. Nothing of it is needed at run time.
#   scripts/oracles.sh        build/oracle
#   scripts/oracles.sh tf     build/oracle-tf: TF-GNN with its TensorFlow (tests/oracle/requirements_tf.txt), 2 GB
#   scripts/oracles.sh hf     build/oracle-hf: Transformers (tests/oracle/requirements_hf.txt), 0.4 GB, beside the
#                             PyTorch of scripts/peer.sh torch, 2 GB
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = tf ]; then
    venv=build/oracle-tf pins=tests/oracle/requirements_tf.txt
    cmp -s "$pins" "$venv/.made" && exit 0
    echo "oracles  installing $(tr '\n' ' ' <"$pins")" >&2
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$pins" >&2
    cp "$pins" "$venv/.made"
    exit 0
fi
if [ "${1:-}" = hf ]; then
    torch=$(scripts/peer.sh torch)
    venv=build/oracle-hf pins=tests/oracle/requirements_hf.txt
    cmp -s "$pins" "$venv/.made" && exit 0
    echo "oracles  installing $(tr '\n' ' ' <"$pins")" >&2
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check -r "$pins" >&2
    "$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >torch.pth.tmp
    mv torch.pth.tmp "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
    cp "$pins" "$venv/.made"
    exit 0
fi
venv=build/oracle
stamp=$venv/.made
wanted=$(cat tests/oracle/requirements.txt tests/oracle/axe.txt)
[ -f "$stamp" ] && [ "$wanted" = "$(cat "$stamp")" ] && exit 0
echo "oracles  installing $(printf '%s' "$wanted" | sed 's/ --hash.*//' | tr '\n' ' ')" >&2
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
if "$venv/bin/pip" install -q --disable-pip-version-check -r tests/oracle/requirements.txt >&2 &&
    "$venv/bin/pip" install -q --disable-pip-version-check --no-deps --require-hashes -r tests/oracle/axe.txt >&2; then
    printf '%s\n' "$wanted" >"$stamp"
else
    echo "oracles  not installed: the oracle tests will be reported as skipped" >&2
    exit 1
fi
