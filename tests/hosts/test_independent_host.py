"""Hosts that were written from docs/protocol alone (independent_host.py, independent_rdma.py) work with this project's
hosts and switches: an implementation of the pages gets right results."""

import json
import math
import operator
import os
import random
import subprocess
from functools import reduce

from independent_host import FLT_REPSUM, MASK56, Group, Leaf, Root, call_mark, hello, run, signature
from independent_rdma import OUT_OF_BOUNDS, WRONG_KEY, RdmaHost, Region
from lab import COOKIE, TREE, VNI
from test_python import ROOT, python
from test_rdma import Served, command
from tributary import frames

SIZE, SLOTS, PAYLOAD = 3, 16, 256
FAULTS = {"loss": 0.02, "duplicate": 0.02, "reorder": 0.02, "seed": 5}

# Operator, the library's name of it, struct's letter, numpy's name of the type, elements.
CALLS = [
    (frames.INT_SUM, "sum", "q", "int64", 4),  # frames of 32 bytes
    (frames.INT_SUM, "sum", "i", "int32", 1),  # wide, for frames of 32 bytes carry no such sums
    (frames.FLT_SUM, "sum", "f", "float32", 1001),  # sixteen pieces
    (frames.BIT_XOR, "xor", "B", "uint8", 32),
    (frames.BIT_AND, "and", "H", "uint16", 17),  # the last frame is filled with the identity
    (frames.INT_MIN, "min", "I", "uint32", 65),  # inverted on the wire
    (frames.INT_MAX, "max", "q", "int64", 3),
    (frames.INT_MIN, "min", "b", "int8", 257),
    (frames.FLT_SUM, "sum", "d", "float64", 33),
    (frames.INT_SUM, "sum", "q", "int64", 0),  # a call, and no piece
    (frames.INT_MAX, "max", "Q", "uint64", 1),
    (FLT_REPSUM, "repsum", "d", "float64", 1),
    (FLT_REPSUM, "repsum", "d", "float64", 20),  # rough numbers, the same bits in any order
] * 3
FOLD = {"sum": operator.add, "xor": operator.xor, "and": operator.and_, "min": min, "max": max}

LIBRARY_RANK = """
import json, sys
import numpy as np
import tributary
calls, operands, options = json.loads(sys.argv[1])
with tributary.Host("eth0", nid=options["rank"] + 1) as host, host.join(**options) as group:
    group.barrier(timeout=20)
    started = [group.allreduce_start(np.array(own, dtype=kind), op=op) for (op, kind), own in zip(calls, operands)]
    print(json.dumps([request.wait(20).value.tolist() for request in started]))
"""


def operands(rank):
    """Small numbers whose sums are exact and whose conjunctions are not all zero."""
    own = [[(7 * n + 13 * i * (rank + 1) + rank) % 40 | 32 for i in range(call[4])] for n, call in enumerate(CALLS)]
    rough = random.Random(rank)
    return [[rough.uniform(-1, 1) * 10 ** rough.randint(-30, 30) for _ in one] if call[1] == "repsum" else
            [float(x) for x in one] if call[2] in "fd" else one for one, call in zip(own, CALLS, strict=True)]


def expected():
    own = [operands(rank) for rank in range(SIZE)]
    return [[math.fsum(x) for x in zip(*(one[n] for one in own), strict=True)] if call[1] == "repsum" else
            list(reduce(lambda a, b, fold=FOLD.get(call[1]): map(fold, a, b), [one[n] for one in own]))
            for n, call in enumerate(CALLS)]


def library_rank(lab, rank, group):
    options = {"tree": group.tree, "vni": group.vni, "cookie": group.cookie, "size": group.size, "rank": rank,
               "payload": group.payload, "slots": group.slots, "in_switch_results": int(group.in_switch_results)}  # fmt: skip
    text = json.dumps([[call[1:4:2] for call in CALLS], operands(rank), options])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "endpoint" / "python"),
                   "TRIBUTARY_LIBRARY": str(lab.binaries.library)}  # fmt: skip
    return subprocess.Popen(["ip", "netns", "exec", f"h{rank}", python(), "-c", LIBRARY_RANK, text],
                            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def reduce_together(lab, independent, in_switch_results=False, faults=None):
    """All calls at SIZE members, the given ranks independent and the others the library's; the independent ones."""
    group = Group(TREE, VNI, COOKIE, SIZE, payload=PAYLOAD, slots=SLOTS, in_switch_results=in_switch_results)
    section = lab.star(SIZE - 1, "af_packet")
    section.head["timers_us"] = [50_000] * 4
    section.trees[TREE].update({"slots": SLOTS, "payload": PAYLOAD, "in_switch_results": in_switch_results, "wait_count": SIZE - 1 + in_switch_results})
    if faults:
        for number in range(SIZE):
            section.impairments[f"host{number}"] = faults
    ports = [lab.root, *lab.leaves]
    switch = lab.start()
    members = {}
    for rank, port in enumerate(ports):
        if rank in independent:
            members[(Leaf if rank else Root)(group, rank, rank + 1)] = port
        else:
            port.close()
    children = [library_rank(lab, rank, group) for rank in range(SIZE) if rank not in independent]
    calls = {}
    for member in members:
        member.start(frames.BARRIER)
        own = operands(member.rank)
        calls[member] = [member.start(op, kind, own[n]) for n, (op, _, kind, _, _) in enumerate(CALLS)]
    run(members, lambda: all(call.done for started in calls.values() for call in started))
    for member in members:
        member.leave()
    run(members, lambda: all(member.gone for member in members))
    wanted = expected()
    for member, started in calls.items():
        for n, call in enumerate(started):
            assert call.result == wanted[n], f"rank {member.rank}, call {n} {CALLS[n]}: {call.result}, not {wanted[n]}"
    for child in children:
        out, error = child.communicate(timeout=20)
        assert child.returncode == 0, error
        assert json.loads(out) == wanted, f"{out} is not {wanted}"
    return switch, members


def test_a_leaf_of_the_pages_reduces_with_a_root_of_the_library(lab):
    switch, _ = reduce_together(lab, {2})
    assert lab.counters(switch)["leaf0.engine.host0.full"] > len(CALLS), "the switch adds up"


def test_a_root_of_the_pages_reduces_with_leaves_of_the_library(lab):
    switch, _ = reduce_together(lab, {0})
    assert lab.counters(switch)["leaf0.engine.host0.full"] > len(CALLS), "the switch adds up"


def test_members_of_the_pages_recover_what_a_network_loses(lab):
    switch, members = reduce_together(lab, {0, 2}, faults=FAULTS)
    lost = sum(value for name, value in lab.counters(switch).items() if name.endswith(".drop.impaired"))
    assert lost > 10, "no fault was injected"
    root, leaf = members
    assert root.counted["retries"] + leaf.counted["requests"] > 0, (root.counted, leaf.counted)


def test_a_leaf_of_the_pages_takes_in_switch_results(lab):
    switch, _ = reduce_together(lab, {2}, in_switch_results=True)
    assert lab.counters(switch)["leaf0.engine.host0.in_switch"] > len(CALLS)


def test_a_root_of_the_pages_takes_in_switch_results(lab):
    switch, _ = reduce_together(lab, {0}, in_switch_results=True, faults=FAULTS)
    assert lab.counters(switch)["leaf0.engine.host0.in_switch"] > len(CALLS)


def test_a_member_counts_once_whatever_it_sends(lab):
    """Its port is guarded, so the first switch refuses frames it sends for another host, and
    repeated ones."""
    section = lab.star(2, "af_packet")
    section.head["timers_us"] = [20_000_000] * 4
    switch = lab.start()
    group = Group(TREE, VNI, COOKIE, 3, retry=20.0)  # the sequence stays
    root, one, two = Root(group, 0, 1), Leaf(group, 1, 2), Leaf(group, 2, 3)
    call = [member.start(frames.INT_SUM, "q", [1 + member.rank]) for member in (root, one, two)][0]
    ports = {root: lab.root, one: lab.leaves[0]}
    run(ports, lambda: one.slots[0].piece and one.slots[0].piece.contributed)
    sequence = one.slots[0].sequence
    both = sum(signature(COOKIE, rank, 0) + call_mark(0, 1) for rank in (1, 2))
    forged = lab.contribution(0, seqno=sequence, resno=sequence, count=2, signature=both & MASK56)
    lab.leaves[0].send(forged)
    lab.counter_reaches(switch, "leaf0.port.host1.drop.counts_others", 1)
    again = lab.contribution(0, seqno=sequence, resno=sequence)
    lab.leaves[0].send(again)
    lab.counter_reaches(switch, "leaf0.port.host1.drop.counted_twice", 1)
    run({**ports, two: lab.leaves[1]}, lambda: call.done)
    assert call.result == [1 + 2 + 3] and root.counted["refused"] == 0


def test_hellos_of_the_pages_are_heard(lab):
    lab.star(1, "af_packet")
    switch = lab.start()

    said = hello(2, "odd-name.2", "eth0")
    steps = "\n".join(switch.ctl("explain", "--switch", "leaf0", "--port", "host1", said.hex())["steps"])
    assert 'a hello of host "odd-name.2", NID 2, each 2000 ms' in steps, steps
    lab.leaves[0].send(said, hello(2, "odd-name.2", "eth0", interval_ms=0))
    bad = hello(2, "bad name", "eth0")
    lab.leaves[0].send(bad, bad[:25] + bytes([bad[25] ^ 1]) + bad[26:])
    lab.counter_reaches(switch, "leaf0.port.host1.drop.bad_hello", 2)


def rdma_hosts(lab):
    """An independent host on h0, the library's on h1, at a switch that loses, duplicates, reorders
    and damages frames."""
    section = lab.star(1, "af_packet")
    for number in range(2):
        section.route(number + 1, f"host{number}")
        section.impairments[f"host{number}"] = {**FAULTS, "corrupt": 0.01}
    lab.leaves[0].close()
    switch = lab.start()
    host = RdmaHost(1, VNI)
    return switch, host, lambda done: run({host: lab.root}, done)


def test_rdma_of_the_pages_writes_to_and_reads_from_the_library(lab):
    switch, host, run_until = rdma_hosts(lab)
    data = random.Random(1).randbytes(150_001)
    served = Served(lab, 1, "--length", len(data), "--seed", 3)
    region = bytes.fromhex(served.region)
    first = host.read(region, 0, 100)
    run_until(lambda: first.done)
    assert first.status == 0 and host.counted["challenges"] > 0, "data was sent to an address that no host had shown"
    written = [host.write(region, at, data[at : at + 50_000], immediate=at) for at in range(0, len(data), 50_000)]
    run_until(lambda: all(one.done for one in written))
    read, nothing = host.read(region, 0, len(data)), host.read(region, 7, 0)
    beyond = host.read(region, 2, len(data) - 1)
    forged = Region.of(region)
    forged.key ^= 1 << 40
    unknown = host.write(bytes(forged), 0, b"x")
    run_until(lambda: all(one.done for one in (read, nothing, beyond, unknown)))
    assert [one.status for one in written] == [0] * 4 and (read.status, nothing.status) == (0, 0)
    assert read.data == data and (beyond.status, unknown.status) == (OUT_OF_BOUNDS, WRONG_KEY)
    arrivals, _ = served.end()
    assert sorted((one["arrival"], one["length"]) for one in arrivals) == [
        (at, min(50_000, len(data) - at)) for at in range(0, len(data), 50_000)]
    assert host.counted["resent"] > 0, "no fault was injected"


def test_rdma_of_the_library_writes_to_and_reads_from_memory_of_the_pages(lab):
    _, host, run_until = rdma_hosts(lab)
    memory = bytearray(150_001)
    region = host.serve(memory).hex()
    data = random.Random(2).randbytes(len(memory))
    lab.file("data").write_bytes(data)
    for what, more in (("write", ["--input", lab.file("data")]), ("read", ["--output", lab.file("back")])):
        child = subprocess.Popen(command(lab, 1, what, "--region", region, *more), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)  # fmt: skip
        run_until(lambda child=child: child.poll() is not None)
        out, error = child.communicate()
        assert child.returncode == 0, out + error
    assert memory == data and lab.file("back").read_bytes() == data
    assert host.counted["asked"] > 0, "no fault was injected"
    assert host.counted["challenged"] > 0, "the second program has another incarnation"
