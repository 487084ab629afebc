"""The calls that the network makes, as sequences of requests (_engine.py)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._forms import BFLOAT16, bfloat16, from_bfloat16
from . import _fixed
from ._plan import Plan

Array = npt.NDArray[Any]
Issue = Generator[Any, None, list[Any]]
CHUNK = 1 << 18  # elements of a reproducible sum whose exponents are agreed on together


class Operation:
    """`over(error)` is called once, when the call is done or has failed."""

    def __init__(self, name: str, deadline: float, over: Callable[[BaseException | None], None]) -> None:
        self.name, self.deadline, self._over = name, deadline, over

    def issue(self, channel: Any) -> Issue:
        raise NotImplementedError

    def finish(self) -> None:
        self.write()
        self._over(None)

    def write(self) -> None:
        """Writes results to where they belong, if they are not there."""

    def fail(self, error: BaseException) -> None:
        self._over(error)


class Reduction(Operation):
    """In place. `array`: one-dimensional, of the plan's type; `to_rank`: None for all."""

    def __init__(self, name: str, deadline: float, over: Callable[[BaseException | None], None], array: Array, plan: Plan,
                 to_rank: int | None = None) -> None:
        super().__init__(name, deadline, over)
        self._array, self._plan, self._to_rank = array, plan, to_rank

    def issue(self, channel: Any) -> Issue:
        if self._to_rank is None:
            return [channel.allreduce(self._array, self._plan.op)]
        return [channel.reduce(self._array, self._plan.op, self._to_rank)]
        yield


class FixedSum(Operation):
    """A reproducible sum, in place: chunk by chunk a MAX of exponents and a SUM of integers, so that the exponents of the
    next chunk travel with the numbers of this one. With `whole_call` one exponent is agreed on for all."""

    def __init__(self, name: str, deadline: float, over: Callable[[BaseException | None], None], array: Array, ranks: int,
                 whole_call: bool) -> None:
        super().__init__(name, deadline, over)
        self._array, self._ranks, self._whole_call = array, ranks, whole_call
        self._numbers = _widened(array)
        self._later: list[Callable[[], None]] = []

    def issue(self, channel: Any) -> Issue:
        cuts = [slice(begin, begin + CHUNK) for begin in range(0, len(self._numbers), CHUNK)]
        agreed: dict[int, tuple[Array, Any]] = {}
        sums: dict[int, tuple[Array, Any]] = {}

        def ask(number: int) -> None:
            if number < len(cuts) and not (self._whole_call and number > 0):
                what = self._numbers if self._whole_call else self._numbers[cuts[number]]
                mine = _fixed.exponents(what, self._whole_call)
                agreed[number] = (mine, channel.allreduce(mine, "max"))

        def decode(number: int) -> None:
            mine, _ = sums.pop(number)
            exponents = agreed[0 if self._whole_call else number][0]
            _fixed.decode(mine, exponents, self._ranks, self._numbers[cuts[number]])
            if not self._whole_call:
                del agreed[number]

        ask(0)
        ask(1)
        for number, cut in enumerate(cuts):
            exponents, request = agreed[0 if self._whole_call else number]
            if not self._whole_call or number == 0:
                yield request
            mine = _fixed.encode(self._numbers[cut], exponents, self._ranks)
            sums[number] = (mine, channel.allreduce(mine, "sum"))
            ask(number + 2)
            if number >= 2:
                yield sums[number - 2][1]
                decode(number - 2)
        self._later = [lambda number=number: decode(number) for number in sorted(sums)]
        return [sums[number][1] for number in sorted(sums)]

    def write(self) -> None:
        for decode in self._later:
            decode()
        if self._numbers is not self._array:
            self._array[...] = bfloat16(self._numbers) if self._array.dtype == BFLOAT16 else self._numbers


def _widened(array: Array) -> Array:
    """16-bit floats as float32, which has all of them; others as they are."""
    if array.dtype == BFLOAT16:
        return from_bfloat16(array)
    return array.astype(np.float32) if array.dtype == np.float16 else array


class Broadcast(Operation):
    """`array`: of bytes."""

    def __init__(self, name: str, deadline: float, over: Callable[[BaseException | None], None], array: Array,
                 from_rank: int) -> None:
        super().__init__(name, deadline, over)
        self._array, self._from_rank = array, from_rank

    def issue(self, channel: Any) -> Issue:
        return [channel.broadcast(self._array, self._from_rank)]
        yield


class Barrier(Operation):
    def issue(self, channel: Any) -> Issue:
        return [channel.barrier()]
        yield
