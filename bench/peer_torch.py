"""The same workloads in PyTorch, each in the best formulation we know of.

usage: peer_torch.py WORKLOAD --data FILE [--form NAME[+compile|+pyg]] [--size N] [--device cuda]

Speaks the protocol of regimen_bench: a line of JSON when ready, then obeys "threads N" and "go N".
Equal mathematics: the same graph, features, labels, layers, dropout rates, loss and optimizer.
  gcn        form sparse: inputs as CSR, dropout on their non-zeros; form dense: a dense matrix
  gat        GAT v2 by gather and scatter; form nodropout: inputs are not dropped; form sparse
  sage       neighbours by CSR product; form csr, or narrow: the last layer multiplied first
  aggregate  form csr, or index_add
  minibatch  (and sampled_run) layers shrink towards the seeds; form sampling: without the training
  hgt        four node sets; form edges: one softmax over the edges of all relations, put together by receiver;
             form csr: weighted sums and their gradients as CSR products
  molecules  GIN on 1,000 small graphs, shuffled, batched by a budget of nodes; form csr, or index_add
+compile     what is differentiated goes through torch.compile
+pyg         the layers are PyTorch Geometric's: GCNConv and GATv2Conv on edges, SAGEConv on a CSR adjacency
"""
import json

import torch
import torch.nn.functional as F

import peer


def read(path):
    """Tensors and metadata of a safetensors file."""
    types = {"F32": torch.float32, "I64": torch.int64}
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        body = bytearray(file.read())
    out = {}
    for name, part in header.items():
        if name == "__metadata__":
            continue
        begin, end = part["data_offsets"]
        dtype = types[part["dtype"]]
        count = (end - begin) // (4 if dtype is torch.float32 else 8)
        out[name] = torch.frombuffer(body, dtype=dtype, count=count,
                                     offset=begin).reshape(part["shape"]).clone().to(peer.device)
    return out, {key: int(value) for key, value in header["__metadata__"].items()}


def csr(rows, columns, values, shape):
    return torch.sparse_coo_tensor(torch.stack([rows, columns]), values,
                                   shape).coalesce().to_sparse_csr()


class Product(torch.autograd.Function):
    """A x with A and its transpose as CSR."""

    @staticmethod
    def forward(ctx, x, a, at):
        ctx.at = at
        return a @ x

    @staticmethod
    def backward(ctx, g):
        return ctx.at @ g.contiguous(), None, None


class SparseInput(torch.autograd.Function):
    """X W^T for sparse X of values v; the gradient is for W alone."""

    @staticmethod
    def forward(ctx, v, w, pointer, row, column, shape):
        ctx.save_for_backward(v, row, column)
        ctx.shape = shape
        return torch.sparse_csr_tensor(pointer, column, v, shape) @ w.t()

    @staticmethod
    def backward(ctx, g):
        v, row, column = ctx.saved_tensors
        xt = torch.sparse_coo_tensor(torch.stack([column, row]), v, (ctx.shape[1], ctx.shape[0]))
        return None, torch.sparse.mm(xt, g).t(), None, None, None, None


class Words:
    """Row-normalized sparse features."""

    def __init__(self, data, sizes):
        self.pointer, self.column = data["words_start"], data["words"]
        lengths = self.pointer[1:] - self.pointer[:-1]
        self.row = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        self.value = (1.0 / lengths.float())[self.row]
        self.shape = (len(lengths), sizes["vocabulary"])

    def dense(self):
        x = torch.zeros(self.shape)
        x[self.row, self.column] = self.value
        return x

    def times(self, w, rate):
        v = F.dropout(self.value, rate) if rate else self.value
        return SparseInput.apply(v, w, self.pointer, self.row, self.column, self.shape)


class Training:
    """Steps of Adam; `inputs` are what logits() takes, if they change, or nothing."""

    def __init__(self, modules, logits, labels, rate, decay, how):
        parameters = [p for m in modules for p in m.parameters()]
        self.optimizer = peer.adam(parameters, lr=rate, weight_decay=decay)
        self.labels, self.inputs = labels, ()
        self.loss = peer.compiled(lambda labels, *inputs: F.cross_entropy(logits(*inputs), labels), how)

    def step(self, _):
        self.optimizer.zero_grad()
        self.loss(self.labels, *self.inputs).backward()
        self.optimizer.step()


def gcn_of_pyg(data, sizes, train, how):
    from torch_geometric.nn import GCNConv

    x, edges = Words(data, sizes).dense(), torch.stack([data["source"], data["target"]])
    first = GCNConv(sizes["vocabulary"], 16, cached=True)
    second = GCNConv(16, sizes["classes"], cached=True)

    def logits():
        h = F.relu(first(F.dropout(x, 0.5), edges))
        return second(F.dropout(h, 0.5), edges)[train]

    return Training([first, second], logits, data["label"][train], 0.01, 5e-4, how).step


def gcn(data, sizes, form, _, how):
    if how == "pyg":
        return gcn_of_pyg(data, sizes, data["train"], how)
    n = len(data["label"])
    loops = torch.arange(n)
    source = torch.cat([data["source"], loops])
    target = torch.cat([data["target"], loops])
    degree = torch.bincount(target, minlength=n).float()
    norm = (degree[source] * degree[target]).rsqrt()
    a, at = csr(target, source, norm, (n, n)), csr(source, target, norm, (n, n))
    words, train = Words(data, sizes), data["train"]
    x = words.dense() if form == "dense" else None
    first = torch.nn.Linear(sizes["vocabulary"], 16, bias=False)
    second = torch.nn.Linear(16, sizes["classes"], bias=False)
    bias = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(16)),
                                   torch.nn.Parameter(torch.zeros(sizes["classes"]))])

    def logits():
        h = first(F.dropout(x, 0.5)) if x is not None else words.times(first.weight, 0.5)
        h = F.relu(Product.apply(h, a, at) + bias[0])
        return (Product.apply(second(F.dropout(h, 0.5)), a, at) + bias[1])[train]

    return Training([first, second, bias], logits, data["label"][train], 0.01, 5e-4, how).step


class Attention(torch.nn.Module):
    """One GAT v2 convolution; queries and values share their weights, as in GAT."""

    def __init__(self, width, heads, units):
        super().__init__()
        self.both = torch.nn.Linear(width, heads * units)
        self.attention = torch.nn.Parameter(torch.randn(heads, units) * 0.1)
        self.heads, self.units = heads, units

    def forward(self, both, source, target, n):
        v = both.view(n, self.heads, self.units)
        values = v[source]
        e = (F.leaky_relu(v[target] + values, 0.2) * self.attention).sum(-1)
        most = torch.full((n, self.heads), -1e30).scatter_reduce(
            0, target[:, None].expand(-1, self.heads), e.detach(), "amax")
        p = (e - most[target]).exp()
        total = torch.zeros(n, self.heads).index_add(0, target, p)
        alpha = F.dropout(p / total[target], 0.6)
        return torch.zeros(n, self.heads, self.units).index_add(0, target,
                                                                values * alpha[:, :, None])


def gat_of_pyg(data, sizes, form, train, how):
    from torch_geometric.nn import GATv2Conv

    x, edges = Words(data, sizes).dense(), torch.stack([data["source"], data["target"]])
    options = {"dropout": 0.6, "share_weights": True}
    first = GATv2Conv(sizes["vocabulary"], 8, heads=8, **options)
    second = GATv2Conv(64, sizes["classes"], heads=1, **options)

    def logits():
        h = F.elu(first(x if form == "nodropout" else F.dropout(x, 0.6), edges))
        return second(F.dropout(h, 0.6), edges)[train]

    return Training([first, second], logits, data["label"][train], 0.005, 5e-4, how).step


def gat(data, sizes, form, _, how):
    if how == "pyg":
        return gat_of_pyg(data, sizes, form, data["train"], how)
    n = len(data["label"])
    loops = torch.arange(n)
    source = torch.cat([data["source"], loops])
    target = torch.cat([data["target"], loops])
    words, train = Words(data, sizes), data["train"]
    x = None if form == "sparse" else words.dense()
    first = Attention(sizes["vocabulary"], 8, 8)
    second = Attention(64, 1, sizes["classes"])

    def logits():
        if x is None:
            both = words.times(first.both.weight, 0.6) + first.both.bias
        else:
            both = first.both(x if form == "nodropout" else F.dropout(x, 0.6))
        h = F.elu(first(both, source, target, n).flatten(1))
        return second(second.both(F.dropout(h, 0.6)), source, target, n).mean(1)[train]

    return Training([first, second], logits, data["label"][train], 0.005, 5e-4, how).step


def sage_layers(data, sizes):
    dims = [data["feat"].shape[1], 256, 256, sizes["classes"]]
    own = [torch.nn.Linear(dims[i], dims[i + 1]) for i in range(3)]
    others = [torch.nn.Linear(dims[i], dims[i + 1], bias=False) for i in range(3)]
    return own, others


def mean_matrices(data):
    n = len(data["label"])
    source, target = data["source"], data["target"]
    weight = (1.0 / torch.bincount(target, minlength=n).clamp(min=1).float())[target]
    return csr(target, source, weight, (n, n)), csr(source, target, weight, (n, n))


def sage_of_pyg(data, sizes, train, how):
    from torch_geometric.nn import SAGEConv

    x, n = data["feat"], len(data["label"])
    adjacency = csr(data["target"], data["source"], torch.ones(len(data["source"])), (n, n))
    dims = [x.shape[1], 256, 256, sizes["classes"]]
    layers = torch.nn.ModuleList([SAGEConv(dims[i], dims[i + 1]) for i in range(3)])

    def logits():
        h = x
        for i, layer in enumerate(layers):
            h = layer(h, adjacency)
            if i < 2:
                h = F.dropout(F.relu(h), 0.5)
        return h[train]

    return Training([layers], logits, data["label"][train], 0.01, 0, how).step


def sage(data, sizes, form, _, how):
    x, train = data["feat"], data["train"]
    if how == "pyg":
        return sage_of_pyg(data, sizes, train, how)
    a, at = mean_matrices(data)
    own, others = sage_layers(data, sizes)

    def logits():
        h = x
        for i in range(3):
            if form == "narrow" and i == 2:
                h = own[i](h) + Product.apply(others[i](h), a, at)
            else:
                h = own[i](h) + others[i](Product.apply(h, a, at))
            if i < 2:
                h = F.dropout(F.relu(h), 0.5)
        return h[train]

    return Training(own + others, logits, data["label"][train], 0.01, 0, how).step


def aggregate(data, _, form, size, how):
    n = len(data["label"])
    x = torch.randn(n, size)
    if form == "index_add":
        source, target = data["source"], data["target"]
        scale = (1.0 / torch.bincount(target, minlength=n).clamp(min=1).float())[:, None]
        mean = peer.compiled(
            lambda x: torch.zeros(n, size).index_add_(0, target, x[source]) * scale, how)
        return lambda _: mean(x)
    a = mean_matrices(data)[0]
    return lambda _: a @ x


class Neighbours:
    """Edges by target; `f` of each node's at random, with replacement."""

    def __init__(self, data):
        n = len(data["label"])
        order = torch.argsort(data["target"])
        self.source = data["source"][order]
        self.degree = torch.bincount(data["target"], minlength=n)
        self.start = torch.zeros(n, dtype=torch.long)
        self.start[1:] = self.degree.cumsum(0)[:-1]

    def draw(self, seeds, f):
        offset = (torch.rand(len(seeds), f) * self.degree[seeds][:, None]).long()
        place = (self.start[seeds][:, None] + offset).clamp(max=len(self.source) - 1)
        flat = torch.cat([seeds, self.source[place].flatten()])
        nodes, inverse = flat.unique(return_inverse=True)
        return nodes, inverse[:len(seeds)], inverse[len(seeds):].view(len(seeds), f)

    def blocks(self, seeds):
        blocks, nodes = [], seeds
        for f in (5, 10, 15):
            nodes, own, others = self.draw(nodes, f)
            blocks.append((own, others))
        return nodes, blocks


def minibatch(data, sizes, form, size, how):
    n = len(data["label"])
    neighbours, x, labels = Neighbours(data), data["feat"], data["label"]
    own, others = sage_layers(data, sizes)

    def logits(nodes, blocks):
        h = x[nodes]
        for i, (mine, theirs) in enumerate(reversed(blocks)):
            near = h[theirs.flatten()].view(*theirs.shape, -1).mean(1)
            h = own[i](h[mine]) + others[i](near)
            if i < 2:
                h = F.dropout(F.relu(h), 0.5)
        return h

    training = Training(own + others, logits, None, 0.01, 0, how)

    def step(i):
        seeds = torch.randperm(n)[:size]
        training.inputs = neighbours.blocks(seeds)
        if form != "sampling":
            training.labels = labels[seeds]
            training.step(i)

    return step


SETS, SHARES = ["nodes", "authors", "fields", "institutions"], [0, 0.5, 0.8, 0.95, 1]
RELATIONS = {"cites": (0, 0), "writes": (1, 0), "written_by": (0, 1), "has": (0, 2), "is_of": (2, 0),
             "works_at": (1, 3), "employs": (3, 1)}


def hetero(data):
    """Rows of each node set, ends of each relation, training nodes of the first: as bench/hetero.c has them."""
    begin = [int(share * len(data["label"])) for share in SHARES]
    rows = [data["feat"][begin[i]:begin[i + 1]].clone() for i in range(4)]
    edges = {}
    for name, (a, b) in RELATIONS.items():
        kept = ((data["source"] >= begin[a]) & (data["source"] < begin[a + 1]) &
                (data["target"] >= begin[b]) & (data["target"] < begin[b + 1]))
        edges[name] = (data["source"][kept] - begin[a], data["target"][kept] - begin[b])
    return rows, edges, data["train"][data["train"] < begin[1]]


class WeightedSum(torch.autograd.Function):
    """[receivers, heads, depth]: sums of v [senders, heads, depth] weighted by alpha [edges, heads], edges in the
    order of their receivers; a CSR product for each head."""

    @staticmethod
    def forward(ctx, alpha, v, pointer, source, target, back):
        ctx.save_for_backward(alpha, v, source, target)
        ctx.back, ctx.shape = back, (len(pointer) - 1, len(v))
        return torch.stack([torch.sparse_csr_tensor(pointer, source, alpha[:, k], ctx.shape) @ v[:, k]
                            for k in range(alpha.shape[1])], 1)

    @staticmethod
    def backward(ctx, g):
        alpha, v, source, target = ctx.saved_tensors
        pointer, order = ctx.back
        row, turned = target[order], alpha[order]
        dv = torch.stack([torch.sparse_csr_tensor(pointer, row, turned[:, k], ctx.shape[::-1]) @ g[:, k].contiguous()
                          for k in range(alpha.shape[1])], 1)
        return (g[target] * v[source]).sum(-1), dv, None, None, None, None


class Hgt(torch.nn.Module):
    """A round of the heterogeneous graph transformer, TF-GNN's formulas."""

    def __init__(self, edges, counts, width, heads, form):
        super().__init__()
        self.heads, self.depth, self.form = heads, width // heads, form
        linears = lambda: torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in SETS])
        self.key, self.query, self.message, self.output = linears(), linears(), linears(), linears()
        square = lambda: torch.nn.ParameterDict(
            {r: torch.nn.Parameter(torch.randn(heads, self.depth, self.depth) * 0.1) for r in edges})
        self.attention, self.carried = square(), square()
        self.prior = torch.nn.ParameterDict({r: torch.nn.Parameter(torch.ones(heads)) for r in edges})
        self.skip = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(())) for _ in SETS])
        self.norm = torch.nn.ModuleList([torch.nn.LayerNorm(width, eps=1e-3) for _ in SETS])
        self.heard = []  # by receiver: relations, all their edges, where each relation's senders stand
        for to in range(len(SETS)):
            names = [r for r in edges if RELATIONS[r][1] == to]
            starts, total = [], 0
            for r in names:
                starts.append(total)
                total += counts[RELATIONS[r][0]]
            source = torch.cat([edges[r][0] + start for r, start in zip(names, starts)])
            target = torch.cat([edges[r][1] for r in names])
            order = torch.argsort(target, stable=True)
            source, target = source[order], target[order]
            pointer = torch.zeros(counts[to] + 1, dtype=torch.long)
            pointer[1:] = torch.bincount(target, minlength=counts[to]).cumsum(0)
            turn = torch.argsort(source, stable=True)
            back = torch.zeros(total + 1, dtype=torch.long)
            back[1:] = torch.bincount(source, minlength=total).cumsum(0)
            self.heard.append((names, source, target, pointer, (back, turn)))

    def split(self, x):
        return x.view(len(x), self.heads, self.depth)

    def forward(self, h, wanted):
        """New states of the first `wanted` sets."""
        keys = [self.split(layer(x)) for layer, x in zip(self.key, h)]
        queries = [self.split(layer(x)) for layer, x in zip(self.query, h)]
        messages = [self.split(layer(x)) for layer, x in zip(self.message, h)]
        out = []
        for to, (names, source, target, pointer, back) in enumerate(self.heard[:wanted]):
            n, senders = len(h[to]), [RELATIONS[r][0] for r in names]
            # the attention matrix stands on the senders' side: one query for all relations
            k = torch.cat([torch.einsum("nhl,hjl->nhj", keys[s],
                                        self.attention[r] * (self.prior[r] * self.depth ** -0.5)[:, None, None])
                           for r, s in zip(names, senders)])
            v = torch.cat([torch.einsum("nhj,hjl->nhl", messages[s], self.carried[r])
                           for r, s in zip(names, senders)])
            e = (queries[to][target] * k[source]).sum(-1)
            most = torch.full((n, self.heads), -1e30).scatter_reduce(
                0, target[:, None].expand(-1, self.heads), e.detach(), "amax")
            p = (e - most[target]).exp()
            total = torch.zeros(n, self.heads).index_add(0, target, p)
            alpha = p / total[target]
            if self.form == "csr":
                y = WeightedSum.apply(alpha, v, pointer, source, target, back)
            else:
                y = torch.zeros(n, self.heads, self.depth).index_add(0, target, v[source] * alpha[:, :, None])
            y = F.dropout(self.output[to](F.gelu(y.flatten(1))), 0.2)
            out.append(self.norm[to](h[to] + (y - h[to]) * torch.sigmoid(self.skip[to])))
        return out


class HgtOfPyg(torch.nn.Module):
    """The same round with PyTorch Geometric's HGTConv and what it has not: dropout, norm."""

    def __init__(self, edges, width, heads):
        from torch_geometric.nn import HGTConv

        super().__init__()
        kinds = {r: (SETS[a], r, SETS[b]) for r, (a, b) in RELATIONS.items()}
        self.conv = HGTConv(width, width, (SETS, list(kinds.values())), heads)
        self.edges = {kinds[r]: torch.stack(ends) for r, ends in edges.items()}
        self.norm = torch.nn.ModuleList([torch.nn.LayerNorm(width, eps=1e-3) for _ in SETS])

    def forward(self, h, _):
        y = self.conv(dict(zip(SETS, h)), self.edges)
        return [norm(F.dropout(y[name], 0.2)) for name, norm in zip(SETS, self.norm)]


def hgt(data, sizes, form, size, how):
    rows, edges, train = hetero(data)
    counts, width = [len(x) for x in rows], size or 64
    first = torch.nn.ModuleList([torch.nn.Linear(x.shape[1], width) for x in rows])
    rounds = torch.nn.ModuleList([HgtOfPyg(edges, width, 4) if how == "pyg" else Hgt(edges, counts, width, 4, form)
                                  for _ in range(2)])
    last = torch.nn.Linear(width, sizes["classes"])

    def logits():
        h = [F.gelu(layer(x)) for layer, x in zip(first, rows)]
        for i, each in enumerate(rounds):
            h = each(h, len(SETS) if i == 0 else 1)  # of the last round nobody asks for more
        return last(h[0][train])

    return Training([first, rounds, last], logits, data["label"][train], 0.001, 0, how).step


class SmallGraphs:
    """1,000 graphs of 10 to 30 nodes, cut out of the file's graph as regimen_bench cuts them: an edge is of
    its target's graph, its source is brought in. Batches: in a new order each epoch, filled to `budget` nodes."""

    def __init__(self, data, budget):
        count = [10 + 7 * g % 21 for g in range(1000)]
        self.size = torch.tensor(count)
        self.start = F.pad(self.size.cumsum(0), (1, 0))
        while self.start[-1] > len(data["label"]):  # a file of fewer nodes has fewer graphs
            self.size, self.start = self.size[:-1], self.start[:-1]
        self.budget, self.x, self.label = budget, data["feat"], data["label"][self.start[:-1]]
        n = int(self.start[-1])
        inside = data["target"] < n
        target = data["target"][inside]
        graph = torch.bucketize(target, self.start, right=True) - 1
        source = data["source"][inside] % self.size[graph]  # a node's place in its graph
        target = target - self.start[graph]
        self.by_target = self.sorted(graph, target, source, n)
        self.by_source = self.sorted(graph, source, target, n)
        self.batches = iter(())

    def sorted(self, graph, row, column, n):
        """Each graph's rows: where its edges begin, how many a row has, columns in that order."""
        node = self.start[graph] + row
        order = torch.argsort(node, stable=True)
        edges = torch.bincount(graph, minlength=len(self.size))
        return (F.pad(edges.cumsum(0), (1, 0)), edges, torch.bincount(node, minlength=n),
                column[order])

    def fill(self):
        order = torch.randperm(len(self.size))
        total, begin, used = self.size[order].cumsum(0), 0, 0
        while begin < len(order):
            end = int(torch.searchsorted(total, used + self.budget, right=True))
            yield order[begin:end]
            begin, used = end, int(total[end - 1])

    def graph(self, g, make):
        """One of them alone, by make((source, target), num_nodes=..) and with its features."""
        starts, edges, degree, column = self.by_target
        rows = slice(int(self.start[g]), int(self.start[g] + self.size[g]))
        source = column[int(starts[g]):int(starts[g] + edges[g])]
        target = torch.repeat_interleave(torch.arange(int(self.size[g])), degree[rows])
        graph = make((source, target), num_nodes=int(self.size[g]))
        graph.ndata["x"] = self.x[rows]
        return graph

    @staticmethod
    def spread(start, length, offset):
        """start[i] + 0, 1, .., length[i] - 1 for each i."""
        return torch.repeat_interleave(start - offset, length) + torch.arange(int(length.sum()))

    def next(self):
        """Features, labels, each node's graph, sizes, and the edges by target and by source."""
        graphs = next(self.batches, None)
        if graphs is None:
            self.batches = self.fill()
            graphs = next(self.batches)
        size = self.size[graphs]
        offset = size.cumsum(0) - size
        nodes = self.spread(self.start[graphs], size, offset)
        ends = []
        for begin, edges, degree, column in (self.by_target, self.by_source):
            many = edges[graphs]
            picked = self.spread(begin[graphs], many, many.cumsum(0) - many)
            ends.append((F.pad(degree[nodes].cumsum(0), (1, 0)),
                         column[picked] + torch.repeat_interleave(offset, many)))
        of = torch.repeat_interleave(torch.arange(len(graphs)), size)
        return self.x[nodes], self.label[graphs], of, size, ends[0], ends[1]


UNITS, ROUNDS = 32, 5  # of GIN on small graphs


class Gin(torch.nn.Module):
    """A dense layer, five rounds of sums and two dense layers with batch norms, the mean of each graph."""

    def __init__(self, width, classes, form, how):
        super().__init__()
        self.form = form
        self.first, self.last = torch.nn.Linear(width, UNITS), torch.nn.Linear(UNITS, classes)
        self.dense = torch.nn.ModuleList(torch.nn.Sequential(
            torch.nn.Linear(UNITS, UNITS), torch.nn.BatchNorm1d(UNITS), torch.nn.ReLU(),
            torch.nn.Linear(UNITS, UNITS), torch.nn.BatchNorm1d(UNITS), torch.nn.ReLU()) for _ in range(ROUNDS))
        self.epsilon = torch.nn.ParameterList(torch.zeros(1) for _ in range(ROUNDS))
        self.convs = None
        if how == "pyg":
            from torch_geometric.nn import GINConv

            self.convs = torch.nn.ModuleList(GINConv(dense, train_eps=True) for dense in self.dense)

    def forward(self, x, of, size, by_target, by_source):
        h, n = self.first(x), len(x)
        pointer, column = by_target
        if self.convs is not None or self.form == "csr":
            ones = torch.ones(len(column))
            a = torch.sparse_csr_tensor(pointer, column, ones, (n, n))
            at = torch.sparse_csr_tensor(*by_source, ones, (n, n))
        else:
            row = torch.repeat_interleave(torch.arange(n), pointer[1:] - pointer[:-1])
        for i in range(ROUNDS):
            if self.convs is not None:
                h = self.convs[i](h, a)
            elif self.form == "csr":
                h = self.dense[i]((1 + self.epsilon[i]) * h + Product.apply(h, a, at))
            else:
                near = torch.zeros_like(h).index_add(0, row, h[column])
                h = self.dense[i]((1 + self.epsilon[i]) * h + near)
        mean = torch.zeros(len(size), UNITS).index_add(0, of, h) / size[:, None]
        return self.last(mean)


def molecules(data, sizes, form, _, how):
    graphs = SmallGraphs(data, 640)
    model = Gin(data["feat"].shape[1], sizes["classes"], form, how)
    training = Training([model], model, None, 1e-2, 0, how)

    def step(i):
        for _ in range(10):
            x, training.labels, *rest = graphs.next()
            training.inputs = (x, *rest)
            training.step(i)

    return step


def main():
    options = peer.arguments(needs_data=True)
    data, sizes = read(options.data)
    workloads = {"gcn": gcn, "gat": gat, "sage": sage, "aggregate": aggregate, "minibatch": minibatch,
                 "sampled_run": minibatch, "hgt": hgt, "molecules": molecules}
    step = workloads[options.workload](data, sizes, options.form, options.size, options.how)
    peer.serve(step, options.workload)


if __name__ == "__main__":  # peer_dgl.py takes some of its parts
    main()
