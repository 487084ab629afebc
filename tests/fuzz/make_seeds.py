#!/usr/bin/env python3
"""Writes the hand-made seeds of tests/fuzz/corpus: one file per situation, named after it. Run it
after a change of what the targets make of their bytes (codec.cpp, core_world.cpp).
"""

import pathlib
import struct
import sys

CORPUS = pathlib.Path(__file__).parent / "corpus"
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))

INT_SUM, FLT_SUM, REPSUM, BARRIER, RESERVED = 0x14, 0x28, 0x30, 0x00, 0x05
PARENT = {tree: tree % 2 for tree in range(7)}  # of the first table variant


def frame(tree, *, arm=False, sequence=0, op=INT_SUM, count=1, nid=1, reduction=0, cookie=0, vni=0):
    """CoreWorld::made_frame."""
    choice = (
        nid | tree << 2 | reduction << 5 | sequence << 6 | (0 if arm else 1) << 8
        | (0 if cookie else 1) << 10 | (0 if vni else 1) << 13
    )
    return struct.pack("<HBB", choice, op, count)


def give(port, made):
    return bytes([5, port]) + made


def arm(tree, **fields):
    return give(PARENT[tree], frame(tree, arm=True, count=0, **fields))


def contribute(tree, **fields):
    return give(2, frame(tree, **fields))


def disarm(tree, **fields):
    return give(PARENT[tree], frame(tree, count=0, **fields))


def burst(port, frames):
    return bytes([1, port, len(frames) - 1]) + b"".join(frames)


def wait(units_of_64_ns):
    return bytes([2, 0]) + struct.pack("<H", units_of_64_ns)


def adopt(variant):
    return bytes([3, 0, variant])


BUFFERS_GONE, BUFFERS_BACK = bytes([4, 0, 1]), bytes([4, 0, 0])
EIGHT, DROP_FOREIGN, IEEE, WIDE = 7, 8, 16, 32
BITS64, BITS32, BITS16, BITS8, BFLOAT16, TUPLE, REPSUM_FORM = range(1, 8)


def shaped(made, form=None, words=3):
    """In a world with wide frames a frame also has its form and its length: 40 bytes and a number
    of words."""
    return made + bytes([0 if form is None else 1 | (form - 1) << 1 | words << 4])


def core_seeds():
    one_reduction = arm(3) + contribute(3) * 3
    yield "full_reduction", EIGHT, one_reduction
    yield "two_sequences", EIGHT, one_reduction + arm(3, sequence=1) + contribute(3, sequence=1) * 3
    yield "late", EIGHT, one_reduction + contribute(3)
    yield "stale_and_newer", EIGHT, (
        arm(3, sequence=1) + contribute(3, sequence=0) + contribute(3, sequence=2)
    )
    yield "foreign", EIGHT, arm(3) + contribute(3, cookie=1) + contribute(3, vni=1)
    yield "foreign_dropped", EIGHT | DROP_FOREIGN, arm(3) + contribute(3, cookie=1)
    yield "reserved_and_empty", EIGHT, arm(3) + contribute(3, op=RESERVED) + contribute(3, count=0)
    yield "mismatch", EIGHT, arm(3) + contribute(3) + contribute(3, op=FLT_SUM) + contribute(3, nid=2)
    yield "overflow", EIGHT, arm(3) + contribute(3, count=2) + contribute(3, count=7)
    yield "saturation", EIGHT, arm(6) + contribute(6, count=0xF7)
    yield "partial", EIGHT, arm(5) + contribute(5) * 2 + wait(65535) + contribute(5)
    yield "expired_empty", EIGHT, arm(5) + wait(65535) + contribute(5)
    yield "no_buffer", EIGHT, (
        arm(5) + contribute(5) + BUFFERS_GONE + wait(65535) + wait(1) + BUFFERS_BACK + wait(1)
    )
    yield "rearm_discards", EIGHT, arm(5) + contribute(5) * 2 + arm(5, sequence=1) + contribute(5)
    yield "disarm", EIGHT, arm(5) + contribute(5) + disarm(5) + contribute(5)
    yield "descriptors_run_out", 1, arm(3) + arm(5) + arm(1) + contribute(5) + disarm(3) + arm(5)
    yield "tables_change", EIGHT, (
        arm(3) + contribute(3) + arm(4) + contribute(4) + adopt(1) + adopt(2) + adopt(3)
    )
    yield "tables_change_without_buffer", EIGHT, (
        arm(4) + contribute(4) + BUFFERS_GONE + adopt(1) + BUFFERS_BACK
    )
    yield "burst", EIGHT, (
        arm(3) + arm(3, reduction=1) + arm(5) + burst(2, [frame(3), frame(3, reduction=1), frame(5)] * 6)
    )
    yield "ordinary_multicast", EIGHT, give(0, frame(0)) + give(2, frame(0)) + give(3, frame(7))
    yield "guarded_port", EIGHT, (
        give(4, frame(3, nid=1)) + give(4, frame(3, nid=2)) + give(4, frame(3, nid=1, vni=1))
    )
    for name, op in (("repsum", REPSUM), ("flt_sum", FLT_SUM), ("barrier", BARRIER), ("minnum", 0x24)):
        yield name, EIGHT | IEEE, arm(3) + contribute(3, op=op, count=1) * 2 + contribute(3, op=op, count=2)
    # Raw frames: changed in one byte, checksum made right; cut short; bytes of any kind.
    yield "changed_byte", EIGHT, bytes([0, 2, 0b1011]) + frame(3) + bytes([16, 0xFF])
    yield "cut_short", EIGHT, bytes([0, 2, 0b10001]) + frame(3) + bytes([60])
    yield "any_bytes", EIGHT, bytes([0, 2, 94]) + bytes(range(94))
    to_nid_1 = bytes([30, 0x00, 31, 0x00, 32, 0x10])
    yield "unicast", EIGHT, bytes([0, 2, 0b1111]) + frame(3) + to_nid_1


def wide_seeds():
    def narrow(port, tree, **fields):
        return bytes([5, port]) + shaped(frame(tree, **fields))

    def wide(tree, form=BITS32, words=3, **fields):
        return bytes([5, 2]) + shaped(frame(tree, **fields), form, words)

    def armed(tree, **fields):
        return narrow(PARENT[tree], tree, arm=True, count=0, **fields)

    yield "wide_full_reduction", armed(3) + wide(3) * 3
    yield "wide_upper_id", armed(3, reduction=1) + wide(3, reduction=1) * 3
    yield "wide_completes_at_once", armed(1) + wide(1, words=11) + armed(1) + wide(1, count=2)
    yield "wide_both_forms", armed(3) + wide(3) * 3 + armed(3) + narrow(2, 3) * 3 + armed(3) + wide(3) * 3
    yield "wide_then_narrow", armed(5) + wide(5) + narrow(2, 5) * 4
    yield "narrow_then_wide", armed(5) + narrow(2, 5) + wide(5) * 4
    yield "wide_lengths_differ", armed(5) + wide(5) + wide(5, words=4) + wide(5) * 3
    yield "wide_forms_differ", armed(5) + wide(5) + wide(5, form=BITS16) + wide(5) * 3
    yield "wide_opcodes_differ", armed(5) + wide(5) + wide(5, op=FLT_SUM) + wide(5) * 3
    yield "wide_report_code", armed(3) + wide(3, op=INT_SUM) + wide(3, op=INT_SUM, nid=2) + wide(3)
    yield "wide_partial", armed(5) + wide(5) * 2 + wait(65535) + wide(5)
    yield "wide_tables_change", armed(1) + armed(3) + wide(3) + armed(5) + wide(5) + adopt(3) + adopt(2) + adopt(1)
    yield "wide_without_slots", armed(4) + wide(4) + narrow(2, 4, reduction=1)
    yield "wide_too_long", armed(3) + wide(3, words=15)
    yield "wide_halves", armed(5) + wide(5, form=BFLOAT16, op=FLT_SUM, words=11) * 5
    yield "wide_halves_do_not_fit", armed(3) + wide(3, form=BITS16, op=FLT_SUM, words=11) + wide(3, form=BITS16, op=FLT_SUM, words=3) * 3
    yield "wide_repsum", armed(3) + wide(3, form=REPSUM_FORM, op=REPSUM, words=5) * 3
    yield "wide_burst", armed(3) + armed(5) + bytes([1, 2, 17]) + (
        shaped(frame(3), BITS32) + shaped(frame(5), BITS8, 9) + shaped(frame(5, reduction=1))
    ) * 6
    yield "wide_changed_byte", armed(3) + bytes([0, 2, 0b1011]) + shaped(frame(3), BITS32) + bytes([45, 0x12])


def contribution():
    """The worked contribution of docs/protocol/wire-format.md, behind its Ethernet header."""
    return bytes.fromhex(
        "02fe00012345 020000012345 88b5"
        "45d00050040000005a77a3b712345000ff9455e7cd000000000000000000310007000000677daabc"
        "00002aa00002a1550000000000000001fffffffffffffffe00000000000000031122334455667788"
    )


def with_op(op, data):
    changed = bytearray(contribution())
    word = int.from_bytes(changed[54:62], "big") & ~(0x3F << 11) | op << 11
    changed[54:62] = word.to_bytes(8, "big")
    changed[62:94] = b"".join(struct.pack(">d" if isinstance(x, float) else ">q", x) for x in data)
    return bytes(changed)


def codec_seeds():
    word = struct.pack("<Q", 0xB733555FFFFF87FF)
    as_it_is = lambda f: bytes([0, len(f)]) + f
    helped = lambda f: bytes([2, 0]) + f
    golden = contribution()
    yield "golden_twice", word + as_it_is(golden) * 2
    yield "truncated", word + as_it_is(golden[:93]) + as_it_is(golden[:33])
    yield "trailing_bytes", word + as_it_is(golden + b"\xff" * 6) + as_it_is(golden)
    yield "wrong_checksum", word + as_it_is(golden[:24] + b"\0" + golden[25:]) + as_it_is(golden)
    wide = golden[:14] + bytes.fromhex(
        "45d00070 04000000 5a77a375 12345000 ffb655e7 cd000123 456789ab cd005102"
        "07000000 677daabc 00002aa0 00034155 0000803f 000020c0 cdcccc3d 0000807f"
    ) + bytes(48)
    yield "wide", word + as_it_is(wide) + as_it_is(golden)
    yield "wide_cut", word + as_it_is(wide[:-1]) + bytes([1, len(wide)]) + wide[:33] + b"\x58" + wide[34:]
    yield "nothing", b""
    nan, infinity, least = float("nan"), float("inf"), 5e-324
    for op in (0x00, 0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x14, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26,
               *range(0x28, 0x31)):
        a = with_op(op, (1.0, infinity, nan, least))
        b = with_op(op, (0.1, -infinity, 1.0, -least))
        yield f"op_{op:02x}", word + helped(a) + helped(b)
    yield "mismatch", word + helped(with_op(0x14, (1, 2, 3, 4))) + helped(with_op(0x28, (1.0,) * 4))


GET, HEAD, POST, PUT, PATCH, DELETE = range(6)


def rest_seeds():
    """One for each path that has parameters or a body; rest.cpp describes the bytes."""

    def request(method, target, body=""):
        return bytes([method, len(target)]) + target.encode() + body.encode()

    group = '{"name":"demo","job":"j1","size":16,"trees":2,"root_rank":0}'
    member = '{"rank":3,"size":16,"mac":"02:00:00:00:00:04","host":"h3","job":"j1"}'
    multicast = (
        '{"macs":["0:00:01","00:00:00:01:23:45"],"vni":1024,"timeout":20000000,'
        '"jobID":"c-17","jobStepID":"0"}'
    )
    jobs, multicasts, groups = "/fabric/collectives/jobs", "/fabric/collectives/multicasts", "/api/v1/groups"
    yield "create_job", request(POST, jobs, '{"jobID":"c-17","mcastLimit":4}')
    yield "list_jobs", request(GET, jobs)
    yield "patch_job", request(PATCH, jobs + "/c-17", '{"JobSteps":{"0":null,"1":null}}')
    yield "delete_job", request(DELETE, jobs + "/c%2D17/")
    yield "create_multicast", request(POST, multicasts, multicast)
    yield "delete_multicast", request(DELETE, multicasts + "/8191")
    yield "create_group", request(POST, groups, group)
    yield "get_group", request(GET, groups + "/j1/d%C3%A9mo")
    yield "join_group", request(POST, groups + "/demo/members?wait=60000", member)
    yield "leave_group", request(DELETE, groups + "/j1/demo/members/3")
    yield "renew_lease", request(PUT, groups + "/j1/demo/members/3/lease")
    yield "routes", request(GET, "/api/v1/routes")
    yield "managers", request(GET, "/api/v1/managers")
    yield "failover", request(POST, "/api/v1/failovers", '{"to":"fabric-b"}')
    yield "adopt", request(POST, "/api/v1/adoptions", '{"fabric":"00a1b2c3d4e5f607"}')
    yield "paths", request(GET, "/api/v1/paths?from=h0&to=65792")
    yield "faults", request(GET, "/api/v1/faults?limit=10000")
    yield "drain", request(POST, "/api/v1/switches/leaf0/drain?force=true")
    yield "undrain", request(DELETE, "/api/v1/switches/leaf0/drain")
    rdma = "/api/v1/rdma"
    report = (
        '{"nid":65792,"vnis":[1,1024],"policy_version":3,"quarantined_version":2,"in_progress":5,'
        '"exceptions":[{"nid":65793,"vni":1024,"cause":"repeated_timeouts","times":3}],'
        '"probes":[{"nid":65794,"vni":1,"answered":true}],'
        '"transfers":[{"nid":65793,"vni":1024,"message":7,"sends":true,"frames":250,"placed":3,'
        '"retries":2,"busy":0}]}'
    )
    yield "rdma_policy", request(GET, rdma + "/policy?vni=1024")
    yield "rdma_set_policy", request(
        PATCH, rdma + "/policy", '{"vni":1024,"set":{"window":512,"initial_timeout_ns":"2ms"},"reset":["restarts"]}'
    )
    yield "rdma_peers", request(GET, rdma + "/peers?limit=10000")
    yield "rdma_quarantine", request(PUT, rdma + "/quarantined/1024/h%33")
    yield "rdma_release", request(DELETE, rdma + "/quarantined/1024/65793")
    yield "rdma_report", request(POST, rdma + "/reports", report)
    yield "view", request(HEAD, "http://manager:7580/api/v1/switches/leaf0")
    yield "events", request(GET, "/api/v1/events?follow=false")
    yield "duplicate", request(POST, groups, '{"name":"a","size":1,"x":[{"b":1,"\\u0062":2}]}')
    yield "deep", request(POST, groups, '{"a":' + "[" * 20 + "]" * 20 + "}")
    yield "bad_escape", request(GET, "/api/%zz?a=%ff")


def hello(name=b"leaf0", *, port_name=b"p3", kind=1, guid=5, nid=0, interval=1000, port=3):
    """A hello frame; the target repairs it if its step requests that."""
    body = struct.pack(
        ">IBBBBQIHBBH", 0x00545242, 1, kind, len(name), len(port_name), guid, nid, interval, port, 0, 0
    ) + name + port_name
    return bytes.fromhex("0180c200000e 02fd00000503 88b5") + body.ljust(46, b"\0")


def hello_seeds():
    heard = lambda port, frame: bytes([4 | 8 | port, len(frame)]) + frame
    wait = lambda units_of_20_ms: bytes([0, units_of_20_ms])
    down, up = bytes([2]), bytes([2 | 8])
    host = hello(b"h1", port_name=b"eth0", kind=2, guid=0, nid=0x12345, port=0)
    yield "switch", heard(0, hello())
    yield "host", heard(1, host)
    yield "forgotten", heard(0, hello()) + wait(100) + wait(100)
    yield "leaves", heard(0, hello()) + heard(0, hello(interval=0))
    yield "port_down", heard(0, hello()) + down + heard(0, hello()) + up + heard(0, hello())
    yield "two_in_turn", (heard(0, hello()) + wait(20) + heard(0, host) + wait(20)) * 4
    yield "flood", b"".join(heard(0, hello(b"s%d" % i)) for i in range(50)) + wait(10)
    yield "loop", heard(0, hello(b"here", port=1)) + heard(1, hello(b"here", port=0))
    yield "same_nid_twice", heard(0, host) + heard(1, host)
    yield "not_mended", bytes([4, 60]) + hello()
    yield "long_names", heard(0, hello(b"n" * 63, port_name=b"p" * 15))
    yield "bad_letters", heard(0, hello(b"a\nb"))
    yield "cut_short", bytes([4, 39]) + hello()[:39]


class Queues:
    """Choices of tests/unit/dataplane/egress/world.hpp, in the order it reads them."""

    DROP, PAUSE = 1, 0

    def __init__(self, *, frames=100, when_full=DROP, strict=(), weights=(), obeys=True, watchdog=20):
        self.bytes = bytes([1]) + struct.pack("<H", 1000)
        for c in range(8):
            weight = weights[c] - 1 if c < len(weights) else 0
            self.bytes += bytes([1, frames - 1]) + struct.pack("<I", 50000)
            self.bytes += bytes([0 if c in strict else 1, weight, when_full, 0 if obeys else 1])
        self.bytes += bytes([1, watchdog, watchdog]) if watchdog else bytes([0, 1])
        for _ in range(8):
            self.bytes += struct.pack("<BHBHBH", 4, 2000, 5, 3000, 6, 4000)

    def step(self, room, what, rest=b""):
        self.bytes += (bytes([0]) if room is None else bytes([1, room])) + bytes([what]) + rest
        return self

    def push(self, c, port, count, room=0, length=40):
        one = bytes([1, length])  # 60 bytes more
        many = bytes([1]) if count == 1 else bytes([0, count - 1])
        return self.step(room, 8, many + bytes([1, c, 1, 0, port]) + one * count)

    def flush(self, room=None):
        return self.step(room, 4)

    def pause(self, classes, quanta):
        named = bin(classes).count("1")
        return self.step(0, 0, bytes([classes]) + (bytes([1]) + struct.pack("<H", quanta)) * named)

    def wait(self, units_of_5_us):
        return self.step(0, 2, bytes([units_of_5_us]))

    def link_down(self):
        return self.step(0, 3, bytes([0]))


def egress_seeds():
    pause = bytes.fromhex("0180c2000001 02fd0ace0103 8808 0101 0089 ffff 0000 0000 0102" + "0000" * 4)
    yield "pause", b"\0" + pause.ljust(60, b"\0")
    yield "pause_of_link", b"\0" + (pause[:14] + b"\0\1\2\0").ljust(60, b"\0")
    yield "pause_cut_short", b"\0" + pause[:33]
    yield "tag", b"\0" + contribution()[:12] + bytes.fromhex("8100a064") + contribution()[12:]
    yield "priority_tag", b"\0" + contribution()[:12] + bytes.fromhex("8100f000") + contribution()[12:]
    yield "foreign_vlan", b"\0" + contribution()[:12] + bytes.fromhex("8100a065") + contribution()[12:]
    yield "tag_cut_short", b"\0" + contribution()[:12] + bytes.fromhex("8100a0")
    yield "no_tag", b"\0" + contribution()
    yield "taken_at_once", Queues().push(0, 1, 40).flush().bytes
    yield "queue_full", Queues(frames=8).push(0, 1, 20).flush(0).push(0, 1, 3).flush(5).flush().bytes
    shares = Queues(weights=(1, 2, 5), strict=(3,))
    for c in (0, 1, 2, 3) * 3:
        shares.push(c, 1, 20)
    yield "shares", (shares.flush(10).flush(17).flush(3).flush()).bytes
    lossless = Queues(when_full=Queues.PAUSE).push(1, 0, 12).flush(0).push(1, 1, 30).flush(0)
    yield "headroom_full", lossless.flush(9).flush(9).flush().bytes
    paused = Queues(watchdog=0).pause(0x03, 200).push(0, 1, 4).push(2, 1, 4).flush()
    yield "paused", paused.wait(10).flush().wait(20).flush().bytes
    stuck = Queues(when_full=Queues.PAUSE).pause(0x01, 200).push(0, 1, 4).flush()
    for _ in range(4):
        stuck.wait(10).pause(0x01, 200).flush()
    yield "given_up", stuck.push(0, 1, 2).flush().wait(30).flush().wait(30).push(0, 1, 2).flush().bytes
    yield "link_down", Queues().push(0, 1, 20).flush(3).push(1, 1, 2).link_down().push(0, 1, 2).flush().bytes


SMALL_TOML = b"""
[[switch]]
name = "leaf0"
ports = 4
guid = "0xa11ce"

[[switch]]
name = "spine"
ports = 2
up = false

[[link]]
ends = ["leaf0:0", "spine:1"]
speed_mbps = 100000

[[link]]
ends = ["leaf0:0", "spine:5"]
plugged = false

[[host]]
name = "h1"
nid = 18
at = "leaf0:3"
"""

SMALL_NETLIST = b"""# comment
switchguid=0x5442ba00003080(5442ba00003080)
Switch 4 "a b" # "ISR" base port 0
[1] "h"[2](020000fffe000011) # lid 4 4xQDR
[2] "s"[1] w=4
Switch 4 "s"
[1] "a b"[2]
caguid=0x020000fffe000010
Ca 2 "h"
[2](020000fffe000011) "a b"[1]
"""


def topology_seeds():
    yield "toml", b"\0" + SMALL_TOML
    yield "toml_errors", b"\0" + SMALL_TOML.replace(b"leaf0:3", b"leaf0:0").replace(b"0xa11ce", b"a11ce")
    yield "toml_syntax", b"\0[[switch]]\nname = \n"
    yield "toml_names", b"\0" + SMALL_TOML.replace(b'"h1"', b'"spine"')
    yield "toml_host_like_a_switch", b'\0[[switch]]\nname = "x"\nports = 2\n[[host]]\nname = "x"\nnid = 1\nat = "x:0"\n'
    yield "toml_long_name", b'\0[[switch]]\nname = "%s"\nports = 2\n' % (b"x" * 128)
    yield "netlist", b"\1" + SMALL_NETLIST
    yield "netlist_errors", b"\1" + SMALL_NETLIST.replace(b'"s"[1]', b'"s"[3]').replace(b"Ca 2", b"Ca x")
    yield "netlist_one_sided", b'\1Switch 2 "a"\n[1] "b"[2]\nSwitch 2 "b"\n'
    yield "netlist_most_ports", b'\1Switch 1 "a"\nHca 65535 "h"\n[1] "a"[1]\n'
    yield "netlist_two_ports", b'\1Switch 2 "a"\nHca 2 "h"\n[1] "a"[1]\n[2] "a"[2]\nHca 1 "h-2"\n'
    yield "nothing", b""


def tlv(kind, value):
    return struct.pack(">H", kind << 9 | len(value)) + value


def lldp_seeds():
    """A port and its received LLDP; fuzz/lldp.cpp puts the Ethernet header in front."""
    up, down = bytes([2 | 8]), bytes([2])

    def station(name=b"node7", *, chassis=b"\x04\x02\0\0\0\0\x07", port=b"\x05eth1", ttl=120, more=b""):
        return (tlv(1, chassis) + tlv(2, port) + tlv(3, struct.pack(">H", ttl)) + tlv(5, name)
                + tlv(7, b"\0\x84\0\x80") + more + tlv(0, b""))  # fmt: skip

    def heard(unit, port=0):
        return bytes([4 | 8 | port, len(unit)]) + unit

    def wait(quarter_seconds):
        return bytes([0, quarter_seconds])

    yield "neighbour", up + heard(station()) + wait(4) * 8 + wait(250)
    yield "aged_out", up + heard(station(ttl=3)) + wait(20)
    yield "leaves", up + heard(station()) + heard(station(ttl=0)) + wait(4)
    yield "port_down", up + heard(station()) + down + heard(station()) + up + wait(200)
    yield "too_many", up + b"".join(heard(station(port=b"\x07%d" % i)) for i in range(12))
    yield "comes_and_goes", up + (heard(station()) + heard(station(ttl=0)) + wait(1)) * 20
    yield "management_address", up + heard(station(more=tlv(8, b"\5\1\x0a\0\0\1\2\0\0\0\1\0")))
    yield "organisation", up + heard(station(more=tlv(127, b"\0\x12\x0f\1\3\x6c\0\x1e")))
    yield "long_ids", up + heard(station(chassis=b"\7" + b"c" * 100, port=b"\3" + bytes(60)))
    yield "bad_letters", up + heard(station(b"\x1b[2J\n\xff"))
    yield "wrong_order", up + heard(tlv(2, b"\5p") + tlv(1, b"\7c") + tlv(3, b"\0\1"))
    yield "bad_id", up + heard(tlv(1, b"\7") + tlv(2, b"\5p") + tlv(3, b"\0\1"))
    yield "bad_ttl", up + heard(tlv(1, b"\7c") + tlv(2, b"\5p") + tlv(3, b"\1"))
    yield "cut_short", up + heard(station()[:25])
    yield "no_lldp", up + bytes([4, 60]) + bytes(60)


SCENARIO = b"""[run]
duration = "1.5s"
seed = 7
[generator]
cores = [1, 2]
[[port]]
interface = "veth0"
[[port]]
kind = "memif"
socket = "/run/m.sock"
[search]
loss = 0.5
[[traffic]]
leaves = 12
operators = ["sum-int64", "mix"]
skew = "uniform"
skew_by = "20us"
[[traffic]]
kind = "unicast"
sizes = [64, 0, 9000]
share = 0.25
"""


def scenario_seeds():
    from tributary import frames

    yield "mixed", SCENARIO
    yield "in_process", b'[in_process]\nports = 4\nbusy = false\n[[traffic]]\nkind = "multicast"\n'
    yield "errors", SCENARIO.replace(b"leaves = 12", b"leafs = 0x").replace(b'"20us"', b'"20 miles"')
    yield "wrong_kind", SCENARIO.replace(b"share = 0.25", b'file = "a.pcap"')
    # For the root and the leaves of fuzz/scenario.cpp: group 0 of scenario.hpp's defaults.
    group = {"tree": 0, "vni": 1, "cookie": 0x7EED5EED}
    yield "arm", bytes(frames.arm(nid=0x10000, seqno=1, **group))
    yield "contribution", bytes(frames.Frame(nid=0x10001, rank=1, seqno=0, resno=0, **group))
    yield "result", bytes(frames.Frame(nid=0x10000, count=4, seqno=1, resno=0, **group))


def rdma_seeds():
    """Steps of rdma.cpp's World: a byte for the kind, then its choices."""
    RQT, RSP, WR, RESEND, DONE, RD_RQT, PROG, QUERY, NOCTX, FIN, ABORT = range(11)
    ANSWER, TRIMMED = 0x80, 0x08

    def give(kind, *, choice=0, flags=0, numbers=(0, 0, 0, 0), pidx=0, word=0, value=0, rest=b""):
        head = bytes([5, choice, kind, flags])
        head += b"" if choice & ANSWER else bytes(numbers)
        return head + struct.pack("<BHH", pidx, word, value) + rest

    def begin(read, length):
        return bytes([2 if read else 1]) + struct.pack("<H", length) + bytes([0])

    wait = lambda units: bytes([0]) + struct.pack("<H", units)
    request = give(RQT, value=250, rest=bytes([0, 0]))
    data = lambda pidx, **fields: give(WR, choice=ANSWER | fields.pop("choice", 0), pidx=pidx, **fields)
    yield "nothing", b""
    yield "frame", bytes([0]) + RDMA_WRITE
    yield "frame_trimmed", bytes([0]) + RDMA_WRITE[:14 + 2] + b"\x00\x38" + RDMA_WRITE[18:70]
    yield "write_of_a_peer", b"\1" + request + data(0) + data(1)
    yield "request_twice", b"\1" + request * 2 + data(0) * 2
    yield "newer_request", b"\1" + request + give(RQT, numbers=(0, 0, 0, 1), value=250, rest=bytes([0, 0]))
    yield "wrong_request", b"\1" + give(RQT, choice=0x10, value=250, rest=bytes([0, 0, 100, 0, 1]))
    yield "no_request", b"\1" + give(RQT, choice=0x21, rest=bytes(8))
    yield "trimmed", b"\1" + request + data(1, choice=TRIMMED) + wait(50)
    yield "sink_times_out", b"\1" + request + wait(60000) * 3
    yield "query", b"\1" + request + give(QUERY, choice=ANSWER, flags=16, pidx=2)
    yield "query_unknown", b"\1" + give(QUERY, flags=16)
    yield "aborted", b"\1" + request + give(ABORT, choice=ANSWER, flags=64, word=11)
    yield "no_context", b"\1" + request + give(NOCTX, choice=ANSWER, flags=64)
    yield "finished", b"\1" + request + give(FIN)
    yield "own_write", b"\1" + begin(False, 900) + give(RSP, choice=ANSWER, value=129) + give(DONE, choice=ANSWER)
    yield "own_write_asked_again", b"\1" + begin(False, 900) + give(RSP, choice=ANSWER, value=129) + give(
        RESEND, choice=ANSWER | 1, value=129, rest=struct.pack("<Q", 5)
    )
    yield "own_write_busy", b"\1" + begin(False, 9) + give(RSP, choice=ANSWER, flags=8, word=1) + wait(100)
    yield "own_write_unanswered", b"\1" + begin(False, 9) + wait(60000) * 3
    yield "own_read", b"\1" + begin(True, 150) + data(0)
    yield "own_read_refused", b"\1" + begin(True, 150) + give(RSP, choice=ANSWER, flags=64, word=2)
    yield "read_of_a_peer", b"\1" + give(RD_RQT, value=250, rest=bytes([0, 9])) + give(PROG, choice=ANSWER, value=9)
    yield "cancelled", b"\1" + begin(False, 900) + bytes([3])
    yield "deregistered", b"\1" + request + bytes([4]) + data(0)


def golden_write():
    """The WR of docs/protocol/rdma.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "protocol" / "rdma.md").read_text()
    block = page.split("golden: WR\n")[1].split("golden:")[0]
    return bytes.fromhex("".join(line.split(": ")[1] for line in block.splitlines() if ": " in line))


RDMA_WRITE = golden_write()


def host_agent_seeds():
    """User (a byte, modulo 4), then a line; or the other parsers, chosen by the first byte."""
    add = '{"request":"add_job","job":"a","vni":1024,"manager":{"url":"unix:/x","token":"t"}}'
    root_adds = '{"request":"add_job","job":"b","vni":1024,"uid":2,"cgroup":"/a","lifetime_s":3}'
    open_it, show = '{"request":"open"}', '{"request":"show"}'
    lines = {
        "own_job": [(1, add), (1, open_it), (1, '{"request":"end_job","job":"a"}')],
        "of_another": [(1, add), (2, '{"request":"open","job":"a"}'), (2, add), (2, open_it)],
        "displaced": [(1, add), (1, open_it), (0, root_adds), (2, open_it), (1, open_it)],
        "limits": [(1, add)] + [(1, open_it)] * 5 + [(1, show), (1, open_it)],
        "several": [(1, add), (1, add.replace('"a"', '"c"').replace("1024", "7")), (1, open_it)],
        "expires": [(0, root_adds)] + [(3, show)] * 4 + [(2, open_it)],
        "attached": [(3, add[:-1] + ',"attached":true}'), (3, show), (3, open_it)],
        "node": [(1, '{"request":"node"}')],
        "not_json": [(1, "{"), (1, "[[[[[[[[[[[["), (1, '{"request":"open","vni":70000}')],
    }
    for name, said in lines.items():
        yield name, b"\0" + b"\n".join(bytes([ord("0") + user]) + line.encode() for user, line in said)
    yield "record", (
        b'\1{"highest_mark":1409286145,"jobs":[{"job":"a","vni":5,"uid":1,"told_by":0,"own":false,'
        b'"attached":true,"mark":1409286145,"cgroup":"","until_ns":9}],'
        b'"sockets":[{"inode":77,"uid":1,"mark":1409286145,"vni":5}]}'
    )
    yield "opened", (
        b'\2{"ok":true,"result":{"job":"a","vni":5,"mark":1,"nid":18,"host":"h","interface":"e",'
        b'"ethertype":34997,"address":"02:00:00:00:00:12","mtu":1500,"manager":{"token":"t"}}}'
    )
    yield "refused", b'\2{"ok":false,"reason":"limit","error":"too many"}'
    yield "table", (
        b'\3{"nftables":[{"metainfo":{}},{"counter":{"table":"tributary_host","name":"passed",'
        b'"packets":1,"bytes":60}},{"set":{"table":"tributary_host","name":"highest",'
        b'"elem":[1409286145]}},{"chain":{"table":"tributary_host","name":"other_0","dev":"lo"}}]}'
    )


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


for seed, settings, steps in core_seeds():
    write(CORPUS / "core", seed, bytes([settings]) + steps)
for seed, steps in wide_seeds():
    write(CORPUS / "core", seed, bytes([EIGHT | WIDE]) + steps)
for seed, content in codec_seeds():
    write(CORPUS / "codec", seed, content)
for seed, content in hello_seeds():
    write(CORPUS / "hello", seed, content)
for seed, content in lldp_seeds():
    write(CORPUS / "lldp", seed, content)
for seed, content in egress_seeds():
    write(CORPUS / "egress", seed, content)
for seed, content in topology_seeds():
    write(CORPUS / "topology", seed, content)
for seed, content in scenario_seeds():
    write(CORPUS / "scenario", seed, content)
for seed, content in rest_seeds():
    write(CORPUS / "rest", seed, content)
for seed, content in rdma_seeds():
    write(CORPUS / "rdma", seed, content)
for seed, content in host_agent_seeds():
    write(CORPUS / "host_agent", seed, content)
