"""Times the workloads beside their floors and beside the same programs in PyTorch, DGL, CTranslate2 and TF-GNN.

usage: bench.py --bench build/bench/regimen_bench [--peer PYTHON] [--dgl PYTHON] [--ctranslate2 PYTHON]
                [--tfgnn PYTHON] [--device cuda] [--count] [--out build/bench.json] [--rounds N] [WORKLOAD ...]

Each workload is a set of processes that live through the run: the limits of the machine, ours, the
peers. A round gives each of them its turn; ratios are taken within a round and their median is told,
so that a slow minute slows all of them. In a turn every side runs with 1 and with 2 threads, and the
faster counts. A peer may have several forms (eager, torch.compile, PyTorch Geometric's layers): in each
round the fastest is the peer. Where several peers run, the fastest of all their forms is told as well.
With --count nothing is timed: for each workload that trains or sums, what a GPU's kernels launch, compute and
move in a step beside the CPU's (bench/count.c), the time that an H100 needs for that, and what bounds it. No
GPU is needed.
With --device ours and torch compute there, workloads and goals are those of DEVICE_WORKLOADS, and there
are no floors: the limits are the CPU's.
Python's standard library only.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TURN_SECONDS = 0.2  # of each side and thread count in a round
LONG_STEP = 1.0
BEFORE = "before"  # the peer of --base
THREADS = [t for t in (1, 2) if t <= (os.cpu_count() or 1)]


class Ended(RuntimeError):
    """A child that is gone, and its last words."""


class Child:
    """A process that times steps on request."""

    def __init__(self, command, quiet=False, passive=False):
        """`quiet`: what it says on standard error is kept for the message of its end. `passive`: threads of
        OpenMP that wait for each other sleep; else they spin, of which a machine with other tenants makes a time
        slice for each product."""
        self.said = tempfile.TemporaryFile("w+") if quiet else None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.said, text=True, bufsize=1,
                                        env={**os.environ, **({"OMP_WAIT_POLICY": "passive"} if passive else {})})
        self.command = command
        self.steps = {}  # by thread count
        self.last = {}  # seconds of a step in the last turn, by thread count
        self.chosen = []
        self.facts = self.answer()
        self.version = self.facts.get("version", "")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Ended("%s ended: %s" % (" ".join(self.command), self.last_words()))
        return json.loads(line)

    def last_words(self):
        if self.said is None:
            return "see above"
        self.said.seek(0)
        lines = [line.strip() for line in self.said if line.strip()]
        return lines[-1] if lines else "without a word"

    def go(self, steps, threads=None):
        if threads is not None:
            self.process.stdin.write("threads %d\n" % threads)
        self.process.stdin.write("go %d\n" % steps)
        self.facts = self.answer()
        return self.facts["seconds"]

    def settle(self):
        """How many steps fill a turn, for each thread count; of long steps only the better count."""
        seconds = {}
        for threads in THREADS:
            seconds[threads] = self.go(1, threads)  # memory is taken, threads start
        for threads in THREADS:
            if seconds[threads] < LONG_STEP:
                seconds[threads] = min(seconds[threads], self.go(1, threads))
        if min(seconds.values()) > LONG_STEP:
            seconds = dict([min(seconds.items(), key=lambda item: item[1])])
        self.steps = {threads: max(1, min(1000, int(TURN_SECONDS / max(each, 1e-6))))
                      for threads, each in seconds.items()}

    def turn(self):
        """Seconds of a step with the thread count that is faster in this round."""
        self.last = {threads: self.go(steps, threads) for threads, steps in self.steps.items()}
        self.chosen.append(min(self.last, key=self.last.get))
        return self.last[self.chosen[-1]]

    def threads(self):
        return statistics.mode(self.chosen)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Peer:
    """What ours is compared with: a name, the goal for the ratio or None, and a child for each form."""

    def __init__(self, name, goal):
        self.name, self.goal, self.forms, self.ratios = name, goal, [], []

    def add(self, name, child):
        self.forms.append({"name": name, "child": child, "seconds": [], "ratios": [], "by_threads": {}})

    def turn(self, ours, by_threads):
        """`ours`: seconds of our turn; by_threads: the same with each thread count."""
        for form in self.forms:
            seconds = form["child"].turn()
            form["seconds"].append(seconds)
            form["ratios"].append(seconds / ours)
            for threads, each in form["child"].last.items():
                if threads in by_threads:
                    form["by_threads"].setdefault(threads, []).append(each / by_threads[threads])
        self.ratios.append(min(form["ratios"][-1] for form in self.forms))

    def close(self):
        for form in self.forms:
            form["child"].close()


class OtherProgram:
    """Takes one core while it is held."""

    def __init__(self, wanted):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def program_of(name):
    """Whose the peer of this name is: "DGL's layers, dense X" is DGL's."""
    return re.split("[ ,']", name)[0]


# ---- floors: seconds from counts (f) and the limits of the same round (m) ------------------------


def gcn_floor(f, m):
    entries, loops = f["entries"], f["edges"] + f["nodes"]
    once = entries * 16 + loops * (16 + f["classes"])
    dense = f["nodes"] * 16 * f["classes"]
    flops = 2 * (2 * once + 3 * dense)
    touched = 4 * (2 * entries + f["nodes"] * 6 * (16 + f["classes"]) + 2 * loops +
                   4 * f["width"] * 16)
    return flops / m["fma"] + touched / m["cache"]


def gat_floor(f, m):
    entries, loops, out = f["entries"], f["edges"] + f["nodes"], f["classes"]
    products = 2 * 2 * entries * 64 + 2 * 3 * f["nodes"] * 64 * out
    edges = 18 * loops * (64 + out) + 20 * loops * 9
    touched = 4 * (2 * entries + f["nodes"] * 6 * (64 + out) + 8 * loops * 9 +
                   4 * f["width"] * 64)
    return (products + edges) / m["fma"] + touched / m["cache"]


def sage_floor(f, m):
    """mean(X) is made once; the last layer is multiplied before it is aggregated."""
    n, c = f["nodes"], f["classes"]
    forward = 2 * n * (2 * f["width"] * 256 + 2 * 256 * 256 + 2 * 256 * c)
    inner = 2 * n * (2 * 256 * 256 + 2 * 256 * c)  # inputs' gradients of layers 2 and 3
    gathered = 4 * f["edges"] * 2 * (256 + c)
    streamed = 20 * n * 256 * 4  # each state read and written where no product can hold it
    return (2 * forward + inner) / m["product"] + gathered / m["gather"] + streamed / m["stream"]


def aggregate_floor(f, m):
    return (4 * f["edges"] * f["width"] / m["gather"] + 4 * f["nodes"] * f["width"] / m["stream"])


def sampling_floor(f, m):
    """For each edge one look at the neighbour's number and one whether it is known."""
    return 2 * f["edges"] / m["lookups"]


def minibatch_floor(f, m):
    """Rows of a round: nodes that hear; at least edges / fan-out."""
    rows = [f["edges"] // 15, f["seeds"] * 6, f["seeds"]]
    w, c = f["width"], f["classes"]
    flops = 2 * (rows[0] * 2 * w * 256 * 2 + rows[1] * 2 * 256 * 256 * 3 +
                 rows[2] * 2 * 256 * c * 3)
    near = f["seeds"] * 55
    gathered = 4 * (f["nodes"] * w + (f["edges"] - near) * w + 2 * near * 256)
    return flops / m["product"] + gathered / m["gather"] + sampling_floor(f, m)


def hgt_floor(f, m):
    """Units u; in nodes of the graph (bench/hetero.c has the shares): an encoder of all, then in the first round a key
    and an output for each node, 2.3 queries and 2.3 messages (the ends of the seven relations); the second round makes
    the states of the first set alone: 0.95 keys, 0.95 messages, 1.5 queries, 0.5 outputs, and hears 65 % of the edges.
    Of each edge, rows are gathered twice forward and four times backward. Backward, products count twice."""
    n, u = f["nodes"], f["units"]
    products = 2 + 2 * 2.3 + 0.95 + 0.95 + 1.5 + 0.5
    flops = 2 * n * u * (3 * products * u + 2 * f["width"])
    gathered = 1.65 * 4 * f["edges"] * u * 6
    streamed = 1.5 * 20 * n * u * 4  # each state read and written where no product can hold it
    return flops / m["product"] + gathered / m["gather"] + streamed / m["stream"]


def sample_floor(f, m):
    return sampling_floor(f, m) + 2 * 4 * f["nodes"] * f["width"] / m["gather"]


def translate_floor(f, m):
    """Products, then what passes through memory: each of a layer pair's five blocks 16 times over its
    rows (norm, dropout and sum, forward and backward), a feed-forward block's inner rows 6 times, the
    logits 5 times, and 28 bytes a parameter for Adam."""
    tokens, w, vocabulary = f["pairs"] * f["length"], f["width"], f["vocabulary"]
    weights = f["layers"] * (12 * w * w + 4 * w * f["inner"]) + vocabulary * w
    attention = 12 * f["pairs"] * f["length"] ** 2 * w * 3 * f["layers"]
    rate = m["product_bf16"] if f["form"].endswith("bf16") else m["product"]
    rows = 4 * tokens * (5 * 16 * w + 2 * 6 * f["inner"]) * f["layers"]
    logits = 5 * 4 * tokens * vocabulary
    adam = 28 * f["parameters"]
    return (6 * weights * tokens + attention) / rate + (rows + logits + adam) / m["stream"]


def language_floor(f, m):
    """As translate_floor(): of each layer two blocks, queries, keys, values and output, and three products of the
    gated feed-forward block, whose inner rows pass 10 times; a causal product needs half of its square."""
    tokens, w, vocabulary = f["rows"] * f["length"], f["width"], f["vocabulary"]
    weights = f["layers"] * (4 * w * w + 3 * w * f["inner"]) + vocabulary * w
    attention = 6 * f["rows"] * f["length"] ** 2 * w * f["layers"]
    rate = m["product_bf16"] if f["form"] == "bf16" else m["product"]
    rows = 4 * tokens * (2 * 16 * w + 10 * f["inner"]) * f["layers"]
    logits = 5 * 4 * tokens * vocabulary
    adam = 28 * f["parameters"]
    return (6 * weights * tokens + attention) / rate + (rows + logits + adam) / m["stream"]


def decode_floor(f, m):
    """Products alone: the encoder and the keys and values of its result, then for each token of each
    hypothesis the decoder's layers and the output table."""
    w, rows = f["width"], f["sentences"] * f["beams"] * f["tokens"]
    block = 2 * w * f["inner"]
    source = f["layers"] * (4 * w * w + block + 2 * w * w)
    token = f["layers"] * (6 * w * w + block) + f["vocabulary"] * w
    rate = m["product_bf16"] if f["form"].endswith("bf16") else m["product"]
    return 2 * (source * f["sentences"] * f["source"] + token * rows) / rate


# ---- workloads ---------------------------------------------------------------------------------


def times_f32(f, m):
    return f["times_f32"]


def least_times_f32(f):
    """What tiles gain; elsewhere bf16 may be f32 by another name, but never a loss."""
    return 2.5 if f["isa_bf16"] == "amx" else 1 if f["isa_bf16"] != f["isa_f32"] else 0.95


def with_tiles(goal):
    """A goal that presumes AMX: elsewhere the ratio is told without one."""
    return lambda f: goal if f["isa_bf16"] == "amx" else None


def gathered_over_triad(f, m):
    return 4 * f["edges"] * f["width"] / f["seconds"] / m["triad"]


def steps_a_microsecond(f, m):
    return f["loop_steps"] / f["seconds"] * 1e-6


def eager_and_compiled(form):
    return [form, form + "+compile"]


def both_waits(form):
    return [form, form + "+passive"]


CORA = ("cora", "nodes=2708 pairs=5429 words=1433 classes=7 train=140")
SMALL = ("small", "nodes=20400 pairs=24000 feat=32 classes=2 train=1000")  # cut into 1,000 graphs
MAPPED = ("mapped", "nodes=1000000 edges=20000000 feat=128 classes=40")  # a graph file
FILES = ("files", "")  # a folder, not a graph
SERVED = ("served", "")  # a translation model, likewise
HETERO = ("hetero", "nodes=100000 pairs=685000 feat=128 classes=40 train=60000 skew=0.5")
LARGE = ("large", "nodes=169343 pairs=1166243 feat=128 classes=40 train=90941 skew=2")

# name, title, workload, data, form, size, floor, peers [(name, forms, goal)], goals against the limits
# [(what, function of facts and limits, goal)], goal of the peak memory against the first peer's
WORKLOADS = [
    ("gcn", "GCN epoch, Cora size", "gcn", CORA, "", 0, gcn_floor,
     [("torch, sparse X", eager_and_compiled("sparse"), 12),
      ("torch, dense X", eager_and_compiled("dense") + ["dense+pyg"], None),
      ("DGL, sparse X", ["sparse"], 12), ("DGL's layers, dense X", ["layers"], None)], [], None),
    ("gat", "GAT v2 epoch, Cora size, inputs not dropped", "gat", CORA, "nodropout", 0, gat_floor,
     [("torch, dense X", eager_and_compiled("nodropout") + ["nodropout+pyg"], 25),
      ("DGL, dense X", ["nodropout"], 20)], [], None),
    ("gat", "GAT v2 epoch, Cora size, inputs dropped", "gat", CORA, "", 0, gat_floor,
     [("torch, dense X", eager_and_compiled("") + ["+pyg"], 60),
      ("torch, sparse X", eager_and_compiled("sparse"), 20), ("DGL, dense X", [""], 35)], [], None),
    ("aggregate", "mean aggregation, F=256", "aggregate", LARGE, "", 256, aggregate_floor,
     [("torch CSR", ["csr"], 3.5), ("torch index_add", eager_and_compiled("index_add"), None),
      ("DGL", [""], 3)],
     [("gathered / DRAM triad", gathered_over_triad, 0.7)], None),
    ("aggregate", "mean aggregation, F=128", "aggregate", LARGE, "", 128, aggregate_floor,
     [("torch CSR", ["csr"], 3.5), ("torch index_add", eager_and_compiled("index_add"), None),
      ("DGL", [""], 3)], [], None),
    ("sage", "GraphSAGE epoch, full batch", "sage", LARGE, "", 0, sage_floor,
     [("torch CSR", eager_and_compiled("csr") + ["csr+pyg"], 4),
      ("torch CSR, narrow side first", eager_and_compiled("narrow"), None), ("DGL", [""], 3)],
     [("floor / time", "floor", 0.7)], 0.5),
    ("minibatch", "GraphSAGE step, 1,024 seeds, 5/10/15", "minibatch", LARGE, "", 1024,
     minibatch_floor, [("torch", eager_and_compiled(""), 6), ("DGL", [""], 3.5)], [], None),
    ("minibatch", "the same, sampling alone", "minibatch", LARGE, "sampling", 1024, sampling_floor,
     [("torch", ["sampling"], 5), ("DGL", ["sampling", "sampling-graphbolt"], 6)], [], None),
    ("minibatch", "the same, on the whole sampled subgraph", "minibatch", LARGE, "whole", 1024,
     None, [], [], None),
    ("sampled_run", "the same as a run: sampled, checked, learned", "sampled_run", LARGE, "", 1024,
     None, [("torch", eager_and_compiled(""), 4), ("DGL", [""], 4)], [], None),
    ("hgt", "HGT step, 4 node sets, 1 M edges", "hgt", HETERO, "", 64, hgt_floor,
     [("torch", eager_and_compiled("edges") + ["csr", "edges+pyg"], 3)],
     [("floor / time", "floor", None)], None),
    ("mapped", "a run on a graph file: 20 M edges, 256 seeds", "mapped", MAPPED, "", 256, None, [],
     [("2 GB / peak", lambda f, m: 2e9 / f["peak"], 1)], None),
    ("sample", "one subgraph a seed, with features", "sample", LARGE, "", 1024, sample_floor, [],
     [], None),
    ("bf16", "MLP 3 x 1,024, 1,024 rows: f32, then bf16", "bf16", None, "", 1024, None, [],
     [("times own f32", times_f32, least_times_f32)], None),
    ("translate_small", "Transformer 3+3 layers of 256, 2,048 tokens: f32", "translate", None,
     "small", 0, translate_floor, [("torch f32", eager_and_compiled("small"), 2.0)],
     [("floor / time", "floor", 0.85)], None),
    ("translate_small", "the same, bf16", "translate", None, "small-bf16", 0, translate_floor,
     [("torch bf16", eager_and_compiled("small-bf16"), with_tiles(4)),
      ("own f32", ["small"], with_tiles(3))],
     [("floor / time", "floor", with_tiles(0.6))], None),
    ("translate_base", "Transformer 6+6 layers of 512, 2,048 tokens: f32", "translate", None,
     "base", 0, translate_floor, [("torch f32", eager_and_compiled("base"), None)],
     [("floor / time", "floor", 0.8)], 0.7),
    ("translate_base", "the same, bf16", "translate", None, "base-bf16", 0, translate_floor,
     [("torch bf16", eager_and_compiled("base-bf16"), with_tiles(3)),
      ("own f32", ["base"], with_tiles(4))],
     [("floor / time", "floor", with_tiles(0.65))], None),
    ("language", "language model of 10 M parameters, 8 x 256 tokens: f32", "language", None, "f32", 0,
     language_floor, [("torch f32, eager", ["f32"], 2.0), ("torch f32, compiled", ["f32+compile"], 1.5)],
     [("floor / time", "floor", 0.85)], None),
    ("language", "the same, bf16", "language", None, "bf16", 0, language_floor,
     [("torch bf16", eager_and_compiled("bf16"), None), ("own f32", ["f32"], None)],
     [("floor / time", "floor", None)], None),
    ("decode", "24 tokens of 32 sentences, 3+3 layers of 256: greedy", "decode", None, "greedy", 0,
     decode_floor, [("torch f32", eager_and_compiled("greedy"), 3), ("CTranslate2 f32", both_waits("greedy"), 2),
                    ("CTranslate2 int8", both_waits("greedy-int8"), None)], [("floor / time", "floor", 0.6)], None),
    ("decode", "the same, bf16", "decode", None, "greedy-bf16", 0, decode_floor,
     [("torch f32", eager_and_compiled("greedy"), with_tiles(7)), ("own f32", ["greedy"], None)], [],
     None),
    ("decode", "the same, 8 bits", "decode", None, "greedy-int8", 0, None,
     [("CTranslate2 int8", both_waits("greedy-int8"), 1.6), ("own f32", ["greedy"], None)], [], None),
    ("decode", "the same, 8 bits and a shortlist", "decode", None, "greedy-int8-short", 0, None,
     [("CTranslate2 int8", both_waits("greedy-int8"), 2.5), ("own f32", ["greedy"], None)], [], None),
    ("decode", "one sentence, 8 bits", "decode", None, "greedy-int8", 1, None,
     [("CTranslate2 int8", both_waits("greedy-int8"), 1.6), ("own f32", ["greedy"], None)], [], None),
    ("decode", "the same with 4 beams", "decode", None, "beam", 0, decode_floor,
     [("torch f32", eager_and_compiled("beam"), 3.3), ("CTranslate2 f32", both_waits("beam"), 2),
      ("CTranslate2 int8", both_waits("beam-int8"), None)], [("floor / time", "floor", 0.6)], None),
    ("decode", "the same with 4 beams, bf16", "decode", None, "beam-bf16", 0, decode_floor,
     [("torch f32", eager_and_compiled("beam"), with_tiles(7)), ("own f32", ["beam"], None)], [], None),
    ("decode", "the same with 4 beams, 8 bits", "decode", None, "beam-int8", 0, None,
     [("CTranslate2 int8", both_waits("beam-int8"), 1.6), ("own f32", ["beam"], None)], [], None),
    ("decode", "the same with 4 beams, 8 bits and a shortlist", "decode", None, "beam-int8-short", 0, None,
     [("CTranslate2 int8", both_waits("beam-int8"), 2.5), ("own f32", ["beam"], None)], [], None),
    ("decode", "one sentence", "decode", None, "greedy", 1, None,
     [("CTranslate2 f32", both_waits("greedy"), 2)], [], None),
    ("decode", "one sentence with 4 beams", "decode", None, "beam", 1, None,
     [("CTranslate2 f32", both_waits("beam"), 2)], [], None),
    ("decode", "one sentence with 4 beams, 8 bits", "decode", None, "beam-int8", 1, None,
     [("CTranslate2 int8", both_waits("beam-int8"), 1.6)], [], None),
    ("decode", "128 sentences of unlike lengths, 512 tokens a batch: greedy", "served", SERVED, "greedy", 0, None,
     [("CTranslate2 f32", ["greedy+passive"], 2)], [], None),
    ("decode", "the same, 8 bits", "served", SERVED, "greedy-int8", 0, None,
     [("CTranslate2 int8", ["greedy-int8+passive"], 1.6)], [], None),
    ("decode", "the same with 4 beams", "served", SERVED, "beam", 0, None,
     [("CTranslate2 f32", ["beam+passive"], 2)], [], None),
    ("decode", "the same with 4 beams, 8 bits", "served", SERVED, "beam-int8", 0, None,
     [("CTranslate2 int8", ["beam-int8+passive"], 1.6)], [], None),
    ("molecules", "10 steps of GIN on 1,000 small graphs, 640 nodes a batch", "molecules", SMALL, "", 0,
     None, [("torch", eager_and_compiled("csr") + eager_and_compiled("index_add") + ["csr+pyg"], 5),
            ("DGL", [""], 6)], [], None),
    ("runner", "10 steps of a run: 1,280 subgraphs of records", "runner", LARGE, "", 0, None,
     [("TF-GNN's runner", [""], 5)], [], None),
    ("runner", "the same, another program on one core", "runner", LARGE, "busy", 0, None,
     [("TF-GNN's runner", [""], 3)], [], None),
    ("loop", "1,000 steps that do nothing", "loop", None, "", 0, None, [],
     [("steps a microsecond", steps_a_microsecond, 0.2)], None),
    ("checkpoint", "checkpoint of 400 MB: save", "checkpoint", FILES, "save", 0, None,
     [("dd conv=fsync", ["dd"], 0.7)], [], None),
    ("checkpoint", "checkpoint of 400 MB: copy, asynchronous", "checkpoint", FILES, "detach", 0, None,
     [("own save", ["save"], 2)], [], None),
    ("checkpoint", "checkpoint of 400 MB: restore", "checkpoint", FILES, "restore", 0, None,
     [("dd conv=fsync", ["dd"], 0.7)], [], None),
    ("records", "TFRecord: read and check", "records", LARGE, "read", 0, None,
     [("C loop: read, check CRC", ["loop"], 0.8)], [], None),
    ("records", "TFRecord + Example: read, check, parse", "records", LARGE, "example", 0, None,
     [("C loop: read, check CRC", ["loop"], 0.8)], [], None),
    ("records", "TFRecord to graphs", "records", LARGE, "graph", 0, None,
     [("C loop: read, check CRC", ["loop"], None)], [], None),
]
# The same on a device, beside torch on it.
DEVICE_WORKLOADS = [
    ("gcn", "GCN epoch, Cora size", "gcn", CORA, "", 0, None,
     [("torch, sparse X", eager_and_compiled("sparse"), None),
      ("torch, dense X", eager_and_compiled("dense") + ["dense+pyg"], 1.5)], [], None),
    ("gat", "GAT v2 epoch, Cora size, inputs not dropped", "gat", CORA, "nodropout", 0, None,
     [("torch, dense X", eager_and_compiled("nodropout") + ["nodropout+pyg"], 1.5)], [], None),
    ("aggregate", "mean aggregation, F=256", "aggregate", LARGE, "", 256, None,
     [("torch CSR", ["csr"], 1.5), ("torch index_add", eager_and_compiled("index_add"), None)], [], None),
    ("sage", "GraphSAGE epoch, full batch", "sage", LARGE, "", 0, None,
     [("torch CSR", eager_and_compiled("csr") + ["csr+pyg"], 1.5),
      ("torch CSR, narrow side first", eager_and_compiled("narrow"), None)], [], None),
    ("minibatch", "GraphSAGE step, 1,024 seeds, 5/10/15, drawn, then learned", "minibatch", LARGE, "", 1024, None,
     [("torch", eager_and_compiled(""), None)], [], None),
    ("sampled_run", "the same as a run, which draws ahead", "sampled_run", LARGE, "", 1024, None,
     [("torch", eager_and_compiled(""), 1.5)], [], None),
    ("translate_small", "Transformer 3+3 layers of 256, 2,048 tokens: f32", "translate", None, "small", 0, None,
     [("torch f32", eager_and_compiled("small"), None)], [], None),
    ("translate_small", "the same, bf16", "translate", None, "small-bf16", 0, None,
     [("torch bf16", eager_and_compiled("small-bf16"), 1.0)], [], None),
]
# Counted: name in BENCH, title, workload, data, form, size. What is left out of WORKLOADS computes nothing on a device.
COUNTED = [
    ("gcn", "GCN epoch, Cora size", "gcn", CORA, "", 0),
    ("gat", "GAT v2 epoch, inputs not dropped", "gat", CORA, "nodropout", 0),
    ("gat", "GAT v2 epoch, inputs dropped", "gat", CORA, "", 0),
    ("aggregate", "mean aggregation, F=256", "aggregate", LARGE, "", 256),
    ("aggregate", "mean aggregation, F=128", "aggregate", LARGE, "", 128),
    ("sage", "GraphSAGE epoch, full batch", "sage", LARGE, "", 0),
    ("minibatch", "GraphSAGE step, 1,024 seeds", "minibatch", LARGE, "", 1024),
    ("minibatch", "the same, on the whole sampled subgraph", "minibatch", LARGE, "whole", 1024),
    ("sampled_run", "the same as a run", "sampled_run", LARGE, "", 1024),
    ("hgt", "HGT step, 1 M edges", "hgt", HETERO, "", 64),
    ("mapped", "a run on a graph file, 256 seeds", "mapped", MAPPED, "", 256),
    ("bf16", "MLP 3 x 1,024, a step in f32 and one in bf16", "bf16", None, "", 1024),
    ("translate_small", "Transformer 3+3 layers of 256: f32", "translate", None, "small", 0),
    ("translate_small", "the same, bf16", "translate", None, "small-bf16", 0),
    ("translate_base", "Transformer 6+6 layers of 512: f32", "translate", None, "base", 0),
    ("translate_base", "the same, bf16", "translate", None, "base-bf16", 0),
    ("molecules", "10 steps of GIN, 640 nodes a batch", "molecules", SMALL, "", 0),
    ("runner", "10 steps of a run on records", "runner", LARGE, "", 0),
]
LAUNCHES_MOST = 1.3  # a fused op
ROUNDS_MOST = {"translate_base": 5}  # a step of the peer takes seconds
SCRIPTS = {"DGL": "peer_dgl.py", "CTranslate2": "peer_ctranslate2.py", "TF-GNN": "peer_tfgnn.py"}
# torch's; else peer_torch.py
PEERS = {"translate": "peer_translation.py", "decode": "peer_decoding.py", "language": "peer_language.py"}
PACKAGES = {"torch": "PyTorch", "TF-GNN": "TensorFlow"}  # what a peer tells the version of
OWN = ("records", "checkpoint")  # their peers are forms of regimen_bench
RECORDS = {"records": 8192, "runner": 17500}  # in the file that a workload reads
HOW = {"": "", "compile": ", compiled", "pyg": ", PyG's layers", "passive": ", passive waits"}
NAMES = list(dict.fromkeys(w[0] for w in WORKLOADS))


def make_served(path, bench, ctranslate2):
    """A translation model in all of its forms, unless it is there; in CTranslate2's where its Python is."""
    if os.path.exists(path):
        return
    subprocess.run([bench, "make-served", path], check=True)
    if ctranslate2:
        subprocess.run([ctranslate2, "-W", "ignore", os.path.join(HERE, SCRIPTS["CTranslate2"]), "quantize", "--data",
                        path], check=True)


class Bench:
    def __init__(self, options, folder):
        self.bench, self.rounds, self.folder = options.bench, options.rounds, folder
        self.base = options.base
        self.device = ["--device", options.device] if options.device else []
        self.pythons = {"torch": options.peer, "DGL": options.dgl, "CTranslate2": options.ctranslate2,
                        "TF-GNN": options.tfgnn}
        self.results = []
        self.versions = set()
        self.limits = None if options.device else Child([self.bench, "limits"])
        self.limits_seen = []

    def data(self, what, workload):
        path = os.path.join(self.folder, what[0])
        if what is FILES:
            os.makedirs(path, exist_ok=True)
            return path
        if what is SERVED:
            make_served(path, self.bench, self.pythons["CTranslate2"])
            return path
        if not os.path.exists(path):
            subprocess.run([self.bench, "make-graph" if what is MAPPED else "make", path] + what[1].split(), check=True)
        if workload not in RECORDS:
            return path
        records = os.path.join(self.folder, workload)
        if not os.path.exists(records):
            subprocess.run([self.bench, "make-records", records, path,
                            "records=%d" % RECORDS[workload]], check=True)
        return records

    def child(self, name, workload, data, form, size):
        """The process of a peer's form, or None where its interpreter is not there."""
        arguments = [workload, "--data", data, "--form", form, "--size", str(size)] + self.device
        if name == BEFORE:
            if workload == "checkpoint":  # saves of one step in one folder would be one save
                arguments[2] = os.path.join(data, BEFORE)
                os.makedirs(arguments[2], exist_ok=True)
            return Child([self.base] + arguments)
        if workload in OWN or name.startswith("own "):
            return Child([self.bench] + arguments)
        program = program_of(name)
        python = self.pythons[program]
        if not python:
            return None
        script = os.path.join(HERE, SCRIPTS.get(program) or PEERS.get(workload, "peer_torch.py"))
        return Child([python, "-W", "ignore", script] + arguments, quiet=True, passive=form.endswith("+passive"))

    def peer(self, name, forms, goal, workload, data, size):
        peer = Peer(name, goal)
        for form in forms:
            shown = name + HOW[form.partition("+")[2]] + (", GraphBolt" if form.endswith("-graphbolt") else "")
            try:
                child = self.child(name, workload, data, form, size)
                if child is None:
                    continue
                child.settle()
            except Ended as error:
                print("    %-34s does not run: %s" % (shown, error))
                continue
            peer.add(shown, child)
            if child.version:
                program = program_of(name)
                self.versions.add("%s %s" % (PACKAGES.get(program, program), child.version))
        return peer

    def run(self, spec):
        name, title, workload, what, form, size, floor, peer_specs, limit_goals, memory = spec
        data = self.data(what, workload) if what is not None else ""
        if self.base:  # against itself as it was, and nothing else
            floor, peer_specs, limit_goals, memory = None, [(BEFORE, [form], 0.97)], [], None
        ours = Child([self.bench, workload, "--data", data, "--form", form, "--size", str(size)] + self.device)
        ours.settle()
        peers = [self.peer(*each, workload, data, size) for each in peer_specs]
        peers = [peer for peer in peers if peer.forms]
        other = OtherProgram(form == "busy")
        times, floors, shares, by_threads = [], [], {what: [] for what, _, _ in limit_goals}, {}
        rounds = min(self.rounds, ROUNDS_MOST.get(name, self.rounds))
        for _ in range(rounds):
            limits = self.take_limits()
            seconds = ours.turn()
            times.append(seconds)
            if floor is not None:
                floors.append(floor(ours.facts, limits))
            for goal, measure, _ in limit_goals:
                shares[goal].append(floors[-1] / seconds if measure == "floor"
                                    else measure(ours.facts, limits))
            for peer in peers:
                peer.turn(seconds, ours.last)
            for threads, each in ours.last.items():
                by_threads.setdefault(threads, []).append(each)
        other.close()
        check_tokens(title, ours, peers)
        result = {"title": title, "workload": workload, "seconds": statistics.median(times),
                  "threads": ours.threads(), "peak": ours.facts["peak"], "rounds": rounds,
                  "facts": ours.facts, "all_seconds": times, "peers": [], "goals": [],
                  "by_threads": {threads: statistics.median(each) for threads, each in by_threads.items()}}
        if floors:
            result["floor"] = statistics.median(floors)
            result["of_floor"] = statistics.median(f / t for f, t in zip(floors, times))
        for peer in peers:
            add_peer(result, peer)
        add_best(result, [peer for peer in peers if program_of(peer.name) in self.pythons])
        for goal, _, least in limit_goals:
            add_goal(result, goal, least, statistics.median(shares[goal]))
        if memory is not None and peers:
            share = ours.facts["peak"] / peers[0].forms[0]["child"].facts["peak"]
            result["goals"].append({"what": "peak memory / " + peers[0].name, "goal": memory,
                                    "measured": share, "met": share <= memory, "most": True})
        for each in [ours] + peers:
            each.close()
        self.results.append(result)
        show(result)

    def take_limits(self):
        """The machine's, now; of a device none are known."""
        if self.limits is None:
            return {}
        self.limits.go(1, THREADS[-1])
        self.limits_seen.append(self.limits.facts)
        return self.limits.facts

    def close(self):
        if self.limits is not None:
            self.limits.close()


def check_tokens(title, ours, peers):
    """Where a side says how many tokens it has written, the others have written as many."""
    wrote = ours.facts.get("tokens")
    for form in (form for peer in peers for form in peer.forms):
        theirs = form["child"].facts.get("tokens", wrote)
        if theirs != wrote:
            raise RuntimeError("%s: %s has written %d tokens, ours %d" % (title, form["name"], theirs, wrote))


def add_goal(result, what, least, measured):
    least = least(result["facts"]) if callable(least) else least
    if least is not None:
        result["goals"].append({"what": what, "goal": least, "measured": measured,
                                "met": measured >= least})


def add_peer(result, peer):
    for form in peer.forms:
        result["peers"].append({"name": form["name"], "seconds": statistics.median(form["seconds"]),
                                "threads": form["child"].threads(),
                                "peak": form["child"].facts["peak"],
                                "ratio": statistics.median(form["ratios"]),
                                "by_threads": {threads: statistics.median(each)
                                               for threads, each in form["by_threads"].items()}})
    add_goal(result, "times " + peer.name, peer.goal, statistics.median(peer.ratios))


def add_best(result, peers):
    """Of several peers: how many times ours the fastest form of all takes, whichever it is in a round."""
    if len(peers) > 1:
        result["best_of_all"] = statistics.median(min(ratios) for ratios in zip(*(peer.ratios for peer in peers)))


# ---- counting ------------------------------------------------------------------------------------


def counts(bench, data, spec):
    """What a step counts on the GPU that is not there, and on the CPU."""
    _, _, workload, what, form, size_of = spec
    path = data(what, workload) if what is not None else ""
    both = {}
    for side in ("gpu", "cpu"):
        out = subprocess.run([bench, workload, "--data", path, "--form", form, "--size", str(size_of), "--count", side],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        both[side] = json.loads(out)
    return both


def count_line(title, gpu, cpu):
    """One row of the table: seconds are those of an H100 at its limits. An op is a call of a kernel by the CPU."""
    ratio = gpu["launches"] / cpu["ops"]
    bounds = {each: gpu[each] for each in ("memory", "multiply-adds", "launching", "copies")}
    bound = max(bounds, key=bounds.get)
    floor = max(gpu["roofline"], gpu["launching"]) + gpu["copies"]
    return ratio, "| %s | %.0f | %.0f | %.2f | %.4g, %.4g | %.4g, %.4g | %s | %s | %s | %s: %s |" % (
        title, cpu["ops"], gpu["launches"], ratio, gpu["bytes"] * 1e-6, cpu["bytes"] * 1e-6, gpu["flops"] * 1e-9,
        cpu["flops"] * 1e-9, duration(gpu["roofline"]), duration(gpu["launching"]), duration(gpu["copies"]), bound,
        duration(floor))


def count_all(options, folder):
    """The table of docs/bench.md, and with --rows what each kind of row has in it; whether the launches are few enough."""
    data = Bench.data
    bench = argparse.Namespace(bench=options.bench, folder=folder)
    many, results = [], []
    print("| a step | ops | kernels | an op | MB: GPU, CPU | GFLOP: GPU, CPU | at the limits | launching | copies | bound, and at least |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for spec in COUNTED:
        if options.workloads and spec[0] not in options.workloads:
            continue
        both = counts(options.bench, lambda what, workload: data(bench, what, workload), spec)
        ratio, line = count_line(spec[1], both["gpu"], both["cpu"])
        many += [spec[1]] if ratio > LAUNCHES_MOST else []
        results.append({"title": spec[1], "of_an_op": ratio, **both})
        print(line)
        if options.rows:
            for row in sorted(both["gpu"]["rows"], key=lambda row: -row["roofline"]):
                print("    %-22s %6.4g calls %6.4g kernels  %9.4g MB %9.4g GFLOP  %s" % (
                    row["row"], row["calls"], row["launches"], row["bytes"] * 1e-6, row["flops"] * 1e-9,
                    duration(row["roofline"])))
        sys.stdout.flush()
    print("goal     at most %.1f kernels a fused op: %s" % (LAUNCHES_MOST, "NOT MET by " + "; ".join(many) if many else "met"))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(results, file, indent=1)
        print("report   %s" % options.out)
    return not many


# ---- what is printed -----------------------------------------------------------------------------


def duration(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            break
    return "%.3g %s" % (seconds / unit, name)


def size(count):
    return "%.0f MiB" % (count / 2**20)


def rates(result):
    f, seconds = result["facts"], result["seconds"]
    if result["workload"] == "records":
        return "%.0f records/s, %.2f GB/s" % (f["records"] / seconds, f["bytes"] / seconds * 1e-9)
    if result["workload"] == "translate":
        sides = [("ours", seconds)] + [(p["name"], p["seconds"]) for p in result["peers"]]
        return "target tokens a second: " + ", ".join(
            "%s %.0f" % (name, f["pairs"] * f["length"] / each) for name, each in sides)
    if result["workload"] in ("decode", "served"):
        sides = [("ours", seconds)] + [(p["name"], p["seconds"]) for p in result["peers"]]
        return "sentences a second: " + ", ".join(
            "%s %.0f" % (name, f["sentences"] / each) for name, each in sides) + "; ours " + ", ".join(
                "%s on %d thread%s" % (duration(each), threads, "" if threads == 1 else "s")
                for threads, each in result["by_threads"].items())
    if "seeds" in f:
        return "%.0f seeds/s, %d nodes, %d edges a step" % (f["seeds"] / seconds, f["nodes"],
                                                            f["edges"])
    if "subgraphs" in f:
        return "%.0f subgraphs/s" % (f["subgraphs"] / seconds)
    if result["workload"] == "loop":
        return "%.2f us a step" % (seconds / f["loop_steps"] * 1e6)
    if result["workload"] == "checkpoint":
        return "%.2f GB/s, %s" % (f["bytes"] / seconds * 1e-9, ", ".join(
            "%s %.2f GB/s" % (p["name"], f["bytes"] / p["seconds"] * 1e-9)
            for p in result["peers"]))
    if result["workload"] == "bf16":
        return "f32 (%s) %s, bf16 (%s) %s" % (f["isa_f32"], duration(f["f32"]), f["isa_bf16"],
                                              duration(f["bf16"]))
    if result["workload"] == "aggregate":
        return "%.1f GB/s gathered" % (4e-9 * f["edges"] * f["width"] / seconds)
    return ""


def by_threads(result, peer):
    """The ratio on each number of threads, of decoding."""
    if result["workload"] not in ("decode", "served") or len(peer["by_threads"]) < 2:
        return ""
    return " (" + ", ".join("%d thread%s %.2f" % (threads, "" if threads == 1 else "s", ratio)
                            for threads, ratio in peer["by_threads"].items()) + ")"


def show(result):
    line = "%-44s %9s  peak %8s  %d thread%s" % (
        result["title"], duration(result["seconds"]), size(result["peak"]), result["threads"],
        "" if result["threads"] == 1 else "s")
    if "floor" in result:
        line += "  floor %s = %.0f %% of its speed" % (duration(result["floor"]),
                                                      100 * result["of_floor"])
    print(line)
    if rates(result):
        print("    " + rates(result))
    for peer in result["peers"]:
        print("    %-34s %9s  peak %8s  %d thread%s  ratio %.2f" % (
            peer["name"], duration(peer["seconds"]), size(peer["peak"]), peer["threads"],
            " " if peer["threads"] == 1 else "s", peer["ratio"]) + by_threads(result, peer))
    if "best_of_all" in result:
        print("    %-34s ratio %.2f" % ("the fastest of all in each round", result["best_of_all"]))
    for goal in result["goals"]:
        print("    goal: %-38s %s %-5g measured %.3g: %s" % (
            goal["what"], "<=" if goal.get("most") else ">=", goal["goal"], goal["measured"],
            "met" if goal["met"] else "NOT MET"))
    sys.stdout.flush()


def show_limits(seen):
    def median(key):
        return statistics.median(m[key] for m in seen)

    print("limits   %s, %d threads: DRAM triad %.1f GB/s plain, %.1f streaming; cache triad %.0f; "
          "gathered rows %.1f GB/s;\n         multiply-adds %.0f GF/s, dense product %.0f GF/s, "
          "bf16 %.0f (oneDNN); lookups %.0f M/s" % (
              seen[0]["isa"], seen[0]["threads"], median("triad") * 1e-9, median("stream") * 1e-9,
              median("cache") * 1e-9, median("gather") * 1e-9, median("fma") * 1e-9,
              median("product") * 1e-9, median("product_bf16") * 1e-9,
              median("lookups") * 1e-6))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--out", default="")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peer", default="", help="a Python that has torch")
    parser.add_argument("--dgl", default="", help="a Python that has dgl")
    parser.add_argument("--ctranslate2", default="", help="a Python that has ctranslate2")
    parser.add_argument("--tfgnn", default="", help="a Python that has tensorflow_gnn")
    parser.add_argument("--device", default="", help="where ours and torch compute: cuda")
    parser.add_argument("--count", action="store_true", help="count what a GPU would launch and move; time nothing")
    parser.add_argument("--rows", action="store_true", help="of what is counted, each row of the kernel table")
    parser.add_argument("--base", default="",
                        help="another build's regimen_bench: nothing may be 3 %% slower than with it")
    parser.add_argument("workloads", nargs="*", help=" ".join(NAMES))
    options = parser.parse_args()
    unknown = [name for name in options.workloads if name not in NAMES]
    if unknown:
        parser.error("unknown workload %s; there are %s" % (", ".join(unknown), " ".join(NAMES)))
    with tempfile.TemporaryDirectory(prefix="regimen-bench-") as folder:
        if options.count:
            sys.exit(0 if count_all(options, folder) else 1)
        bench = Bench(options, folder)
        if not (options.peer or options.base):
            print("peer     none: PEER=venv makes one, PEER=/path/to/python takes one with torch")
        for spec in DEVICE_WORKLOADS if options.device else WORKLOADS:
            if not options.workloads or spec[0] in options.workloads:
                bench.run(spec)
        bench.close()
    if bench.limits_seen:
        show_limits(bench.limits_seen)
    if bench.versions:
        print("peers    " + ", ".join(sorted(bench.versions)))
    goals = [g for r in bench.results for g in r["goals"]]
    print("goals    %d of %d met" % (sum(g["met"] for g in goals), len(goals)))
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"limits": bench.limits_seen, "versions": sorted(bench.versions),
                       "results": bench.results}, file, indent=1)
        print("report   %s" % options.out)


if __name__ == "__main__":  # ranks.py takes some of its parts
    main()
