"""Several ranks on a node: they reduce in shared memory first, and one of them, the leader, uses the fabric.

A call is cut into pieces of PIECE bytes, alike on all nodes. For each piece

    member    copies its part into its slot, sends a header to the leader, and waits for "done"; then it copies the result
    leader    waits for the headers of all members, compares them with its own, combines the slots in the order of ranks
              into the result's slot, gives that to the fabric, and sends "done" to all when it is complete

SLOTS pieces may be under way. A slot is used again by the piece SLOTS later: its member has copied the result before it
sends that piece's header, so the leader needs no further message. Memory is anonymous (memfd) and given along the members'
sockets, which are in the node's network namespace, without a file: nothing is left when a process dies, and its end shows
at once.
"""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import time
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from .._forms import BFLOAT16, bfloat16, from_bfloat16
from ._engine import GONE_SECONDS, TURN_SECONDS, FabricError
from ._fabric import GroupChannel, GroupRequest

Array = npt.NDArray[Any]
PIECE = 1 << 19
SLOTS = 4
# number of the piece, bytes, root (or NO_ROOT), kind, type, operator
HEADER = struct.Struct("<QQI12s12s12s")
DONE = struct.Struct("<Q")
NO_ROOT = 0xFFFFFFFF
COMBINE = {"sum": np.add, "min": np.minimum, "max": np.maximum, "min_nan": np.minimum, "max_nan": np.maximum,
           "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def combine(parts: list[Array], op: str, out: Array) -> None:
    """out = parts[0] op parts[1] ...; sums of 16-bit floats are made in float32, and rounded once, as in a switch."""
    function = COMBINE[op]
    dtype = out.dtype
    if dtype in (BFLOAT16, np.float16):
        wide = [from_bfloat16(part) if dtype == BFLOAT16 else part.astype(np.float32) for part in parts]
        total = wide[0]
        for part in wide[1:]:
            function(total, part, out=total)
        out[...] = bfloat16(total) if dtype == BFLOAT16 else total
        return
    np.copyto(out, parts[0])
    for part in parts[1:]:
        function(out, part, out=out)


class Memory:
    """Slots of `ranks` ranks, and of the result behind them."""

    def __init__(self, descriptor: int, ranks: int) -> None:
        self.ranks = ranks
        self._map = mmap.mmap(descriptor, self.bytes_for(ranks))

    @staticmethod
    def bytes_for(ranks: int) -> int:
        return (ranks + 1) * SLOTS * PIECE

    def slot(self, rank: int, piece: int, dtype: Any, count: int) -> Array:
        return np.frombuffer(self._map, dtype, count, (rank * SLOTS + piece % SLOTS) * PIECE)

    def result(self, piece: int, dtype: Any, count: int) -> Array:
        return self.slot(self.ranks, piece, dtype, count)


class NodeRequest:
    def __init__(self, channel: NodeChannel, kind: str, array: Array, op: str, root: int) -> None:
        self.channel, self.kind, self.array, self.op, self.root = channel, kind, array, op, root
        self.each = max(1, PIECE // array.itemsize)
        self.pieces = max(1, -(-array.size // self.each))
        self.taken = 0

    def is_done(self) -> bool:
        self.channel.advance()
        return self.taken == self.pieces

    def piece(self, number: int) -> Array:
        return self.array[number * self.each : (number + 1) * self.each]

    def header(self, sequence: int, number: int) -> bytes:
        part = self.piece(number)
        return HEADER.pack(sequence, part.nbytes, self.root, self.kind.encode(), part.dtype.str.encode()[:12], self.op.encode())


class NodeChannel:
    """`nodes`: ranks of the torch group by node, in the order of the fabric's members; `rank`: this one. `sockets`: the
    leader's to the other ranks of its node, in their order; a member's to its leader. `group`: the leader's."""

    def __init__(self, nodes: list[list[int]], rank: int, memory: Memory, sockets: list[socket.socket],
                 group: GroupChannel | None) -> None:
        self.error: FabricError | None = None
        self._place = {each: (node, local) for node, ranks in enumerate(nodes) for local, each in enumerate(ranks)}
        self._node, self._local = self._place[rank]
        self._ranks = nodes[self._node]
        self._memory, self._sockets, self._group = memory, sockets, group
        self._received: dict[int, bytearray] = {each.fileno(): bytearray() for each in sockets}
        self._headers: list[deque[bytes]] = [deque() for _ in sockets]
        self._requests: deque[tuple[NodeRequest, int]] = deque()  # pieces to post, in order
        self._posted: deque[tuple[NodeRequest, int]] = deque()  # pieces under way, in order
        self._first = 0  # the sequence number of the first of those
        self._flying: deque[GroupRequest] = deque()  # of the leader: the first ones of `_posted`
        self._gone: tuple[int, float] | None = None  # the rank whose socket has ended first, and when
        for each in sockets:
            each.setblocking(True)

    @property
    def group(self) -> Any:
        """The leader's group of the fabric; None at other ranks."""
        return None if self._group is None else self._group.group

    @property
    def _leads(self) -> bool:
        return self._group is not None

    def allreduce(self, array: Array, op: str) -> NodeRequest:
        return self._add(NodeRequest(self, "allreduce", array, op, NO_ROOT))

    def reduce(self, array: Array, op: str, to_rank: int) -> NodeRequest:
        """Every rank's array has the result."""
        return self.allreduce(array, op)

    def broadcast(self, array: Array, from_rank: int) -> NodeRequest:
        return self._add(NodeRequest(self, "broadcast", array, "", from_rank))

    def barrier(self) -> NodeRequest:
        return self._add(NodeRequest(self, "barrier", np.empty(0, np.uint8), "", NO_ROOT))

    def _add(self, request: NodeRequest) -> NodeRequest:
        self._requests.extend((request, number) for number in range(request.pieces))
        self.advance()
        return request

    def advance(self) -> None:
        if self.error is not None:
            raise self.error
        self._read()
        if self._gone is not None and time.monotonic() - self._gone[1] > GONE_SECONDS:
            raise FabricError(f"rank {self._gone[0]} of this node has ended, or given the group up")
        while self._requests and len(self._posted) < SLOTS:
            self._post(*self._requests.popleft())
        if self._leads:
            while len(self._flying) < len(self._posted) and all(self._headers):
                self._gather(*self._posted[len(self._flying)])
            while self._flying and self._flying[0].is_done():
                self._flying.popleft()
                self._send(DONE.pack(self._first), self._sockets)
                self._take()

    def _post(self, request: NodeRequest, number: int) -> None:
        sequence = self._first + len(self._posted)
        part = request.piece(number)
        if request.kind == "allreduce" or request.root == self._ranks[self._local]:
            np.copyto(self._memory.slot(self._local, sequence, part.dtype, part.size), part)
        self._posted.append((request, number))
        if not self._leads:
            self._send(request.header(sequence, number), self._sockets)

    def _gather(self, request: NodeRequest, number: int) -> None:
        sequence = self._first + len(self._flying)
        own = request.header(sequence, number)
        for local, headers in enumerate(self._headers, 1):
            theirs = headers.popleft()
            if theirs != own:
                raise FabricError(f"ranks {self._ranks[0]} and {self._ranks[local]} of one node made different calls: "
                                  f"{_text(own)}, and {_text(theirs)}")
        part = request.piece(number)
        result = self._memory.result(sequence, part.dtype, part.size)
        assert self._group is not None
        if request.kind == "allreduce":
            parts = [self._memory.slot(local, sequence, part.dtype, part.size) for local in range(len(self._ranks))]
            combine(parts, request.op, result)
            self._flying.append(self._group.allreduce(result, request.op))
        elif request.kind == "broadcast":
            node, local = self._place[request.root]
            if node == self._node:
                np.copyto(result, self._memory.slot(local, sequence, part.dtype, part.size))
            self._flying.append(self._group.broadcast(result, node))
        else:
            self._flying.append(self._group.barrier())

    def _take(self) -> None:
        request, number = self._posted.popleft()
        part = request.piece(number)
        np.copyto(part, self._memory.result(self._first, part.dtype, part.size))
        self._first += 1
        request.taken += 1

    def _read(self) -> None:
        for at, each in enumerate(self._sockets):
            if self._gone is not None:
                return
            received = self._received[each.fileno()]
            while True:
                try:
                    got = each.recv(4096, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
                except OSError:
                    got = b""
                if not got:
                    self._gone = (self._ranks[at + 1] if self._leads else self._ranks[0], time.monotonic())
                    break
                received += got
            size = HEADER.size if self._leads else DONE.size
            while len(received) >= size:
                message = bytes(received[:size])
                del received[:size]
                if self._leads:
                    self._headers[at].append(message)
                else:
                    assert DONE.unpack(message)[0] == self._first
                    self._take()

    def _send(self, message: bytes, sockets: list[socket.socket]) -> None:
        for each in sockets:
            try:
                each.sendall(message)
            except OSError:
                pass  # its end shows when it is read

    def wait(self, request: NodeRequest, seconds: float, waker: int) -> None:
        if self._flying:
            self._flying[0].wait(min(seconds, TURN_SECONDS))
        else:
            watched = self._sockets if self._gone is None else []
            select.select([*watched, waker], [], [], seconds)

    def wake(self) -> None:
        if self._group is not None:
            self._group.wake()

    def status(self) -> str:
        if self._group is None:
            return f"it waits for rank {self._ranks[0]}, which leads its node"
        late = [self._ranks[at + 1] for at, headers in enumerate(self._headers) if not headers]
        if self._posted and len(self._flying) < len(self._posted) and late:
            return f"it waits for ranks {', '.join(map(str, late))} of this node"
        return self._group.status()

    def fail(self, error: FabricError) -> None:
        for each in self._sockets:
            each.close()
        if self._group is not None:
            self._group.fail(error)

    def leave(self, seconds: float, keep_group: bool = False) -> None:
        for each in self._sockets:
            each.close()
        if self._group is not None:
            self._group.leave(seconds, keep_group)


def _text(header: bytes) -> str:
    _, size, root, kind, dtype, op = HEADER.unpack(header)
    words = [word.rstrip(b"\0").decode() for word in (kind, op, dtype)]
    return f"{' '.join(filter(None, words))} of {size} bytes{'' if root == NO_ROOT else f' of rank {root}'}"


def lead(address: str, ranks: int, seconds: float) -> tuple[Memory, list[socket.socket]]:
    """The leader's side: waits for the other ranks of its node. OSError."""
    descriptor = os.memfd_create("tributary", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, Memory.bytes_for(ranks))
        memory = Memory(descriptor, ranks)
        members: list[socket.socket | None] = [None] * (ranks - 1)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(address)
            listener.listen(ranks)
            listener.settimeout(seconds)
            while None in members:
                member, _ = listener.accept()
                member.settimeout(seconds)
                local = int.from_bytes(member.recv(4), "little")
                socket.send_fds(member, [b"m"], [descriptor])
                members[local - 1] = member
        return memory, [member for member in members if member is not None]
    finally:
        os.close(descriptor)


def follow(address: str, local: int, ranks: int, seconds: float) -> tuple[Memory, list[socket.socket]]:
    """A member's side. OSError where the leader does not come in time."""
    deadline = time.monotonic() + seconds
    while True:
        leader = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        leader.settimeout(seconds)
        try:
            leader.connect(address)
            break
        except OSError:
            leader.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    leader.sendall(local.to_bytes(4, "little"))
    _, descriptors, _, _ = socket.recv_fds(leader, 1, 1)
    try:
        return Memory(descriptors[0], ranks), [leader]
    finally:
        os.close(descriptors[0])
