"""A rank of test_python.py: every form and every operator, against numpy. Prints a line of JSON.

    python_rank.py INTERFACE NID RANK SIZE TREE VNI COOKIE PAYLOAD SLOTS
"""

import json
import sys

import numpy as np

import tributary

interface, nid, rank, size, tree, vni, cookie, payload, slots = (
    word if at == 0 else int(word) for at, word in enumerate(sys.argv[1:]))
COUNT = 1001
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64)
INTEGER_OPERATORS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "min": np.minimum,
                     "max": np.maximum, "sum": np.add}
FLOAT_OPERATORS = {"min": np.fmin, "max": np.fmax, "min_nan": np.minimum, "max_nan": np.maximum, "sum": np.add}


def operands(dtype, of):
    """The operands of rank `of`: small integers, so that sums are exact in any order and form."""
    return np.random.default_rng([of, np.dtype(dtype).num]).integers(0, 20, COUNT).astype(dtype)


def folded(operator, dtype):
    total = operands(dtype, 0)
    for of in range(1, size):
        total = operator(total, operands(dtype, of)).astype(dtype)
    return total


checked = 0
with tributary.Host(interface, nid=nid) as host, host.join(
        tree, rank, size, vni=vni, cookie=cookie, payload=payload, slots=slots) as group:
    for dtypes, operators in ((INTEGERS, INTEGER_OPERATORS), (FLOATS, FLOAT_OPERATORS)):
        for dtype in dtypes:
            for name, operator in operators.items():
                got = group.allreduce(operands(dtype, rank), op=name, timeout=60)
                assert np.array_equal(got, folded(operator, dtype)), (dtype, name, got[:4], folded(operator, dtype)[:4])
                checked += 1
    half = tributary.from_bfloat16(group.allreduce(tributary.bfloat16(operands(np.float32, rank)), timeout=60))
    assert np.array_equal(half, folded(np.add, np.float32)), half[:4]
    rough = [np.random.default_rng(of).normal(scale=1e6, size=COUNT) for of in range(size)]
    bits = group.allreduce(rough[rank], op="repsum", timeout=60)
    assert np.allclose(bits, np.sum(rough, axis=0)), bits[:4]
    # The same from parts that the program has summed itself, in another order at each rank.
    parts = [tributary.repsum(part) for part in (rough[rank] / 2, rough[rank] / 4, rough[rank] / 4)]
    mine = parts.pop(rank % 3).copy()
    for part in parts:
        tributary.repsum_add(mine, part)
    assert (tributary.from_repsum(group.allreduce(mine, op="repsum", timeout=60)) == bits).all()
    for dtype in (tributary.MINMAXLOC_INT64, tributary.MINMAXLOC_DOUBLE):
        place = np.zeros(3, dtype=dtype)
        place["min"] = place["max"] = 10 * rank
        place["min_index"] = place["max_index"] = rank
        found = group.allreduce(place, op="minmaxloc", timeout=60)
        assert (found["min_index"] == 0).all() and (found["max"] == 10 * (size - 1)).all(), found
    at_one = group.reduce(np.full(5, rank, dtype=np.int32), to_rank=1, timeout=60)
    assert (at_one is not None) == (rank == 1) and (at_one is None or (at_one == sum(range(size))).all())
    sent = np.arange(7, dtype=np.uint8) if rank == 2 else np.zeros(7, dtype=np.uint8)
    assert np.array_equal(group.broadcast(sent, from_rank=2, timeout=60), np.arange(7))
    flowing = [group.allreduce_start(np.full(4, number, dtype=np.int64)) for number in range(16)]
    assert [request.wait(60).value[0] for request in flowing] == [size * number for number in range(16)]
    assert f"rank {rank} of {size}" in group.status(), group.status()
    for wrong in (lambda: group.allreduce(np.zeros(3, dtype=complex)), lambda: group.allreduce([1], op="mean")):
        try:
            wrong()
        except (TypeError, ValueError) as error:
            assert "known are" in str(error) or "convert to one of" in str(error), error
        else:
            raise AssertionError("it was taken")
    group.barrier(timeout=60)
    statistics = group.statistics()
    print(json.dumps({"checked": checked, "completed": statistics["completed"], "rank": group.rank}))
