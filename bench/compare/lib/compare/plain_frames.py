"""Ordinary frames of any size, derived from the reduction frames of scripts/tributary."""

import struct

from tributary import frames

ETHERNET_BYTES, HEADER_BYTES = 14, 20
TOTAL_LENGTH_OFFSET, CHECKSUM_OFFSET, DESTINATION_OFFSET = 2, 10, 16


def resized(raw, size, destination=None):
    """`size` bytes, without the frame check sequence, all of which the fabric header's length
    covers."""
    header = bytearray(raw[ETHERNET_BYTES:ETHERNET_BYTES + HEADER_BYTES])
    struct.pack_into(">H", header, TOTAL_LENGTH_OFFSET, size - ETHERNET_BYTES)
    if destination is not None:
        struct.pack_into(">I", header, DESTINATION_OFFSET, destination)
    struct.pack_into(">H", header, CHECKSUM_OFFSET, 0)
    struct.pack_into(">H", header, CHECKSUM_OFFSET, frames.checksum(header))
    whole = raw[:ETHERNET_BYTES] + bytes(header) + raw[ETHERNET_BYTES + HEADER_BYTES:]
    return whole[:size].ljust(size, b"\x5a")


def multicast(tree, size, **fields):
    return resized(bytes(frames.Frame(tree=tree, **fields)), size)


def unicast(source, destination, size):
    """A frame from one NID to another."""
    return resized(bytes(frames.Frame(nid=source)), size, frames.unicast_address(destination))
