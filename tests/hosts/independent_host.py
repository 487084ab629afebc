"""A member of a group, written from docs/protocol alone, so that the pages and the host library check each other.

It shares no code with the library, and does what the pages require of a member, but nothing
optional: no ids armed ahead, no roll calls, no twin trees. `receive` takes a frame, `tick` a time,
both leave frames in `outbox`; `run` moves them.

    group = Group(tree=7, vni=0x400, cookie=1, size=3)
    leaf = Leaf(group, rank=2, nid=3)
    call = leaf.start(frames.INT_SUM, "q", [1, 2, 3])
    run({leaf: RawPort("h2", "eth0")}, lambda: call.done)
    call.result
"""

import math
import select
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field

from tributary import frames

SEQUENCES, PRE_ARM, NO_RESULT = 1022, 1022, 1023
RETRY_BIT = 1  # of the reduction word's pad
LEAVING = 255
FLT_REPSUM = 0x30
MASK56, MASK64 = (1 << 56) - 1, (1 << 64) - 1
FORMS = {1: 4, 2: 3, 4: 2, 8: 1, 40: 7}  # by bytes of an element
BITWISE = {frames.BIT_AND: lambda a, b: a & b, frames.BIT_OR: lambda a, b: a | b, frames.BIT_XOR: lambda a, b: a ^ b}


def successor(sequence):
    return (sequence + 1) % SEQUENCES


def newer(a, b):
    """Whether sequence a was opened after b."""
    return 1 <= (a - b) % SEQUENCES < SEQUENCES // 2


# The contribution signature (wire-format.md) and the mark of a call (collective.md)


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK64
    return x ^ x >> 31


def signature(cookie, rank, piece):
    base = mix((cookie << 32) + rank) & MASK56 or 1
    return base + piece * 0x9E3779B97F4A7D & MASK56


def call_mark(call, elements):
    def fold(y):
        return y ^ y >> 28

    x = 0xB51A << 40 | call << 32 | elements & 0xFFFFFFFF
    return fold(fold(fold(x) * 0x5851F42D4C957F & MASK56) * 0x14057B7EF767B5 & MASK56)


def hello(nid, name, interface, interval_ms=2000):
    """A host's (hello.md)."""
    out = bytearray(struct.pack(">4s4BQIHBBH", b"\0TRB", 1, 2, len(name), len(interface), 0, nid, interval_ms, 0, 0, 0))
    out += name.encode() + interface.encode()
    words = bytes(out) + bytes(len(out) % 2)
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    out[24:26] = struct.pack(">H", ~total & 0xFFFF)
    head = bytes.fromhex("0180c200000e020000") + nid.to_bytes(3, "big") + struct.pack(">H", frames.ETHERTYPE)
    return (head + bytes(out)).ljust(60, b"\0")


# Operands (wire-format.md)


def to_limbs(value):
    """A double as {T0, T1, T2, T3, M}, 40 bytes."""
    if value == 0:
        return struct.pack("<4qb7x", 0, 0, 0, 0, -26)
    exponent = max(math.frexp(value)[1] - 1, -1022)
    m = exponent // 40
    whole = int(math.ldexp(abs(value), 52 - exponent)) << exponent - 40 * m + 28
    limbs = [0, whole % (1 << 40), (whole >> 40) % (1 << 40), whole >> 80]
    return struct.pack("<4qb7x", *(limb if value > 0 else -limb for limb in limbs), m)


def add_limbs(a, b):
    """Two reproducible sums; numbers alone, no limb overflows."""
    *high, m = struct.unpack("<4qb7x", a)
    *low, m_low = struct.unpack("<4qb7x", b)
    if m < m_low:
        return add_limbs(b, a)
    return struct.pack("<4qb7x", *(high[i] + (low[i + m - m_low] if i + m - m_low <= 3 else 0) for i in range(4)), m)


def from_limbs(element):
    *limbs, m = struct.unpack("<4qb7x", element)
    value = 0.0
    for i in (3, 2, 1, 0):
        value += math.ldexp(float(limbs[i]), 40 * (m - 3 + i))
    return value


def bytes_of(op, kind):
    return 40 if op == FLT_REPSUM else struct.calcsize(kind)


def pack(op, kind, elements):
    if op == FLT_REPSUM:
        return b"".join(map(to_limbs, elements))
    return struct.pack(f"<{len(elements)}{is_signed(op, kind)}", *on_the_wire(op, kind, elements))


def unpack(op, kind, count, data):
    if op == FLT_REPSUM:
        return [from_limbs(data[at : at + 40]) for at in range(0, 40 * count, 40)]
    return off_the_wire(op, kind, struct.unpack_from(f"<{count}{is_signed(op, kind)}", data))


def is_wide_only(op, kind):
    """Whether frames of 32 bytes do not carry the operator for elements of this struct letter."""
    return op not in BITWISE and kind not in "qd" or kind == "Q" and op in (frames.INT_MIN, frames.INT_MAX)


def is_signed(op, kind):
    """The type that switches use: bits for bitwise operators, signed integers or floats for all
    others."""
    return kind.upper() if op in BITWISE else kind.lower()


def identity(op, kind):
    bits = 8 * struct.calcsize(kind)
    return {frames.BIT_AND: (1 << bits) - 1, frames.INT_MIN: (1 << bits - 1) - 1, frames.INT_MAX: -1 << bits - 1,
            frames.FLT_SUM: -0.0}.get(op, 0)  # fmt: skip


def on_the_wire(op, kind, elements):
    """Elements as the frame has them: unsigned ones of MIN and MAX with their highest bit inverted."""
    if kind.isupper() and op in (frames.INT_MIN, frames.INT_MAX):
        return [value - (1 << 8 * struct.calcsize(kind) - 1) for value in elements]
    return elements


def off_the_wire(op, kind, elements):
    if kind.isupper() and op in (frames.INT_MIN, frames.INT_MAX):
        return [value + (1 << 8 * struct.calcsize(kind) - 1) for value in elements]
    return elements


def combine(op, kind, a, b):
    """Combines two payloads of one operator; `kind` is the type of their elements."""
    if op == FLT_REPSUM:
        return b"".join(add_limbs(a[at : at + 40], b[at : at + 40]) for at in range(0, len(a), 40))
    letter = is_signed(op, kind)
    size = struct.calcsize(letter)
    xs, ys = (struct.unpack(f"<{len(p) // size}{letter}", p) for p in (a, b))
    if op == frames.BARRIER:
        return a
    if op in BITWISE:
        out = [BITWISE[op](x, y) for x, y in zip(xs, ys, strict=True)]
    elif op in (frames.INT_MIN, frames.INT_MAX):
        out = [(min if op == frames.INT_MIN else max)(x, y) for x, y in zip(xs, ys, strict=True)]
    elif op == frames.INT_SUM:
        half = 1 << 8 * size - 1
        out = [(x + y + half) % (2 * half) - half for x, y in zip(xs, ys, strict=True)]
    else:
        assert op == frames.FLT_SUM, f"operator 0x{op:x}"
        out = [x + y for x, y in zip(xs, ys, strict=True)]
    return struct.pack(f"<{len(out)}{letter}", *out)


@dataclass(frozen=True)
class Group:
    tree: int
    vni: int
    cookie: int
    size: int
    root_nid: int = 1
    payload: int = 32
    slots: int = 8
    in_switch_results: bool = False
    retry: float = 0.032
    result_timeout: float = 1.6
    collective_timeout: float = 20.0
    leave_grace: float = 4.8

    def expected(self, piece):
        return sum(signature(self.cookie, rank, piece) for rank in range(self.size)) & MASK56

    def includes_all(self, signatures, piece, mark):
        """Members that send no mark are accepted: the sum lacks it once for each."""
        return any(signatures == self.expected(piece) + unmarked * mark & MASK56 for unmarked in range(self.size + 1))


@dataclass
class Call:
    op: int
    kind: str
    result: list
    pieces: int = 0
    rc: int = 0

    @property
    def done(self):
        return self.pieces == 0


@dataclass
class Piece:
    number: int
    call: Call
    first: int  # element of the call
    elements: int
    wide: bool
    data: bytes  # as in memory: little-endian
    mark: int
    contributed: set = field(default_factory=set)


@dataclass
class Slot:
    """A member's state of a reduction id."""

    piece: Piece = None
    sequence: int = None  # the newest one received, or opened
    since: float = 0.0  # when that was
    # A leaf
    completed: int = NO_RESULT
    waits_for_arm: bool = False
    holds_back: bool = False
    questions: int = 0
    interval: float = 0.0
    at: float = float("inf")  # the request, or the retry
    # A root
    gathered: list = field(default_factory=list)  # contributions to this sequence
    last: dict = None  # the last result, as fields of a frame
    asked: float = float("-inf")
    refused: int = None


class Member:
    def __init__(self, group, rank, nid):
        self.group, self.rank, self.nid = group, rank, nid
        self.outbox, self.slots = [], [Slot() for _ in range(group.slots)]
        self.waiting, self.pieces, self.calls = [], 0, 0
        self.marks = False  # whether they may be sent
        self.now = time.monotonic()  # as in run; a time far back would be a retry at the first tick
        self.gone, self.phase = False, "active"
        self.ends = float("inf")  # end of the leave grace: a member silent until then has left
        self.counted = dict.fromkeys(("retries", "requests", "refused", "stale"), 0)

    # Calls are cut into pieces (collective.md)

    def start(self, op, kind="q", elements=()):
        """An allreduce; a BARRIER without elements."""
        call = Call(op, kind, [None] * len(elements))
        mark = call_mark(self.calls % 255, len(elements))
        self.calls += 1
        for piece in self._cut(call, list(elements), mark):
            call.pieces += 1
            self.waiting.append(piece)
        self._inject()
        return call

    def _cut(self, call, elements, mark):
        op, width = call.op, bytes_of(call.op, call.kind)
        if op == frames.BARRIER:
            yield Piece(None, call, 0, 0, False, bytes(32), mark)
            return
        in_one_frame = 1 if op == FLT_REPSUM else 32 // width
        wide = self.group.payload > 32 and (is_wide_only(op, call.kind) or len(elements) > in_one_frame)
        room = self.group.payload // width if wide else in_one_frame
        for first in range(0, len(elements), room):
            part = elements[first : first + room]
            data = pack(op, call.kind, part)
            length = max(40, -(-len(data) // 8) * 8) if wide else room * width
            if len(data) < length:  # never of a sum's limbs
                data += struct.pack(f"<{is_signed(op, call.kind)}", identity(op, call.kind)) * ((length - len(data)) // width)
            yield Piece(None, call, first, len(part), wide, data, mark)

    def _inject(self):
        """Piece k + S starts when piece k is complete."""
        while self.waiting and self.slots[self.pieces % self.group.slots].piece is None:
            piece = self.waiting.pop(0)
            piece.number = self.pieces
            self.pieces += 1
            slot = self.slots[piece.number % self.group.slots]
            slot.piece = piece
            self.begin(slot)

    def _complete(self, slot, data, rc):
        piece, slot.piece, slot.at = slot.piece, None, float("inf")
        call = piece.call
        call.pieces -= 1
        call.rc = max(call.rc, rc)
        if piece.elements:
            values = unpack(call.op, call.kind, piece.elements, data)
            call.result[piece.first : piece.first + piece.elements] = values
        return piece

    def leave(self):
        self.phase = "leaving"
        self._last_barrier()

    def _last_barrier(self):
        self.waiting.append(Piece(None, Call(frames.BARRIER, "q", [], 1), 0, 0, False, bytes(32), call_mark(LEAVING, 0)))
        self._inject()

    def _begin_leave_grace(self):
        self.phase = "leave_grace"
        self.ends = self.now + self.group.leave_grace
        if self.group.in_switch_results:
            self._last_barrier()

    def _leave_grace_is_over(self):
        if self.now >= self.ends and not self.gone:
            self._depart()

    def in_flight(self):
        return f"rank {self.rank}, {self.phase}", [slot for slot in self.slots if slot.piece]

    # Frames

    def receive(self, raw):
        """ValueError: it is not a reduction frame."""
        frame = frames.parse(raw)
        if not self.gone and (frame.tree, frame.vni, frame.cookie) == (self.group.tree, self.group.vni, self.group.cookie):
            self.take(self.slots[frame.reduction], frame)

    def id_of(self, slot):
        return next(i for i, one in enumerate(self.slots) if one is slot)

    def _send(self, slot, wide=False, data=bytes(32), **fields):
        own = {"tree": self.group.tree, "reduction": self.id_of(slot), "nid": self.nid, "vni": self.group.vni,
               "cookie": self.group.cookie, "rank": self.rank}  # fmt: skip
        if wide:
            form = FORMS[bytes_of(fields["op"], fields.pop("kind"))]
            self.outbox.append(bytes(frames.WideFrame(**own, **fields, form=form, payload=data)))
        else:
            fields.pop("kind", None)
            if fields["op"] == FLT_REPSUM:
                (fields["m"],) = struct.unpack("<b7x", data[32:])
            self.outbox.append(bytes(frames.Frame(**own, **fields, data=struct.unpack("<4Q", data[:32]))))

    def contribute(self, slot):
        piece = slot.piece
        piece.contributed.add(slot.sequence)
        signed = signature(self.group.cookie, self.rank, piece.number) + (piece.mark if self.marks else 0) & MASK56
        self._send(slot, piece.wide, piece.data, seqno=slot.sequence, resno=slot.sequence, op=piece.call.op, count=1,
                   signature=signed, dscp=self.dscp, kind=piece.call.kind)  # fmt: skip

    def fits(self, slot, frame):
        """Whether a frame has the form and length of the slot's piece."""
        wide, data = payload_of(frame)
        return wide == slot.piece.wide and len(data) == len(slot.piece.data)


def payload_of(frame):
    """(whether it is wide, bytes as in memory)"""
    wide = isinstance(frame, frames.WideFrame)
    if wide:
        return wide, frame.payload
    return wide, struct.pack("<4Q", *frame.data) + (struct.pack("<b7x", frame.m) if frame.op == FLT_REPSUM else b"")


class Leaf(Member):
    dscp = frames.DSCP_LEAF

    def begin(self, slot):
        slot.interval = 4 * self.group.retry
        heard = slot.sequence is not None and self.now - slot.since < self.group.collective_timeout
        slot.waits_for_arm = not heard or slot.holds_back
        if not slot.waits_for_arm:
            self._answer(slot)

    def _answer(self, slot):
        slot.waits_for_arm = False
        slot.at = self.now + slot.interval
        self.contribute(slot)

    def tick(self, now):
        self.now = now
        self._leave_grace_is_over()
        for slot in self.slots:
            if slot.piece and now >= slot.at:
                self.counted["requests"] += 1
                slot.interval = min(2 * slot.interval, self.group.result_timeout)
                slot.at = now + slot.interval
                self._send(slot, seqno=slot.sequence, resno=slot.sequence, op=frames.BARRIER, count=0, pad=RETRY_BIT)

    def take(self, slot, frame):
        if frame.nid != self.group.root_nid:
            return
        if frame.seqno == PRE_ARM:
            if frame.arm == 0 and frame.resno == NO_RESULT and frame.data[0] & 0xFF >= 2:
                raise ConnectionAbortedError(f"the root has ended the group: notice {frame.data}")
            return
        if not self.group.in_switch_results or frame.signature in (0, 1):
            self.marks = frame.signature == 1
        piece = slot.piece
        result = bool(piece and frame.count and frame.resno in piece.contributed and not slot.waits_for_arm)
        result = result and self.fits(slot, frame) and self._believes_result(frame, piece)
        if result:
            self._complete(slot, payload_of(frame)[1], frame.rc)
            slot.completed = frame.resno
        # With in-switch results: the root asks without having the result that completed here last.
        missed = (self.group.in_switch_results and not result and frame.pad & RETRY_BIT and slot.completed != NO_RESULT
                  and frame.resno != slot.completed
                  and not (piece and not slot.waits_for_arm and frame.resno in piece.contributed))  # fmt: skip
        if not self._follows(slot, frame.seqno):
            self.counted["stale"] += 1
        else:
            slot.sequence, slot.since, slot.holds_back = frame.seqno, self.now, missed
            if missed:
                self._report(slot)
            elif slot.piece and (slot.waits_for_arm or frame.pad & RETRY_BIT):
                self._answer(slot)
        if result:
            slot.questions = 0
            self._after_result(slot, piece)
            self._inject()

    def _report(self, slot):
        """Some members say that they have the result; each question goes to four times as many as
        the previous one."""
        slot.questions += 1
        newest = self.pieces - 1 - (self.pieces - 1 - self.id_of(slot)) % self.group.slots
        if (self.rank + newest) % self.group.size < 4**slot.questions:
            self._send(slot, seqno=slot.sequence, resno=slot.completed, op=frames.BARRIER, count=0, pad=RETRY_BIT)

    def _believes_result(self, frame, piece):
        if not self.group.in_switch_results or frame.signature in (0, 1):
            return True
        includes_all = frame.count == self.group.size and self.group.includes_all(frame.signature, piece.number, piece.mark)
        self.counted["refused"] += not includes_all
        return includes_all

    def _follows(self, slot, sequence):
        if sequence == slot.completed:
            return False
        if slot.sequence is None or newer(sequence, slot.sequence):
            return True
        return self.now - slot.since >= self.group.result_timeout or sequence == slot.sequence and slot.waits_for_arm

    def _after_result(self, slot, piece):
        if self.phase == "leaving" and not self.group.in_switch_results:
            number = piece.number + self.group.slots
            self._send(slot, seqno=slot.sequence, resno=slot.sequence, op=frames.BARRIER, count=1,
                       signature=signature(self.group.cookie, self.rank, number))  # fmt: skip
            self.gone = True
        elif self.phase == "leaving":
            self._begin_leave_grace()
        elif self.phase == "leave_grace":
            self._depart()

    def _depart(self):
        self.gone = True


class Root(Member):
    dscp = frames.DSCP_ROOT

    def __init__(self, group, rank, nid):
        super().__init__(group, rank, nid)
        self.marks = True
        self.leave_frames = []

    # Sequences

    def begin(self, slot):
        slot.interval = self.group.retry
        slot.refused = None
        if slot.sequence is None or self.now - slot.since >= self.group.collective_timeout / 2:
            self._ask(slot)
        else:
            slot.at = self.now + slot.interval
            self._contribute(slot)
            self._complete_slot(slot)

    def _open(self, slot, retry, arm=1):
        """Takes the next sequence and announces it, with the last result."""
        following = 0
        if slot.sequence is not None:  # with in-switch results, the one between is the switch's
            following = successor(successor(slot.sequence) if self.group.in_switch_results else slot.sequence)
        if slot.last and following == slot.last["resno"]:
            following = successor(following)
        slot.sequence, slot.since, slot.gathered = following, self.now, []
        last = slot.last or {"resno": NO_RESULT, "op": frames.BARRIER, "count": 0}
        self._send(slot, **last, seqno=following, arm=arm, pad=RETRY_BIT * retry, signature=1, dscp=self.dscp)

    def _ask(self, slot):
        self._open(slot, retry=True)
        slot.asked = self.now
        if slot.piece:
            slot.at = self.now + slot.interval
            self._contribute(slot)

    def _contribute(self, slot):
        if self.group.in_switch_results:
            self.contribute(slot)

    def tick(self, now):
        self.now = now
        self._leave_grace_is_over()
        for slot in self.slots:
            if slot.piece and now >= slot.at:
                self.counted["retries"] += 1
                slot.interval = min(2 * slot.interval, 32 * self.group.retry)
                self._ask(slot)

    # Frames

    def take(self, slot, frame):
        if frame.arm:
            if self.group.in_switch_results and frame.nid == self.nid and frame.count:
                self._take_in_switch(slot, frame)
        elif frame.count == 0:
            request = frame.pad & RETRY_BIT and frame.seqno == frame.resno
            if request and slot.last and self.now - slot.asked >= self.group.retry:
                self._ask(slot)
        elif frame.resno != slot.sequence:
            self.counted["stale"] += 1
        elif self.phase == "leave_grace" and not self.group.in_switch_results:
            self.leave_frames.append(frame)
            self._count_leave_frames()
        else:
            slot.gathered.append(frame)
            self._complete_slot(slot)

    def _complete_slot(self, slot):
        """Completes the reduction if each member was counted once."""
        piece, gathered = slot.piece, slot.gathered
        if piece is None or 1 + sum(frame.count for frame in gathered) < self.group.size:
            return
        own = signature(self.group.cookie, self.rank, piece.number) + piece.mark
        signatures = own + sum(frame.signature for frame in gathered) & MASK56
        count = 1 + sum(frame.count for frame in gathered)
        if count != self.group.size or not self.group.includes_all(signatures, piece.number, piece.mark):
            self.counted["refused"] += 1
            self._ask(slot)
            return
        data = piece.data
        for frame in gathered:
            assert frame.op == piece.call.op and self.fits(slot, frame), f"{frame} does not go with {piece}"
            data = combine(piece.call.op, piece.call.kind, data, payload_of(frame)[1])
        self._finish(slot, slot.sequence, data, max(frame.rc for frame in gathered), count)
        self._open(slot, retry=False)
        self._after_result(piece)

    def _finish(self, slot, resno, data, rc, count):
        piece = self._complete(slot, data, rc)
        slot.last = {"resno": resno, "op": piece.call.op, "count": count, "rc": rc, "wide": piece.wide, "data": data,
                     "kind": piece.call.kind}  # fmt: skip

    def _take_in_switch(self, slot, frame):
        """A result of the switch next to the root."""
        piece = slot.piece
        is_newer = slot.sequence is not None and newer(frame.seqno, slot.sequence)
        if piece and frame.resno in piece.contributed and frame.resno != slot.refused:
            includes_all = frame.count == self.group.size and self.group.includes_all(frame.signature, piece.number, piece.mark)
            if includes_all and self.fits(slot, frame):
                self._finish(slot, frame.resno, payload_of(frame)[1], frame.rc, frame.count)
                if is_newer:
                    slot.sequence = frame.seqno
                slot.since, slot.gathered = self.now, []
                self._after_result(piece)
            else:
                self._refuse(slot, frame)
        elif slot.last and frame.resno == slot.last["resno"] and is_newer:
            slot.sequence, slot.since, slot.gathered = frame.seqno, self.now, []
            if piece:
                slot.at = self.now + slot.interval
                self.contribute(slot)
        elif piece and is_newer:
            self._refuse(slot, frame)

    def _refuse(self, slot, frame):
        self.counted["refused"] += 1
        slot.refused = frame.resno
        self._send(slot, seqno=PRE_ARM, arm=1, pad=RETRY_BIT, resno=frame.resno, op=frames.BARRIER, count=0,
                   dscp=self.dscp)  # fmt: skip
        self._ask(slot)

    # Leaving

    def _after_result(self, piece):
        if self.phase == "leaving":
            self._begin_leave_grace()
        elif self.phase == "leave_grace":
            self._depart()
        else:
            self._inject()

    def _count_leave_frames(self):
        number = self.pieces - 1 + self.group.slots  # of a leave frame: the last BARRIER's id again
        expected = self.group.expected(number) - signature(self.group.cookie, self.rank, number) & MASK56
        if (sum(frame.count for frame in self.leave_frames) == self.group.size - 1
                and sum(frame.signature for frame in self.leave_frames) & MASK56 == expected):  # fmt: skip
            self._depart()

    def _depart(self):
        """Releases the engines."""
        for slot in self.slots:
            if slot.sequence is not None:
                self._open(slot, retry=False, arm=0)
        self.gone = True


def run(members, done, seconds=20.0):
    """Moves the frames of members, a RawPort each, until `done()`."""
    end = time.monotonic() + seconds
    ports = {port.socket: member for member, port in members.items()}
    while True:
        now = time.monotonic()
        for member, port in members.items():
            member.tick(now)
            port.send(*member.outbox)
            member.outbox.clear()
        if done():
            return
        if now > end:
            raise TimeoutError(f"{seconds:g} s are over; {[member.in_flight() for member in members]}")
        for ready in select.select(list(ports), [], [], 0.001)[0]:
            member = ports[ready]
            for raw in members[member].waiting():
                member.now = time.monotonic()
                with suppress(ValueError):  # a hello, or a frame that a link has damaged
                    member.receive(raw)
