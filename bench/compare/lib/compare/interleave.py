"""Measuring several programs in turn, A B C A B C, on a machine with other load.

Frames are divided by the time the polling thread was on its CPU, not by wall-clock time: time in
which another thread had the core is not counted. Ratios are formed between slices that follow each
other, and their median is the figure; the spread is the least and the greatest of them.
"""

import os
import signal
import statistics
import time
from dataclasses import dataclass

from compare import processes

PAUSE_SECONDS = 0.1


class Contender:
    """A running program that counts frames. `pid` is its process, `name` its name in tables, and
    `threads` how many of its threads poll."""

    name = "?"
    pid = None
    threads = 1

    def frames(self):
        """How many so far."""
        raise NotImplementedError

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)


@dataclass(frozen=True)
class Slice:
    """One contender's turn."""

    frames: int
    cpu_ns: int
    wall_ns: int

    @property
    def per_second(self):
        """Frames a second of the polling threads' CPU time."""
        return self.frames * 1e9 / self.cpu_ns

    @property
    def share_of_cpu(self):
        return self.cpu_ns / self.wall_ns


def one_slice(contender, seconds):
    contender.go_on()
    try:
        time.sleep(PAUSE_SECONDS)
        before = look(contender)
        time.sleep(seconds)
        after = look(contender)
    finally:
        contender.stop()
    frames, wall_ns = after[0] - before[0], after[2] - before[2]
    cpu_ns = processes.busiest_ns(before[1], after[1], contender.threads)
    if frames <= 0 or cpu_ns <= 0:
        raise RuntimeError(f"{contender.name} moved no frame in {seconds:g} s")
    return Slice(frames, cpu_ns, wall_ns)


def look(contender):
    """Always in this order, so that the cost of asking cancels out between two samples."""
    return contender.frames(), processes.on_cpu_ns(contender.pid), time.monotonic_ns()


def rounds(contenders, runs, seconds):
    """`runs` times one slice of each: a list of {name: Slice}. All must be stopped before."""
    return [{c.name: one_slice(c, seconds) for c in contenders} for _ in range(runs)]


@dataclass(frozen=True)
class Spread:
    """Several values of one quantity."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values):
        values = list(values)
        return cls(statistics.median(values), min(values), max(values))

    def json(self):
        return {"median": self.median, "min": self.least, "max": self.greatest}


def rate(measured, name):
    return Spread.of(r[name].per_second for r in measured)


def ratio(measured, ours, theirs):
    return Spread.of(r[ours].per_second / r[theirs].per_second for r in measured)
