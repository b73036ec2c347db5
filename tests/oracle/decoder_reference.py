"""What do small decoders without a source compute, and what are their gradients?

decoder_reference.py            print the fixture (decoder_reference.txt, which src/sequence compares)
decoder_reference.py --check    compute again with PyTorch and compare with the fixture

As seq2seq_reference.py, whose parts these are made of. Rows are packed: a token sees only those of its
segment, in which positions begin at 0 again; segment 0 is padding.
"""
import os

from seq2seq_reference import (WIDTH, attention, block, distances, end, ffn, figures, main, padded, positions,
                               stack_shapes, weights)  # first: it ends with 77 where there is no torch

import torch
import torch.nn.functional as F

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoder_reference.txt")
VOCABULARY, BATCH, TOKENS = 11, 3, 7
SEGMENTS = ((1, 1, 1, 1, 1, 1, 1), (1, 1, 1, 2, 2, 2, 0), (3, 3, 5, 5, 5, 5, 9))

COMMON = dict(decoder=2, learned=False, bias=False, norm_first=True)
MODELS = {
    "llama": dict(COMMON, positions="rotary", rms=True, gated=True, ffn_bias=False, activation="silu", heads=4,
                  kv_heads=2, tied=True),
    "gpt2": dict(COMMON, positions="learned", bias=True, activation="gelu_tanh", tied=True),
    "sloped": dict(COMMON, positions="alibi", norm_first=False, final_norm=False, ffn_bias=False, gated=True,
                   activation="gelu", heads=4, kv_heads=1, window=3, scaled=True, output_bias=True, tied=False),
    "buckets": dict(COMMON, positions="relative", activation="relu", heads=2, window=4, rms=True, tied=True,
                    output_bias=True),
    "plain": dict(COMMON, positions="none", activation="silu", heads=2, tied=True),
    "qwen": dict(COMMON, positions="rotary", rms=True, activation="silu", heads=4, kv_heads=2, qkv_bias=True, tied=True),
}


def shapes(o):
    p = {"embedding/table": (padded(VOCABULARY), WIDTH)}
    if not o["tied"]:
        p["output/table"] = (padded(VOCABULARY), WIDTH)
    if o.get("output_bias"):
        p["output/bias"] = (padded(VOCABULARY),)
    p.update(stack_shapes(o, "decoder", ("attention",)))
    return p


def batch():
    """Ids, labels, segments and positions."""
    b, i = torch.arange(BATCH)[:, None], torch.arange(TOKENS + 1)[None, :]
    ids = (7 * b + 3 * i + b * i) % VOCABULARY
    segments = torch.tensor(SEGMENTS)
    at = torch.zeros_like(segments)
    for i in range(1, TOKENS):
        at[:, i] = torch.where(segments[:, i] == segments[:, i - 1], at[:, i - 1] + 1, 0)
    return ids[:, :-1], ids[:, 1:], segments, at


def forward(w, o):
    ids, labels, segments, at = batch()
    table = w["embedding/table"]
    later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    apart = (segments[:, None, :, None] != segments[:, None, None, :]) | (segments == 0)[:, None, None, :]
    added, far = distances(w, "decoder", o, TOKENS)
    x = table[ids] * (WIDTH ** 0.5 if o.get("scaled") else 1) + positions(w, "decoder", o, at)
    for i in range(o["decoder"]):
        name = f"decoder/layer_{i}"
        x = block(w, name + "/attention", o, x,
                  lambda y: attention(w, name + "/attention", o, y, y, later | apart | far, at, added))
        x = block(w, name + "/ffn", o, x, lambda y: ffn(w, name + "/ffn", o, y))
    logits = end(w, "decoder", o, x) @ w.get("output/table", table).T + w.get("output/bias", 0)
    losses = F.cross_entropy(logits[..., :VOCABULARY].reshape(-1, VOCABULARY), labels.reshape(-1), reduction="none")
    real = (segments != 0).reshape(-1)
    return logits, losses[real].sum() / real.sum()


def compute():
    real = torch.tensor(SEGMENTS) != 0
    for name, o in MODELS.items():
        w = weights(o, shapes(o))
        logits, loss = forward(w, o)
        loss.backward()
        yield f"model {name}", []
        yield "loss", [float(loss.detach())]
        yield "logits", figures(logits[:, :, :VOCABULARY][real])
        for parameter in sorted(w):
            yield f"gradient/{parameter}", figures(w[parameter].grad)


if __name__ == "__main__":
    main(FIXTURE, compute())
