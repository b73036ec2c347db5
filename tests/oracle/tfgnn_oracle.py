"""Convolutions and graph updates of TF-GNN 1.0.3 on a random heterogeneous graph, for src/gnn/tfgnn_test.c.

Graph and weights come from formulas that the test has too. `--write` makes tests/oracle/tfgnn_golden.txt again,
`--check` compares it with what TF-GNN says now. Both need the environment of `scripts/oracles.sh tf`.
"""
import math
import os
import pathlib
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
    import numpy as np
    import tensorflow as tf
    import tensorflow_gnn as tfgnn
    from tensorflow_gnn.models import (gat_v2, gcn, graph_sage, hgt, mt_albis, multi_head_attention,
                                       vanilla_mpnn)
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

GOLDEN = pathlib.Path(__file__).with_name("tfgnn_golden.txt")
WIDTH, EDGE_WIDTH = 4, 2
NODES = {"a": 6, "b": 5, "c": 4}
# name: source, target, edges, targets that hear (the last of b hears nothing)
EDGES = {"ab": ("a", "b", 12, 4), "ba": ("b", "a", 7, 6), "bb": ("b", "b", 9, 4), "cb": ("c", "b", 5, 4)}


def number(i):
    return math.sin(0.7 * i + 0.2)


def rows(begin, count, width):
    return tf.constant([[number(begin + i * width + k) for k in range(width)] for i in range(count)], tf.float32)


def make_graph(empty=()):
    state = 7
    nodes, edges = {}, {}

    def draw(n):
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        return (state >> 8) % n

    for i, (name, count) in enumerate(NODES.items()):
        width = 0 if name in empty else WIDTH
        nodes[name] = tfgnn.NodeSet.from_fields(
            sizes=[count], features={"hidden_state": tf.reshape(rows(1000 * i, count, width), [count, width])})
    for i, (name, (source, target, count, hear)) in enumerate(EDGES.items()):
        ends = [(draw(NODES[source]), draw(hear)) for _ in range(count)]
        edges[name] = tfgnn.EdgeSet.from_fields(
            sizes=[count],
            features={"e": rows(5000 + 1000 * i, count, EDGE_WIDTH),
                      "w": tf.constant([1.5 + number(9000 + 100 * i + k) for k in range(count)], tf.float32)},
            adjacency=tfgnn.Adjacency.from_indices((source, [s for s, _ in ends]), (target, [t for _, t in ends])))
    return tfgnn.GraphTensor.from_pieces(node_sets=nodes, edge_sets=edges)


def weight(name, count):
    """What a parameter of that name is, element by element, whatever its shape."""
    code = sum((i + 1) * byte for i, byte in enumerate(name.encode())) % 997
    x = 0.5 * np.sin(0.37 * np.arange(count) + 0.01 * code)
    return x * x + 0.5 if name.endswith("moving_variance") else x


CASES = {}


def case(name):
    def register(make):
        CASES[name] = make
        return make
    return register


def assign(layer, names):
    """names: Regimen's for each weight in the layer's order, or a function from its name; "^T": transposed."""
    for i, w in enumerate(layer.weights):
        name = names(w.name) if callable(names) else names[i]
        shape = tuple(w.shape)
        value = weight(name.removesuffix("^T"), int(np.prod(shape)))
        w.assign(value.reshape(shape[::-1]).T if name.endswith("^T") else value.reshape(shape))
    assert callable(names) or len(names) == len(layer.weights), [w.name for w in layer.weights]


def convolved(layer, names, edge_set="ab", **call):
    graph = make_graph()
    layer(graph, edge_set_name=edge_set, **call)
    assign(layer, names)
    return layer(graph, edge_set_name=edge_set, **call).numpy()


def updated(layer, names, sets=("b",), empty=()):
    graph = make_graph(empty)
    layer(graph)
    assign(layer, names)
    graph = layer(graph)
    return np.concatenate([graph.node_sets[s]["hidden_state"].numpy() for s in sets])


DENSE = ["kernel", "bias"]
GAT = ["query/kernel", "query/bias", "value/kernel", "value/bias", "attention^T"]
GAT_EDGE = GAT[:4] + ["edge/kernel", GAT[4]]
MHA = ["key/kernel", "key/bias", "value/kernel", "value/bias", "query/kernel", "query/bias"]
MHA_EDGE = ["key/kernel", "key/bias", "key_edge/kernel", "value/kernel", "value/bias", "value_edge/kernel",
            "query/kernel", "query/bias"]
MHA_AFTER = ["value/kernel", "value/bias", "query/kernel", "query/bias"]

for norm in ["none", "in", "out", "in_out", "in_in"]:
    for loops in [False, True]:
        CASES[f"gcn_{norm}{'_loops' * loops}"] = lambda norm=norm, loops=loops: convolved(
            gcn.GCNConv(3, degree_normalization=norm, add_self_loops=loops, edge_weight_feature_name="w"),
            DENSE, "bb")


@case("gat_v2")
def _():
    return convolved(gat_v2.GATv2Conv(num_heads=2, per_head_channels=3, receiver_tag=tfgnn.TARGET), GAT)


@case("gat_v2_edges")
def _():
    return convolved(gat_v2.GATv2Conv(num_heads=2, per_head_channels=3, receiver_tag=tfgnn.SOURCE,
                                      sender_edge_feature="e", heads_merge_type="mean",
                                      attention_activation="tanh"), GAT_EDGE)


@case("gat_v2_edge_pool")
def _():
    return convolved(gat_v2.GATv2EdgePool(num_heads=2, per_head_channels=3, receiver_tag=tfgnn.TARGET,
                                          sender_feature="e"), GAT)


@case("sage_mean")
def _():
    return convolved(graph_sage.GraphSAGEAggregatorConv(receiver_tag=tfgnn.TARGET, units=3), ["kernel"])


@case("sage_sum")
def _():
    return convolved(graph_sage.GraphSAGEAggregatorConv(receiver_tag=tfgnn.TARGET, units=3, reduce_type="sum"),
                     ["kernel"])


@case("sage_pool")
def _():
    return convolved(graph_sage.GraphSAGEPoolingConv(receiver_tag=tfgnn.TARGET, units=3, hidden_units=5),
                     ["hidden/kernel", "hidden/bias", "kernel"])


@case("sage_update")
def _():
    return updated(graph_sage.GraphSAGEGraphUpdate(units=3, use_pooling=False, receiver_tag=tfgnn.TARGET,
                                                   node_set_names=["b"]),
                   [f"update/nodes/b/{n}" for n in
                    ["ab/kernel", "bb/kernel", "cb/kernel", "next_state/bias", "next_state/self/kernel"]])


@case("sage_gcn")
def _():
    update = graph_sage.GCNGraphSAGENodeSetUpdate(edge_set_names=["ab", "bb"], receiver_tag=tfgnn.TARGET, units=3,
                                                  use_bias=True)
    return updated(tfgnn.keras.layers.GraphUpdate(node_sets={"b": update}),
                   ["bias", "ab/kernel", "bb/kernel", "self/kernel"])


@case("vanilla_mpnn")
def _():
    inner = [f"{s}/{n}" for s in ["ab", "bb", "cb", "next_state"] for n in DENSE]
    return updated(vanilla_mpnn.VanillaMPNNGraphUpdate(
        units=3, message_dim=4, receiver_tag=tfgnn.TARGET, node_set_names=["b"], edge_feature="e",
        reduce_type="mean|max_no_inf", use_layer_normalization=True),
        [f"update/nodes/b/{n}" for n in inner + ["next_state/layer_norm/gamma", "next_state/layer_norm/beta"]])


@case("gat_v2_mpnn")
def _():
    return updated(gat_v2.GATv2MPNNGraphUpdate(units=3, message_dim=4, num_heads=2, receiver_tag=tfgnn.TARGET,
                                               node_set_names=["b"], edge_feature="e"),
                   [f"update/nodes/b/{s}/{n}" for s in ["ab", "bb", "cb"] for n in GAT_EDGE] +
                   [f"update/nodes/b/next_state/{n}" for n in DENSE])


def multi_head(names, **options):
    return convolved(multi_head_attention.MultiHeadAttentionConv(
        **{"num_heads": 2, "per_head_channels": 3, "receiver_tag": tfgnn.TARGET, **options}), names)


@case("multi_head")
def _():
    return multi_head(MHA)


@case("multi_head_edges")
def _():
    return multi_head(["scaling"] + MHA_EDGE, sender_edge_feature="e", score_scaling="trainable_elup1",
                      attention_activation="tanh")


@case("multi_head_linear_edges")
def _():
    return multi_head(MHA_EDGE, sender_edge_feature="e", receiver_tag=tfgnn.SOURCE, activation="tanh")


@case("multi_head_plain_keys")
def _():
    return multi_head(["value/kernel", "value/bias", "value_edge/kernel", "query/kernel", "query/bias"],
                      sender_edge_feature="e", transform_keys=False, score_scaling="none")


@case("multi_head_values_after")
def _():
    return multi_head(MHA_AFTER, transform_keys=False, transform_values_after_pooling=True)


@case("multi_head_values_after_edges")
def _():
    return multi_head(MHA_AFTER, sender_edge_feature="e", transform_keys=False, transform_values_after_pooling=True)


@case("multi_head_edge_pool")
def _():
    return convolved(multi_head_attention.MultiHeadAttentionEdgePool(
        num_heads=2, per_head_channels=3, receiver_tag=tfgnn.TARGET, sender_feature="e"),
        ["key_edge/kernel", "key_edge/bias", "value_edge/kernel", "value_edge/bias", "query/kernel", "query/bias"])


def hgt_name(name, end=""):
    name = name.split("/", 1)[1].removesuffix(":0")
    if found := re.fullmatch(r"(key|message|query|aggr)_node_(\w)/(\w+)", name):
        role = "output" if found[1] == "aggr" else found[1]
        return f"update/nodes/{found[2]}/{role}/{found[3]}"
    if found := re.fullmatch(r"(attention|message)_edge_(\w+)/kernel", name):
        return f"update/edges/{found[2]}{end}/{found[1]}"
    if found := re.fullmatch(r"priors_(\w+)", name):
        return f"update/edges/{found[1]}{end}/prior"
    if found := re.fullmatch(r"skip_(\w)", name):
        return f"update/nodes/{found[1]}/skip"
    found = re.fullmatch(r"normalization_(\w)/(\w+)", name)
    return f"update/nodes/{found[1]}/layer_norm/{found[2]}"


@case("hgt")
def _():
    return updated(hgt.HGTGraphUpdate(num_heads=2, per_head_channels=2, receiver_tag=tfgnn.TARGET), hgt_name,
                   ("b", "a"))


@case("hgt_plain")
def _():
    return updated(hgt.HGTGraphUpdate(num_heads=2, per_head_channels=2, receiver_tag=tfgnn.SOURCE,
                                      use_weighted_skip=False, use_layer_norm=False, use_bias=False,
                                      activation="tanh"),
                   lambda name: hgt_name(name, "@source"), ("b", "a", "c"))


@case("hgt_latent")
def _():
    return updated(hgt.HGTGraphUpdate(num_heads=2, per_head_channels=2, receiver_tag=tfgnn.TARGET), hgt_name,
                   ("b", "a"), empty=("a",))


def albis(conv_names, norm, **options):
    norms = {"layer": ["norm/gamma", "norm/beta"], "none": [],
             "batch": ["norm/gamma", "norm/beta", "norm/moving_mean", "norm/moving_variance"]}[norm]
    return updated(mt_albis.MtAlbisGraphUpdate(
        **{"units": 4, "message_dim": 4, "receiver_tag": tfgnn.TARGET, "node_set_names": ["b"],
           "attention_num_heads": 2, "normalization_type": norm, **options}),
        [f"update/nodes/b/{n}" for n in conv_names + ["next_state/" + n for n in DENSE + norms]])


def of_each(names, sets=("ab", "bb", "cb")):
    return [f"{s}/{n}" for s in sets for n in names]


@case("mt_albis")
def _():
    return albis(of_each(DENSE), "layer", edge_feature_name="e", next_state_type="residual",
                 simple_conv_reduce_type="mean|sum|max_no_inf")


@case("mt_albis_plain")
def _():
    return albis(of_each(DENSE), "none", simple_conv_use_receiver_state=False, edge_set_combine_type="sum")


@case("mt_albis_multi_head")
def _():
    return albis(of_each(MHA_EDGE), "batch", edge_feature_name="e", attention_type="multi_head")


@case("mt_albis_gat_v2")
def _():
    return albis(of_each(GAT, ["ab"]) + of_each(DENSE, ["bb", "cb"]), "layer", attention_type="gat_v2",
                 attention_edge_set_names=["ab"], next_state_type="residual")


def main():
    lines = []
    for name, make in CASES.items():
        y = make()
        assert y.ndim == 2 and np.isfinite(y).all(), name
        lines.append(f"case {name} {y.shape[0]} {y.shape[1]}")
        lines += [" ".join(f"{x:.9g}" for x in row) for row in y]
    if sys.argv[1:] == ["--write"]:
        GOLDEN.write_text("# Made by tfgnn_oracle.py\n" + "\n".join(lines) + "\n")
        return
    kept = GOLDEN.read_text().split("\n")[1:-1]
    assert len(kept) == len(lines)
    worst = 0.0
    for old, new in zip(kept, lines):
        if new.startswith("case"):
            assert old == new, (old, new)
            continue
        for x, y in zip(old.split(), new.split(), strict=True):
            worst = max(worst, abs(float(x) - float(y)) / (1 + abs(float(y))))
    print(f"tfgnn    {len(CASES)} cases of TF-GNN {tfgnn.__version__}, TensorFlow {tf.__version__}: "
          f"largest difference to the golden values {worst:.1e}")
    assert worst < 1e-6


main()
