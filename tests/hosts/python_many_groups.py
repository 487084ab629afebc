"""A rank of test_one_root.py: many groups of one process at the same time, all with rank 0 as their root.

    python_many_groups.py INTERFACE RANK SIZE GROUPS TRANSPORT
"""

import json
import random
import sys

import numpy as np

import tributary

interface, transport = sys.argv[1], sys.argv[5]
rank, size, count = (int(word) for word in sys.argv[2:5])
ROUNDS = 20

with tributary.Host(interface, transport=transport) as host:
    groups = [host.join_named(f"g{number}", rank, size, root_rank=0) for number in range(count)]
    order = list(range(count))
    random.Random(rank).shuffle(order)
    for step in range(ROUNDS):
        elements = 1 if step % 2 else 3000 + step

        def operand(of, number, step=step, elements=elements):
            return np.full(elements, (of + 1) * (number + 1) + step, dtype=np.int64)

        begun = {number: groups[number].allreduce_start(operand(rank, number)) for number in order}
        for number in reversed(order):
            got = begun[number].wait(60).value
            expected = sum(operand(of, number) for of in range(size))
            assert np.array_equal(got, expected), (step, number, got[:4], expected[:4])
    trees = [group.membership()["tree"] for group in groups]
    assert len(set(trees)) == count, trees
    roots = {group.membership()["root_rank"] for group in groups}
    for group in groups:
        group.leave()
print(json.dumps({"roots": sorted(roots), "groups": count}))
