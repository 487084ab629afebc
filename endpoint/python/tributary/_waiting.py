"""Calls that wait, as Python programs expect them: Ctrl-C ends them, an invalid time-out is refused before anything
begins, and a host that is closed meanwhile stays until they return.

While a function of the library waits, the interpreter runs no handler of a signal. So waits are made of short ones
(`until`), and calls that cannot wait in short steps wait on a thread of their own (`aside`).
"""

from __future__ import annotations

import math
import numbers
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from ._library import ERROR_NAMES, lib

LOOK_SECONDS = 0.1  # between two checks for signals


def deadline_of(timeout: float | None) -> float:
    """When a wait of that many seconds from now ends, by time.monotonic; never for None. ValueError and TypeError
    for an invalid time."""
    if timeout is None:
        return math.inf
    if isinstance(timeout, bool) or not isinstance(timeout, numbers.Real):
        raise TypeError(f"the time-out is {timeout!r}; give seconds as a number, or None to wait as long as it takes")
    if not timeout >= 0:  # a NaN, too
        raise ValueError(f"the time-out is {timeout!r}; give 0 or more seconds, or None to wait as long as it takes")
    try:
        return time.monotonic() + float(timeout)
    except OverflowError:
        return math.inf


class Handle:
    """A struct tributary_host, and the calls that wait with it. Closed once `close` was called, or `owner` is gone, and
    no call waits any more; then `when_closed` is called."""

    def __init__(self, owner: object, pointer: Any, when_closed: Callable[[], None]) -> None:
        self._pointer: Any = pointer
        self._waiting: list[None] = []  # one for each call
        self._when_closed = when_closed
        self._finalizer = weakref.finalize(owner, _close_unless_used, pointer, self._waiting)

    @property
    def is_closed(self) -> bool:
        """Also where the program ends: handlers of its end that were registered before the host run after its own."""
        return self._pointer is None or not self._finalizer.alive

    @property
    def pointer(self) -> Any:
        if self.is_closed:
            raise ValueError("the host is closed")
        return self._pointer

    def close(self) -> None:
        self._pointer = None
        if not self._waiting and self._finalizer.alive:
            self._finalizer()
            self._when_closed()

    def until(self, deadline: float, call: Callable[[int], int]) -> int:
        """Calls `call` with microseconds to wait until it returns a code other than TIMEOUT, or at the deadline."""
        self._waiting.append(None)
        try:
            while True:
                left = deadline - time.monotonic()
                code = call(max(0, math.ceil(1e6 * min(left, LOOK_SECONDS))))
                self.pointer  # noqa: B018  raises where it was closed meanwhile
                if left <= LOOK_SECONDS or ERROR_NAMES.get(code) != "TIMEOUT":
                    return code
        finally:
            self._back()

    def during(self, call: Callable[[Any], int]) -> int:
        """The result of `call` with the pointer, which stays open meanwhile. For any thread."""
        self._waiting.append(None)
        try:
            return call(self.pointer)
        finally:
            self._back()

    def aside(self, call: Callable[[], int]) -> int:
        """The result of `call`, run on a thread of its own. Ctrl-C closes the host: nothing else can end `call`."""
        self._waiting.append(None)
        if threading.current_thread() is not threading.main_thread():  # signals go to the main thread
            try:
                return call()
            finally:
                self._back()
        answers: list[int | BaseException] = []

        def run() -> None:
            try:
                answers.append(call())
            except BaseException as problem:
                answers.append(problem)
            finally:
                self._back()

        thread = threading.Thread(target=run, daemon=True)
        try:
            thread.start()
            while thread.is_alive():
                thread.join(LOOK_SECONDS)
        except BaseException:
            if not answers:
                self.close()
            raise
        (answer,) = answers
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _back(self) -> None:
        self._waiting.pop()
        if self.is_closed:
            self.close()


def _close_unless_used(pointer: Any, waiting: list[None]) -> None:
    """Closes the host, unless a thread still waits with it when the program ends."""
    if not waiting:
        lib.tributary_close(pointer)
