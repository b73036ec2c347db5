"""Peer of translation.c: training steps of the same Transformer in plain PyTorch, by the protocol of
regimen_bench ("threads 2", "go 10" on standard input).

forms  small and base: f32; small-bf16 and base-bf16: forward under autocast to bfloat16;
       each with +compile: forward and loss through torch.compile

The modules are PyTorch's own, as one writes them: pre-norm, biases everywhere, source table, one table
for target and output, dropout of 0.1 where translation.c has it. Sources have no padding mask here,
which spares the peer what ours does.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import peer

VOCABULARY, LENGTH, RATE = 8000, 32, 0.1
SIZES = {"small": (256, 1024, 4, 3), "base": (512, 2048, 8, 6)}  # width, inner, heads, layers


class Embedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table, self.width = nn.Embedding(VOCABULARY, width), width
        angle = torch.arange(LENGTH)[:, None] * torch.exp(
            torch.arange(0, width, 2) * (-math.log(1e4) / width))
        self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], 1))

    def forward(self, ids):
        return F.dropout(self.table(ids) * math.sqrt(self.width) + self.positions, RATE)


class Transformer(nn.Module):
    def __init__(self, width, inner, heads, layers):
        super().__init__()
        block = dict(batch_first=True, norm_first=True)
        self.source, self.target = Embedding(width), Embedding(width)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, inner, RATE, **block), layers,
            nn.LayerNorm(width))
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, inner, RATE, **block), layers,
            nn.LayerNorm(width))
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, source, target, mask):
        states = self.decoder(self.target(target), self.encoder(self.source(source)), mask)
        return F.linear(states, self.target.table.weight)


def main():
    options = peer.arguments(form="small")
    size, _, precision = options.form.partition("-")
    model = Transformer(*SIZES[size])
    adam = peer.adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    pairs = options.size or 64
    ids = [torch.randint(1, VOCABULARY, (pairs, LENGTH)) for _ in range(3)]
    mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)

    def loss():
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            logits = model(ids[0], ids[1], mask)
        return F.cross_entropy(logits.float().flatten(0, 1), ids[2].flatten(), label_smoothing=0.1)

    loss = peer.compiled(loss, options.how)

    def step(_):
        adam.zero_grad(set_to_none=True)
        loss().backward()
        adam.step()

    peer.serve(step, "translate", parameters=sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
