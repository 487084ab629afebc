"""A small network that torch trains on all ranks by DistributedDataParallel over its MPI backend: nothing in it knows
of Tributary. tests/hosts/test_mpi.py runs it, with torch as Debian 13 has it. Prints the bits of
the trained weights."""

import hashlib

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

STEPS = 8

torch.set_num_threads(1)
distributed.init_process_group("mpi")
rank, size = distributed.get_rank(), distributed.get_world_size()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first = last = None
for step in range(STEPS):
    # Each rank has its own part of the data.
    draw = torch.Generator().manual_seed(1000 * step + rank)
    inputs = torch.randn(16, 32, generator=draw)
    loss = ((model(inputs) - inputs[:, :4].sin()) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.detach().clone()
    distributed.all_reduce(total)
    last = total.item() / size
    first = last if first is None else first
assert last < first, (first, last)
bits = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
distributed.barrier()
print(f"rank {rank} of {size}: learned {hashlib.sha256(bits).hexdigest()[:16]}", flush=True)
distributed.destroy_process_group()
