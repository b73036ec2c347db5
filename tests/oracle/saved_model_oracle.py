"""SavedModels run by TensorFlow, compared with what Regimen computed: by tf.saved_model.load() and the signature
"serving_default", which is all that a user calls.

usage: saved_model_oracle.py tests FOLDER       NAME.pb, NAME.inputs.safetensors, NAME.outputs.safetensors
       saved_model_oracle.py run EXPORT DUMP    inputs-<n>.safetensors, outputs-<n>.safetensors; the signature is that
                                                of assets.extra/signature.json, a wrong index is an error
       saved_model_oracle.py examples EXPORT DUMP   the same tables as serialized Examples: one for each batch, and one
                                                for each graph of it; and by the signature of tensors; an Example
                                                that has what only the one beside it has is an error
       saved_model_oracle.py parsing EXPORT     a receiver with examples.json: Examples with and without each feature
                                                against the tensors that they are
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


def example_of(tables):
    """Tables as a serialized Example."""
    feature = {}
    for key, table in tables.items():
        flat = np.asarray(table).reshape(-1)
        feature[key] = (tf.train.Feature(float_list=tf.train.FloatList(value=flat)) if flat.dtype.kind == "f"
                        else tf.train.Feature(int64_list=tf.train.Int64List(value=flat.astype(np.int64))))
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def parts_of(tables, ends):
    """The tables of each graph of a merged one. `ends`: table of ends of edges -> the node set they are numbers in."""
    sizes = {key[:-len(".#size")]: np.asarray(t) for key, t in tables.items() if key.endswith(".#size")}
    begins = {s: np.concatenate([[0], np.cumsum(n)]) for s, n in sizes.items()}
    graphs = []
    for c in range(len(next(iter(sizes.values())))):
        graph = {}
        for key, table in tables.items():
            table, of = np.asarray(table), key.rsplit(".", 1)[0]
            if key.endswith(".#size"):
                graph[key] = table[c:c + 1]
                continue
            name = of if of in sizes else of.rsplit(".", 1)[0]  # of lists "nodes/paper.words.d1"
            begin, end = (begins[name][c], begins[name][c + 1]) if name in sizes else (c, c + 1)
            if key + ".d1" in tables:
                rows = np.concatenate([[0], np.cumsum(tables[key + ".d1"])])
                begin, end = rows[begin], rows[end]
            graph[key] = table[begin:end] - (begins["nodes/" + ends[key]][c] if key in ends else 0)
        graphs.append(graph)
    return graphs


def ends_of(folder):
    """Of signature.json: "... of the node of 'paper' that each edge of 'cites' starts from ..."."""
    with open(os.path.join(folder, "assets.extra", "signature.json")) as file:
        inputs = json.load(file)["inputs"]
    return {t["name"]: t["doc"].split("'")[1] for t in inputs if t["name"].endswith((".#source", ".#target"))}


def same(got, want, what):
    for name, y in want.items():
        if name in got and not np.allclose(got[name].numpy(), y, rtol=1e-5, atol=1e-5):
            sys.exit(f"{what}: {name} differs by {np.abs(got[name].numpy() - y).max()}")


def wrong_pairs(one, two, names, ends):
    """Two graphs of which one has a number of the other's nodes, or a row of the other's tables, or no sizes."""
    counted = {"nodes/" + of for of in ends.values()}
    for key in (k for k in names if k in one and len(one[k]) and len(two[k])):
        if key in ends:
            size = int(np.sum(one[f"nodes/{ends[key]}.#size"]))
            yield f"a node of the second in {key}", {**one, key: np.append(one[key][1:], size)}, two
            yield f"a node of the first in {key}", one, {**two, key: np.append(two[key][1:], -1)}
        if key in ends or key.endswith(".d1") or key.rsplit(".", 1)[0] in counted and not key.endswith(".#size"):
            yield f"a row of the first in {key}", {**one, key: one[key][:-1]}, {**two, key: np.concatenate([one[key][-1:], two[key]])}
    sizes = [k for k in names if k.endswith(".#size")]
    for key in sizes if len(sizes) > 1 else []:
        yield f"no {key} in the first", {k: t for k, t in one.items() if k != key}, two


def check_wrong_pairs(serve, names, parts, ends):
    """A graph alone stands beside itself."""
    refused = 0
    for what, *pair in wrong_pairs(parts[0], parts[-1], names, ends):
        try:
            serve(examples=tf.constant([example_of(p) for p in pair]))
        except tf.errors.InvalidArgumentError:
            refused += 1
            continue
        sys.exit(f"two Examples with {what}: no error")
    return refused


def check_examples(folder, dump):
    model = tf.saved_model.load(folder)
    serve, by_tables = model.signatures["serving_default"], model.signatures["tensors"]
    ends, batches, graphs, refused = ends_of(folder), 0, 0, 0
    while os.path.exists(os.path.join(dump, f"inputs-{batches}.safetensors")):
        tables = load_file(os.path.join(dump, f"inputs-{batches}.safetensors"))
        want = load_file(os.path.join(dump, f"outputs-{batches}.safetensors"))
        known = {k: t for k, t in tables.items() if not k.endswith((".#source", ".#target")) or k in ends}
        names = by_tables.structured_input_signature[1]
        same(by_tables(**{n: tf.constant(tables[n], spec.dtype) for n, spec in names.items()}), want, "tables")
        same(serve(examples=tf.constant([example_of(tables)])), want, "one Example")
        parts = parts_of(known, ends)
        same(serve(examples=tf.constant([example_of(p) for p in parts])), want, "an Example for each graph")
        refused += check_wrong_pairs(serve, names, parts, ends)
        batches, graphs = batches + 1, graphs + len(parts)
    if batches == 0:
        sys.exit(f"{dump} has no batch")
    print(f"TensorFlow {tf.__version__}: {folder}: {graphs} graphs in {batches} batches as Examples, {refused} wrong pairs "
          "refused")


def check_parsing(folder):
    """Each feature there and not there, and lists of several lengths."""
    model = tf.saved_model.load(folder)
    serve, by_tensors = model.signatures["serving_default"], model.signatures["tensors"]
    with open(os.path.join(folder, "examples.json")) as file:
        features = json.load(file)["features"]
    specs = by_tensors.structured_input_signature[1]
    random, tried = np.random.RandomState(1), 0
    for missing in [None] + [f["key"] for f in features if not f.get("required", False)]:
        records, columns = [], {f["tensor"]: [] for f in features}
        for _ in range(5):
            record = {}
            for f in features:
                shape = [random.randint(0, 4) if d < 0 else d for d in f["shape"]]
                values = random.randn(*shape) if f["list"] == "float" else random.randint(0, 2, shape)
                values = np.asarray(values, np.float32 if f["list"] == "float" else np.int64)
                if f["key"] == missing:
                    values = (np.zeros([0] + shape[1:], values.dtype) if "padding" in f
                              else np.broadcast_to(np.asarray(f["default"], values.dtype).reshape(
                                  shape if len(f["default"]) > 1 else [1] * len(shape)), shape))
                else:
                    record[f["key"]] = values
                columns[f["tensor"]].append(values)
            records.append(example_of(record))
        tensors = {}
        for f in features:
            longest = max((len(v) for v in columns[f["tensor"]] if v.ndim), default=0)
            rows = [np.concatenate([v, np.full((longest - len(v),) + v.shape[1:], f["padding"], v.dtype)])
                    if "padding" in f else v for v in columns[f["tensor"]]]
            tensors[f["tensor"]] = np.stack(rows)
        want = by_tensors(**{n: tf.cast(tensors[n], spec.dtype) for n, spec in specs.items()})
        same(serve(examples=tf.constant(records)), {n: y.numpy() for n, y in want.items()}, f"without {missing}")
        tried += 1
    for f in features:
        if not f.get("required", False):
            continue
        try:
            serve(examples=tf.constant([example_of({})]))
        except tf.errors.InvalidArgumentError:
            continue
        sys.exit(f"{folder}: an Example without {f['key']} is no error")
    print(f"TensorFlow {tf.__version__}: {folder}: {tried} times 5 Examples are their tensors")


if sys.argv[1] == "tests":
    check_tests(f"TensorFlow {tf.__version__}", open_file, sys.argv[2], ".pb", KNOWN)
elif sys.argv[1] == "examples":
    check_examples(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "parsing":
    check_parsing(sys.argv[2])
else:
    signature, model = open_signature(sys.argv[2])
    run = runner(signature, model)
    run.names = sorted(signature.structured_input_signature[1])
    note = check_signature(signature, sys.argv[2]) + check_wrong_indices(run, sys.argv[2], sys.argv[3])
    check_run(run, sys.argv[2], sys.argv[3], note)
