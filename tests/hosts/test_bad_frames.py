"""Invalid frames are dropped with their own reason, and the rest continues."""

import struct

from lab import TREE
from tributary import frames


def test_each_refusal_has_its_own_counter(lab):
    section = lab.star(2)
    section.tree(TREE + 1, 1, "host0", ["host1"])
    switch = lab.start()
    good = lab.contribution(0)
    raw = bytes(good)

    def resealed(frame, at, value):
        """`frame` with bytes at an offset of the fabric header replaced, its checksum right again."""
        out = bytearray(frame)
        out[14 + at : 14 + at + len(value)] = value
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack(">H", frames.checksum(bytes(out[14:34])))
        return bytes(out)

    bad = {
        "truncated": raw[:80],
        "bad_version": raw[:14] + b"\x46" + raw[15:],
        "bad_length": resealed(raw, 2, b"\x00\x51"),
        "bad_checksum": raw[:22] + b"\x11" + raw[23:],
        "bad_request": raw[:44] + b"\x30" + raw[45:],
        "source_guard": bytes(lab.contribution(0, nid=99)),
        "vni_not_permitted": bytes(lab.contribution(0, vni=0x500)),
        "unknown_tree": bytes(lab.contribution(0, tree=4000)),
        "arm_from_child": bytes(lab.contribution(0, arm=1)),
    }
    for reason, frame in bad.items():
        before = lab.counters(switch)
        lab.leaves[0].send(frame)
        lab.counter_reaches(switch, f"leaf0.port.host1.drop.{reason}", 1)
        after = lab.counters(switch)
        rose = [n for n in after if ".drop." in n and after[n] != before[n]]
        assert rose == [f"leaf0.port.host1.drop.{reason}"], f"{reason}: {rose}"
    # From a port that is not on the tree.
    lab.leaves[1].send(lab.contribution(1, tree=TREE + 1))
    lab.counter_reaches(switch, "leaf0.port.host2.drop.not_on_tree", 1)

    assert lab.root.nothing_more() == [], "a refused frame reached the root"
    got, expected = lab.reduce(switch)
    assert got == expected


def test_an_oversized_frame_counts_as_the_contribution_it_begins_with(lab):
    """Bytes past the 94th are ignored (docs/protocol/wire-format.md)."""
    lab.star(2)
    lab.start()
    lab.arm_tree()
    lab.leaves[0].send(bytes(lab.contribution(0)) + bytes(500))
    lab.leaves[1].send(lab.contribution(1))
    result = frames.parse(lab.root.receive()[0])
    assert (result.count, result.data[0]) == (2, 1 + 2)
