"""A host's end of RDMA, written from docs/protocol/rdma.md alone, so that the page and the host library check each other.

It shares no code with the library. It is pure, as Member of independent_host.py is: `receive` takes a frame, `tick` a
time, both leave frames in `outbox`.

    host = RdmaHost(nid=1, vni=0x400)
    region = host.serve(bytearray(1000))              32 bytes: others may write it and read it
    written = host.write(region_of_peer, 0, b"...")    .done, .status
    read = host.read(region_of_peer, 0, 1000)          .data
"""

import hashlib
import os
import struct
import time
from dataclasses import dataclass, field

from tributary.frames import (
    ABORT, ACK_PLEASE, BUSY, DONE, FIN, IMMEDIATE, LAST, NOCTX, PROG, QUERY, RANGE, RD_RQT, RESEND, RESENT, RQT, RSP,
    TO_SINK, WR, RdmaFrame, parse_rdma,
)  # fmt: skip

PAYLOAD = 1444
WINDOW = 128
MOST_CREDIT = 1025  # behind WBASE, whatever a sink sends
TIMEOUT = 0.02
OK, WRONG_KEY, OUT_OF_BOUNDS, NO_RIGHT, LENGTH_MISMATCH, BAD_FRAME_SIZE, UNPROVEN = 0, 2, 3, 4, 6, 7, 13
MAY_WRITE, MAY_READ = 1, 2


def is_newer(a, b):
    """Serial arithmetic on 32 bits."""
    return 1 <= (a - b) & 0xFFFFFFFF < 1 << 31


def drawn(size):
    return int.from_bytes(os.urandom(size), "little")


@dataclass
class Region:
    """The 32-byte description of a host's memory."""

    nid: int
    vni: int
    rights: int
    key: int
    length: int

    def __bytes__(self):
        return struct.pack("<4sIHHIQQ", b"TRr1", self.nid, self.vni, self.rights, 0, self.key, self.length)

    @classmethod
    def of(cls, handle):
        magic, nid, vni, rights, _, key, length = struct.unpack("<4sIHHIQQ", handle)
        assert magic == b"TRr1", handle
        return cls(nid, vni, rights, key, length)


@dataclass
class Transfer:
    """One end of a transfer: the source's or the sink's."""

    peer: int
    message: int
    frames: int = 0
    payload: int = PAYLOAD
    memory: bytearray = None
    start: int = 0  # where it begins in the memory
    length: int = 0
    context: int = 0  # the peer's; of a source that has not begun, half of its nonce
    generation: int = 0  # the sink's; of a source that has not begun, the other half
    credit: int = 0
    at: float = 0.0  # the timer
    tries: int = 0
    done: bool = False
    status: int = None
    # A source
    region: Region = None
    offset: int = 0  # in the peer's region
    immediate: int = None
    begun: bool = False
    next: int = 0
    again: set = field(default_factory=set)
    # A sink
    reads: bool = False
    nonce: int = 0  # of the request
    incarnation: int = 0  # in it
    slot: int = 0
    base: int = 0
    came: set = field(default_factory=set)
    stamp: int = 0
    announced: int = 0

    @property
    def data(self):
        return bytes(self.memory[self.start : self.start + self.length])

    def part(self, pidx):
        at = self.start + pidx * self.payload
        return slice(at, min(at + self.payload, self.start + self.length))


def frames_of(length, payload):
    return max(1, -(-length // payload))


class RdmaHost:
    def __init__(self, nid, vni):
        self.nid, self.vni = nid, vni
        self.incarnation, self.secret, self.next_message = drawn(8), os.urandom(16), drawn(4)
        self.outbox, self.now = [], time.monotonic()
        self.regions = {}  # by key
        self.sources, self.sinks = {}, {}  # by context
        self.finished = {}  # of a peer's context: MSGID, and name and generation of the context here
        self.slots = {}  # of a peer's queue: the last MSGID
        self.known, self.restarts = {}, {}  # of a peer: the incarnation that it has shown; how many there were before
        self.proofs = {}  # what peers requested
        self.counted = dict.fromkeys(("resent", "asked", "trimmed", "queries", "challenged", "challenges"), 0)

    # What a program calls

    def serve(self, memory, rights=MAY_WRITE | MAY_READ):
        region = Region(self.nid, self.vni, rights, drawn(8), len(memory))
        self.regions[region.key] = (region, memory)
        return bytes(region)

    def write(self, handle, offset, data, immediate=None):
        region = Region.of(handle)
        one = self._begin(self.sources, region.nid, memory=bytearray(data), length=len(data), region=region, offset=offset,
                          immediate=immediate)  # fmt: skip
        one.frames = frames_of(one.length, one.payload)
        self._draw_nonce(one)
        self._request(one)
        return one

    def read(self, handle, offset, length):
        region = Region.of(handle)
        one = self._begin(self.sinks, region.nid, memory=bytearray(length), length=length, region=region, offset=offset,
                          reads=True, generation=drawn(2))  # fmt: skip
        one.frames = frames_of(one.length, one.payload)
        self._request(one)
        return one

    def _begin(self, where, peer, **fields):
        own = next(n for n in iter(lambda: drawn(2), None) if n not in where)
        self.next_message = self.next_message + 1 & 0xFFFFFFFF
        where[own] = Transfer(peer, self.next_message, **fields)
        where[own].own = own
        return where[own]

    def _draw_nonce(self, one):
        one.context, one.generation = drawn(2), drawn(2)

    def in_flight(self):
        return f"NID {self.nid}", self.sources, self.sinks

    # Frames

    def _send(self, peer, kind, **fields):
        self.outbox.append(bytes(RdmaFrame(kind, **fields, nid=self.nid, to_nid=peer, vni=self.vni)))

    def _to(self, one, kind, **fields):
        """A frame of this end of a transfer."""
        self._send(one.peer, kind, dcid=one.context, scid=one.own, generation=one.generation, message=one.message, **fields)

    def _request(self, one):
        one.tries += 1
        one.at = self.now + TIMEOUT * min(one.tries, 8)
        grant = min(one.frames, one.base + WINDOW) if one.reads else 0
        body = struct.pack("<QQQQIIHHI", one.region.key, one.immediate or 0, self.incarnation,
                           self.proofs.get(one.peer, 0), one.length >> 32, grant, one.payload,
                           one.own if one.reads else 0, 0)  # fmt: skip
        flags = IMMEDIATE if one.immediate is not None else 0
        self._send(one.peer, RD_RQT if one.reads else RQT, flags=flags, dcid=0 if one.reads else one.context, scid=one.own,
                   generation=one.generation, message=one.message, pidx=one.frames, word=one.offset,
                   value=one.length & 0xFFFFFFFF, payload=body)  # fmt: skip

    def receive(self, raw):
        frame = parse_rdma(raw)
        if frame.to_nid != self.nid or frame.vni != self.vni or frame.trimmed and frame.kind != WR:
            return
        if frame.kind == RQT:
            self._take_request(frame)
        elif frame.kind == RD_RQT:
            self._take_read(frame)
        elif frame.kind in (WR, QUERY) or frame.flags & TO_SINK:
            self._to_sink(frame)
        elif frame.kind in (RSP, RESEND, PROG, DONE, NOCTX, ABORT):
            self._to_source(frame)
        elif frame.kind == FIN and self.finished.get((frame.nid, frame.scid)) == (frame.message, frame.dcid, frame.generation):
            del self.finished[frame.nid, frame.scid]

    def _answer(self, frame, kind, **fields):
        """To a frame that needs no context here."""
        self._send(frame.nid, kind, dcid=frame.scid, scid=frame.dcid, generation=frame.generation, message=frame.message,
                   **fields)  # fmt: skip

    # Sources

    def _to_source(self, frame):
        one = self.sources.get(frame.dcid)
        agrees = frame.kind == RSP and not frame.flags & BUSY and frame.word & 0xFF == OK
        if one is None or (one.peer, one.message) != (frame.nid, frame.message):
            if frame.kind in (RESEND, PROG) or agrees:
                self._answer(frame, NOCTX, flags=TO_SINK)
            return
        if not one.begun and (agrees or frame.kind == RESEND) and frame.word >> 32 == one.generation << 16 | one.context:
            one.begun, one.context, one.generation = True, frame.scid, frame.generation
        if (frame.scid, frame.generation) != (one.context, one.generation):
            if agrees:
                self._answer(frame, NOCTX, flags=TO_SINK)
            return
        if agrees or frame.kind in (RESEND, PROG):
            if one.begun and frame.pidx <= one.next:
                self._take_credit(one, frame)
        elif frame.kind == DONE:
            self._end_source(one, OK)
            if one.region:
                self._answer(frame, FIN)
        elif frame.kind == ABORT:
            self._end_source(one, frame.word & 0xFF)
        elif frame.kind == NOCTX and one.begun:
            one.begun, one.next, one.credit, one.again = False, 0, 0, set()
            if one.region:
                self._draw_nonce(one)
                self._request(one)
            else:
                self._end_source(one, OK)
        elif frame.kind == RSP and not one.begun and not self._repeats(one, frame):
            self._end_source(one, frame.word & 0xFF)

    def _repeats(self, one, frame):
        """Whether a request is to be sent again, after an RSP that does not agree."""
        status = frame.word & 0xFF
        if frame.flags & BUSY:
            one.at = self.now + (frame.word >> 32) / 1e6
            return True
        if status == UNPROVEN:
            self.counted["challenges"] += 1
            self.proofs[one.peer] = frame.pidx << 32 | frame.value
        elif status == BAD_FRAME_SIZE and 0 < frame.value < one.payload and not one.came:
            one.payload = frame.value
            one.frames = frames_of(one.length, one.payload)
        else:
            return False
        self._request(one)
        return True

    def _take_credit(self, one, frame):
        one.credit = max(one.credit, min(frame.value, frame.pidx + MOST_CREDIT))
        one.tries, one.at = 0, self.now + 4 * TIMEOUT
        if frame.kind == RESEND:
            bits = int.from_bytes(frame.payload, "little") or (0 if frame.flags & RANGE or frame.payload else 1)
            wanted = {frame.pidx + i for i in range(bits.bit_length()) if bits >> i & 1}
            if frame.flags & RANGE:
                wanted |= set(range(frame.pidx + 8 * len(frame.payload), one.next))
            one.again |= {pidx for pidx in wanted if pidx < one.next}
            if not one.again:
                self._to(one, QUERY, pidx=one.next)  # it is alive
        self._push(one)

    def _push(self, one):
        """Sends all that may be sent."""
        for pidx in sorted(one.again):
            self._data(one, pidx, RESENT)
        self.counted["resent"] += len(one.again)
        one.again.clear()
        while one.next < min(one.credit, one.frames):
            self._data(one, one.next, 0)
            one.next += 1

    def _data(self, one, pidx, flags):
        last = LAST if pidx == one.frames - 1 else 0
        self._to(one, WR, flags=flags | last, pidx=pidx, word=time.monotonic_ns(), payload=bytes(one.memory[one.part(pidx)]))

    def _end_source(self, one, status):
        one.done, one.status = True, status
        self.sources.pop(one.own, None)

    # Requests of peers

    def _asked(self, frame, right):
        """(memory, request) of a request that may be served; otherwise it is answered, and None."""
        key, _, incarnation, proof, high, credit, payload, slot, _ = struct.unpack("<QQQQIIHHI", frame.payload)
        length = high << 32 | frame.value
        region, memory = self.regions.get(key, (None, None))
        flags = TO_SINK if right == MAY_READ else 0
        status = OK
        if not 0 < payload <= PAYLOAD:
            status = BAD_FRAME_SIZE
        elif frames_of(length, payload) != frame.pidx:
            status = LENGTH_MISMATCH
        elif region is None:
            status = WRONG_KEY
        elif not region.rights & right:
            status = NO_RIGHT
        elif frame.word + length > region.length:
            status = OUT_OF_BOUNDS
        if status:
            self._answer(frame, RSP, flags=flags, word=status, value=PAYLOAD if status == BAD_FRAME_SIZE else 0)
            return None
        shown = self.known.get(frame.nid)
        if shown != incarnation:
            text = struct.pack("<IQI", frame.nid, incarnation, self.restarts.get(frame.nid, 0))
            wanted = int.from_bytes(hashlib.blake2b(text, digest_size=8, key=self.secret).digest(), "little") or 1
            if proof == wanted:
                if shown is not None:
                    self.restarts[frame.nid] = self.restarts.get(frame.nid, 0) + 1
                    self._forget(frame.nid)
                self.known[frame.nid] = incarnation
            elif shown is not None or right == MAY_READ:
                self.counted["challenged"] += 1
                self._answer(frame, RSP, flags=flags, word=UNPROVEN, pidx=wanted >> 32, value=wanted & 0xFFFFFFFF)
                return None
        return memory, length, payload, credit, slot, incarnation

    def _forget(self, peer):
        """Its former incarnation."""
        for where in (self.sources, self.sinks):
            for own in [own for own, one in where.items() if one.peer == peer and one.region is None]:
                del where[own]
        for where in (self.finished, self.slots):
            for key in [key for key in where if key[0] == peer]:
                del where[key]

    def _take_read(self, frame):
        slot, incarnation = struct.unpack("<H", frame.payload[42:44])[0], struct.unpack("<Q", frame.payload[16:24])[0]
        last = self.slots.get((frame.nid, slot))
        if last is not None and self.known.get(frame.nid) == incarnation and not is_newer(frame.message, last):
            for one in self.sources.values():
                if one.region is None and one.peer == frame.nid and one.message == frame.message == last:
                    one.again.add(0)
                    self._push(one)
            return
        request = self._asked(frame, MAY_READ)
        if request is None:
            return
        memory, length, payload, credit, slot, _ = request
        for one in [one for one in self.sources.values() if one.region is None and (one.peer, one.slot) == (frame.nid, slot)]:
            del self.sources[one.own]
        one = self._begin(self.sources, frame.nid, memory=memory, start=frame.word, length=length, payload=payload,
                          frames=frame.pidx, begun=True, context=frame.scid, generation=frame.generation,
                          credit=min(credit, MOST_CREDIT), at=self.now + 4 * TIMEOUT)  # fmt: skip
        one.message, one.slot = frame.message, slot
        self.slots[frame.nid, slot] = frame.message
        self._push(one)

    # Sinks

    def _take_request(self, frame):
        incarnation = struct.unpack("<Q", frame.payload[16:24])[0]
        if self.known.get(frame.nid, incarnation) == incarnation:
            last = self.finished.get((frame.nid, frame.scid))
            if last and last[0] == frame.message:
                self._answer(frame, DONE)
                return
            if last and not is_newer(frame.message, last[0]):
                return
            for one in list(self.sinks.values()):
                if (one.peer, one.context) == (frame.nid, frame.scid) and not one.reads:
                    if one.message == frame.message:
                        one.nonce = frame.generation << 16 | frame.dcid
                        self._to(one, RSP, pidx=one.base, word=self._echo(one), value=self._grant(one))
                        return
                    del self.sinks[one.own]
        request = self._asked(frame, MAY_WRITE)
        if request is None:
            return
        memory, length, payload, _, _, incarnation = request
        one = self._begin(self.sinks, frame.nid, memory=memory, start=frame.word, length=length, payload=payload,
                          frames=frame.pidx, context=frame.scid, generation=drawn(2), incarnation=incarnation,
                          nonce=frame.generation << 16 | frame.dcid, at=self.now + TIMEOUT)  # fmt: skip
        one.message = frame.message
        self._to(one, RSP, word=self._echo(one), value=self._grant(one))

    @staticmethod
    def _echo(one):
        """The nonce, until data has arrived."""
        return 0 if one.reads or one.base or one.came else one.nonce << 32

    def _grant(self, one):
        one.announced = min(one.frames, one.base + WINDOW)
        return one.announced

    def _to_sink(self, frame):
        one = self.sinks.get(frame.dcid)
        known = one and (one.peer, one.message, one.generation) == (frame.nid, frame.message, frame.generation)
        if not known or not one.reads and one.context != frame.scid:
            if frame.kind == QUERY and frame.flags & ACK_PLEASE:
                last = self.finished.get((frame.nid, frame.scid))
                self._answer(frame, DONE if last and last[0] == frame.message else NOCTX)
            return
        if frame.kind in (WR, QUERY):
            one.context = frame.scid
            if not one.reads:
                self.known[one.peer] = one.incarnation  # it has the context's name and generation
        if frame.kind == WR:
            self._take_data(one, frame)
        elif frame.kind == QUERY and frame.flags & ACK_PLEASE:
            missing = frame.pidx > one.base
            self._ask(one) if missing else self._to(one, PROG, pidx=one.base, word=one.stamp, value=self._grant(one))
        elif frame.kind == RSP and one.reads and self._repeats(one, frame):
            return
        elif frame.kind == NOCTX and one.reads:
            self._request(one)
        elif frame.kind in (RSP, ABORT):
            one.done, one.status = True, frame.word & 0xFF
            del self.sinks[one.own]

    def _take_data(self, one, frame):
        if frame.pidx >= one.frames or one.base + WINDOW < frame.pidx:
            return
        if frame.trimmed:
            self.counted["trimmed"] += 1
            bits = 1 << frame.pidx - one.base if frame.pidx >= one.base and frame.pidx not in one.came else 0
            if bits:
                self._resend(one, bits)
            return
        place = one.part(frame.pidx)
        if frame.pidx < one.base or frame.pidx in one.came or len(frame.payload) != place.stop - place.start:
            return
        one.memory[place] = frame.payload
        one.stamp = frame.word
        one.came.add(frame.pidx)
        one.tries, one.at = 0, self.now + TIMEOUT
        while one.base in one.came:
            one.came.discard(one.base)
            one.base += 1
        if one.base == one.frames:
            self._to(one, DONE, pidx=one.base, word=one.stamp)
            one.done, one.status = True, OK
            del self.sinks[one.own]
            if not one.reads:
                self.finished[one.peer, one.context] = (one.message, one.own, one.generation)
        elif min(one.frames, one.base + WINDOW) - one.announced >= WINDOW // 4:
            self._to(one, PROG, pidx=one.base, word=one.stamp, value=self._grant(one))

    def _resend(self, one, bits, flags=0):
        self.counted["asked"] += 1
        words = bits.to_bytes(-(-max(bits.bit_length(), 1) // 64) * 8, "little")
        self._to(one, RESEND, flags=flags, pidx=one.base, word=self._echo(one), value=self._grant(one), payload=words)

    def _ask(self, one):
        """For all that is missing, and whatever was sent beyond."""
        newest = max(one.came, default=one.base)
        self._resend(one, sum(1 << pidx - one.base for pidx in range(one.base, newest + 1) if pidx not in one.came), RANGE)

    def tick(self, now):
        self.now = now
        for one in [*self.sources.values(), *self.sinks.values()]:
            if now < one.at:
                continue
            if one.own in self.sources and self.sources[one.own] is one:
                if one.begun:
                    self.counted["queries"] += 1
                    one.at = now + 4 * TIMEOUT
                    self._to(one, QUERY, flags=ACK_PLEASE, pidx=one.next)
                else:
                    self._request(one)
            elif one.reads and not one.base and not one.came:
                self._request(one)
            else:
                one.tries += 1
                one.at = now + TIMEOUT * min(one.tries, 8)
                self._ask(one)
