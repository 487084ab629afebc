"""Ordinary multicast frames of any size, made of the reduction frames of scripts/tributary."""

import struct

from tributary import frames

ETHERNET_BYTES, HEADER_BYTES = 14, 20
TOTAL_LENGTH_OFFSET, CHECKSUM_OFFSET = 2, 10


def multicast(tree, size, **fields):
    """`size` bytes, without the frame check sequence, all of which the fabric header accounts for."""
    raw = bytes(frames.Frame(tree=tree, **fields))
    header = bytearray(raw[ETHERNET_BYTES:ETHERNET_BYTES + HEADER_BYTES])
    struct.pack_into(">H", header, TOTAL_LENGTH_OFFSET, size - ETHERNET_BYTES)
    struct.pack_into(">H", header, CHECKSUM_OFFSET, 0)
    struct.pack_into(">H", header, CHECKSUM_OFFSET, frames.checksum(header))
    whole = raw[:ETHERNET_BYTES] + bytes(header) + raw[ETHERNET_BYTES + HEADER_BYTES:]
    return whole[:size].ljust(size, b"\x5a")
