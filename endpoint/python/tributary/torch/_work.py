"""The work of a call that the network makes: what torch's programs, and DistributedDataParallel, wait for.

Errors reach everyone that waits: `wait` raises, and so does the future, in Python and in C++. A future of Python's whose
result is an error would be none for C++ (torch.futures.Future.set_exception), and a Work made of a future does not raise at
all in torch 1.13; a future that is made by `then` does both.
"""

from __future__ import annotations

import threading
from collections import deque
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import Work as TorchWork

# C++ may have a work and Python none: its overridden functions would be lost with the Python object, and wait() would be
# that of the base class, which nothing ends. Those who have it in C++ have a few at a time, and ask at once.
_recent: deque[Any] = deque(maxlen=64)


class Work(TorchWork):  # type: ignore[misc]
    """`tensors`: the call's results."""

    def __init__(self, tensors: list[Any]) -> None:
        super().__init__()
        self._tensors = tensors
        self._error: BaseException | None = None
        self._over = threading.Event()
        self._end: torch.futures.Future[None] = torch.futures.Future()
        self._future = self._end.then(self._value)
        _recent.append(self)

    def complete(self, error: BaseException | None = None) -> None:
        """Call it once, from any thread."""
        self._error = error
        self._over.set()
        self._end.set_result(None)

    def _value(self, _: Any) -> list[Any]:
        if self._error is not None:
            raise RuntimeError(str(self._error))
        return self._tensors

    def wait(self, timeout: timedelta | None = None) -> bool:
        seconds = timeout.total_seconds() if timeout else None  # zero is none
        if not self._over.wait(seconds):
            raise RuntimeError(f"the call is not done after {seconds} s; it continues")
        if self._error is not None:
            raise RuntimeError(str(self._error)) from self._error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self._over.is_set()

    def is_success(self) -> bool:
        return self._over.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self) -> list[Any]:
        return self._tensors

    def get_future(self) -> Any:
        return self._future
