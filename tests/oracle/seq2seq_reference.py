"""What do small sequence-to-sequence Transformers compute, and what are their gradients?

seq2seq_reference.py            print the fixture (seq2seq_reference.txt, which src/sequence compares)
seq2seq_reference.py --check    compute again with PyTorch and compare with the fixture

Everything is computed in double by PyTorch's own functions and its automatic gradients. Weights, ids
and what is summed up are formulas of names and indices, so that the fixture need not hold them. A line
is a name and numbers: "model NAME", "loss x", "logits" and "gradient/<parameter>" with the first
elements and three sums over all elements, each with another weight for every element.
"""
import math
import os
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("SKIPPED: there is no torch")
    sys.exit(77)

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seq2seq_reference.txt")
WIDTH, HEADS, INNER, POSITIONS = 32, 2, 24, 12
SOURCE_LENGTHS, TARGET_LENGTHS = (5, 3, 1), (4, 6, 2)

MODELS = {
    "base": dict(encoder=2, decoder=1, source=13, target=13, smoothing=0.1, embeddings="shared",
                 norm_first=True, bias=False, gelu=False, learned=False),
    "options": dict(encoder=1, decoder=2, source=9, target=13, smoothing=0.0, embeddings="target",
                    norm_first=False, bias=True, gelu=True, learned=True),
    "untied": dict(encoder=1, decoder=1, source=9, target=14, smoothing=0.3, embeddings="untied",
                   norm_first=True, bias=False, gelu=True, learned=False),
    "turned": dict(encoder=1, decoder=1, source=13, target=13, smoothing=0.0, embeddings="inputs",
                   norm_first=True, bias=False, learned=False, positions="rotary", rms=True, gated=True,
                   ffn_bias=False, activation="silu", heads=4, kv_heads=2, output_bias=True),
    "buckets": dict(encoder=2, decoder=1, source=13, target=13, smoothing=0.0, embeddings="shared",
                    norm_first=False, final_norm=False, bias=True, learned=False, positions="relative",
                    activation="gelu_tanh", heads=4, kv_heads=1),
    "sloped": dict(encoder=1, decoder=1, source=13, target=13, smoothing=0.0, embeddings="shared",
                   norm_first=True, bias=False, learned=False, positions="alibi", activation="gelu",
                   gated=True, window=3, heads=4),
    "paper": dict(encoder=1, decoder=1, source=13, target=13, smoothing=0.0, embeddings="shared",
                  norm_first=False, final_norm=False, bias=True, learned=False,
                  positions="sinusoidal_paper", activation="silu"),
    # Loss and 0.4 times that of the last layer's head 1, or of the mean of its heads, guided.
    "guided": dict(encoder=1, decoder=2, source=9, target=13, smoothing=0.1, embeddings="target",
                   norm_first=True, bias=False, gelu=False, learned=False, guided=1, heads=4, kv_heads=2),
    "mean": dict(encoder=1, decoder=1, source=9, target=13, smoothing=0.0, embeddings="target",
                 norm_first=True, bias=False, gelu=False, learned=False, guided=-1),
}
GUIDED = 0.4
BUCKETS, DISTANCE, BASE = 6, 4, 100.0  # small, so that short sequences reach them


def padded(n):
    return (n + 7) // 8 * 8


def shapes(o):
    """Name and shape of every parameter."""
    p = {}
    if o["embeddings"] in ("shared", "inputs"):
        p["embedding/table"] = (padded(o["source"]), WIDTH)
    else:
        p["source_embedding/table"] = (padded(o["source"]), WIDTH)
        p["target_embedding/table"] = (padded(o["target"]), WIDTH)
    if o["embeddings"] in ("untied", "inputs"):
        p["output/table"] = (padded(o["target"]), WIDTH)
    if o.get("output_bias"):
        p["output/bias"] = (padded(o["target"]),)
    for stack, blocks in (("encoder", ("attention",)), ("decoder", ("self_attention", "cross_attention"))):
        p.update(stack_shapes(o, stack, blocks))
    return p


def stack_shapes(o, stack, blocks):
    p = {}

    def norm(at):
        p[at + "/gamma"] = (WIDTH,)
        if not o.get("rms"):
            p[at + "/beta"] = (WIDTH,)

    def attention(at):
        norm(at + "/norm")
        for part in ("query", "key", "value", "output"):
            units = WIDTH * kv_heads(o) // heads(o) if part in ("key", "value") else WIDTH
            p[f"{at}/{part}/kernel"] = (WIDTH, units)
            if o["bias"] or (o.get("qkv_bias") and part != "output"):
                p[f"{at}/{part}/bias"] = (units,)

    def ffn(at):
        norm(at + "/norm")
        for part in ("gate", "inner", "outer")[not o.get("gated"):]:
            shape = (INNER, WIDTH) if part == "outer" else (WIDTH, INNER)
            p[f"{at}/{part}/kernel"] = shape
            if o.get("ffn_bias", True):
                p[f"{at}/{part}/bias"] = shape[1:]

    if kind(o) == "learned":
        p[stack + "/positions"] = (POSITIONS, WIDTH)
    if kind(o) == "relative":
        p[stack + "/relative/table"] = (BUCKETS, heads(o))
    for i in range(o[stack]):
        for block in blocks:
            attention(f"{stack}/layer_{i}/{block}")
        ffn(f"{stack}/layer_{i}/ffn")
    if o.get("final_norm", True):
        norm(stack + "/norm")
    return p


def kind(o):
    return o.get("positions", "learned" if o["learned"] else "sinusoidal")


def heads(o):
    return o.get("heads", HEADS)


def kv_heads(o):
    return o.get("kv_heads", heads(o))


def weights(o, of=None):
    """0.3 sin(1.7 i + 0.9 h), h from the name; 1 more for the scales of norms."""
    made = {}
    for name, shape in (shapes(o) if of is None else of).items():
        h = sum(name.encode()) % 17
        w = 0.3 * torch.sin(1.7 * torch.arange(math.prod(shape), dtype=torch.float64) + 0.9 * h)
        if name.endswith("gamma"):
            w = w + 1
        made[name] = w.reshape(shape).requires_grad_()
    return made


def ids(lengths, vocabulary, seed):
    """[b, longest]: ids from 2 on, 1 at the end, 0 behind it."""
    rows = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for b, n in enumerate(lengths):
        for i in range(n):
            rows[b, i] = 1 if i == n - 1 else 2 + (7 * b + 3 * i + seed) % (vocabulary - 2)
    return rows


def positions(w, stack, o, at):
    """What is added to the embeddings of tokens that stand at `at`."""
    if kind(o) == "learned":
        return w[stack + "/positions"][at]
    if not kind(o).startswith("sinusoidal"):
        return 0
    half = WIDTH // 2
    last = half if kind(o) == "sinusoidal_paper" else half - 1
    scale = 10 ** (4 * torch.arange(half, dtype=torch.float64) / last)
    angle = at[..., None] / scale
    return torch.cat([torch.sin(angle), torch.cos(angle)], -1)


def norm(w, at, o, x):
    if o.get("rms"):
        return F.rms_norm(x, (WIDTH,), w[at + "/gamma"], 1e-6)
    return F.layer_norm(x, (WIDTH,), w[at + "/gamma"], w[at + "/beta"], 1e-6)


def end(w, stack, o, x):
    return norm(w, stack + "/norm", o, x) if o.get("final_norm", True) else x


def turned(x, at, o):
    """Rotary positions as Transformers' Llama has them; x [b, heads, n, depth]."""
    if kind(o) != "rotary":
        return x
    depth = x.shape[-1]
    frequency = BASE ** -(torch.arange(0, depth, 2, dtype=torch.float64) / depth)
    angle = at[..., None] * frequency
    angle = torch.cat([angle, angle], -1)
    angle = angle[:, None] if angle.dim() == 3 else angle
    other = torch.cat([-x[..., depth // 2:], x[..., :depth // 2]], -1)
    return x * torch.cos(angle) + other * torch.sin(angle)


def slopes(n):
    """As the code of ALiBi's paper finds them."""
    def of_power(n):
        start = 2 ** (-2 ** -(math.log2(n) - 3))
        return [start * start ** i for i in range(n)]

    if math.log2(n).is_integer():
        return of_power(n)
    power = 2 ** math.floor(math.log2(n))
    return of_power(power) + slopes(2 * power)[0::2][:n - power]


def bucket(relative, causal):
    """T5's, as Transformers computes it."""
    count, first = BUCKETS, torch.zeros_like(relative)
    if causal:
        relative = -torch.min(relative, torch.zeros_like(relative))
    else:
        count //= 2
        first = first + (relative > 0).long() * count
        relative = relative.abs()
    exact = count // 2
    large = exact + (torch.log(relative.float() / exact) / math.log(DISTANCE / exact) * (count - exact)).long()
    large = torch.min(large, torch.full_like(large, count - 1))
    return first + torch.where(relative < exact, relative, large)


def distances(w, stack, o, n):
    """What is added to scores of n tokens with themselves, and which are out of a window's reach."""
    away = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    added = torch.zeros(heads(o), n, n, dtype=torch.float64)
    if kind(o) == "alibi":
        added = added - torch.tensor(slopes(heads(o)), dtype=torch.float64)[:, None, None] * away.abs()
    if kind(o) == "relative":
        added = added + w[stack + "/relative/table"][bucket(away, stack == "decoder")].permute(2, 0, 1)
    return added, away.abs() >= o.get("window", n)


def dense(w, at, x):
    return F.linear(x, w[at + "/kernel"].T, w.get(at + "/bias"))


def block(w, at, o, x, f):
    if o["norm_first"]:
        return x + f(norm(w, at + "/norm", o, x))
    return norm(w, at + "/norm", o, x + f(x))


def alignment():
    """[b, t, s]: where the target's token is to attend to, each row with the sum 1, or 0: nobody knows."""
    a = torch.zeros(len(SOURCE_LENGTHS), max(TARGET_LENGTHS), max(SOURCE_LENGTHS), dtype=torch.float64)
    for b, (n, m) in enumerate(zip(SOURCE_LENGTHS, TARGET_LENGTHS)):
        for t in range(m):
            if t % 3 < 2:
                a[b, t, (2 * t + b) % n] = 1
                a[b, t, (t + 1) % n] = 1
    return a / a.sum(-1, keepdim=True).clamp(min=1)


def attention(w, at, o, x, memory, hidden, places=None, added=0, seen=None):
    """hidden [b, 1, queries, keys]: true where the query does not see the key; places: of tokens that
    look up each other; added: to the scores; seen: a list that gets the probabilities."""
    depth, group = WIDTH // heads(o), heads(o) // kv_heads(o)

    def split(part, y):
        y = dense(w, f"{at}/{part}", y)
        y = y.reshape(*y.shape[:2], -1, depth).transpose(1, 2)
        return turned(y, places, o) if places is not None and part != "value" else y

    q = split("query", x)
    k, v = (split(part, memory).repeat_interleave(group, 1) for part in ("key", "value"))
    scores = q @ k.transpose(2, 3) / math.sqrt(depth) + added
    p = torch.softmax(scores.masked_fill(hidden, -1e30), -1)  # padding may see nothing: no NaN then
    if seen is not None:
        seen.append(p)
    return dense(w, at + "/output", (p @ v).transpose(1, 2).reshape(x.shape))


def ffn(w, at, o, x):
    functions = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu,
                 "gelu_tanh": lambda y: F.gelu(y, approximate="tanh")}
    act = functions[o.get("activation", "gelu" if o.get("gelu") else "relu")]
    inner = dense(w, at + "/inner", x)
    inner = act(dense(w, at + "/gate", x)) * inner if o.get("gated") else act(inner)
    return dense(w, at + "/outer", inner)


def forward(w, o, source, target):
    """Logits and the mean loss of a batch's tokens."""
    shifted = torch.cat([torch.zeros(len(target), 1, dtype=torch.long), target[:, :-1]], 1)
    table = w.get("embedding/table")
    source_table = w.get("source_embedding/table", table)
    target_table = w.get("target_embedding/table", table)
    padding = (source == 0)[:, None, None, :]
    later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)

    at_source, at_target = torch.arange(source.shape[1]), torch.arange(target.shape[1])
    x = source_table[source] * math.sqrt(WIDTH) * (source != 0)[..., None]
    x = x + positions(w, "encoder", o, at_source)
    added, far = distances(w, "encoder", o, source.shape[1])
    for i in range(o["encoder"]):
        at = f"encoder/layer_{i}"
        x = block(w, at + "/attention", o, x,
                  lambda y: attention(w, at + "/attention", o, y, y, padding | far, at_source, added))
        x = block(w, at + "/ffn", o, x, lambda y: ffn(w, at + "/ffn", o, y))
    memory = end(w, "encoder", o, x)

    x = target_table[shifted] * math.sqrt(WIDTH) + positions(w, "decoder", o, at_target)
    added, far = distances(w, "decoder", o, target.shape[1])
    seen = []
    for i in range(o["decoder"]):
        at = f"decoder/layer_{i}"
        x = block(w, at + "/self_attention", o, x,
                  lambda y: attention(w, at + "/self_attention", o, y, y, later | far, at_target, added))
        x = block(w, at + "/cross_attention", o, x,
                  lambda y: attention(w, at + "/cross_attention", o, y, memory, padding, seen=seen))
        x = block(w, at + "/ffn", o, x, lambda y: ffn(w, at + "/ffn", o, y))
    logits = end(w, "decoder", o, x) @ w.get("output/table", target_table).T + w.get("output/bias", 0)

    # PyTorch spreads smoothing over all classes, the label's too; we over the others.
    v, s = o["target"], o["smoothing"]
    losses = F.cross_entropy(logits[..., :v].reshape(-1, v), target.reshape(-1), reduction="none",
                             label_smoothing=s * v / (v - 1))
    if s > 0:
        losses = losses + (1 - s) * math.log(1 - s) + s * math.log(s / (v - 1) + 1e-20)
    real = (target != 0).reshape(-1)
    if "guided" in o:
        p = seen[-1].mean(1) if o["guided"] < 0 else seen[-1][:, o["guided"]]
        losses = losses - GUIDED * (alignment() * torch.log(p.clamp(min=1e-30))).sum(-1).reshape(-1)
    return logits, losses[real].sum() / real.sum()


def figures(x):
    x = x.detach().reshape(-1)
    i = torch.arange(len(x), dtype=torch.float64)
    return x[:4].tolist() + [float((x * torch.sin(k * i + k)).sum()) for k in (1.0, 2.3, 3.1)]


def compute():
    for name, o in MODELS.items():
        w = weights(o)
        logits, loss = forward(w, o, ids(SOURCE_LENGTHS, o["source"], 0), ids(TARGET_LENGTHS, o["target"], 5))
        loss.backward()
        yield f"model {name}", []
        yield "loss", [float(loss.detach())]
        yield "logits", figures(logits[:, :, :o["target"]][ids(TARGET_LENGTHS, 13, 5) != 0])
        for parameter in sorted(w):
            yield f"gradient/{parameter}", figures(w[parameter].grad)


def line(name, numbers):
    return " ".join([name] + [f"{x:.12g}" for x in numbers])


def check(fixture, lines):
    with open(fixture) as f:
        kept = [l.split() for l in f if not l.startswith("#")]
    made = [line(*l).split() for l in lines]
    assert len(kept) == len(made), "the fixture has other lines: print it again"
    for a, b in zip(kept, made):
        assert a[0] == b[0] and len(a) == len(b), (a, b)
        for x, y in zip(a[1:], b[1:]):
            assert a[0] == "model" or abs(float(x) - float(y)) <= 1e-9 * (1 + abs(float(y))), (a, b)
    print(f"{len(made)} lines agree")


def main(fixture, lines):
    if sys.argv[1:] == ["--check"]:
        check(fixture, lines)
    else:
        print(f"# Made by {os.path.basename(sys.argv[0])}")
        for l in lines:
            print(line(*l))


if __name__ == "__main__":
    main(FIXTURE, compute())
