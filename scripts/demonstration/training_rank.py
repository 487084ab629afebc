"""A rank of scripts/demo-torch: trains a small CNN on generated images by DistributedDataParallel. Nothing in it knows of
Tributary but the backend's name. Rank 0 prints a line of JSON.

    training_rank.py BACKEND STEPS SEED [deterministic]
"""

import hashlib
import json
import statistics
import sys
import time

import torch
import torch.distributed as distributed
from torch.nn.parallel import DistributedDataParallel

backend, steps, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if backend == "tributary":
    import tributary.torch
if "deterministic" in sys.argv:
    torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)
distributed.init_process_group(backend)
rank, size = distributed.get_rank(), distributed.get_world_size()

torch.manual_seed(seed)
model = DistributedDataParallel(torch.nn.Sequential(
    torch.nn.Conv2d(1, 16, 3), torch.nn.Tanh(), torch.nn.AvgPool2d(2), torch.nn.Conv2d(16, 32, 3), torch.nn.Tanh(),
    torch.nn.Flatten(), torch.nn.Linear(32 * 5 * 5, 768), torch.nn.Tanh(), torch.nn.Linear(768, 10)))  # 2.5 MB
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses, times = [], []
for step in range(steps):
    # Each rank has its own images; the brighter one is, the higher its class.
    draw = torch.Generator().manual_seed(seed * 1_000_003 + step * 1009 + rank)
    images = torch.randn(8, 1, 16, 16, generator=draw)
    labels = (images.mean(dim=(1, 2, 3)) * 40).long().clamp(-5, 4) + 5
    begin = time.monotonic()
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    times.append(1000 * (time.monotonic() - begin))
    losses.append(loss.item())
bits = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
weights = hashlib.sha256(bits).hexdigest()[:16]
everyone = [None] * size
distributed.all_gather_object(everyone, weights)
if rank == 0:
    result = {"losses": losses, "step_ms": times, "median_ms": statistics.median(times), "weights": weights,
              "ranks_agree": len(set(everyone)) == 1}
    if backend == "tributary":
        result["statistics"] = tributary.torch.statistics()
    print(json.dumps(result), flush=True)
distributed.destroy_process_group()
