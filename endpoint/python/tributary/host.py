"""Host, Group, Request: the C API with numpy arrays. The rules of tributary.h on threads and memory apply, too."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._forms import Array, address, as_plain, check_writable, form_of, operator_of
from ._library import DEFINED, RESULTS, TributaryError, check, ffi, lib, text_of
from ._waiting import Handle, deadline_of

PROGRESS = {"default": lib.TRIBUTARY_PROGRESS_DEFAULT, "caller": lib.TRIBUTARY_PROGRESS_CALLER,
            "thread": lib.TRIBUTARY_PROGRESS_THREAD}
TRANSPORTS = {"default": lib.TRIBUTARY_TRANSPORT_DEFAULT, "raw": lib.TRIBUTARY_TRANSPORT_RAW,
              "af_xdp": lib.TRIBUTARY_TRANSPORT_AF_XDP}


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of an operation."""

    value: Array | None  # None where this rank gets nothing
    code: str  # "exact", "inexact", "int_overflow": the worst of the whole operation


def _put(options: Any, values: dict[str, Any], kept: list[Any]) -> None:
    """Sets fields of a struct by their names; `kept` keeps texts alive."""
    fields = dict(ffi.typeof(options).fields)
    for name, value in values.items():
        if name not in fields:
            raise TypeError(f"no option {name!r}; known are {', '.join(fields)}")
        if isinstance(value, str):
            value = ffi.new("char[]", value.encode())
            kept.append(value)
        setattr(options, name, int(value) if isinstance(value, bool) else value)


def _as_dict(struct: Any) -> dict[str, int]:
    return {name: getattr(struct, name) for name, _ in ffi.typeof(struct).fields}


def _choice(name: str, value: str, known: dict[str, int]) -> int:
    try:
        return known[value]
    except KeyError:
        raise ValueError(f"{name} is {value!r}; it is one of {', '.join(known)}") from None


class Host:
    """One interface of this machine, or without a name that of its host agent. Options are those of struct tributary_host_options.

    Closed by `close`, at the end of a `with` block, and when the last reference to it and its groups goes."""

    def __init__(self, interface: str = "", *, progress: str = "default", transport: str = "default",
                 **options: Any) -> None:
        # The library writes into arrays of these until they are done, also when no variable has them any more.
        self._outstanding: set[Any] = set()
        name = ffi.new("char[]", interface.encode())
        wanted = ffi.new("struct tributary_host_options*", lib.tributary_host_defaults(name))
        _put(wanted[0], {"progress": _choice("progress", progress, PROGRESS),
                         "transport": _choice("transport", transport, TRANSPORTS), **options}, [])
        handle = ffi.new("struct tributary_host**")
        check(lib.tributary_open(wanted, handle))
        self._own = Handle(self, handle[0], self._outstanding.clear)

    @property
    def handle(self) -> Any:
        return self._own.pointer

    @property
    def nid(self) -> int:
        return int(lib.tributary_nid(self.handle))

    def fileno(self) -> int:
        """For select and poll: readable when progress can be made."""
        return int(lib.tributary_fd(self.handle))

    def progress(self) -> None:
        check(lib.tributary_progress(self.handle), self.handle)

    def wake(self) -> None:
        """Ends a call that waits: it raises TributaryError, named "INTERRUPTED", and its operation continues; it is
        the error's `request`. Where none waits, the next one ends so. For any thread, at any time."""
        check(self._own.during(lib.tributary_wake))

    def join(self, tree: int, rank: int, size: int, **options: Any) -> Group:
        """A group on a tree that the switches' files have. Options: struct tributary_group_options."""
        wanted = ffi.new("struct tributary_group_options*", lib.tributary_group_defaults())
        _put(wanted[0], {"tree": tree, "rank": rank, "size": size, **options}, [])
        group = ffi.new("struct tributary_group**")
        check(lib.tributary_join(self.handle, wanted, group), self.handle)
        return Group(self, group[0])

    def join_named(self, name: str, rank: int, size: int, *, protocol: dict[str, Any] | None = None,
                   **options: Any) -> Group:
        """A group that the fabric manager makes. Options: struct tributary_named_group_options; `protocol` has those of
        its member of that name."""
        kept: list[Any] = [ffi.new("char[]", name.encode())]
        wanted = ffi.new("struct tributary_named_group_options*", lib.tributary_named_group_defaults(kept[0]))
        _put(wanted[0], {"rank": rank, "size": size, **options}, kept)
        _put(wanted[0].protocol, protocol or {}, kept)
        group, handle = ffi.new("struct tributary_group**"), self.handle
        check(self._own.aside(lambda: lib.tributary_join_named(handle, wanted, group)), handle)
        return Group(self, group[0])

    def close(self) -> None:
        """Closes it with all its groups, without leaving them."""
        self._own.close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Group:
    """A membership. All members call the same operations, with the same shapes and types, in the same order.

    A waiting call raises TributaryError after `timeout` seconds. Its operation continues: it is the error's `request`.
    """

    def __init__(self, host: Host, handle: Any) -> None:
        self._host, self._handle = host, handle

    @property
    def handle(self) -> Any:
        self._host.handle  # noqa: B018  raises where the host is closed
        if self._handle is None:
            raise ValueError("the group has been left")
        return self._handle

    @property
    def rank(self) -> int:
        return int(lib.tributary_rank(self.handle))

    @property
    def size(self) -> int:
        return int(lib.tributary_size(self.handle))

    def allreduce(self, array: npt.ArrayLike, op: str = "sum", out: Array | None = None,
                  timeout: float | None = None) -> Array:
        """The reduction of all ranks' arrays, element by element, in the array's shape. `out` may overlap it."""
        deadline = deadline_of(timeout)
        value = self.allreduce_start(array, op, out)._wait(deadline).value
        assert value is not None
        return value

    def allreduce_start(self, array: npt.ArrayLike, op: str = "sum", out: Array | None = None) -> Request:
        given, taken = _buffers(array, out)
        return self._start(lib.tributary_allreduce_start,
                           (address(given), address(taken), given.size, form_of(given), operator_of(op)), taken, given)

    def reduce(self, array: npt.ArrayLike, to_rank: int, op: str = "sum",
               timeout: float | None = None) -> Array | None:
        """The same, at one rank; None at the others."""
        deadline = deadline_of(timeout)
        return self.reduce_start(array, to_rank, op)._wait(deadline).value

    def reduce_start(self, array: npt.ArrayLike, to_rank: int, op: str = "sum", out: Array | None = None) -> Request:
        given, taken = _buffers(array, out)
        return self._start(lib.tributary_reduce_start,
                           (address(given), address(taken), given.size, form_of(given), operator_of(op), to_rank),
                           taken if self.rank == to_rank else None, given)

    def broadcast(self, array: Array, from_rank: int, timeout: float | None = None) -> Array:
        """Writes the array of one rank into the arrays of all ranks."""
        deadline = deadline_of(timeout)
        value = self.broadcast_start(array, from_rank)._wait(deadline).value
        assert value is not None
        return value

    def broadcast_start(self, array: Array, from_rank: int) -> Request:
        check_writable(array, "the array")
        return self._start(lib.tributary_broadcast_start,
                           (address(array), array.size, form_of(array), from_rank), array)

    def barrier(self, timeout: float | None = None) -> None:
        """Returns when all members have called it."""
        deadline = deadline_of(timeout)
        self.barrier_start()._wait(deadline)

    def barrier_start(self) -> Request:
        return self._start(lib.tributary_barrier_start, (), None)

    def _start(self, call: Any, arguments: tuple[Any, ...], value: Array | None, *kept: Array) -> Request:
        request = ffi.new("struct tributary_request**")
        check(call(self.handle, *arguments, request), self._host.handle)
        return Request(self, request, value, kept)

    def dup(self, **protocol: Any) -> Group:
        """A new group of the same members that shares their trees: no request to the manager, and about as long as an
        operation. All members call it, in the order of the group's operations. `protocol`: fields of struct
        tributary_group_options for the new group's protocol; without any, it has the group's own."""
        options = ffi.NULL
        if protocol:
            options = ffi.new("struct tributary_group_options*", lib.tributary_group_defaults())
            _put(options[0], protocol, [])
        child, handle, host = ffi.new("struct tributary_group**"), self.handle, self._host.handle
        check(self._host._own.aside(lambda: lib.tributary_group_dup(handle, options, child)), host)
        return Group(self._host, child[0])

    def abandon(self) -> None:
        """Ends the group at this member at once: its operations end with TributaryError, and their arrays are neither
        read nor written any more. Other groups continue."""
        check(lib.tributary_abandon(self.handle), self._host.handle)

    def membership(self) -> dict[str, int]:
        """Its trees and parameters: struct tributary_membership."""
        found = ffi.new("struct tributary_membership*")
        check(lib.tributary_get_membership(self.handle, found), self._host.handle)
        return _as_dict(found[0])

    def statistics(self) -> dict[str, int]:
        """struct tributary_statistics."""
        found = ffi.new("struct tributary_statistics*")
        check(lib.tributary_get_statistics(self.handle, found), self._host.handle)
        return _as_dict(found[0])

    def status(self) -> str:
        """What each reduction in flight waits for."""
        length = lib.tributary_status_text(self.handle, ffi.NULL, 0)
        text = ffi.new("char[]", length + 1)
        lib.tributary_status_text(self.handle, text, length + 1)
        return text_of(text)

    def leave(self, timeout: float | None = 20.0) -> None:
        """Waits until what was started here is done, and every member leaves, too. TributaryError if the former takes
        longer than `timeout` seconds: the group stays then."""
        deadline = deadline_of(timeout)
        if self._handle is None or self._host._own.is_closed:  # groups end with their host
            return
        for request in [one for one in self._host._outstanding if isinstance(one, Request) and one.group is self]:
            try:
                request._wait(deadline)
            except TributaryError as error:
                if error.request is not None:
                    raise
        host, handle = self._host.handle, self._handle
        code = self._host._own.aside(lambda: lib.tributary_leave(handle))
        if code != lib.TRIBUTARY_ERR_BUSY:
            self._handle = None
        check(code, host)

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:  # after an error the others may wait for something else
            self.leave()


class Request:
    """A started operation. It keeps its arrays until it is done, and need not be referenced itself."""

    def __init__(self, group: Group, request: Any, value: Array | None, kept: tuple[Array, ...]) -> None:
        self.group = group
        self._host, self._request, self._value, self._kept = group._host, request, value, kept
        self._end: Result | TributaryError | None = None
        self._host._outstanding.add(self)

    def test(self) -> bool:
        """Makes progress; whether it is done."""
        if self._end is None:
            host, done, result = self._host.handle, ffi.new("int*"), ffi.new("struct tributary_result*")
            self._note(host, lib.tributary_test(self._request, done, result), result)
        if isinstance(self._end, TributaryError):
            raise self._end
        return self._end is not None

    def wait(self, timeout: float | None = None) -> Result:
        """Waits at most `timeout` seconds; then TributaryError with `timed_out`, and the request is still valid."""
        return self._wait(deadline_of(timeout))

    def _wait(self, deadline: float) -> Result:
        if self._end is None:
            host, result = self._host.handle, ffi.new("struct tributary_result*")
            code = self._host._own.until(deadline, lambda most: lib.tributary_wait(self._request, most, result))
            self._note(host, code, result)
        if isinstance(self._end, TributaryError):
            raise self._end
        assert self._end is not None
        return self._end

    def _note(self, host: Any, code: int, result: Any) -> None:
        """Stores how it ended, if it did; raises any other error."""
        over = self._request[0] == ffi.NULL
        try:
            check(code, host)
        except TributaryError as error:
            if not over:
                error.request = self
                raise
            self._end = error
        if over:
            self._host._outstanding.discard(self)
            self._kept = ()
            self._end = self._end or Result(self._value, RESULTS.get(result.code, str(result.code)))


def _buffers(array: npt.ArrayLike, out: Array | None) -> tuple[Array, Array]:
    given = as_plain(array)
    if out is None:
        return given, np.empty_like(given)
    check_writable(out, "out")
    if (out.dtype, out.shape) != (given.dtype, given.shape):
        raise ValueError(f"out has the shape {out.shape} of {out.dtype}, and the array {given.shape} of {given.dtype}")
    # The library reads elements after it has written others; in place it reads each before.
    if np.may_share_memory(given, out) and given.ctypes.data != out.ctypes.data:
        given = given.copy()
    return given, out


NO_TREE = DEFINED["TRIBUTARY_NO_TREE"]
RANK_ANY = DEFINED["TRIBUTARY_RANK_ANY"]
__all__ = ["NO_TREE", "RANK_ANY", "Group", "Host", "Request", "Result", "TributaryError"]
