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
}


def padded(n):
    return (n + 7) // 8 * 8


def shapes(o):
    """Name and shape of every parameter."""
    p = {}
    if o["embeddings"] == "shared":
        p["embedding/table"] = (padded(o["source"]), WIDTH)
    else:
        p["source_embedding/table"] = (padded(o["source"]), WIDTH)
        p["target_embedding/table"] = (padded(o["target"]), WIDTH)
    if o["embeddings"] == "untied":
        p["output/table"] = (padded(o["target"]), WIDTH)

    def norm(at):
        p[at + "/gamma"] = p[at + "/beta"] = (WIDTH,)

    def attention(at):
        norm(at + "/norm")
        for part in ("query", "key", "value", "output"):
            p[f"{at}/{part}/kernel"] = (WIDTH, WIDTH)
            if o["bias"]:
                p[f"{at}/{part}/bias"] = (WIDTH,)

    def ffn(at):
        norm(at + "/norm")
        p[at + "/inner/kernel"], p[at + "/inner/bias"] = (WIDTH, INNER), (INNER,)
        p[at + "/outer/kernel"], p[at + "/outer/bias"] = (INNER, WIDTH), (WIDTH,)

    for stack, blocks in (("encoder", ("attention",)), ("decoder", ("self_attention", "cross_attention"))):
        if o["learned"]:
            p[stack + "/positions"] = (POSITIONS, WIDTH)
        for i in range(o[stack]):
            for block in blocks:
                attention(f"{stack}/layer_{i}/{block}")
            ffn(f"{stack}/layer_{i}/ffn")
        norm(stack + "/norm")
    return p


def weights(o):
    """0.3 sin(1.7 i + 0.9 h), h from the name; 1 more for the scales of norms."""
    made = {}
    for name, shape in shapes(o).items():
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


def positions(w, stack, o, n):
    if o["learned"]:
        return w[stack + "/positions"][:n]
    half = WIDTH // 2
    scale = 10 ** (4 * torch.arange(half, dtype=torch.float64) / (half - 1))
    angle = torch.arange(n, dtype=torch.float64)[:, None] / scale
    return torch.cat([torch.sin(angle), torch.cos(angle)], 1)


def norm(w, at, x):
    return F.layer_norm(x, (WIDTH,), w[at + "/gamma"], w[at + "/beta"], 1e-6)


def dense(w, at, x):
    return F.linear(x, w[at + "/kernel"].T, w.get(at + "/bias"))


def block(w, at, o, x, f):
    if o["norm_first"]:
        return x + f(norm(w, at + "/norm", x))
    return norm(w, at + "/norm", x + f(x))


def attention(w, at, x, memory, hidden):
    """hidden [b, 1, queries, keys]: true where the query does not see the key."""
    def heads(part, y):
        y = dense(w, f"{at}/{part}", y)
        return y.reshape(*y.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    q, k, v = heads("query", x), heads("key", memory), heads("value", memory)
    scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
    p = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    return dense(w, at + "/output", (p @ v).transpose(1, 2).reshape(x.shape))


def ffn(w, at, o, x):
    inner = dense(w, at + "/inner", x)
    return dense(w, at + "/outer", F.gelu(inner) if o["gelu"] else F.relu(inner))


def forward(w, o, source, target):
    """Logits and the mean loss of a batch's tokens."""
    shifted = torch.cat([torch.zeros(len(target), 1, dtype=torch.long), target[:, :-1]], 1)
    table = w.get("embedding/table")
    source_table = w.get("source_embedding/table", table)
    target_table = w.get("target_embedding/table", table)
    padding = (source == 0)[:, None, None, :]
    later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)

    x = source_table[source] * math.sqrt(WIDTH) * (source != 0)[..., None]
    x = x + positions(w, "encoder", o, source.shape[1])
    for i in range(o["encoder"]):
        at = f"encoder/layer_{i}"
        x = block(w, at + "/attention", o, x, lambda y: attention(w, at + "/attention", y, y, padding))
        x = block(w, at + "/ffn", o, x, lambda y: ffn(w, at + "/ffn", o, y))
    memory = norm(w, "encoder/norm", x)

    x = target_table[shifted] * math.sqrt(WIDTH) + positions(w, "decoder", o, target.shape[1])
    for i in range(o["decoder"]):
        at = f"decoder/layer_{i}"
        x = block(w, at + "/self_attention", o, x,
                  lambda y: attention(w, at + "/self_attention", y, y, later))
        x = block(w, at + "/cross_attention", o, x,
                  lambda y: attention(w, at + "/cross_attention", y, memory, padding))
        x = block(w, at + "/ffn", o, x, lambda y: ffn(w, at + "/ffn", o, y))
    logits = norm(w, "decoder/norm", x) @ w.get("output/table", target_table).T

    # PyTorch spreads smoothing over all classes, the label's too; we over the others.
    v, s = o["target"], o["smoothing"]
    losses = F.cross_entropy(logits[..., :v].reshape(-1, v), target.reshape(-1), reduction="none",
                             label_smoothing=s * v / (v - 1))
    if s > 0:
        losses = losses + (1 - s) * math.log(1 - s) + s * math.log(s / (v - 1) + 1e-20)
    real = (target != 0).reshape(-1)
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
