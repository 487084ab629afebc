"""A program of mpi4py that knows nothing of Tributary: buffers, pickles, IN_PLACE, Iallreduce, Split, and threads, each
result compared with what the ranks' numbers give. tests/hosts/test_mpi4py.py runs it. Prints "rank R of N: all is right".

    mpi_mpi4py.py [finalize]        finalize: by a call of the program; otherwise by mpi4py at the interpreter's end
"""

import sys
import threading

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def part_of(number, count, dtype):
    return (np.arange(count) % 13 + number).astype(dtype)  # sums of eight stay within an int8


def summed(numbers, count, dtype):
    return sum(part_of(number, count, np.float64) for number in numbers).astype(dtype)


for dtype in (np.int8, np.int32, np.int64, np.uint16, np.float32, np.float64, np.complex64, np.complex128):
    for count in (1, 7, 5000):
        mine, total = part_of(rank, count, dtype), np.empty(count, dtype)
        world.Allreduce(mine, total, op=MPI.SUM)
        assert (total == summed(range(size), count, dtype)).all(), (dtype, count, total)
        world.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)
        assert (mine == total).all(), (dtype, count)

least = np.empty(1000)
world.Reduce(part_of(rank, 1000, np.float64), least if rank == size - 1 else None, op=MPI.MIN, root=size - 1)
assert rank != size - 1 or (least == part_of(0, 1000, np.float64)).all()
block = np.empty(10)
world.Reduce_scatter_block(part_of(rank, 10 * size, np.float64), block)
assert (block == summed(range(size), 10 * size, np.float64)[10 * rank : 10 * rank + 10]).all()
text = bytearray(b"from the first" if rank == 0 else bytes(14))
world.Bcast(text, root=0)
assert text == b"from the first", text
world.Barrier()

# Pickles travel by the MPI library: their sizes differ between ranks.
assert world.allreduce({"rank": rank}, op=lambda a, b: {"rank": max(a["rank"], b["rank"])}) == {"rank": size - 1}
assert world.bcast([rank, "x"], root=size - 1) == [size - 1, "x"]

later = np.empty(300, np.float32)
request = world.Iallreduce(part_of(rank, 300, np.float32), later, op=MPI.MAX)
request.Wait()
assert (later == part_of(size - 1, 300, np.float32)).all()

half = world.Split(color=rank % 2, key=-rank)
of_half = np.empty(100)
half.Allreduce(part_of(rank, 100, np.float64), of_half)
assert (of_half == summed(range(rank % 2, size, 2), 100, np.float64)).all()
half.Free()

if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
    wrong = []
    communicators = [world.Dup() for _ in range(3)]

    def reduce_many(communicator, number):
        try:
            for turn in range(50):
                value = np.full(20, rank + number + turn, np.int64)
                communicator.Allreduce(MPI.IN_PLACE, value)
                assert (value == size * (number + turn) + size * (size - 1) // 2).all(), (number, turn, value)
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=reduce_many, args=(each, number)) for number, each in enumerate(communicators)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong
    for communicator in communicators:
        communicator.Free()

print(f"rank {rank} of {size}: all is right", flush=True)
if sys.argv[1:] == ["finalize"]:
    MPI.Finalize()
