"""Reproducible sums of groups that have no place in the network: the same requests, by gloo, so that the bits are the same
wherever the ranks are.

It has a gloo group of its own: the requests of a sum are started when those before them are done, and other calls of the
program, which take the group's own one, may come in between, at each rank elsewhere.
"""

from __future__ import annotations

import os
import select
import time
from typing import Any

import numpy as np
import torch
from torch._C._distributed_c10d import ReduceOp

from ._engine import GONE_SECONDS, FabricError

OPERATORS = {"max": ReduceOp.MAX, "sum": ReduceOp.SUM}


class InnerRequest:
    """`after` is called once, when the request is done."""

    def __init__(self, channel: InnerChannel, work: Any, after: Any) -> None:
        self._channel, self._work, self._after = channel, work, after
        self._failed = 0.0  # when that was seen
        work.get_future().add_done_callback(lambda _: channel.raise_flag())

    def is_done(self) -> bool:
        if self._after is None:
            return True
        if not self._work.is_completed():
            return False
        try:
            self._work.wait()  # raises, and does not wait
        except RuntimeError as error:
            # Who has died the watch says; gloo knows only the connection.
            self._failed = self._failed or time.monotonic()
            if time.monotonic() - self._failed < GONE_SECONDS:
                return False
            raise FabricError(f"gloo: {error}") from error
        self._after()
        self._after = None
        return True


class InnerChannel:
    """`inner`: a group of gloo that nothing else uses."""

    group = None

    def __init__(self, inner: Any) -> None:
        self.error: FabricError | None = None
        self._inner = inner
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __del__(self) -> None:
        os.close(self._reader)
        os.close(self._writer)

    def allreduce(self, array: Any, op: str) -> InnerRequest:
        """In place; gloo has no type for unsigned numbers of 16 bits."""
        given = array.astype(np.int32) if array.dtype == np.uint16 else array
        try:
            work = self._inner.allreduce([torch.from_numpy(given)], OPERATORS[op])
        except RuntimeError as error:
            raise FabricError(f"gloo: {error}") from error
        return InnerRequest(self, work, lambda: None if given is array else np.copyto(array, given, casting="unsafe"))

    def raise_flag(self) -> None:
        try:
            os.write(self._writer, b"d")
        except BlockingIOError:
            pass  # it is raised

    def wait(self, request: InnerRequest, seconds: float, waker: int) -> None:
        select.select([self._reader, waker], [], [], seconds)
        try:
            os.read(self._reader, 4096)
        except BlockingIOError:
            pass

    def wake(self) -> None:
        """The engine's own descriptor is enough."""

    def status(self) -> str:
        return "it waits for other ranks, by gloo"

    def fail(self, error: FabricError) -> None:
        """Nothing else is started; gloo's own time-out ends what is."""

    def leave(self, seconds: float, keep_group: bool = False) -> None:
        pass
