"""Two members in one program, at the ends of a veth pair: behaviour of programs that no example
shows, one case per process.

    python_pair.py CASE          in a network namespace of its own; without CASE the names of all
"""

import faulthandler
import gc
import inspect
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np

import tributary
from tributary import rdma

SOON = 10.0  # seconds; an end without intervention takes 20 s or more in these cases
GROUP = {"vni": 9, "cookie": 0xABCD, "payload": 256, "slots": 16, "leave_grace_usec": 1000}


class Pair:
    """Both members; rank 0 is the root."""

    def __init__(self, progress="thread", **options):
        self.hosts = [tributary.Host(name, nid=rank + 1, progress=progress) for rank, name in enumerate(("left", "right"))]
        self.groups = [host.join(77, rank, 2, root_nid=1, **{**GROUP, **options})
                       for rank, host in enumerate(self.hosts)]

    def both(self, call):
        """Runs call(group) at both members at the same time; returns both results."""
        answers = [None, None]

        def run(rank):
            answers[rank] = call(self.groups[rank])

        threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SOON)
            assert not thread.is_alive(), "it takes too long"
        return answers

    def leave(self):
        self.both(lambda group: group.leave() or "left")


def refused(call, kind, *words):
    """Checks that it raises this exception with this text."""
    try:
        answer = call()
    except kind as error:
        assert all(word in str(error) for word in words), f"{error!r} has not all of {words}"
        return error
    raise AssertionError(f"{inspect.getsource(call).strip()} gave {answer!r}")


def interrupted(call):
    """Checks that Ctrl-C ends it soon."""
    begin = time.monotonic()
    sender = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    try:
        call()
    except KeyboardInterrupt:
        assert time.monotonic() - begin < SOON
        return
    raise AssertionError("it was not interrupted")


def a_request_of_a_closed_host():
    pair = Pair()
    request = pair.groups[0].allreduce_start(np.arange(4))
    pair.hosts[0].close()
    refused(lambda: request.wait(1), ValueError, "the host is closed")
    refused(request.test, ValueError, "the host is closed")
    refused(lambda: pair.groups[0].allreduce([1]), ValueError, "the host is closed")
    refused(pair.groups[0].status, ValueError, "the host is closed")
    pair.groups[0].leave()  # it ended with the host


def a_host_that_is_dropped_is_closed():
    pair = Pair()
    pair.groups[0].allreduce_start(np.arange(4))
    before = len(os.listdir("/proc/self/fd"))
    del pair
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) < before, "its sockets are open"


def a_host_that_is_closed_while_a_call_waits():
    pair = Pair(progress="caller")
    threading.Timer(0.3, pair.hosts[0].close).start()
    refused(lambda: pair.groups[0].allreduce([1]), ValueError, "the host is closed")


def an_exit_while_a_thread_waits():
    pair = Pair()
    threading.Thread(target=pair.groups[0].barrier, daemon=True).start()
    pair.groups[1].allreduce_start(np.arange(10_000))
    time.sleep(0.2)


def a_wake_ends_a_wait_whose_operation_continues():
    for progress in ("caller", "thread"):
        pair = Pair(progress=progress)
        request = pair.groups[0].allreduce_start([1, 2])
        threading.Timer(0.3, pair.hosts[0].wake).start()
        begin = time.monotonic()
        error = refused(lambda: request.wait(), tributary.TributaryError, "tributary_wake ended the wait")
        assert error.name == "INTERRUPTED" and error.request is request and 0.2 < time.monotonic() - begin < SOON
        pair.hosts[0].wake()  # before a wait: it ends at once
        refused(lambda: request.wait(SOON), tributary.TributaryError, "tributary_wake")
        other = pair.groups[1].allreduce_start([3, 4])
        assert list(pair.both(lambda group: (request if group is pair.groups[0] else other).wait(SOON).value)[0]) == [4, 6]
        pair.hosts[0].close()
        refused(pair.hosts[0].wake, ValueError, "the host is closed")


def started_operations_of_all_kinds():
    pair = Pair()
    assert pair.both(lambda group: group.barrier_start().wait(SOON).value) == [None, None]
    at_one = pair.both(lambda group: group.reduce_start([1, group.rank], 1).wait(SOON).value)
    assert at_one[0] is None and list(at_one[1]) == [2, 1]
    sent = pair.both(lambda group: group.broadcast_start(np.full(3, group.rank), 1).wait(SOON).value)
    assert [list(one) for one in sent] == [[1, 1, 1]] * 2
    pair.leave()


def reproducible_sums_of_the_programs_own():
    numbers = np.array([[3e9, 0.25, -3e9], [1e-40, 2.0, 1.0]], np.float32)
    states = tributary.repsum(numbers)
    assert states.shape == (2, 3) and (tributary.from_repsum(states, np.float32) == numbers).all()
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        total = states[:, order[0]].copy()
        for column in order[1:]:
            tributary.repsum_add(total, states[:, column])
        assert list(tributary.from_repsum(total, np.float32)) == [0.25, 3.0], order
    refused(lambda: tributary.repsum(np.arange(3)), tributary.TributaryError, "give TRIBUTARY_DOUBLE or TRIBUTARY_FLOAT")
    refused(lambda: tributary.repsum_add(states[0].copy(), states), ValueError, "of one shape")
    refused(lambda: tributary.from_repsum(numbers), TypeError, "REPSUM_STATE")
    refused(lambda: tributary.from_repsum(states, np.int32), tributary.TributaryError, "TRIBUTARY_FLOAT")


def control_c_ends_the_wait_for_an_allreduce_which_continues():
    pair = Pair()
    interrupted(lambda: pair.groups[0].allreduce([1, 2]))
    assert list(pair.groups[1].allreduce([3, 4], timeout=SOON)) == [4, 6]
    pair.leave()


def control_c_ends_a_wait():
    pair = Pair()
    request = pair.groups[1].allreduce_start([1])
    interrupted(request.wait)
    interrupted(lambda: request.wait(60))
    assert list(pair.groups[0].allreduce([3], timeout=SOON)) == [4]
    assert list(request.wait(SOON).value) == [4]


def control_c_ends_a_leave():
    pair = Pair()
    interrupted(pair.groups[0].leave)
    refused(lambda: pair.hosts[0].nid, ValueError, "the host is closed")
    pair.hosts[0].close()


def control_c_ends_a_join():
    pair = Pair()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        interrupted(lambda: pair.hosts[0].join_named("g", 0, 2, job="j", manager_url=url, token=""))
    pair.hosts[0].close()


def control_c_ends_rdma_waits():
    with tributary.Host("left", nid=1) as host, tributary.Host("right", nid=2) as other:
        array = np.zeros(10)
        region = rdma.register(other, array, write=True)
        interrupted(lambda: rdma.wait_any(host))
        other.close()
        interrupted(rdma.write_start(host, region.handle, np.arange(10.0)).wait)


def an_out_that_overlaps_is_right():
    pair = Pair()
    for at in (0, 4, 8):
        memory = [np.arange(2008.0), np.arange(2008.0)]
        pair.both(lambda group, at=at, memory=memory: group.allreduce(
            memory[group.rank][4:2004], out=memory[group.rank][at:at + 2000], timeout=SOON))
        for one in memory:
            assert np.array_equal(one[at:at + 2000], 2 * np.arange(4.0, 2004.0)), one


def errors_have_names():
    pair = Pair(payload=32, slots=8)
    error = refused(lambda: pair.groups[0].allreduce(np.zeros(3, dtype=np.float32)), tributary.TributaryError,
                    "SUM", "FLOAT", "wide frames", "payload")
    assert error.name == "ARGUMENT", error.name
    refused(lambda: pair.groups[0].allreduce(np.zeros(3), op="and"), tributary.TributaryError, "AND", "DOUBLE")
    refused(lambda: tributary.Host("left", progress="many"), ValueError, "caller", "thread")


def a_time_out_that_is_none_begins_nothing():
    pair = Pair()
    group = pair.groups[0]
    for wrong, kind in ((math.nan, ValueError), (-1, ValueError), (-0.5, ValueError), ("2", TypeError)):
        for call in (lambda wrong=wrong: group.allreduce([1], timeout=wrong),
                     lambda wrong=wrong: group.reduce([1], 0, timeout=wrong),
                     lambda wrong=wrong: group.broadcast(np.arange(3), 0, timeout=wrong),
                     lambda wrong=wrong: group.barrier(timeout=wrong),
                     lambda wrong=wrong: rdma.wait_any(pair.hosts[1], timeout=wrong)):
            refused(call, kind, "time-out", repr(wrong))
    assert group.statistics()["injected"] == 0, group.statistics()
    for long in (math.inf, 1e20, np.float32(3), 10**30):
        answers = pair.both(lambda group, long=long: group.allreduce([group.rank], timeout=long))
        assert answers == [[1], [1]], answers
    refused(lambda: group.barrier(timeout=0), tributary.TributaryError, "0 of 1")
    pair.groups[1].barrier(SOON)
    pair.leave()


def a_dropped_request_does_not_hold_the_group():
    pair = Pair()
    request = pair.groups[0].allreduce_start(np.arange(1000))
    del request
    pair.groups[1].allreduce(np.arange(1000), timeout=SOON)
    pair.leave()


def a_kept_request_is_done_when_the_group_is_left():
    pair = Pair()
    request = pair.groups[0].allreduce_start([1])
    assert pair.both(lambda group: group.leave() if group.rank == 0 else (
        list(group.allreduce([2], timeout=SOON)), group.leave()))[1][0] == [3]
    assert list(request.wait().value) == [3]


def a_call_that_timed_out_has_a_request():
    pair = Pair()
    error = refused(lambda: pair.groups[0].allreduce([1], timeout=0.2), tributary.TributaryError, "0 of 1")
    assert error.timed_out and isinstance(error.request, tributary.Request), error.request
    late = pair.both(lambda group: list(error.request.wait(SOON).value if group.rank == 0
                                        else group.allreduce([2], timeout=SOON)))
    assert late == [[3], [3]], late
    refused(lambda: pair.groups[0].barrier(timeout=0.2), tributary.TributaryError)
    refused(lambda: pair.groups[0].leave(timeout=0.2), tributary.TributaryError, "0 of 1")
    pair.both(lambda group: group.barrier(timeout=SOON) if group.rank == 1 else None)
    pair.leave()


def an_operation_that_failed_fails_again():
    pair = Pair()
    request = pair.groups[0].allreduce_start([1], op="sum")
    pair.both(lambda group: refused(
        request.wait if group.rank == 0 else lambda: group.allreduce([1], op="max"), tributary.TributaryError, "NID"))
    for _ in range(2):
        error = refused(request.wait, tributary.TributaryError, "NID")
        assert error.name == "OP_MISMATCH" and error.request is None, error.request


def shapes_stay():
    pair = Pair()
    for array in (5, np.float32(2), np.array(3), np.zeros((0, 3)), np.arange(6).reshape(2, 3),
                  np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(12)[::2]):
        for got in pair.both(lambda group, array=array: group.allreduce(array, timeout=SOON)):
            assert got.shape == np.shape(array) and np.array_equal(got, 2 * np.asarray(array)), got
    out = np.empty((), dtype=np.int64)
    pair.both(lambda group: group.allreduce(4, timeout=SOON, out=out if group.rank == 0 else None))
    assert out == 8, out
    for got in pair.both(lambda group: group.reduce(5, 0, timeout=SOON)):
        assert got is None or (got.shape == () and got == 10), got
    place = [np.array(7 if rank == 0 else 0) for rank in range(2)]
    assert pair.both(lambda group: group.broadcast(place[group.rank], 0, timeout=SOON).shape) == [(), ()]
    assert place[1] == 7, place


def arrays_that_cannot_be_are_refused():
    pair = Pair()
    group = pair.groups[0]
    masked = np.ma.masked_array(np.arange(4.0), mask=[0, 1, 0, 0])
    six = np.arange(6.0).reshape(2, 3)
    locked = np.zeros((2, 3))
    locked.flags.writeable = False
    for call, kind, words in (
            (lambda: group.allreduce(masked), TypeError, "masked"),
            (lambda: group.reduce(masked, 0), TypeError, "masked"),
            (lambda: group.broadcast(masked, 0), TypeError, "masked"),
            (lambda: group.allreduce(np.arange(4.0), out=masked), TypeError, "masked"),
            (lambda: group.allreduce(six, out=np.empty((3, 2))), ValueError, "(3, 2)"),
            (lambda: group.allreduce(six, out=np.empty(6)), ValueError, "(6,)"),
            (lambda: group.allreduce(six, out=np.empty((2, 3), dtype=np.float32)), ValueError, "float32"),
            (lambda: group.allreduce(six, out=locked), ValueError, "writeable"),
            (lambda: group.allreduce(six, out=np.empty((3, 2)).T), ValueError, "contiguous"),
            (lambda: group.allreduce(six, out=[0] * 6), TypeError, "list"),
            (lambda: group.broadcast([1, 2], 0), TypeError, "list"),
            (lambda: rdma.register(pair.hosts[0], masked), TypeError, "masked"),
            (lambda: rdma.write_start(pair.hosts[0], bytes(32), masked), TypeError, "masked")):
        refused(call, kind, words)
    assert group.statistics()["injected"] == 0


CASES = {name: case for name, case in list(globals().items())
         if inspect.isfunction(case) and name not in ("refused", "interrupted")}

if len(sys.argv) == 1:
    print(*CASES)
else:
    faulthandler.enable()
    for words in ("add left type veth peer name right", "set left up", "set right up", "set lo up"):
        subprocess.run(["ip", "link", *words.split()], check=True)
    CASES[sys.argv[1]]()
    print("good", flush=True)
