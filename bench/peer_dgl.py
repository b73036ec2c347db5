"""The graph workloads in DGL 2.1, the last that runs on a CPU (torch 2.2.1), by the protocol of regimen_bench.

usage: peer_dgl.py WORKLOAD --data FILE [--form FORM] [--size N]

Equal mathematics: the same graph, features, labels, layers, dropout rates, loss and optimizer as peer_torch.py.
  gcn        form sparse: inputs as CSR, as peer_torch.py has them, and sums by DGL's products; form layers:
             DGL's GraphConv on a dense matrix
  gat        DGL's GATv2Conv; form nodropout: inputs are not dropped
  aggregate  the mean of each node's neighbours
  sage       DGL's SAGEConv, which multiplies on the narrower side
  minibatch  (and sampled_run) NeighborSampler's blocks and SAGEConv; form sampling: blocks alone;
             form sampling-graphbolt: by GraphBolt
  molecules  DGL's GINConv on batches of dgl.batch()
"""
import os

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl
import dgl.nn.pytorch as layers
import torch
import torch.nn.functional as F

import peer
import peer_torch
from peer_torch import Training, Words

FAN_OUT = [5, 10, 15]


def graph_of(data, with_loops=False):
    n = len(data["label"])
    source, target = data["source"], data["target"]
    if with_loops:
        loops = torch.arange(n)
        source, target = torch.cat([source, loops]), torch.cat([target, loops])
    graph = dgl.graph((source, target), num_nodes=n)
    graph.create_formats_()  # before time is taken
    return graph


def gcn(data, sizes, form, _):
    graph, train = graph_of(data, with_loops=True), data["train"]
    words, classes = Words(data, sizes), sizes["classes"]
    if form == "layers":
        x = words.dense()
        first = layers.GraphConv(sizes["vocabulary"], 16)
        second = layers.GraphConv(16, classes)

        def logits():
            h = F.relu(first(graph, F.dropout(x, 0.5)))
            return second(graph, F.dropout(h, 0.5))[train]

        return Training([first, second], logits, data["label"][train], 0.01, 5e-4, "").step
    degree = graph.in_degrees().float().rsqrt()
    source, target = graph.edges()
    norm = (degree[source] * degree[target])[:, None]
    first = torch.nn.Linear(sizes["vocabulary"], 16, bias=False)
    second = torch.nn.Linear(16, classes, bias=False)
    bias = torch.nn.ParameterList([torch.zeros(16), torch.zeros(classes)])

    def logits():
        h = F.relu(dgl.ops.u_mul_e_sum(graph, words.times(first.weight, 0.5), norm) + bias[0])
        return (dgl.ops.u_mul_e_sum(graph, second(F.dropout(h, 0.5)), norm) + bias[1])[train]

    return Training([first, second, bias], logits, data["label"][train], 0.01, 5e-4, "").step


def gat(data, sizes, form, _):
    graph, train = graph_of(data, with_loops=True), data["train"]
    x = Words(data, sizes).dense()
    options = {"attn_drop": 0.6, "share_weights": True}
    first = layers.GATv2Conv(sizes["vocabulary"], 8, 8, **options)
    second = layers.GATv2Conv(64, sizes["classes"], 1, **options)

    def logits():
        h = F.elu(first(graph, x if form == "nodropout" else F.dropout(x, 0.6)).flatten(1))
        return second(graph, F.dropout(h, 0.6)).mean(1)[train]

    return Training([first, second], logits, data["label"][train], 0.005, 5e-4, "").step


def aggregate(data, _, form, size):
    graph, x = graph_of(data), torch.randn(len(data["label"]), size)
    return lambda _: dgl.ops.copy_u_mean(graph, x)


def sage_layers(data, sizes):
    widths = [data["feat"].shape[1], 256, 256, sizes["classes"]]
    return torch.nn.ModuleList([layers.SAGEConv(widths[i], widths[i + 1], "mean") for i in range(3)])


def through(convs, graphs, h):
    for i, (conv, graph) in enumerate(zip(convs, graphs)):
        h = conv(graph, h)
        if i < 2:
            h = F.dropout(F.relu(h), 0.5)
    return h


def sage(data, sizes, form, _):
    graph, x, train = graph_of(data), data["feat"], data["train"]
    convs = sage_layers(data, sizes)
    return Training([convs], lambda: through(convs, [graph] * 3, x)[train], data["label"][train], 0.01, 0, "").step


def graphbolt_sampling(data, size):
    """Blocks by GraphBolt's pipeline, on the process that asks."""
    from dgl import graphbolt

    graph, n = graphbolt.from_dglgraph(graph_of(data), True), len(data["label"])
    stages = graphbolt.ItemSampler(graphbolt.ItemSet(torch.arange(n), names="seed_nodes"), batch_size=size, shuffle=True)
    stages = stages.sample_neighbor(graph, FAN_OUT)

    def batches():
        while True:
            yield from stages

    each = batches()
    return lambda _: next(each)


def minibatch(data, sizes, form, size):
    if form == "sampling-graphbolt":
        return graphbolt_sampling(data, size)
    graph, x, n = graph_of(data), data["feat"], len(data["label"])
    sampler = dgl.dataloading.NeighborSampler(FAN_OUT[::-1])  # its list begins at the inputs
    convs = sage_layers(data, sizes)
    training = Training([convs], lambda inputs, blocks: through(convs, blocks, x[inputs]), None, 0.01, 0, "")

    def step(i):
        seeds = torch.randperm(n)[:size]
        inputs, _, blocks = sampler.sample_blocks(graph, seeds)
        if form != "sampling":
            training.inputs, training.labels = (inputs, blocks), data["label"][seeds]
            training.step(i)

    return step


class Gin(torch.nn.Module):
    """peer_torch.Gin with DGL's GINConv."""

    def __init__(self, width, classes):
        super().__init__()
        units = peer_torch.UNITS
        self.first, self.last = torch.nn.Linear(width, units), torch.nn.Linear(units, classes)
        self.convs = torch.nn.ModuleList(layers.GINConv(torch.nn.Sequential(
            torch.nn.Linear(units, units), torch.nn.BatchNorm1d(units), torch.nn.ReLU(),
            torch.nn.Linear(units, units), torch.nn.BatchNorm1d(units), torch.nn.ReLU()), "sum", learn_eps=True)
            for _ in range(peer_torch.ROUNDS))

    def forward(self, graph, x):
        h = self.first(x)
        for conv in self.convs:
            h = conv(graph, h)
        return self.last(dgl.ops.segment_reduce(graph.batch_num_nodes(), h, "mean"))


def molecules(data, sizes, form, _):
    cut = peer_torch.SmallGraphs(data, 640)
    graphs = [cut.graph(g, dgl.graph) for g in range(len(cut.size))]
    model = Gin(data["feat"].shape[1], sizes["classes"])
    training = Training([model], model, None, 1e-2, 0, "")
    state = {"batches": iter(())}

    def step(i):
        for _ in range(10):
            picked = next(state["batches"], None)
            if picked is None:
                state["batches"] = cut.fill()
                picked = next(state["batches"])
            batch = dgl.batch([graphs[g] for g in picked.tolist()])
            training.labels, training.inputs = cut.label[picked], (batch, batch.ndata["x"])
            training.step(i)

    return step


def main():
    options = peer.arguments(needs_data=True)
    data, sizes = peer_torch.read(options.data)
    workloads = {"gcn": gcn, "gat": gat, "sage": sage, "aggregate": aggregate, "minibatch": minibatch,
                 "sampled_run": minibatch, "molecules": molecules}
    step = workloads[options.workload](data, sizes, options.form, options.size)

    def set_threads(count):  # DGL's products have an OpenMP of their own
        torch.set_num_threads(count)
        dgl.utils.set_num_threads(count)

    peer.serve(step, options.workload, set_threads=set_threads, version="%s (torch %s)" % (dgl.__version__, torch.__version__))


main()
