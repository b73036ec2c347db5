"""Peer of nanogpt.sh: nanoGPT's recipe in plain PyTorch, trained on the ids that regimen's tokenizer makes of a text, a line of
ids for each document. It prints seconds, and bits per byte of each set that is given.

The recipe (nanoGPT's model.py, train.py and config/train_shakespeare_char.py): GPT-2's blocks without biases, layer norms before
them, learned positions, GELU of 4 x width, one table for both ends; N(0, 0.02), projections into the residual by 1 / sqrt(2 layers)
of it; AdamW (0.9, 0.99), weight decay 0.1 of matrices, gradients clipped at 1; the rate warmed up over 100 steps, then cosine to
a tenth; blocks at random places of one stream of tokens; torch.compile.
"""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.first, self.second = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.inner, self.outer = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        b, t, width = x.shape
        q, k, v = self.project(self.first(x)).view(b, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(b, t, width)), self.dropout, self.training)
        return x + F.dropout(self.outer(F.gelu(self.inner(self.second(x)))), self.dropout, self.training)


class Decoder(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.dropout = o.dropout
        self.table, self.places = nn.Embedding(o.vocabulary, o.width), nn.Embedding(o.block, o.width)
        self.blocks = nn.ModuleList([Block(o.width, o.heads, o.dropout) for _ in range(o.layers)])
        self.norm = nn.LayerNorm(o.width, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                deep = name.endswith(("out.weight", "outer.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * o.layers) if deep else 0.02)

    def forward(self, ids, labels):
        """The sum of the negative log-probabilities of the labels that are not -1, in nats."""
        x = self.table(ids) + self.places.weight[:ids.shape[1]]
        x = F.dropout(x, self.dropout, self.training)
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.table.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1, reduction="sum")


def documents(path, end):
    with open(path) as file:
        return [[int(word) for word in line.split()] + [end] for line in file]


@torch.no_grad()
def bits_alone(model, lines, size, o):
    """Bits per byte, each document by itself behind an end; the longest ones that fit stand together."""
    model.eval()
    total = 0.0
    lines = sorted(lines, key=len)
    for at in range(0, len(lines), 64):
        part = [line[:o.block] for line in lines[at:at + 64]]
        most = max(map(len, part))
        ids = torch.tensor([([o.end] + line[:-1]) + [0] * (most - len(line)) for line in part])
        labels = torch.tensor([line + [-1] * (most - len(line)) for line in part])
        total += model(ids, labels).item()
    model.train()
    return total / math.log(2) / size


@torch.no_grad()
def bits_stream(model, lines, size, o):
    """Bits per byte as nanoGPT evaluates: blocks of the stream; a token sees what is before it in its block."""
    model.eval()
    stream = torch.tensor([o.end] + [word for line in lines for word in line])
    total = 0.0
    for at in range(0, len(stream) - 1, o.block):
        total += model(stream[None, at:min(at + o.block, len(stream) - 1)], stream[None, at + 1:at + o.block + 1]).item()
    model.train()
    return total / math.log(2) / size


def rate(step, o):
    if step < o.warmup:
        return o.rate * (step + 1) / (o.warmup + 1)
    done = (step - o.warmup) / (o.steps - o.warmup)
    return o.rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def train(model, stream, o):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    adam = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=o.rate,
                             betas=(0.9, 0.99))
    forward = torch.compile(model) if o.compile else model
    for step in range(o.steps):
        for group in adam.param_groups:
            group["lr"] = rate(step, o)
        places = torch.randint(len(stream) - o.block, (o.batch,))
        ids = torch.stack([stream[i:i + o.block] for i in places])
        labels = torch.stack([stream[i + 1:i + o.block + 1] for i in places])
        loss = forward(ids, labels) / ids.numel()
        adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()


def options():
    parser = argparse.ArgumentParser()
    for name, kind, value in [("train", str, None), ("end", int, None), ("vocabulary", int, None), ("steps", int, None),
                              ("seed", int, 1), ("threads", int, 2), ("rate", float, 1e-3), ("dropout", float, 0.1), ("warmup", int, 100),
                              ("width", int, 192), ("layers", int, 4), ("heads", int, 6), ("block", int, 128), ("batch", int, 16)]:
        parser.add_argument("--" + name, type=kind, default=value, required=value is None)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--set", action="append", nargs=3, metavar=("NAME", "IDS", "BYTES"), default=[])
    return parser.parse_args()


def main():
    o = options()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    model = Decoder(o)
    stream = torch.tensor([word for line in documents(o.train, o.end) for word in line])
    begin = time.time()
    train(model, stream, o)
    told = [f"seconds {time.time() - begin:.0f}", f"parameters {sum(p.numel() for p in model.parameters())}",
            f"tokens {o.steps * o.batch * o.block}"]
    for name, path, size in o.set:
        lines = documents(path, o.end)
        told.append(f"{name} {bits_alone(model, lines, int(size), o):.4f} as a stream {bits_stream(model, lines, int(size), o):.4f}")
    print(" ".join(told))


if __name__ == "__main__":
    main()
