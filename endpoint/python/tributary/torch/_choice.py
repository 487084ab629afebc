"""Which way long allreduces go: the network, or the inner backend where that is faster, as between hosts whose links are
faster than their processors and whose kernels segment TCP.

Short ones always go through the network. For each class of sizes (those between two powers of two) the first TRIALS calls
of each way take turns; then the ranks compare the slowest rank's median times, and keep to the faster way. Reproducible
sums always go through the network: the other way has other bits.
"""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any

import torch
from torch._C._distributed_c10d import ReduceOp

from . import _plan
from ._plan import Plan
from ._process import say

SHORT = 256 * 1024  # bytes
TRIALS = 4
OF_GLOO = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")  # in all versions of torch
# The network is kept where it is this little slower: it leaves the processors to the program.
TIE = 1.05


class Way:
    def __init__(self, network: bool, reason: str = "", trial: _Trial | None = None) -> None:
        self.network, self.reason, self._trial = network, reason, trial
        self._began = time.monotonic()

    def timed(self, work: Any) -> Any:
        """Notes when the work is done, if that is measured."""
        if self._trial is not None:
            trial, began = self._trial, self._began
            work.get_future().add_done_callback(lambda _: trial.note(time.monotonic() - began))
        return work


class _Trial:
    """The times of one way."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._complete = threading.Event()

    def note(self, seconds: float) -> None:
        self._times.append(seconds)
        if len(self._times) == TRIALS:
            self._complete.set()

    def median(self) -> float:
        self._complete.wait()
        return statistics.median(self._times[1:])  # the first one was cold


class _Class:
    def __init__(self) -> None:
        self.calls = 0
        self.trials = (_Trial(), _Trial())  # of the network, of the inner backend
        self.network: bool | None = None


class Choice:
    """Of one group; its calls come in the same order at all ranks."""

    def __init__(self) -> None:
        self._classes: dict[int, _Class] = {}

    def way_of(self, group: Any, tensor: Any, plan: Plan) -> Way:
        size = tensor.numel() * tensor.element_size()
        settings = group._process.settings
        if settings.tuning == "always" or plan.fixed or size < SHORT or plan.type not in OF_GLOO:
            return Way(True)
        known = self._classes.setdefault(size.bit_length(), _Class())
        known.calls += 1
        if known.calls <= 2 * TRIALS:
            network = known.calls % 2 == 1
            return Way(network, "" if network else _plan.MEASURED, known.trials[0 if network else 1])
        if known.network is None:
            mine = torch.tensor([trial.median() for trial in known.trials], dtype=torch.float64)
            group._inner.allreduce([mine], ReduceOp.MAX).wait()
            ours, inner = mine.tolist()
            known.network = ours <= inner * TIE
            if settings.verbose and group._own_rank == 0:
                say(f"allreduces of {1 << (size.bit_length() - 1)} bytes and more: network {1e3 * ours:.2f} ms, gloo "
                    f"{1e3 * inner:.2f} ms: {'network' if known.network else 'gloo'}")
        return Way(known.network, "" if known.network else _plan.FASTER)
