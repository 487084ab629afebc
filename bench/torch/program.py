"""The ranks of bench/torch: allreduces and DistributedDataParallel steps by gloo, by the network, and by the network in
deterministic mode, in turns within one job. Rank 0 prints a line of JSON for each point.

    program.py SIZES MODELS TURNS SECONDS      bytes, commas; bytes of parameters, commas; of each point; of a block of calls
"""

import json
import statistics
import sys
import time

import torch
import torch.distributed as dist
import tributary.torch
from torch.nn.parallel import DistributedDataParallel

GLOO, NETWORK, FIXED = "gloo", "network", "deterministic"
WAYS = (GLOO, NETWORK, FIXED)
WIDTH = 256  # of a layer
sizes, models = ([int(word) for word in text.split(",") if word] for text in sys.argv[1:3])
turns, seconds = int(sys.argv[3]), float(sys.argv[4])

torch.set_num_threads(1)
dist.init_process_group("tributary")
rank, size = dist.get_rank(), dist.get_world_size()
groups = {GLOO: dist.new_group(backend="gloo"), NETWORK: dist.group.WORLD, FIXED: dist.group.WORLD}


def agreed(value):
    """The largest of all ranks, by gloo."""
    of_all = torch.tensor([float(value)], dtype=torch.float64)
    dist.all_reduce(of_all, op=dist.ReduceOp.MAX, group=groups[GLOO])
    return of_all.item()


def block(way, call, calls):
    """Milliseconds of a call, of the slowest rank."""
    torch.use_deterministic_algorithms(way == FIXED)
    dist.barrier(group=groups[GLOO])
    begin = time.monotonic()
    for _ in range(calls):
        call(way)
    spent = time.monotonic() - begin
    torch.use_deterministic_algorithms(False)
    return agreed(1000 * spent / calls)


def measured(name, size_in_bytes, call):
    for way in WAYS:
        block(way, call, 3)  # warm; where --tuning measures, its trials are over after a few more
    calls = {way: max(1, min(2000, int(1000 * seconds / block(way, call, 1)))) for way in WAYS}
    times = {way: [] for way in WAYS}
    for turn in range(turns):
        for way in WAYS[turn % 3 :] + WAYS[: turn % 3]:
            times[way].append(block(way, call, calls[way]))
    if rank == 0:
        ratios = {way: [gloo / ours for gloo, ours in zip(times[GLOO], times[way])] for way in (NETWORK, FIXED)}
        print(json.dumps({"point": name, "bytes": size_in_bytes, "ranks": size, "turns": turns,
                          "ms": {way: statistics.median(times[way]) for way in WAYS},
                          "ratio": {way: statistics.median(of) for way, of in ratios.items()},
                          "least_ratio": {way: min(of) for way, of in ratios.items()},
                          "greatest_ratio": {way: max(of) for way, of in ratios.items()}}), flush=True)


def allreduces(size_in_bytes):
    tensor = torch.ones(size_in_bytes // 4)

    def call(way):
        tensor.fill_(1.0)
        dist.all_reduce(tensor, group=groups[way])

    measured("allreduce", size_in_bytes, call)


def steps(size_in_bytes):
    layers = max(1, size_in_bytes // 4 // (WIDTH * WIDTH + WIDTH))

    def trained(group):
        torch.manual_seed(1)
        made = torch.nn.Sequential(*(layer for _ in range(layers) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())))
        model = DistributedDataParallel(made, process_group=group)
        return model, torch.optim.SGD(model.parameters(), lr=0.01)

    models_of = {GLOO: trained(groups[GLOO]), NETWORK: trained(groups[NETWORK])}
    models_of[FIXED] = models_of[NETWORK]
    inputs = torch.randn(16, WIDTH, generator=torch.Generator().manual_seed(rank))

    def call(way):
        model, optimizer = models_of[way]
        optimizer.zero_grad()
        (model(inputs) ** 2).mean().backward()
        optimizer.step()

    measured("DDP step", layers * (WIDTH * WIDTH + WIDTH) * 4, call)


for number in sizes:
    allreduces(number)
for number in models:
    steps(number)
if rank == 0:
    print(json.dumps({"statistics": tributary.torch.statistics()}), flush=True)
dist.destroy_process_group()
