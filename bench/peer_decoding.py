"""Peer of decoding.c: greedy and beam search with the same Transformer in plain PyTorch, by the protocol
of regimen_bench ("threads 2", "go 10" on standard input).

forms  greedy, and beam (4 hypotheses); each with +compile: the step of the decoder through torch.compile

The encoder is PyTorch's own; the decoder is written out by hand on PyTorch's modules, with the keys and
values of earlier tokens kept. Nothing ends, so no sentence leaves the batch.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import peer

VOCABULARY, SOURCE, STEPS = 8000, 16, 24
WIDTH, INNER, HEADS, LAYERS = 256, 1024, 4, 3


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        angle = torch.arange(64)[:, None] * torch.exp(
            torch.arange(0, WIDTH, 2) * (-math.log(1e4) / WIDTH))
        self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], 1))

    def forward(self, ids, first=0):
        return self.table(ids) * math.sqrt(WIDTH) + self.positions[first:first + ids.shape[1]]


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = Embedding(), Embedding()
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, batch_first=True), LAYERS)
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(WIDTH, HEADS, INNER, batch_first=True), LAYERS)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)


def heads(x):
    return x.view(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)


def attend(q, k, v, output):
    p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS), -1)
    return output((p @ v).transpose(1, 2).flatten(2))


def source_keys(model, ids, beams):
    """Keys and values of each layer of the decoder, a copy for each hypothesis."""
    memory = model.encoder(model.source(ids)).repeat_interleave(beams, 0)
    out = []
    for layer in model.decoder.layers:
        w, b = layer.multihead_attn.in_proj_weight, layer.multihead_attn.in_proj_bias
        k, v = F.linear(memory, w[WIDTH:], b[WIDTH:]).split(WIDTH, 2)
        out.append((heads(k), heads(v)))
    return out


def step(model, ids, position, cross, past):
    """Log-probabilities of what follows the newest tokens; `past` grows by their keys and values."""
    x = model.target(ids, position)
    for i, layer in enumerate(model.decoder.layers):
        attention = layer.self_attn
        q, k, v = (heads(u) for u in F.linear(x, attention.in_proj_weight,
                                              attention.in_proj_bias).split(WIDTH, 2))
        if past[i] is not None:
            k, v = torch.cat([past[i][0], k], 2), torch.cat([past[i][1], v], 2)
        past[i] = (k, v)
        x = layer.norm1(x + attend(q, k, v, attention.out_proj))
        attention = layer.multihead_attn
        q = heads(F.linear(x, attention.in_proj_weight[:WIDTH], attention.in_proj_bias[:WIDTH]))
        x = layer.norm2(x + attend(q, *cross[i], attention.out_proj))
        x = layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))
    return F.log_softmax(F.linear(x[:, 0], model.target.table.weight), -1)


@torch.no_grad()
def decode(model, source, beams, step):
    count = len(source)
    cross, past = source_keys(model, source, beams), [None] * LAYERS
    ids = torch.zeros(count * beams, 1, dtype=torch.long)
    scores = torch.zeros(count, beams)
    scores[:, 1:] = -1e9
    first = torch.arange(count)[:, None] * beams
    for t in range(STEPS):
        log_p = step(model, ids, t, cross, past)
        if beams == 1:
            ids = log_p.argmax(-1, keepdim=True)
            continue
        scores, best = (scores[:, :, None] + log_p.view(count, beams, -1)).view(count, -1).topk(beams)
        parents = (best // VOCABULARY + first).flatten()
        ids = (best % VOCABULARY).view(-1, 1)
        past = [(k[parents], v[parents]) for k, v in past]
    return ids


def main():
    options = peer.arguments(form="greedy")
    model = Transformer().eval()
    source = torch.randint(1, VOCABULARY, (options.size or 32, SOURCE))
    beams = 4 if options.form.startswith("beam") else 1
    one = torch.compile(step, dynamic=True) if options.how == "compile" else step
    peer.serve(lambda _: decode(model, source, beams, one), "decode")


main()
