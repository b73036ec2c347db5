"""SavedModels run by TensorFlow, compared with what Regimen computed: by tf.saved_model.load() and the signature
"serving_default", which is all that a user calls.

usage: saved_model_oracle.py tests FOLDER       NAME.pb, NAME.inputs.safetensors, NAME.outputs.safetensors
       saved_model_oracle.py run EXPORT DUMP    inputs-<n>.safetensors, outputs-<n>.safetensors; the signature is that
                                                of assets.extra/signature.json, a wrong index is an error
"""
import json
import os
import shutil
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import absl.logging
import numpy as np
import tensorflow as tf

from exported import check_run, check_tests, load_file

absl.logging.set_verbosity(absl.logging.ERROR)  # it warns of names that no parameter in Python could have

# Where TensorFlow 2.15 is wrong or refuses; none of it occurs in a trained model.
KNOWN = {
    r"conv2d\.\d+-(8|9|10|11)-f32-": "Conv2D of no images has as many channels as they have",
    r"spmm\.2-3-": "TensorScatterAdd has no rows without channels",
}


def open_signature(folder):
    """serving_default, and the model, which must live as long."""
    model = tf.saved_model.load(folder)
    return model.signatures["serving_default"], model


def runner(serve, model):
    def run(inputs):
        wanted = serve.structured_input_signature[1]
        return {name: y.numpy() for name, y in serve(**{name: tf.constant(inputs[name]) for name in wanted}).items()}

    run.model = model
    return run


def open_file(path):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, os.path.join(folder, "saved_model.pb"))
        return runner(*open_signature(folder))


def check_signature(serve, folder):
    """Names, dtypes and shapes are what signature.json says."""
    with open(os.path.join(folder, "assets.extra", "signature.json")) as file:
        about = json.load(file)
    for kind, specs in ("inputs", serve.structured_input_signature[1]), ("outputs", serve.structured_outputs):
        got = {name: (spec.dtype.name, spec.shape.as_list()) for name, spec in specs.items()}
        want = {t["name"]: (t["dtype"], [d if isinstance(d, int) else None for d in t["shape"]]) for t in about[kind]}
        if got != want:
            sys.exit(f"{folder}: {kind} are {got}, the signature has {want}")
    return f", {len(about['inputs'])} inputs and {len(about['outputs'])} outputs as signed"


def check_wrong_indices(run, folder, dump):
    """The ends of edges: one that is negative or too large is an error, as in the ONNX file."""
    inputs, refused = load_file(os.path.join(dump, "inputs-0.safetensors")), 0
    for name in run.names:
        if not name.endswith((".#source", ".#target")) or inputs[name].size == 0:
            continue
        for wrong in -1, 1 << 40:
            column = np.array(inputs[name])
            column[-1] = wrong
            try:
                run({**inputs, name: column})
            except tf.errors.InvalidArgumentError:
                refused += 1
                continue
            sys.exit(f"{folder}: {name} with the index {wrong} is no error")
    return f", {refused} wrong indices refused"


if sys.argv[1] == "tests":
    check_tests(f"TensorFlow {tf.__version__}", open_file, sys.argv[2], ".pb", KNOWN)
else:
    signature, model = open_signature(sys.argv[2])
    run = runner(signature, model)
    run.names = sorted(signature.structured_input_signature[1])
    note = check_signature(signature, sys.argv[2]) + check_wrong_indices(run, sys.argv[2], sys.argv[3])
    check_run(run, sys.argv[2], sys.argv[3], note)
