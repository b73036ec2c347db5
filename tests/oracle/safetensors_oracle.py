"""safetensors files written by safetensors_files, read by the owner's library, and the way back.

usage: safetensors_oracle.py PROGRAM; exits 77 where safetensors or numpy is not installed.
"""
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file
except ImportError as error:
    print(f"SKIPPED: safetensors is not installed ({error})")
    sys.exit(77)

KNOWN = {
    "layer/kernel": np.array([[0.5, -1, 2], [1e-30, 3.4e38, -0.0]], np.float32),
    "double": np.array([0.1, -1e300]),
    "mask": np.array([True, False, True]),
    "step": np.array(-(2**63), np.int64),
    "ids é\"": np.array([[[-7], [8]]], np.int32),
    "empty": np.zeros((0, 4), np.float32),
}


def check_equal(got, want, what):
    if sorted(got) != sorted(want):
        sys.exit(f"{what}: got {sorted(got)}, want {sorted(want)}")
    for name, array in want.items():
        same = got[name].dtype == array.dtype and got[name].shape == array.shape
        if not same or got[name].tobytes() != array.tobytes():
            sys.exit(f"{what}: {name!r}: got {got[name]!r}, want {array!r}")


def ours_is_read_by_theirs(program, folder):
    path = os.path.join(folder, "ours")
    subprocess.run([program, "write", path], check=True)
    check_equal(load_file(path), KNOWN, "our file")
    with safe_open(path, "numpy") as file:
        want = {"format": "regimen", '"quoted" é': "line\nend"}
        if file.metadata() != want:
            sys.exit(f"metadata: got {file.metadata()!r}, want {want!r}")


def theirs_is_read_by_ours(program, folder):
    theirs, copy = os.path.join(folder, "theirs"), os.path.join(folder, "copy")
    random = np.random.default_rng(1)
    tensors = {
        "a": random.standard_normal((7, 5)).astype(np.float32),
        "b\\\n\t": random.standard_normal((3, 1, 2)),
        "c": np.array([True]),
        "😀": random.integers(-9, 9, (4, 3), np.int64),
        "d": random.integers(-9, 9, 5, np.int32),
        "none": np.zeros((2, 0), np.float64),
        "scalar": np.array(1.5, np.float32),
    }
    save_file(tensors, theirs, metadata={"k": "v"})
    subprocess.run([program, "copy", theirs, copy], check=True)
    check_equal(load_file(copy), tensors, "their file copied by us")


def main():
    with tempfile.TemporaryDirectory() as folder:
        ours_is_read_by_theirs(sys.argv[1], folder)
        theirs_is_read_by_ours(sys.argv[1], folder)


main()
