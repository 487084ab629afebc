"""A rank of test_contexts.py: groups that are dups of one another, through real switches.

    python_contexts.py INTERFACE RANK SIZE LIVE ROUNDS
"""

import json
import random
import sys
import time

import numpy as np

import tributary

interface = sys.argv[1]
rank, size, live, rounds = (int(word) for word in sys.argv[2:6])


def operand(of, number, step, elements):
    return np.full(elements, (of + 1) * (number + 1) + step, dtype=np.int64)


def expected(number, step, elements):
    return sum(operand(of, number, step, elements) for of in range(size))


with tributary.Host(interface) as host:
    group = host.join_named("demo", rank, size, root_rank=0)
    # One after the other, without growth.
    begun = time.monotonic()
    for step in range(rounds):
        child = group.dup()
        got = child.allreduce(operand(rank, 0, step, 1))
        assert np.array_equal(got, expected(0, step, 1)), (step, got)
        child.leave()
    each_usec = (time.monotonic() - begun) / rounds * 1e6
    contexts = group.statistics()["host_contexts"]
    assert contexts == 1, contexts
    # Many at once, of several trees, each used by the others' dups, too; in another order at each rank.
    groups = [group]
    for number in range(live):
        groups.append(groups[number // 2].dup())
    order = list(range(len(groups)))
    random.Random(rank).shuffle(order)
    for step in range(4):
        elements = 1 if step % 2 else 2000 + step
        requests = {number: groups[number].allreduce_start(operand(rank, number, step, elements)) for number in order}
        for number in reversed(order):
            got = requests[number].wait(60).value
            assert np.array_equal(got, expected(number, step, elements)), (step, number, got[:4])
    trees = {one.membership()["tree"] for one in groups}
    cookies = {one.membership()["cookie"] for one in groups}
    assert len(cookies) == len(groups)
    root_statistics = group.statistics()
    # One ends, and the others do not.
    doomed = groups.pop()
    doomed.abandon()
    doomed.leave()
    for number, one in enumerate(groups):
        assert one.allreduce(np.int64(number + rank)) == size * number + size * (size - 1) // 2
    for one in reversed(groups):
        one.leave()
print(json.dumps({"trees": len(trees), "each_usec": round(each_usec), "full": root_statistics["full"],
                  "unreduced": root_statistics["unreduced"]}))
