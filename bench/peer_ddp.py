"""Peer of runs on several ranks: the same models in PyTorch's DistributedDataParallel over gloo, a thread a process.

usage: peer_ddp.py translate|minibatch [--data FILE] [--form NAME[+compile]] [--size N] [--ranks N]

Speaks the protocol of regimen_bench. The first process starts the others, reads the lines and tells them how many steps come.
A step has `size` pairs or seeds in all; each process has its part. Gradients are averaged in DDP's buckets during backward.
  translate  the Transformer of peer_translation.py
  minibatch  GraphSAGE on blocks as in peer_torch.py; each process samples for its own seeds
"""
import os
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import peer
import peer_torch
import peer_translation

RANK = int(os.environ.get("PEER_DDP_RANK", "0"))


class Sage(torch.nn.Module):
    """Three rounds on blocks, from the last to the first."""

    def __init__(self, data, sizes):
        super().__init__()
        own, others = peer_torch.sage_layers(data, sizes)
        self.own, self.others = torch.nn.ModuleList(own), torch.nn.ModuleList(others)

    def forward(self, h, blocks):
        for i, (mine, theirs) in enumerate(reversed(blocks)):
            near = h[theirs.flatten()].view(*theirs.shape, -1).mean(1)
            h = self.own[i](h[mine]) + self.others[i](near)
            if i < 2:
                h = F.dropout(F.relu(h), 0.5)
        return h


def translate(options, ranks):
    model = DistributedDataParallel(peer_translation.Transformer(*peer_translation.SIZES[options.form]))
    adam = peer.adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    length = peer_translation.LENGTH
    ids = [torch.randint(1, peer_translation.VOCABULARY, ((options.size or 64) // ranks, length)) for _ in range(3)]
    mask = torch.full((length, length), float("-inf")).triu(1)
    net = peer.compiled(model, options.how)

    def step(_):
        adam.zero_grad(set_to_none=True)
        logits = net(ids[0], ids[1], mask)
        F.cross_entropy(logits.flatten(0, 1), ids[2].flatten(), label_smoothing=0.1).backward()
        adam.step()

    return step


def minibatch(options, ranks):
    data, sizes = peer_torch.read(options.data)
    n, x, labels = len(data["label"]), data["feat"], data["label"]
    neighbours = peer_torch.Neighbours(data)
    model = DistributedDataParallel(Sage(data, sizes))
    adam = peer.adam(model.parameters(), lr=0.01)
    net = peer.compiled(model, options.how)

    def step(_):
        seeds = torch.randperm(n)[:(options.size or 1024) // ranks]
        nodes, blocks = neighbours.blocks(seeds)
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(net(x[nodes], blocks), labels[seeds]).backward()
        adam.step()

    return step


def start_others(ranks, folder):
    for rank in range(1, ranks):
        environment = dict(os.environ, PEER_DDP_RANK=str(rank), PEER_DDP_FOLDER=folder)
        subprocess.Popen([sys.executable, "-W", "ignore"] + sys.argv, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)


def serve(step, workload):
    """The first process obeys its lines; the others what it tells them."""
    number, count = 0, torch.zeros(1, dtype=torch.long)

    def go(steps):
        nonlocal number
        for _ in range(steps):
            step(number)
            number += 1

    if RANK > 0:
        while True:
            dist.broadcast(count, 0)
            if count.item() == 0:
                return
            go(count.item())
    for steps in peer.turns(workload, set_threads=lambda _: None, version=torch.__version__):
        dist.broadcast(count.fill_(steps), 0)
        begin = time.perf_counter()
        go(steps)
        peer.tell(time.perf_counter() - begin, steps)
    dist.broadcast(count.fill_(0), 0)


def main():
    ranks = 2
    if "--ranks" in sys.argv:
        at = sys.argv.index("--ranks")
        ranks = int(sys.argv[at + 1])
    folder = os.environ.get("PEER_DDP_FOLDER") or tempfile.mkdtemp()
    if RANK == 0:
        start_others(ranks, folder)
    if "--ranks" in sys.argv:
        del sys.argv[at:at + 2]
    options = peer.arguments(form="small")
    torch.set_num_threads(1)
    torch.manual_seed(RANK)
    dist.init_process_group("gloo", init_method="file://%s/store" % folder, rank=RANK, world_size=ranks)
    serve({"translate": translate, "minibatch": minibatch}[options.workload](options, ranks), options.workload)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
