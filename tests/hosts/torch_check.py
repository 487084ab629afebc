"""A program of torch.distributed over the backend "tributary", or "gloo" to compare; tests/hosts/test_torch.py runs it. Each
rank prints a line of JSON at its end.

    torch_check.py BACKEND functions             every function, type and operator, against what the ranks' numbers give
    torch_check.py BACKEND train STEPS CAP       a small CNN by DistributedDataParallel: losses, and a hash of its weights;
                                                 CAP is bucket_cap_mb
    torch_check.py BACKEND fsdp                  the same by FullyShardedDataParallel
    torch_check.py BACKEND groups N              N groups of all ranks, and those of parts of them
    torch_check.py BACKEND die                   the last rank is killed while the others wait for it
    torch_check.py BACKEND shapes                the last rank has another shape
    torch_check.py BACKEND late                  the last rank does not come; the others' time-out is short
    torch_check.py BACKEND fork                  a forked child calls, and a DataLoader forks workers
    torch_check.py BACKEND odd                   tensors that the network does not take
    torch_check.py BACKEND leave                 ends with an allreduce that is not waited for
    torch_check.py BACKEND entry                 does not import the backend: torch 2.5 and later find it by its entry point
With "deterministic" behind it the program asks torch for deterministic algorithms.
"""

import hashlib
import json
import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

backend, what, *words = (word for word in sys.argv[1:] if word != "deterministic")
if backend == "tributary" and what != "entry":
    import tributary.torch
if "deterministic" in sys.argv:
    torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)
seconds = 15 if what == "late" else 120
dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
rank, size = dist.get_rank(), dist.get_world_size()
said = {"rank": rank}
Op = dist.ReduceOp


def mine(count, dtype, of=None):
    return ((torch.arange(count) % 13) + (rank if of is None else of)).to(dtype)


def total(count, dtype):
    return sum((torch.arange(count) % 13) + of for of in range(size)).to(dtype)


def functions():
    by_network = backend == "tributary" and tributary.torch.statistics()["network"] > 0
    types = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32,
             torch.int64)  # fmt: skip
    for dtype in types:
        for count in (1, 17, 100_000):
            tensor = mine(count, dtype)
            dist.all_reduce(tensor)
            assert torch.equal(tensor, total(count, dtype)), (dtype, count, tensor)
            for op, of in ((Op.MAX, size - 1), (Op.MIN, 0)):
                tensor = mine(count, dtype)
                dist.all_reduce(tensor, op=op)
                assert torch.equal(tensor, mine(count, dtype, of)), (dtype, count, op)
    nan = torch.full((3,), float("nan") if rank == size - 1 else 1.0)
    dist.all_reduce(nan, op=Op.MAX)
    assert nan.isnan().all() or not by_network  # gloo has either
    for op, expected in ((Op.BOR, 7), (Op.BAND, 0), (Op.BXOR, None)):
        bits = torch.full((5,), 1 << rank % 3, dtype=torch.int32)
        dist.all_reduce(bits, op=op)
        assert expected is None or size < 3 or (bits == expected).all(), (op, bits)
    mean = torch.full((3,), float(rank))
    dist.all_reduce(mean, op=Op.AVG)
    assert (mean == (size - 1) / 2).all()
    product = torch.full((3,), 2.0)
    dist.all_reduce(product, op=Op.PRODUCT)
    assert (product == 2.0**size).all()
    crosswise = torch.arange(12.0).reshape(3, 4).t() + rank
    dist.all_reduce(crosswise)
    assert torch.equal(crosswise, torch.arange(12.0).reshape(3, 4).t() * size + size * (size - 1) / 2)
    for dtype in (*types, torch.bool, torch.complex64):
        tensor = mine(1000, dtype) if rank == size - 1 else torch.zeros(1000, dtype=dtype)
        dist.broadcast(tensor, size - 1)
        assert torch.equal(tensor, mine(1000, dtype, size - 1)), dtype
    tensor = mine(100, torch.float32)
    dist.reduce(tensor, size - 1)
    if rank == size - 1:
        assert torch.equal(tensor, total(100, torch.float32))
    elif by_network:  # gloo has its interim sums there
        assert torch.equal(tensor, mine(100, torch.float32))
    block = torch.zeros(4)
    dist.reduce_scatter(block, [torch.full((4,), float(to + rank)) for to in range(size)])
    assert (block == rank * size + size * (size - 1) / 2).all(), block
    if hasattr(dist, "reduce_scatter_tensor"):
        dist.reduce_scatter_tensor(block, torch.arange(4.0 * size) + rank)
        assert torch.equal(block, torch.arange(4.0 * rank, 4.0 * rank + 4) * size + size * (size - 1) / 2), block
    everyone = [torch.zeros(2) for _ in range(size)]
    dist.all_gather(everyone, torch.full((2,), float(rank)))
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert [int(each[0]) for each in everyone] == [each["rank"] for each in objects] == list(range(size))
    works = [(number, tensor, dist.all_reduce(tensor, async_op=True))
             for number in range(30) for tensor in [torch.full((5000,), float(number))]]
    for number, tensor, work in works:
        assert work.wait() and work.is_completed() and (tensor == number * size).all(), number
    dist.barrier()


def train(steps, cap):
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(cap * 2**20)  # the others' size is bucket_cap_mb
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.Tanh(), torch.nn.AvgPool2d(2), torch.nn.Conv2d(8, 16, 3), torch.nn.Tanh(),
        torch.nn.Flatten(), torch.nn.Linear(16 * 5 * 5, 128), torch.nn.Tanh(), torch.nn.Linear(128, 10)), bucket_cap_mb=cap)
    # Smooth, and without momentum: differences in the last digits do not grow, and losses can be compared.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for step in range(steps):
        draw = torch.Generator().manual_seed(1000 * step + rank)
        images = torch.randn(8, 1, 16, 16, generator=draw)
        labels = (images.mean(dim=(1, 2, 3)) * 40).long().clamp(-5, 4) + 5
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    bits = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    said.update(losses=losses, weights=hashlib.sha256(bits).hexdigest())


def fsdp():
    from torch.distributed.fsdp import FullyShardedDataParallel

    torch.manual_seed(1)
    model = FullyShardedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)),
                                     device_id=torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(8):
        loss = (model(torch.randn(8, 64, generator=torch.Generator().manual_seed(100 * step + rank))) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    said["losses"] = losses


def groups(number):
    parts = [dist.new_group(list(range(part, size, 2))) for part in range(2)]
    for _ in range(number):
        group = dist.new_group(list(range(size)))
        tensor = torch.ones(1000)
        dist.all_reduce(tensor, group=group)
        assert (tensor == size).all()
        dist.destroy_process_group(group)
    kept = [dist.new_group(list(range(size))) for _ in range(3)]
    works = [(tensor, dist.all_reduce(tensor, group=group, async_op=True))
             for turn in range(4) for group in kept for tensor in [torch.ones(20_000)]]
    for tensor, work in reversed(works):
        work.wait()
        assert (tensor == size).all()
    tensor = torch.ones(10)
    dist.all_reduce(tensor, group=parts[rank % 2])
    assert (tensor == len(range(rank % 2, size, 2))).all()


def failing(call):
    begin = time.monotonic()
    try:
        call()
    except RuntimeError as error:
        said.update(error=str(error), seconds=time.monotonic() - begin)
    else:
        raise AssertionError("it did not fail")


def end(code=0):
    if backend == "tributary":
        import tributary.torch

        said["statistics"] = tributary.torch.statistics()
    # With its end: print writes that of a long line by itself, behind what another rank wrote.
    print(json.dumps(said) + "\n", end="", flush=True)
    sys.exit(code)


tensor = torch.ones(10)
dist.all_reduce(tensor)
last = rank == size - 1
if what == "functions":
    functions()
elif what == "train":
    train(int(words[0]), float(words[1]))
elif what == "fsdp":
    fsdp()
elif what == "groups":
    groups(int(words[0]))
elif what == "die":
    model = DistributedDataParallel(torch.nn.Linear(100, 10))
    model(torch.randn(4, 100)).sum().backward()
    if last:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    failing(lambda: model(torch.randn(4, 100)).sum().backward())
    failing(lambda: dist.all_reduce(tensor))
elif what == "shapes":
    failing(lambda: dist.all_reduce(torch.ones(10 + last)))
    dist.all_gather([torch.zeros(1) for _ in range(size)], torch.zeros(1))
elif what == "late":
    if last:
        time.sleep(25)
    else:
        failing(lambda: dist.all_reduce(tensor))
elif what == "fork":
    child = os.fork()
    if child == 0:
        code = 1
        try:
            dist.all_reduce(torch.ones(3))
        except RuntimeError as error:
            code = 0 if "forked" in str(error) else 2
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    loaded = torch.utils.data.DataLoader(list(range(100)), batch_size=10, num_workers=2)
    assert sum(int(batch.sum()) for batch in loaded) == 4950
    dist.all_reduce(tensor)
    assert (tensor == size * size).all()
elif what == "odd":
    failing(lambda: dist.all_reduce(torch.ones(3, device="meta")))
    sparse = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (4,))
    dist.all_reduce(sparse)
    assert sparse.to_dense().tolist() == [size, 2 * size, 0, 0]
    dist.all_reduce(torch.ones(0))
elif what == "leave":
    dist.all_reduce(torch.ones(100_000), async_op=True)
if what in ("functions", "train", "fsdp", "groups"):
    dist.destroy_process_group()
end()
