"""An exported model run by another program, compared with what Regimen computed: for onnx_oracle.py and
saved_model_oracle.py, which say how it is opened: open_model(path) gives inputs by name -> outputs by name.
"""
import glob
import json
import os
import re
import struct
import sys

import numpy as np

DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "BOOL": np.bool_}


def load_file(path):
    """The tensors of a safetensors file, a package that TensorFlow's environment is without."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        head, body = json.loads(file.read(size)), file.read()
    head.pop("__metadata__", None)
    return {name: np.frombuffer(body[slice(*about["data_offsets"])], DTYPES[about["dtype"]]).reshape(about["shape"])
            for name, about in head.items()}


def difference(got, want):
    """The largest, relative to 1 + |want|; infinite when shapes, dtypes or NaNs differ."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.where(got == want, 0, np.abs(got - want) / (1 + np.abs(want)))
    off = np.where(np.isnan(off), np.inf, off)
    return off.max(initial=0)


def check_tests(program, open_model, folder, ending, known):
    """Each graph of the tests: NAME<ending>, NAME.inputs.safetensors, NAME.outputs.safetensors."""
    agreed, excused, wrong = 0, 0, []
    for path in sorted(glob.glob(os.path.join(folder, "*" + ending))):
        stem = path[: -len(ending)]
        name = os.path.basename(stem)
        try:
            outputs = open_model(path)(load_file(stem + ".inputs.safetensors"))
            want = load_file(stem + ".outputs.safetensors")["y"]
            off = difference(outputs["y"], want)
            why = "" if off <= 1e-5 else f"differs by {off}"
        except Exception as error:  # the program's own, of many classes
            why = str(error)
        if not why:
            agreed += 1
        elif any(re.match(pattern, name) for pattern in known):
            excused += 1
        else:
            wrong.append(f"{name}: {why[:300]}")
    print(f"{program} agrees on {agreed} graphs, {excused} not comparable")
    if wrong or agreed < 100:
        sys.exit("\n".join(wrong[:20]) or f"only {agreed} graphs")


def check_run(run, model, folder, note=""):
    """A trained run's export: inputs-<n>.safetensors, outputs-<n>.safetensors of every batch."""
    batches, items, largest = 0, 0, 0.0
    while os.path.exists(path := os.path.join(folder, f"inputs-{batches}.safetensors")):
        outputs = run(load_file(path))
        want = load_file(os.path.join(folder, f"outputs-{batches}.safetensors"))
        if sorted(outputs) != sorted(want):
            sys.exit(f"outputs {sorted(outputs)}, expected {sorted(want)}")
        for name, array in want.items():
            same = outputs[name].shape == array.shape
            off = np.abs(outputs[name] - array).max(initial=0) if same else np.inf
            if not off <= 1e-4:
                sys.exit(f"{model}: batch {batches}: {name} differs by {off}")
            largest, items = max(largest, float(off)), items + len(array)
        batches += 1
    if items == 0:
        sys.exit(f"{folder}: nothing to compare")
    print(f"{model}: {items} items in {batches} batches, largest difference {largest:.1e}{note}")
