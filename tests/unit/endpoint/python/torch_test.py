"""The rooms of the backend of torch.distributed that know neither torch nor the network: which calls it takes, reproducible
sums, the engine's order and errors, settings, counters, and who is alive. tests/hosts/test_torch.py has all of it together."""

import multiprocessing
import os
import random
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

DEBIAN = "/usr/bin/python3"
ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "endpoint" / "python" / "tributary" / "torch")]

import _counters  # noqa: E402
import _engine  # noqa: E402
import _plan  # noqa: E402
import _settings  # noqa: E402
import _watch  # noqa: E402
from tributary.cases import Cases, Skip, wanted  # noqa: E402

try:
    import _fixed
    import numpy as np
except ImportError:  # Debian's package is for Debian's Python
    np = None
    if sys.executable != DEBIAN and Path(DEBIAN).exists():
        os.execv(DEBIAN, [DEBIAN, *sys.argv])

LIMIT = 60.0


def plan(op, dtype, ranks=8, wide_frames=True, reproducible=False):
    return _plan.plan_reduction(op, dtype, ranks=ranks, wide_frames=wide_frames, reproducible=reproducible)


def test_types_and_operators_go_where_the_table_says():
    for dtype in (*_plan.INTEGERS, *_plan.FLOATS):
        assert plan("SUM", dtype).op == "sum" and not plan("SUM", dtype).fixed, dtype
        assert plan("MIN", dtype).op == ("min_nan" if dtype in _plan.FLOATS else "min"), dtype
    for op, name in (("BAND", "and"), ("BOR", "or"), ("BXOR", "xor")):
        assert plan(op, "int16").op == name
        assert plan(op, "float32") == _plan.OPERATOR
    assert plan("AVG", "float16").divide and plan("AVG", "int32") == _plan.OPERATOR
    for op in ("PRODUCT", "PREMUL_SUM"):
        assert plan(op, "float32") == _plan.OPERATOR
    for dtype in ("bool", "complex64", "float8_e5m2"):
        assert plan("SUM", dtype) == _plan.TYPE


def test_short_frames_carry_64_bits_alone():
    assert plan("SUM", "int64", wide_frames=False).op == "sum"
    assert plan("MAX", "float64", wide_frames=False).op == "max_nan"
    for dtype in ("float32", "bfloat16", "int32", "uint8"):
        assert plan("SUM", dtype, wide_frames=False) == _plan.WIDE_FRAMES
    assert plan("SUM", "float64", wide_frames=False, reproducible=True) == _plan.WIDE_FRAMES


def test_sums_of_floats_alone_need_to_be_made_reproducible():
    assert plan("SUM", "float32", reproducible=True).fixed and plan("AVG", "bfloat16", reproducible=True).fixed
    assert not plan("MAX", "float32", reproducible=True).fixed
    assert not plan("SUM", "int32", reproducible=True).fixed
    assert plan("SUM", "float64", reproducible=True, ranks=1024) == _plan.TOO_MANY_RANKS


def reduced(parts, whole_call=False):
    """What all ranks have after a reproducible sum."""
    agreed = _fixed.exponents(parts[0], whole_call)
    for part in parts[1:]:
        agreed = np.maximum(agreed, _fixed.exponents(part, whole_call))
    total = np.zeros(len(parts[0]), _fixed.format_of(parts[0]).fixed)
    for part in parts:
        total = total + _fixed.encode(part, agreed, len(parts))
    out = np.empty_like(parts[0])
    _fixed.decode(total, agreed, len(parts), out)
    return out


def need_numpy():
    if np is None:
        raise Skip("this Python has no numpy")


def drawn(ranks, dtype, seed, count=300):
    generator = np.random.default_rng(seed)
    scale = 10.0 ** generator.integers(-30, 30, count)
    return [(generator.normal(size=count) * scale).astype(dtype) for _ in range(ranks)]


def test_a_reproducible_sum_is_within_its_bound():
    need_numpy()
    for dtype in (np.float32, np.float64):
        for ranks in (1, 2, 3, 8, 16, 100):
            parts = drawn(ranks, dtype, ranks)
            got = reduced(parts)
            precision = _fixed.format_of(parts[0]).precision
            for element in range(len(got)):
                exact = sum(Fraction(float(part[element])) for part in parts)
                largest = max(abs(Fraction(float(part[element]))) for part in parts)
                bound = ranks * Fraction(2) ** (_fixed.room_for(ranks) - precision) * largest
                bound += abs(Fraction(float(np.spacing(got[element])))) / 2
                assert abs(Fraction(float(got[element])) - exact) <= bound, (dtype, ranks, element)
            if ranks == 1:
                assert (got == parts[0]).all()


def test_its_bits_depend_on_neither_order_nor_bucket():
    need_numpy()
    for dtype in (np.float32, np.float64):
        parts = drawn(8, dtype, 1)
        whole = reduced(parts)
        for order in ([7, 6, 5, 4, 3, 2, 1, 0], [3, 0, 7, 1, 6, 2, 5, 4]):
            assert reduced([parts[rank] for rank in order]).tobytes() == whole.tobytes()
            of_calls = [reduced([parts[rank] for rank in order], True), reduced(parts, True)]
            assert of_calls[0].tobytes() == of_calls[1].tobytes()
        for cut in (1, 137, 299):
            pieces = [reduced([part[:cut] for part in parts]), reduced([part[cut:] for part in parts])]
            assert np.concatenate(pieces).tobytes() == whole.tobytes()
        ordinary = {sum(parts[rank] for rank in order).tobytes() for order in ([0, 1, 2, 3, 4, 5, 6, 7], [7, 3, 1, 0, 5, 2, 6, 4])}
        assert len(ordinary) == 2, "the numbers show nothing"


def test_infinities_nans_zeros_and_subnormal_numbers():
    need_numpy()
    inf, nan = np.inf, np.nan
    for dtype, tiny, huge in ((np.float32, 1e-40, 3e38), (np.float64, 5e-320, 1.7e308)):
        first = np.array([1, inf, inf, nan, -inf, 0, -0.0, tiny, huge, -inf], dtype)
        second = np.array([inf, 1, -inf, 2, -inf, 0, -0.0, tiny, huge, nan], dtype)
        with np.errstate(over="ignore"):
            expected = np.array([inf, inf, nan, nan, -inf, 0, 0, dtype(tiny) + dtype(tiny), inf, nan], dtype)
        assert np.array_equal(reduced([first, second]), expected, equal_nan=True), (dtype, reduced([first, second]))
    many = [np.array([inf if rank == 700 else 1], np.float32) for rank in range(1000)]
    assert reduced(many)[0] == inf


class Request:
    def __init__(self, channel):
        self.channel, self.done, self.error = channel, False, None

    def is_done(self):
        if self.error:
            raise self.error
        return self.done


class Channel:
    """Requests are done when the test says so."""

    def __init__(self):
        self.error, self.failed, self.started = None, None, []
        self.news = threading.Event()

    def start(self, what):
        self.started.append((what, Request(self)))
        return self.started[-1][1]

    def end(self, number, error=None):
        until(lambda: len(self.started) > number)
        request = self.started[number][1]
        request.error, request.done = error, True
        self.news.set()

    def wait(self, request, seconds, waker):
        self.news.wait(min(seconds, 0.05))
        self.news.clear()

    def wake(self):
        self.news.set()

    def status(self):
        return "it waits for rank 3"

    def fail(self, error):
        self.failed = error


class Operation:
    """Starts `steps` requests, and waits after those in `pauses`."""

    def __init__(self, name, steps=1, pauses=(), seconds=LIMIT):
        self.name, self.steps, self.pauses = name, steps, pauses
        self.deadline = time.monotonic() + seconds
        self.ended = None

    def issue(self, channel):
        last = []
        for step in range(self.steps):
            request = channel.start(f"{self.name}{step}")
            if step in self.pauses:
                yield request
            else:
                last.append(request)
        return last

    def finish(self):
        self.ended = "done"

    def fail(self, error):
        self.ended = error


def until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.002)


def started(channel):
    return [what for what, _ in channel.started]


def test_operations_of_a_group_start_in_order_and_those_of_two_phases_do_not_interleave():
    engine, channel = _engine.Engine(print), Channel()
    first, second, third = Operation("a", 2), Operation("b", 2, pauses=(0,)), Operation("c")
    for each in (first, second, third):
        engine.submit(channel, each)
    until(lambda: started(channel) == ["a0", "a1", "b0"])
    time.sleep(0.05)
    assert started(channel) == ["a0", "a1", "b0"], "c waits for what b still has to start"
    channel.end(2)
    until(lambda: started(channel) == ["a0", "a1", "b0", "b1", "c0"])
    channel.end(4)
    time.sleep(0.05)
    assert third.ended is None, "operations end in order"
    for number in (0, 1, 3):
        channel.end(number)
    until(lambda: third.ended == "done")
    assert first.ended == second.ended == "done"


def test_groups_do_not_wait_for_each_other():
    engine, channels = _engine.Engine(print), [Channel(), Channel()]
    operations = [Operation("a"), Operation("b")]
    for channel, operation in zip(channels, operations):
        engine.submit(channel, operation)
    until(lambda: channels[1].started)
    channels[1].end(0)
    until(lambda: operations[1].ended == "done")
    assert operations[0].ended is None
    channels[0].end(0)
    until(lambda: operations[0].ended == "done")


def test_an_error_ends_what_its_group_has_and_what_comes_later():
    engine, channel, other = _engine.Engine(print), Channel(), Channel()
    operations = [Operation("a"), Operation("b", 2, pauses=(0,)), Operation("c")]
    unharmed = Operation("d")
    for each in operations:
        engine.submit(channel, each)
    engine.submit(other, unharmed)
    error = _engine.FabricError("the group has ended")
    channel.end(0, error)
    until(lambda: all(each.ended is error for each in operations))
    assert channel.failed is error
    late = Operation("e")
    engine.submit(channel, late)
    until(lambda: late.ended is error)
    other.end(0)
    until(lambda: unharmed.ended == "done")


def test_a_fault_of_an_operation_is_no_silence():
    engine, channel = _engine.Engine(print), Channel()

    class Faulty(Operation):
        def issue(self, channel):
            raise ZeroDivisionError("of the backend")
            yield

    faulty = Faulty("a")
    engine.submit(channel, faulty)
    until(lambda: faulty.ended is not None)
    assert "ZeroDivisionError: of the backend" in str(faulty.ended)


def test_a_time_out_names_the_call_and_what_is_waited_for():
    said = []
    engine, channel = _engine.Engine(said.append, warn_seconds=0.1), Channel()
    late = Operation("allreduce of 4 float32")
    engine.submit(channel, late)
    until(lambda: said)
    assert late.ended is None, "a line is no end"
    late.deadline = time.monotonic()
    until(lambda: late.ended is not None)
    assert "allreduce of 4 float32 timed out" in str(late.ended) and "rank 3" in str(late.ended), late.ended
    assert len(said) == 1 and "has made no progress" in said[0] and "rank 3" in said[0], said


def test_a_group_that_is_broken_from_outside_ends_at_once():
    engine, channel = _engine.Engine(print), Channel()
    waits = Operation("a")
    engine.submit(channel, waits)
    until(lambda: channel.started)
    engine.break_channel(channel, _engine.FabricError("rank 1 has died"))
    until(lambda: waits.ended is not None)
    assert "rank 1 has died" in str(waits.ended)


def test_functions_run_on_the_engines_thread_and_raise_to_the_caller():
    engine = _engine.Engine(print)
    assert engine.call(threading.current_thread) is engine.thread
    try:
        engine.call(lambda: 1 // 0)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("it was not raised")
    goes_on = threading.Event()
    try:
        engine.call(goes_on.wait, 0.05)
    except TimeoutError:
        goes_on.set()
    else:
        raise AssertionError("it did not wait")
    engine.stop(LIMIT)
    assert not engine.thread.is_alive()


def test_a_function_waits_for_the_operations_before_it_and_not_for_those_after_it():
    engine, channel = _engine.Engine(print), Channel()
    before, after = Operation("a", 2, pauses=(0,)), Operation("b")
    engine.submit(channel, before)
    ended = []
    caller = threading.Thread(target=lambda: ended.append(engine.call(lambda: before.ended)), daemon=True)
    caller.start()
    channel.end(0)
    until(lambda: started(channel) == ["a0", "a1"])
    time.sleep(0.05)
    assert not ended, "an operation of two phases is over when both are"
    channel.end(1)
    caller.join(LIMIT)
    assert ended == ["done"], ended
    engine.submit(channel, after)
    until(lambda: started(channel) == ["a0", "a1", "b0"])
    channel.end(2)
    until(lambda: after.ended == "done")


def test_no_operation_is_lost_that_comes_while_the_engine_falls_asleep():
    engine, channel = _engine.Engine(print), Channel()
    generator = random.Random(int(os.environ.get("TRIBUTARY_SEED", "1")))
    for number in range(300):
        operation = Operation("a")
        engine.submit(channel, operation)
        if generator.random() < 0.5:
            time.sleep(generator.random() * 1e-3)
        channel.end(number)
        until(lambda: operation.ended == "done")  # noqa: B023


def refused(environment, *words):
    try:
        _settings.settings_from(environment)
    except _settings.SettingsError as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(environment)


def test_settings_are_read_and_wrong_ones_named():
    assert _settings.settings_from({}) == _settings.Settings()
    read = _settings.settings_from({"TRIBUTARY_TORCH": "off", "TRIBUTARY_SUM": "reproducible", "TRIBUTARY_TORCH_EXPONENTS": "call",
                                    "TRIBUTARY_TORCH_REQUIRE": "1", "TRIBUTARY_MPI_INTERFACE": "eth1"})
    assert not read.on and read.reproducible and read.whole_calls and read.require and read.interface == "eth1"
    assert read.common != _settings.Settings().common
    assert _settings.settings_from({"TRIBUTARY_TORCH_INTERFACE": "eth2", "TRIBUTARY_MPI_INTERFACE": "eth1"}).interface == "eth2"
    refused({"TRIBUTARY_TORCH_TUNING": "fast"}, "TRIBUTARY_TORCH_TUNING", "measure, always, never")
    refused({"TRIBUTARY_TORCH_JOIN_TIMEOUT": "soon"}, "number of seconds")
    refused({"TRIBUTARY_TORCH_JOIN_TIMEOUT": "-1"}, "number of seconds")


def test_counters_say_what_went_where_and_why_not():
    counters = _counters.Counters()
    for _ in range(3):
        counters.count("allreduce", "float32", "SUM", _counters.NETWORK, 400)
    counters.count("allreduce", "float32", "PRODUCT", _plan.OPERATOR, 400)
    counters.count("allgather", "", "", _plan.FUNCTION, 0)
    assert counters.totals() == (3, 5)
    assert counters.text().startswith("3 of 5 calls of each rank were made in the network; by gloo: 1 (")
    assert {"call": "allreduce", "type": "float32", "operator": "SUM", "way": "network", "calls": 3, "bytes": 1200} in counters.rows()
    assert len(counters.table().splitlines()) == 4


class Store:
    def __init__(self, shared):
        self.shared = shared

    def set(self, key, value):
        self.shared[key] = value

    def get(self, key):
        while key not in self.shared:
            time.sleep(0.01)
        return self.shared[key]


def watching(rank, shared, news, orders):
    watch = _watch.Watch(Store(shared), rank, 4, lambda *what: news.put((rank, *what)),
                         lambda *what: news.put((rank, *what)), print)
    news.put((rank, "begun"))
    order = orders[rank].get()
    if order == "die":
        os._exit(9)
    if order == "give up":
        watch.give_up("a group", f"rank {rank} gave it up")
        orders[rank].get()
    watch.end()


def test_the_end_of_a_process_is_known_to_all_others():
    with multiprocessing.Manager() as manager:
        shared, news, orders = manager.dict(), manager.Queue(), [manager.Queue() for _ in range(4)]
        running = [multiprocessing.Process(target=watching, args=(rank, shared, news, orders), daemon=True) for rank in range(4)]
        for each in running:
            each.start()

        def hear(number):
            return [news.get(timeout=LIMIT) for _ in range(number)]

        hear(4)
        time.sleep(0.5)  # connections are made in the background
        orders[2].put("die")
        heard = hear(3)
        assert {rank for rank, *_ in heard} == {0, 1, 3}, heard
        assert all(dead == 2 and "rank 2 (process" in text and "has died" in text and not clean for _, dead, text, clean in heard)
        orders[3].put("give up")
        heard = hear(3)
        assert {what[1:] for what in heard} == {("a group", "rank 3 gave it up")}, heard
        orders[3].put("end")
        heard = [what for what in hear(2) if what[0] != 3]
        assert all(dead == 3 and clean for _, dead, _, clean in heard), heard
        orders[0].put("die")
        assert "rank 0" in next(what for what in iter(lambda: news.get(timeout=LIMIT), None) if what[:2] == (1, 0))[2]
        orders[1].put("end")
        for each in running:
            each.join(LIMIT)


def main():
    tests = [(n.removeprefix("test_"), f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("torch_backend.", *(f"  {name}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("torch_backend")
    for name, function in tests:
        if wanted(f"torch_backend.{name}"):
            with report.case("torch_backend", name):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
