"""Peer of language_bench.c: training steps of the same language model in plain PyTorch, by the protocol of
regimen_bench ("threads 2", "go 10" on standard input).

forms  f32; bf16: forward under autocast to bfloat16; each with +compile: forward and loss through torch.compile

The blocks are PyTorch's own: nn.RMSNorm, one product for queries, keys and values and one for gate and inner,
F.scaled_dot_product_attention with is_causal, rotary positions as Llama has them, one table for both ends.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

import peer

VOCABULARY, LENGTH, WIDTH, INNER, HEADS, LAYERS = 8000, 256, 320, 864, 5, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.RMSNorm(WIDTH, eps=1e-6), nn.RMSNorm(WIDTH, eps=1e-6)
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.outer = nn.Linear(WIDTH, 2 * INNER, bias=False), nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = self.project(self.first(x)).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        q, k = (y * cos + torch.cat([-y[..., y.shape[-1] // 2:], y[..., :y.shape[-1] // 2]], -1) * sin for y in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        gate, inner = self.gate(self.second(x)).chunk(2, -1)
        return x + self.outer(F.silu(gate) * inner)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm = nn.RMSNorm(WIDTH, eps=1e-6)
        depth = WIDTH // HEADS
        angle = torch.arange(LENGTH)[:, None] * 1e4 ** (-torch.arange(0, depth, 2) / depth)
        self.register_buffer("cos", torch.cat([angle, angle], 1).cos())
        self.register_buffer("sin", torch.cat([angle, angle], 1).sin())
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.linear(self.norm(x), self.table.weight)


def main():
    options = peer.arguments(form="f32")
    model = Decoder()
    adam = peer.adam(model.parameters(), lr=1e-4)
    rows = options.size or 8
    batches = [torch.randint(0, VOCABULARY, (2, rows, LENGTH)) for _ in range(2)]

    def loss(ids, labels):
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.form == "bf16"):
            logits = model(ids)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten())

    loss = peer.compiled(loss, options.how)

    def step(number):
        adam.zero_grad(set_to_none=True)
        loss(*batches[number % 2]).backward()
        adam.step()

    peer.serve(step, "language", parameters=sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    main()
