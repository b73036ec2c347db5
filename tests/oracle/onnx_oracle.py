"""Exported models run by onnxruntime, compared with what Regimen computed.

usage: onnx_oracle.py tests FOLDER     NAME.onnx, NAME.inputs.safetensors, NAME.outputs.safetensors
       onnx_oracle.py run MODEL DUMP   inputs-<n>.safetensors, outputs-<n>.safetensors
"""
import json
import os
import sys

import onnxruntime

from exported import check_run, check_tests

onnxruntime.set_default_logger_severity(4)

# Where onnxruntime 1.31 is wrong or has no kernel; none of it occurs in a trained model.
KNOWN = {
    r"gelu\..*-f64-": "Erf has no kernel for double",
    r"(conv2d|avg_pool2d)\..*-f64-": "Conv and AveragePool have no kernel for double",
    r"matmul\.\d+-(5[2-5]|6[0-3])-": "a sum of nothing in a batch is whatever was in memory",
    r"broadcast_to\.\d+-[236]-": "Expand to no elements gives one",
    r"spmm\.2-3-f(32|64)-fixed": "Expand to no elements gives one",
}


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def runner(session):
    def run(inputs):
        feeds = {i.name: inputs[i.name] for i in session.get_inputs()}
        return dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))

    return run


def check_class_names(session, model):
    """Those in the file are the signature's beside it."""
    with open(os.path.join(os.path.dirname(model), "signature.json")) as file:
        want = {o["name"]: o["classes"] for o in json.load(file)["outputs"] if "classes" in o}
    got = json.loads(session.get_modelmeta().custom_metadata_map.get("class_names", "{}"))
    if got != want:
        sys.exit(f"{model}: class names {got}, the signature has {want}")
    return f", names of {len(want)} outputs" if want else ""


if sys.argv[1] == "tests":
    check_tests(f"onnxruntime {onnxruntime.__version__}", lambda path: runner(open_session(path)), sys.argv[2], ".onnx", KNOWN)
else:
    model = open_session(sys.argv[2])
    check_run(runner(model), sys.argv[2], sys.argv[3], check_class_names(model, sys.argv[2]))
