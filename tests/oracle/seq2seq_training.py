"""What are the losses of a hundred training steps of a small Transformer?

seq2seq_training.py            print the fixture (seq2seq_training.txt, which src/train compares)
seq2seq_training.py --check    compute again with PyTorch and compare with the fixture

The model "base" of seq2seq_reference.py with its weights; a hundred batches by formula, with padding on both
sides; PyTorch's automatic gradients and its Adam, in double. PyTorch adds Adam's epsilon after the bias
correction, we before: its epsilon is set anew for each step, which makes the two the same formula.
"""
import math
import os

import seq2seq_reference as reference
import torch

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seq2seq_training.txt")
STEPS, VOCABULARY = 100, 13
PEAK, WARMUP = 0.004, 20
BETAS, EPSILON = (0.9, 0.98), 1e-9


def lengths(step, side):
    """Of the sentences of a batch, their ends included: 2 to 5 sentences of 1 to 9 tokens."""
    return [1 + (step * (5 + side) + 4 * b + 3 * side) % 9 for b in range(2 + step % 4)]


def rate(step):
    """Linear warmup from 0, then the inverse root of the step; steps are counted from 0."""
    return PEAK * step / WARMUP if step < WARMUP else PEAK * math.sqrt(WARMUP / step)


def compute():
    o = reference.MODELS["base"]
    w = reference.weights(o)
    adam = torch.optim.Adam(w.values(), lr=0, betas=BETAS)
    for step in range(STEPS):
        source = reference.ids(lengths(step, 0), VOCABULARY, step)
        target = reference.ids(lengths(step, 1), VOCABULARY, 5 + 2 * step)
        loss = reference.forward(w, o, source, target)[1]
        yield "loss", [float(loss.detach())]
        adam.zero_grad()
        loss.backward()
        for group in adam.param_groups:
            group["lr"] = rate(step)
            group["eps"] = EPSILON / math.sqrt(1 - BETAS[1] ** (step + 1))
        adam.step()


if __name__ == "__main__":
    reference.main(FIXTURE, compute())
