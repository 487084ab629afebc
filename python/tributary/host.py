"""Host, Group, Request: the C API with numpy arrays. What tributary.h says of threads and memory is true here, too."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._forms import Array, form_of, operator_of
from ._library import DEFINED, RESULTS, TributaryError, check, ffi, lib, text_of

PROGRESS = {"default": lib.TRIBUTARY_PROGRESS_DEFAULT, "caller": lib.TRIBUTARY_PROGRESS_CALLER,
            "thread": lib.TRIBUTARY_PROGRESS_THREAD}
TRANSPORTS = {"default": lib.TRIBUTARY_TRANSPORT_DEFAULT, "raw": lib.TRIBUTARY_TRANSPORT_RAW,
              "af_xdp": lib.TRIBUTARY_TRANSPORT_AF_XDP}


@dataclasses.dataclass(frozen=True)
class Result:
    """What an operation gave."""

    value: Array | None  # None where this rank gets nothing
    code: str  # "exact", "inexact", "int_overflow": the worst of the whole operation


def _put(options: Any, values: dict[str, Any], kept: list[Any]) -> None:
    """Sets fields of a struct by their names; `kept` keeps texts alive."""
    fields = dict(ffi.typeof(options).fields)
    for name, value in values.items():
        if name not in fields:
            raise TypeError(f"there is no option {name!r}; known are {', '.join(fields)}")
        if isinstance(value, str):
            value = ffi.new("char[]", value.encode())
            kept.append(value)
        setattr(options, name, int(value) if isinstance(value, bool) else value)


def _as_dict(struct: Any) -> dict[str, int]:
    return {name: getattr(struct, name) for name, _ in ffi.typeof(struct).fields}


class Host:
    """One interface of this machine. Options are those of struct tributary_host_options."""

    def __init__(self, interface: str, *, progress: str = "default", transport: str = "default",
                 **options: Any) -> None:
        self._handle: Any = None
        # The library writes into arrays of these until they are done, whoever still knows them.
        self._outstanding: set[Request] = set()
        name = ffi.new("char[]", interface.encode())
        wanted = ffi.new("struct tributary_host_options*", lib.tributary_host_defaults(name))
        _put(wanted[0], {"progress": PROGRESS[progress], "transport": TRANSPORTS[transport], **options}, [])
        handle = ffi.new("struct tributary_host**")
        check(lib.tributary_open(wanted, handle))
        self._handle = handle[0]

    @property
    def handle(self) -> Any:
        if self._handle is None:
            raise ValueError("the host is closed")
        return self._handle

    @property
    def nid(self) -> int:
        return int(lib.tributary_nid(self.handle))

    def fileno(self) -> int:
        """For select and poll: readable when there is something to do."""
        return int(lib.tributary_fd(self.handle))

    def progress(self) -> None:
        check(lib.tributary_progress(self.handle), self.handle)

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
        group = ffi.new("struct tributary_group**")
        check(lib.tributary_join_named(self.handle, wanted, group), self.handle)
        return Group(self, group[0])

    def close(self) -> None:
        """Ends it with all its groups, without leaving them."""
        if self._handle is not None:
            lib.tributary_close(self._handle)
            self._handle = None
            self._outstanding.clear()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Group:
    """A membership. All members call the same operations, with the same shapes and types, in the same order."""

    def __init__(self, host: Host, handle: Any) -> None:
        self._host, self._handle = host, handle

    @property
    def handle(self) -> Any:
        if self._handle is None or self._host.handle is None:
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
        """The reduction of everybody's array, element by element. TributaryError after `timeout` seconds."""
        value = self.allreduce_start(array, op, out).wait(timeout).value
        assert value is not None
        return value

    def allreduce_start(self, array: npt.ArrayLike, op: str = "sum", out: Array | None = None) -> Request:
        given, taken = self._buffers(array, out)
        request = ffi.new("struct tributary_request**")
        check(lib.tributary_allreduce_start(self.handle, _data(given), _data(taken), given.size, form_of(given),
                                            operator_of(op), request), self._host.handle)
        return Request(self._host, request, taken, (given,))

    def reduce(self, array: npt.ArrayLike, to_rank: int, op: str = "sum",
               timeout: float | None = None) -> Array | None:
        """The same, at one rank; None at the others."""
        given, taken = self._buffers(array, None)
        request = ffi.new("struct tributary_request**")
        check(lib.tributary_reduce_start(self.handle, _data(given), _data(taken), given.size, form_of(given),
                                         operator_of(op), to_rank, request), self._host.handle)
        return Request(self._host, request, taken if self.rank == to_rank else None, (given, taken)).wait(timeout).value

    def broadcast(self, array: Array, from_rank: int, timeout: float | None = None) -> Array:
        """Writes the array of one rank into everybody's."""
        _usable(array)
        request = ffi.new("struct tributary_request**")
        check(lib.tributary_broadcast_start(self.handle, _data(array), array.size, form_of(array), from_rank, request),
              self._host.handle)
        value = Request(self._host, request, array, ()).wait(timeout).value
        assert value is not None
        return value

    def barrier(self, timeout: float | None = None) -> None:
        """Returns when all members have called it."""
        request = ffi.new("struct tributary_request**")
        check(lib.tributary_barrier_start(self.handle, request), self._host.handle)
        Request(self._host, request, None, ()).wait(timeout)

    def membership(self) -> dict[str, int]:
        """Where its frames travel: struct tributary_membership."""
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

    def leave(self) -> None:
        """Waits until every member leaves, too."""
        if self._handle is None:
            return
        code = lib.tributary_leave(self._handle)
        busy = code == lib.TRIBUTARY_ERR_BUSY
        if not busy:
            self._handle = None
        check(code, self._host.handle)

    @staticmethod
    def _buffers(array: npt.ArrayLike, out: Array | None) -> tuple[Array, Array]:
        given = np.ascontiguousarray(array)
        if out is None:
            return given, np.empty_like(given)
        _usable(out)
        if out.dtype != given.dtype or out.size != given.size:
            raise ValueError(f"out has {out.size} elements of {out.dtype}, and there are {given.size} of {given.dtype}")
        return given, out

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:  # after an error the others may wait for something else
            self.leave()


class Request:
    """An operation that was started. It keeps its arrays until it is done."""

    def __init__(self, host: Host, request: Any, value: Array | None, kept: tuple[Array, ...]) -> None:
        self._host, self._request, self._value, self._kept = host, request, value, kept
        self._result: Result | None = None
        host._outstanding.add(self)

    def test(self) -> bool:
        """Makes progress; whether it is done."""
        if self._result is None:
            done, told = ffi.new("int*"), ffi.new("struct tributary_result*")
            self._finish(lib.tributary_test(self._request, done, told), bool(done[0]), told)
        return self._result is not None

    def wait(self, timeout: float | None = None) -> Result:
        """Waits, at most so many seconds; then TributaryError with `timed_out`, and the request is still valid."""
        if self._result is None:
            told = ffi.new("struct tributary_result*")
            limit = -1 if timeout is None else int(timeout * 1e6)
            self._finish(lib.tributary_wait(self._request, limit, told), True, told)
        assert self._result is not None
        return self._result

    def _finish(self, code: int, done: bool, told: Any) -> None:
        if self._request[0] == ffi.NULL:  # it has ended, well or not
            self._host._outstanding.discard(self)
            self._kept = ()
        check(code, self._host.handle)
        if done:
            self._result = Result(self._value, RESULTS.get(told.code, str(told.code)))


def _usable(array: Array) -> None:
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError("the array must be contiguous and writeable: results are written into it")


def _data(array: Array) -> Any:
    return ffi.cast("void*", array.ctypes.data)


NO_TREE = DEFINED["TRIBUTARY_NO_TREE"]
RANK_ANY = DEFINED["TRIBUTARY_RANK_ANY"]
__all__ = ["NO_TREE", "RANK_ANY", "Group", "Host", "Request", "Result", "TributaryError"]
