"""A group of the fabric as the engine sees it, where each node has one rank."""

from __future__ import annotations

import time
from typing import Any

from .._library import TributaryError
from ..host import Group
from ._engine import FabricError

# The request is still valid after these.
NOT_YET = ("TIMEOUT", "INTERRUPTED", "INTERFACE_DOWN")


class GroupRequest:
    """A started request of a group."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def is_done(self) -> bool:
        try:
            return bool(self._request.test())
        except TributaryError as error:
            if error.name == "INTERFACE_DOWN":
                return False
            raise FabricError(f"{error.name}: {error}") from error
        except ValueError as error:  # the host is closed
            raise FabricError(str(error)) from error

    def wait(self, seconds: float) -> None:
        try:
            self._request.wait(seconds)
        except TributaryError as error:
            if error.name not in NOT_YET:
                raise FabricError(f"{error.name}: {error}") from error
            if error.name == "INTERFACE_DOWN":
                time.sleep(min(seconds, 0.01))
        except ValueError as error:
            raise FabricError(str(error)) from error


class GroupChannel:
    def __init__(self, group: Group) -> None:
        self.group = group
        self._host = group._host
        self.error: FabricError | None = None

    def allreduce(self, array: Any, op: str) -> GroupRequest:
        """In place, as are the others."""
        return self._start(lambda: self.group.allreduce_start(array, op, array))

    def reduce(self, array: Any, op: str, to_rank: int) -> GroupRequest:
        return self._start(lambda: self.group.reduce_start(array, to_rank, op, array))

    def broadcast(self, array: Any, from_rank: int) -> GroupRequest:
        return self._start(lambda: self.group.broadcast_start(array, from_rank))

    def barrier(self) -> GroupRequest:
        return self._start(self.group.barrier_start)

    @staticmethod
    def _start(start: Any) -> GroupRequest:
        try:
            return GroupRequest(start())
        except (TributaryError, ValueError, TypeError) as error:
            raise FabricError(str(error)) from error

    def fail(self, error: FabricError) -> None:
        try:
            self.group.abandon()
        except (TributaryError, ValueError):
            pass  # it has ended, or its host is closed

    def wait(self, request: GroupRequest, seconds: float, waker: int) -> None:
        request.wait(seconds)

    def wake(self) -> None:
        try:
            self._host.wake()
        except ValueError:
            pass  # closed: its thread finds that out

    def status(self) -> str:
        try:
            return self.group.status()
        except (TributaryError, ValueError) as error:
            return str(error)

    def leave(self, seconds: float, keep_group: bool = False) -> None:
        """Requires that nothing is outstanding. `keep_group`: others share it."""
        if keep_group:
            return
        try:
            self.group.leave(seconds)
        except (TributaryError, ValueError):
            pass  # some members are gone; their leases expire
