"""Memory of other hosts: regions of numpy arrays, writes and reads, completions. The rules of rdma.h apply here, too.

    region = rdma.register(host, array, write=True)          at the host that is written to
    send(region.handle)                                      32 bytes, by any means
    rdma.write(host, handle, array)                          at the host that writes
"""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import Any

import numpy.typing as npt

from ._forms import Array, as_plain, check_writable
from ._library import ERROR_NAMES, TributaryError, check, ffi, lib, text_of
from ._waiting import deadline_of
from .host import Host

KINDS = {lib.TRIBUTARY_RDMA_WRITE: "write", lib.TRIBUTARY_RDMA_READ: "read", lib.TRIBUTARY_RDMA_ARRIVAL: "arrival"}


@dataclasses.dataclass(frozen=True)
class Facts:
    """The contents of a handle."""

    nid: int  # of the host that registered the region
    vni: int
    key: int
    length: int  # bytes
    writable: bool
    readable: bool
    end_point: int = 0  # the program on that host


@dataclasses.dataclass(frozen=True)
class Completion:
    """The end of a transfer, or the arrival of a peer's write with immediate data."""

    kind: str  # "write", "read", "arrival"
    error: str | None  # "PEER_REFUSED", "PEER_UNREACHABLE", ...: the name of a tributary_error; None if all went well
    text: str  # peer, transfer and cause in a sentence
    transfer: int  # 0 for an arrival
    immediate: int  # of an arrival
    key: int  # of the region
    offset: int
    length: int
    nid: int  # of the peer
    vni: int
    end_point: int = 0  # the peer's program on that host


def describe(handle: bytes) -> Facts:
    """TributaryError if it is not a handle."""
    facts = ffi.new("struct tributary_rdma_region_facts*")
    check(lib.tributary_rdma_describe(_region(handle), facts))
    one = facts[0]
    return Facts(one.nid, one.vni, one.key, one.length, bool(one.rights & lib.TRIBUTARY_RDMA_PEERS_WRITE),
                 bool(one.rights & lib.TRIBUTARY_RDMA_PEERS_READ), one.end_point)


class Region:
    """Memory of this host that peers may access. Keeps its array until it is deregistered."""

    def __init__(self, host: Host, array: Array, handle: bytes) -> None:
        self._host, self._array, self.handle = host, array, handle
        self._registered = True
        host._outstanding.add(self)

    @property
    def array(self) -> Array:
        return self._array

    @property
    def facts(self) -> Facts:
        return describe(self.handle)

    def deregister(self) -> None:
        """From here on no frame touches the array; transfers of peers to or from it end."""
        if self._registered:
            check(lib.tributary_rdma_deregister(self._host.handle, _region(self.handle)), self._host.handle)
            self._registered = False
            self._host._outstanding.discard(self)

    def __enter__(self) -> Region:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.deregister()


class Transfer:
    """A started write or read. It keeps its array until it is over."""

    def __init__(self, host: Host, number: int, array: Array) -> None:
        self._host, self.number, self._array = host, number, array
        self._completion: Completion | None = None
        host._outstanding.add(self)

    def test(self) -> bool:
        """Makes progress; whether it is over. TributaryError if it failed."""
        if self._completion is None:
            done, completion = ffi.new("int*"), ffi.new("struct tributary_rdma_completion*")
            code = lib.tributary_rdma_test(self._host.handle, self.number, done, completion)
            self._finish(code, bool(done[0]), completion)
        return self._completion is not None

    def wait(self, timeout: float | None = None) -> Completion:
        """Waits at most `timeout` seconds; then TributaryError with `timed_out`, and the transfer continues."""
        return self._wait(deadline_of(timeout))

    def _wait(self, deadline: float) -> Completion:
        if self._completion is None:
            host, completion = self._host.handle, ffi.new("struct tributary_rdma_completion*")
            code = self._host._own.until(deadline, lambda usec: lib.tributary_rdma_wait(host, self.number, usec, completion))
            self._finish(code, ERROR_NAMES.get(code) != "TIMEOUT", completion)
        assert self._completion is not None
        return self._completion

    def cancel(self) -> None:
        """It ends with the error CANCELLED, unless it was over already."""
        if self._completion is None:
            check(lib.tributary_rdma_cancel(self._host.handle, self.number), self._host.handle)

    def _finish(self, code: int, done: bool, completion: Any) -> None:
        if done:
            self._host._outstanding.discard(self)
            self._completion = _completion(completion)
        check(code, self._host.handle)


def register(host: Host, array: Array, *, write: bool = False, read: bool = False, vni: int = 1) -> Region:
    """Lets peers write to the array, read from it, or both. It must be contiguous, and writeable if they write."""
    if write:
        check_writable(array, "the array")
    elif as_plain(array).ctypes.data != array.ctypes.data:
        raise ValueError("the array must be contiguous: peers read where it lies")
    rights = (lib.TRIBUTARY_RDMA_PEERS_WRITE if write else 0) | (lib.TRIBUTARY_RDMA_PEERS_READ if read else 0)
    region = ffi.new("struct tributary_rdma_region*")
    check(lib.tributary_rdma_register(host.handle, _memory(array), array.nbytes, rights, vni, region), host.handle)
    return Region(host, array, bytes(ffi.buffer(region)))


def write_start(host: Host, handle: bytes, array: npt.ArrayLike, offset: int = 0,
                immediate: int | None = None) -> Transfer:
    """From the array to the peer's region, from the byte `offset` on. With `immediate`, a number, the peer's program is
    notified once all data is there."""
    return _start(lib.tributary_rdma_write_start, host, handle, as_plain(array), offset, immediate)


def read_start(host: Host, handle: bytes, out: Array, offset: int = 0) -> Transfer:
    """From the peer's region into `out`, as many bytes as it has."""
    check_writable(out, "out")
    return _start(lib.tributary_rdma_read_start, host, handle, out, offset, None)


def write(host: Host, handle: bytes, array: npt.ArrayLike, offset: int = 0, *, immediate: int | None = None,
          timeout: float | None = None) -> Completion:
    deadline = deadline_of(timeout)
    return write_start(host, handle, array, offset, immediate)._wait(deadline)


def read(host: Host, handle: bytes, out: Array, offset: int = 0, *, timeout: float | None = None) -> Array:
    deadline = deadline_of(timeout)
    read_start(host, handle, out, offset)._wait(deadline)
    return out


def wait_any(host: Host, most: int = 16, timeout: float | None = None) -> list[Completion]:
    """The oldest completions, once there is one; arrivals after those of transfers. TributaryError with `timed_out` if
    there was none. A Transfer whose completion was taken here cannot be waited for any more."""
    deadline, handle = deadline_of(timeout), host.handle
    done, count = ffi.new("struct tributary_rdma_completion[]", most), ffi.new("size_t*")
    check(host._own.until(deadline, lambda usec: lib.tributary_rdma_wait_any(handle, done, most, usec, count)), handle)
    return [_completion(done + i) for i in range(count[0])]


def _start(call: Any, host: Host, handle: bytes, array: Array, offset: int, immediate: int | None) -> Transfer:
    region, number = _region(handle), ffi.new("uint64_t*")
    work = ffi.new("struct tributary_rdma_work*")
    work.region, work.offset, work.memory, work.length = region, offset, _memory(array), array.nbytes
    if immediate is not None:
        work.flags, work.immediate = lib.TRIBUTARY_RDMA_IMMEDIATE, immediate
    check(call(host.handle, work, number), host.handle)
    return Transfer(host, int(number[0]), array)


def _completion(completion: Any) -> Completion:
    length = lib.tributary_rdma_completion_text(completion, ffi.NULL, 0)
    text = ffi.new("char[]", max(length, 0) + 1)
    lib.tributary_rdma_completion_text(completion, text, len(text))
    error = None if completion.error == 0 else ERROR_NAMES.get(completion.error, str(completion.error))
    return Completion(KINDS.get(completion.kind, str(completion.kind)), error, text_of(text), completion.transfer, completion.immediate, completion.key,
                      completion.offset, completion.length, completion.nid, completion.vni, completion.end_point)


def _region(handle: bytes) -> Any:
    if len(handle) != ffi.sizeof("struct tributary_rdma_region"):
        raise ValueError(f"a handle has {ffi.sizeof('struct tributary_rdma_region')} bytes, and this has {len(handle)}")
    region = ffi.new("struct tributary_rdma_region*")
    ffi.memmove(region, handle, len(handle))
    return region


def _memory(array: Array) -> Any:
    return ffi.cast("void*", array.ctypes.data) if array.nbytes else ffi.NULL


__all__ = ["Completion", "Facts", "Region", "Transfer", "TributaryError", "describe", "read", "read_start", "register",
           "wait_any", "write", "write_start"]
