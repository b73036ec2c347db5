"""Exported models run by onnxruntime, compared with what Regimen computed.

usage: onnx_oracle.py tests FOLDER     NAME.onnx, NAME.inputs.safetensors, NAME.outputs.safetensors
       onnx_oracle.py run MODEL DUMP   inputs-<n>.safetensors, outputs-<n>.safetensors
"""
import glob
import json
import os
import re
import sys

import numpy as np
import onnxruntime
from safetensors.numpy import load_file

onnxruntime.set_default_logger_severity(4)

# Where onnxruntime 1.31 is wrong or has no kernel; none of it occurs in a trained model.
KNOWN = {
    r"gelu\..*-f64-": "Erf has no kernel for double",
    r"(conv2d|avg_pool2d)\..*-f64-": "Conv and AveragePool have no kernel for double",
    r"matmul\.\d+-(5[2-5]|6[0-3])-": "a sum of nothing in a batch is whatever was in memory",
    r"broadcast_to\.\d+-[236]-": "Expand to no elements gives one",
    r"spmm\.61-3-f(32|64)-fixed": "Expand to no elements gives one",
}


def open_model(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_model(session, inputs):
    feeds = {i.name: inputs[i.name] for i in session.get_inputs()}
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))


def difference(got, want):
    """The largest, relative to 1 + |want|; infinite when shapes, dtypes or NaNs differ."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.where(got == want, 0, np.abs(got - want) / (1 + np.abs(want)))
    off = np.where(np.isnan(off), np.inf, off)
    return off.max(initial=0)


def check_tests(folder):
    agreed, known, wrong = 0, 0, []
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        stem = path[: -len(".onnx")]
        name = os.path.basename(stem)
        try:
            outputs = run_model(open_model(path), load_file(stem + ".inputs.safetensors"))
            want = load_file(stem + ".outputs.safetensors")["y"]
            off = difference(outputs["y"], want)
            why = "" if off <= 1e-5 else f"differs by {off}"
        except Exception as error:  # onnxruntime's own, of many classes
            why = str(error)
        if not why:
            agreed += 1
        elif any(re.match(pattern, name) for pattern in KNOWN):
            known += 1
        else:
            wrong.append(f"{name}: {why[:300]}")
    print(f"onnxruntime {onnxruntime.__version__} agrees on {agreed} graphs, {known} not comparable")
    if wrong or agreed < 100:
        sys.exit("\n".join(wrong[:20]) or f"only {agreed} graphs")


def check_class_names(session, model):
    """Those in the file are the signature's beside it."""
    with open(os.path.join(os.path.dirname(model), "signature.json")) as file:
        want = {o["name"]: o["classes"] for o in json.load(file)["outputs"] if "classes" in o}
    got = json.loads(session.get_modelmeta().custom_metadata_map.get("class_names", "{}"))
    if got != want:
        sys.exit(f"{model}: class names {got}, the signature has {want}")
    return f", names of {len(want)} outputs" if want else ""


def check_run(model, folder):
    session, batches, items, largest = open_model(model), 0, 0, 0.0
    while os.path.exists(path := os.path.join(folder, f"inputs-{batches}.safetensors")):
        outputs = run_model(session, load_file(path))
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
    names = check_class_names(session, model)
    print(f"{model}: {items} items in {batches} batches, largest difference {largest:.1e}{names}")


if sys.argv[1] == "tests":
    check_tests(sys.argv[2])
else:
    check_run(sys.argv[2], sys.argv[3])
