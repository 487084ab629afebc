#!/usr/bin/env python3
"""A tour of the tributary package, in cells as notebooks have them (`# %%`): run it whole, or cell by cell.

    tour.py INTERFACE RANK SIZE --tree 7 --vni 1024 --cookie 0x1234 --nid 2       on a tree of the switches' files
    tour.py INTERFACE RANK SIZE --group demo                                      where a fabric manager runs

Every rank runs it; rank 0 prints.
"""

# %% The command line; in a notebook, set these by hand
import argparse

import numpy as np

import tributary

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("interface")
parser.add_argument("rank", type=int)
parser.add_argument("size", type=int)
parser.add_argument("--group")
parser.add_argument("--tree", type=int)
parser.add_argument("--vni", type=int)
parser.add_argument("--cookie", type=lambda text: int(text, 0))
parser.add_argument("--nid", type=int)
parser.add_argument("--payload", type=int, default=32, help="as the tree was installed with")
parser.add_argument("--slots", type=int, default=8, help="likewise")
given = parser.parse_args()


def say(*words):
    if given.rank == 0:
        print(*words, flush=True)


# %% An interface, and a membership
host = tributary.Host(given.interface, **({"nid": given.nid} if given.nid is not None else {}))
if given.group:
    group = host.join_named(given.group, given.rank, given.size)
else:
    group = host.join(given.tree, given.rank, given.size, vni=given.vni, cookie=given.cookie,
                      payload=given.payload, slots=given.slots)
say(f"rank {group.rank} of {group.size} as NID {host.nid}")

# %% Sums: every rank gives an array, and gets the sum
mine = np.arange(10_000, dtype=np.int64) + given.rank
total = group.allreduce(mine)
say("sum of int64:", total[:4], "...")
assert np.array_equal(total, given.size * np.arange(10_000) + sum(range(given.size)))

# %% Doubles in any order give the same bits with repsum
values = np.random.default_rng(given.rank).normal(size=1000)
reproducible = group.allreduce(values, op="repsum")
say("reproducible sum:", reproducible[:2])

# %% Minimum and maximum, and their places
places = np.zeros(1, dtype=tributary.MINMAXLOC_DOUBLE)
places["min"] = places["max"] = values[0]
places["min_index"] = places["max_index"] = given.rank
found = group.allreduce(places, op="minmaxloc")
say("least at rank", found["min_index"][0], "greatest at rank", found["max_index"][0])

# %% float32, and the 16-bit forms, where the tree has wide frames
if group.membership()["payload"] > 32:
    gradient = np.full(5000, 0.5, dtype=np.float32)
    say("sum of float32:", group.allreduce(gradient)[:2])
    say("greatest float16:", group.allreduce(np.full(100, given.rank, dtype=np.float16), op="max")[:2])
    half = tributary.bfloat16(np.full(100, 1.5))
    say("sum of bfloat16:", tributary.from_bfloat16(group.allreduce(half))[:2])

# %% Several at the same time: start them, compute, wait
requests = [group.allreduce_start(np.full(8, number, dtype=np.int64)) for number in range(4)]
say("four at once:", [int(request.wait(timeout=30).value[0]) for request in requests])

# %% Who is late? A wait with a time-out reports it and loses nothing
group.barrier(timeout=30)
say("frames at the root for each reduction:", group.statistics()["reduction_frames"] / group.statistics()["completed"])

# %% The end
group.leave()
host.close()
