"""The thread that owns a process's host: it starts operations, waits for them, and completes their works.

    program's threads --submit--> queue --> lane of a group: pending -> issuing -> in flight --> operation.finish
                        wake                 (in order)      starts requests      requests done, in order

An operation is a sequence of requests of one group. `issue` is a generator that starts them; it yields a request that
must be done before it continues, so the next operation of the group begins when this one has nothing left to start. The
order in which a group's requests are started is thus that of the calls, the same at all ranks, whatever takes how long.

The engine knows neither torch nor the network: channels have `fail`, `waits_on` and `status`, requests `is_done`, and
operations are as below. A channel that failed is broken: what it had, and what comes, ends with its error.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Protocol

LOOK_SECONDS = 0.1  # the longest sleep: time-outs and interfaces that come back are looked for
# A process that ends closes its sockets; whether it died, the watch says within this time.
GONE_SECONDS = 1.0
TURN_SECONDS = 0.0003  # a sleep with one of several groups, each of which may be done first


class FabricError(RuntimeError):
    """An operation in the network failed; the text has cause, place and a hint."""


class Request(Protocol):
    def is_done(self) -> bool:
        """Makes progress. Raises FabricError."""


class Channel(Protocol):
    error: FabricError | None

    def fail(self, error: FabricError) -> None:
        """Gives up everything that was started; buffers are neither read nor written any more."""

    def wait(self, request: Request, seconds: float, waker: int) -> None:
        """Sleeps until the request may be done, at most so long, or until `wake` was called and the descriptor `waker` is
        readable. Makes progress of all groups of its host. Raises FabricError."""

    def wake(self) -> None:
        """For any thread."""

    def status(self) -> str:
        """What is waited for, and for whom."""


class Operation(Protocol):
    name: str  # "allreduce of 4096 float32 with SUM"
    deadline: float  # by time.monotonic

    def issue(self, channel: Any) -> Generator[Request, None, list[Request]]:
        """Starts its requests; returns those that are not known to be done."""

    def finish(self) -> None:
        """All its requests are done."""

    def fail(self, error: BaseException) -> None: ...


class _Lane:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.pending: deque[Operation] = deque()
        self.issuing: tuple[Operation, Generator[Request, None, list[Request]]] | None = None
        self.waited: Request | None = None  # before `issuing` continues
        self.in_flight: deque[tuple[Operation, deque[Request]]] = deque()
        self.since = time.monotonic()  # the last step
        self.warned = False

    def operations(self) -> list[Operation]:
        """The oldest first."""
        return [*(each for each, _ in self.in_flight), *([self.issuing[0]] if self.issuing else []), *self.pending]

    def waits_for(self) -> Request | None:
        """The request that comes next."""
        for _, requests in self.in_flight:
            if requests:
                return requests[0]
        return self.waited

    def advance(self) -> bool:
        """Whether anything has happened. Raises FabricError."""
        moved = False
        while self.in_flight:
            operation, requests = self.in_flight[0]
            while requests and requests[0].is_done():
                requests.popleft()
                moved = True
            if requests:
                break
            operation.finish()
            self.in_flight.popleft()
            moved = True
        while True:
            if self.issuing is None:
                if not self.pending:
                    break
                operation = self.pending.popleft()
                self.issuing = (operation, operation.issue(self.channel))
            elif self.waited is not None:
                if not self.waited.is_done():
                    break
                self.waited = None
            try:
                self.waited = next(self.issuing[1])
            except StopIteration as end:
                self.in_flight.append((self.issuing[0], deque(end.value)))
                self.issuing = None
            moved = True
        if moved:
            self.since, self.warned = time.monotonic(), False
        return moved

    def end(self, error: BaseException) -> None:
        ended, self.pending, self.in_flight = self.operations(), deque(), deque()
        if self.issuing is not None:
            self.issuing[1].close()
        self.issuing = self.waited = None
        for operation in ended:
            operation.fail(error)


class Engine:
    """`say` prints a line."""

    def __init__(self, say: Callable[[str], None], warn_seconds: float = 10.0) -> None:
        self._say, self._warn_seconds = say, warn_seconds
        self._lock = threading.Lock()
        self._queue: deque[Callable[[], None]] = deque()
        self._lanes: dict[int, _Lane] = {}
        self._sleeps = False
        self._sleeps_in: Channel | None = None
        self._turn = 0
        self._stopping = False
        self._when_idle: deque[Callable[[], None]] = deque()
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="tributary", daemon=True)
        self._thread.start()

    # For any thread.

    def submit(self, channel: Channel, operation: Operation) -> None:
        def take() -> None:
            if channel.error is not None:
                operation.fail(channel.error)
                return
            lane = self._lanes.setdefault(id(channel), _Lane(channel))
            if not lane.operations():
                lane.since = time.monotonic()
            lane.pending.append(operation)

        self._post(take)

    def call(self, function: Callable[[], Any], seconds: float = float("inf")) -> Any:
        """Its result, or what it raises, from the engine's thread, once all operations that were submitted before are over:
        it may wait for other ranks, and they for these operations. For all else that uses the host. TimeoutError after
        that many seconds; then the function may still run."""
        answer: list[Any] = []
        over = threading.Event()

        def run() -> None:
            try:
                answer.append((True, function()))
            except BaseException as problem:
                answer.append((False, problem))
            finally:
                over.set()

        self._post(lambda: self._when_idle.append(run))
        until = time.monotonic() + seconds
        while not over.wait(LOOK_SECONDS):
            if time.monotonic() > until:
                raise TimeoutError
            if not self._thread.is_alive():
                raise FabricError("the thread of the backend has ended")
        good, value = answer[0]
        if good:
            return value
        raise value

    def break_channel(self, channel: Channel, error: FabricError) -> None:
        """Every operation of the channel ends with this error, now and later; the first one counts."""
        self._post(lambda: self._break(channel, error))

    def stop(self, seconds: float) -> None:
        """Ends the thread once it has nothing to do any more, or after so long."""
        self._post(self._stop)
        self._thread.join(seconds)

    def abandon(self) -> None:
        """In a child process: the thread is the parent's."""
        for descriptor in (self._reader, self._writer):
            os.close(descriptor)

    @property
    def thread(self) -> threading.Thread:
        return self._thread

    # On its own thread.

    def _stop(self) -> None:
        self._stopping = True

    def _post(self, what: Callable[[], None]) -> None:
        with self._lock:
            self._queue.append(what)
            if self._sleeps:
                self._sleeps = False
                os.write(self._writer, b"w")
                if self._sleeps_in is not None:
                    self._sleeps_in.wake()

    def _break(self, channel: Channel, error: FabricError) -> None:
        if channel.error is None:
            channel.error = error
            channel.fail(error)
        lane = self._lanes.pop(id(channel), None)
        if lane is not None:
            lane.end(channel.error)

    def _run(self) -> None:
        while True:
            self._take()
            moved = self._advance()
            while self._when_idle and not self._lanes:
                self._when_idle.popleft()()
                moved = True
            if self._stopping and not (self._lanes or self._queue or self._when_idle):
                return
            if not moved:
                self._look_at_times()
                self._sleep()

    def _take(self) -> None:
        while True:
            with self._lock:
                if not self._queue:
                    return
                what = self._queue.popleft()
            what()

    def _advance(self) -> bool:
        moved = False
        for lane in list(self._lanes.values()):
            try:
                moved |= lane.advance()
            except FabricError as error:
                self._break(lane.channel, error)
                moved = True
            except Exception as problem:  # of the backend itself: its works must not wait forever
                self._break(lane.channel, FabricError(f"{type(problem).__name__}: {problem}"))
                moved = True
            if not lane.operations():
                self._lanes.pop(id(lane.channel), None)
        return moved

    def _look_at_times(self) -> None:
        now = time.monotonic()
        for lane in list(self._lanes.values()):
            waiting = lane.operations()
            if waiting and now >= min(each.deadline for each in waiting):
                late = next(each for each in waiting if now >= each.deadline)
                self._break(lane.channel, FabricError(f"{late.name} timed out\n{lane.channel.status()}"))
            elif waiting and not lane.warned and now - lane.since >= self._warn_seconds:
                lane.warned = True
                self._say(f"{waiting[0].name} has made no progress for {self._warn_seconds:.0f} s\n{lane.channel.status()}")

    def _sleep(self) -> None:
        lanes = [lane for lane in self._lanes.values() if lane.waits_for() is not None]
        self._turn += 1
        lane = lanes[self._turn % len(lanes)] if lanes else None
        with self._lock:
            if self._queue:
                return
            self._sleeps, self._sleeps_in = True, lane.channel if lane else None
        try:
            if lane is None:
                select.select([self._reader], [], [], None if not self._lanes else LOOK_SECONDS)
            else:
                request = lane.waits_for()
                assert request is not None
                lane.channel.wait(request, LOOK_SECONDS if len(lanes) == 1 else TURN_SECONDS, self._reader)
        except FabricError as error:
            assert lane is not None
            self._break(lane.channel, error)
        finally:
            with self._lock:
                self._sleeps, self._sleeps_in = False, None
            self._lower()

    def _lower(self) -> None:
        try:
            while os.read(self._reader, 4096):
                pass
        except BlockingIOError:
            pass
