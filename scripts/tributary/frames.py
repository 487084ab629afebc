"""Reduction and RDMA frames and capture files for scripts and tests.

An independent reading of docs/protocol/wire-format.md and rdma.md: nothing here is generated from, or
calls into, the C++ codecs, so that each checks the other.
"""

import struct
from dataclasses import dataclass, field

ETHERTYPE = 0x88B5
FRAME_BYTES = 94

BARRIER, BIT_AND, BIT_OR, BIT_XOR = 0x00, 0x01, 0x02, 0x03
INT_MIN, INT_MAX, INT_SUM = 0x10, 0x11, 0x14
FLT_SUM = 0x28

DSCP_ROOT, DSCP_LEAF = 8, 52


def multicast_address(tree, reduction=0):
    """The 32-bit DFA of one reduction of a tree; its id has up to seven bits."""
    return 0xFF800000 | (reduction >> 3 & 3) << 21 | (reduction & 7) << 18 | (reduction >> 5) << 16 | tree << 3 | 7


def unicast_address(nid, endpoint=0):
    return nid << 12 | endpoint


def checksum(header):
    """The IPv4 checksum of 20 bytes whose checksum field is zero."""
    total = sum(struct.unpack(">10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Frame:
    """One reduction frame; `bytes()` gives the 94 bytes a port sees."""

    tree: int = 0
    reduction: int = 0
    nid: int = 1
    vni: int = 0x400
    cookie: int = 0
    rank: int = 0
    seqno: int = 0
    resno: int = 0
    arm: int = 0
    op: int = INT_SUM
    count: int = 1
    rc: int = 0
    m: int = 0
    overflow_id: int = 0
    pad: int = 0
    signature: int = 0
    dscp: int = DSCP_LEAF
    data: tuple = (0, 0, 0, 0)
    ethertype: int = ETHERTYPE
    destination: bytes = bytes.fromhex("02fe00000001")
    source: bytes = field(default=None)

    def word(self):
        return (
            self.seqno
            | self.arm << 10
            | self.op << 11
            | self.count << 17
            | self.resno << 37
            | self.rc << 47
            | (self.m & 0xFF) << 51
            | self.overflow_id << 59
            | self.pad << 61
        )

    def __bytes__(self):
        header = bytearray(
            struct.pack(
                ">BBHHHBBHII",
                0x45,
                self.dscp << 2,
                80,
                self.vni,
                0,
                90,
                119,
                0,
                unicast_address(self.nid),
                multicast_address(self.tree, self.reduction),
            )
        )
        header[10:12] = struct.pack(">H", checksum(header))
        source = self.source or b"\x02\x00\x00" + self.nid.to_bytes(3, "big")
        return b"".join(
            (
                self.destination,
                source,
                struct.pack(">H", self.ethertype),
                bytes(header),
                b"\xcd\x00",
                self.signature.to_bytes(7, "big"),
                struct.pack(">H", 49),
                b"\x00",
                struct.pack("<I", self.rank),
                struct.pack(">IQ", self.cookie, self.word()),
                struct.pack(">4Q", *(v & (1 << 64) - 1 for v in self.data)),
            )
        )


BITS64, BITS32, BITS16, BITS8, BFLOAT16, TUPLE, REPSUM = range(1, 8)


@dataclass
class WideFrame(Frame):
    """A reduction frame whose payload is a vector: little-endian elements of one form."""

    form: int = BITS32
    payload: bytes = bytes(40)

    def __bytes__(self):
        out = bytearray(super().__bytes__()[:62])
        out[16:18] = struct.pack(">H", 48 + len(self.payload))
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack(">H", checksum(bytes(out[14:34])))
        out[43:46] = struct.pack(">HB", (17 + len(self.payload)) & 0xFFF, self.form)
        return bytes(out) + self.payload


def arm(**fields):
    """A root's frame that arms the tree's engines and carries no result."""
    return Frame(**{"arm": 1, "count": 0, "op": BARRIER, "dscp": DSCP_ROOT, **fields})


def unicast(nid, to_nid, payload, vni=0x400):
    """A frame from one host to another; it is not a reduction's, whatever the payload."""
    header = bytearray(
        struct.pack(
            ">BBHHHBBHII", 0x45, 0, 20 + len(payload), vni, 0, 90, 119, 0, unicast_address(nid), unicast_address(to_nid)
        )
    )
    header[10:12] = struct.pack(">H", checksum(header))
    macs = bytes.fromhex("02fe00000001") + b"\x02\x00\x00" + (nid & 0xFFFFFF).to_bytes(3, "big")
    return macs + struct.pack(">H", ETHERTYPE) + bytes(header) + payload


def crc32c(data, table=[]):  # noqa: B006: computed once
    """Castagnoli's CRC."""
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
            table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


RQT, RSP, WR, RESEND, DONE, RD_RQT, PROG, QUERY, NOCTX, FIN, ABORT = range(1, 12)
LAST, RESENT, RANGE, BUSY, ACK_PLEASE, IMMEDIATE, TO_SINK = (1 << bit for bit in range(7))


@dataclass
class RdmaFrame:
    """One RDMA frame; `bytes()` is the frame that a port sees."""

    kind: int
    flags: int = 0
    dcid: int = 0
    scid: int = 0
    generation: int = 0
    message: int = 0
    pidx: int = 0
    word: int = 0
    value: int = 0
    payload: bytes = b""
    nid: int = 0  # of the sender
    to_nid: int = 0
    vni: int = 0x400
    trimmed: bool = False

    def __bytes__(self):
        body = struct.pack("<BBHHHIIQI", 0x20 | self.kind, self.flags, self.dcid, self.scid, self.generation,
                           self.message, self.pidx, self.word, self.value)  # fmt: skip
        out = bytearray(unicast(self.nid, self.to_nid, bytes(36) + self.payload, self.vni))
        out[:6] = b"\x02\0\0" + self.to_nid.to_bytes(3, "big")
        covered = bytes(out[26:34] + out[18:20]) + body
        out[34:38] = struct.pack("<BBH", 0xD1, 0, crc32c(covered) & 0xFFFF)
        out[38:70] = body + struct.pack("<I", crc32c(covered + self.payload))
        return bytes(out)


def parse_rdma(raw):
    """The RdmaFrame in `raw`, or ValueError with the reason why it is not one."""
    if len(raw) < 70 or raw[14] != 0x45 or raw[34] != 0xD1 or raw[38] >> 4 != 2:
        raise ValueError("no RDMA frame")
    total, vni, sfa, dfa = struct.unpack(">HH", raw[16:20]) + struct.unpack(">II", raw[26:34])
    if total < 56 or len(raw) < 14 + total or dfa >> 23 == 0x1FF:
        raise ValueError("its length or its address is wrong")
    payload, trimmed = raw[70 : 14 + total], raw[35] == 1
    covered = raw[26:34] + raw[18:20] + raw[38:66]
    if trimmed and payload or struct.unpack("<H", raw[36:38])[0] != crc32c(covered) & 0xFFFF:
        raise ValueError("a mark beside a payload, or a wrong header check")
    if not trimmed and struct.unpack("<I", raw[66:70])[0] != crc32c(covered + payload):
        raise ValueError("a wrong CRC")
    first, *rest = struct.unpack("<BBHHHIIQI", raw[38:66])
    return RdmaFrame(first & 15, *rest, payload=payload, nid=sfa >> 12, to_nid=dfa >> 12, vni=vni, trimmed=trimmed)


def parse(raw):
    """The Frame or WideFrame in `raw`, or ValueError with the reason why it is not one."""
    if len(raw) < FRAME_BYTES:
        raise ValueError(f"{len(raw)} bytes, a reduction frame has {FRAME_BYTES}")
    packet = raw[14:]
    if packet[0] != 0x45:
        raise ValueError(f"version and header length 0x{packet[0]:02x}, not 0x45")
    header = bytearray(packet[:20])
    header[10:12] = b"\x00\x00"
    if struct.pack(">H", checksum(header)) != packet[10:12]:
        raise ValueError("header checksum is wrong")
    sfa, dfa = struct.unpack(">II", packet[12:20])
    if dfa >> 23 != 0x1FF or dfa & 7 != 7:
        raise ValueError(f"DFA 0x{dfa:08x} is not a multicast address")
    (word,) = struct.unpack(">Q", packet[40:48])
    m = word >> 51 & 0xFF
    total_length, request_length = struct.unpack(">H", packet[2:4])[0], struct.unpack(">H", packet[29:31])[0] & 0xFFF
    kind, payload = Frame, {"data": struct.unpack(">4Q", packet[48:80])}
    if total_length != FRAME_BYTES - 14:
        kind, payload = WideFrame, {"form": packet[31], "payload": packet[48:total_length]}
        if len(packet) < total_length:
            raise ValueError(f"{len(packet)} bytes behind the Ethernet header, its total length is {total_length}")
    if request_length != (total_length - 31) & 0xFFF:
        raise ValueError(f"request length {request_length} beside a total length of {total_length}")
    return kind(
        tree=dfa >> 3 & 0x1FFF,
        reduction=dfa >> 18 & 7 | (dfa >> 21 & 3) << 3 | (dfa >> 16 & 3) << 5,
        nid=sfa >> 12,
        vni=struct.unpack(">H", packet[4:6])[0],
        cookie=struct.unpack(">I", packet[36:40])[0],
        rank=struct.unpack("<I", packet[32:36])[0],
        seqno=word & 0x3FF,
        arm=word >> 10 & 1,
        op=word >> 11 & 0x3F,
        count=word >> 17 & 0xFFFFF,
        resno=word >> 37 & 0x3FF,
        rc=word >> 47 & 0xF,
        m=m - 256 if m > 127 else m,
        overflow_id=word >> 59 & 3,
        pad=word >> 61 & 7,
        signature=int.from_bytes(packet[22:29], "big"),
        dscp=packet[1] >> 2,
        ethertype=struct.unpack(">H", raw[12:14])[0],
        destination=raw[:6],
        source=raw[6:12],
        **payload,
    )


def write_pcap(path, frames):
    """Writes an Ethernet capture of the given byte strings, all at time zero."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            out.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def read_pcap(path):
    """The frames of a classic little-endian capture, as byte strings."""
    frames = []
    with open(path, "rb") as capture:
        if capture.read(24)[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
            raise ValueError(f"{path}: not a little-endian pcap file")
        while header := capture.read(16):
            frames.append(capture.read(struct.unpack("<IIII", header)[2]))
    return frames
