"""packaging/wireshark/tributary.lua under tshark.

A start of tshark takes most of a second, so all frames are in one capture: the golden ones, each of
them cut at every length (by the capture, and on the wire), frames with one fault each, and a
reduction and a transfer from end to end. tshark reads it twice: once for fields by name, once for
the bytes that the fields cover."""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]

from tributary import dissector, frames, golden  # noqa: E402
from tributary.cases import Cases, Skip  # noqa: E402
from tributary.frames import Frame, WideFrame  # noqa: E402

SEPARATOR = "\x1f"  # between several values of one field
COLUMNS = [
    "frame.number", "_ws.lua.error", "_ws.malformed.expert",
    dissector.field("_ws.malformed.dissector_bug", "_ws.dissector_bug"), "_ws.col.Info",
    "vlan.priority", "lldp",
]  # fmt: skip
# The golden hello of a host has another EtherType than that of the other frames.
ETHERTYPES = "tributary.ethertypes:34997-34998"


@cache
def own_fields():
    """Names of all fields that the script has, and of its expert information."""
    text = dissector.SCRIPT.read_text(encoding="utf-8")
    plain = re.findall(r'^field\("\w+", "(\w+)"', text, re.M)
    experts = re.findall(r'^problem\("(\w+)"', text, re.M)
    assert len(plain) > 100 and len(experts) > 20
    return ["tributary." + name.replace("__", ".") for name in plain], [f"tributary.expert.{name}" for name in experts]


@dataclass
class Captured:
    name: str
    frame: bytes
    wire: int = 0  # length on the wire, where the capture is shorter
    time: float = 0


def changed(frame, at, value, fix=True):
    """With other bytes at `at` of the packet; a fabric header's checksum is corrected."""
    out = bytearray(frame)
    out[14 + at : 14 + at + len(value)] = value
    if fix and out[14] == 0x45:
        out[24:26] = b"\0\0"
        out[24:26] = struct.pack(">H", frames.checksum(bytes(out[14:34])))
    return bytes(out)


def hello_fixed(frame, length):
    out = bytearray(frame)
    out[38:40] = b"\0\0"
    text = bytes(out[14 : 14 + length]) + b"\0" * (length % 2)
    total = sum(struct.unpack(f">{len(text) // 2}H", text))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    out[38:40] = struct.pack(">H", ~total & 0xFFFF)
    return bytes(out)


def hello_changed(frame, at, value, length):
    return hello_fixed(changed(frame, at, value), length)


@cache
def faulty():
    """(the error, its expert's name or None, the frame): one fault each, all else is right."""
    known = dict(golden.every())
    words, wide = known["contribution"], known["wide contribution"]
    chunk = known["shared frame"]
    write, resend = known["RDMA WR"], known["RDMA RESEND"]
    switch, link = known["switch hello"], known["link hello"]
    pair = bytes(WideFrame(tree=1, form=frames.BITS8, op=frames.FLT_SUM, payload=bytes(40)))
    return [
        ("neither header nor hello", "wrong_version", changed(words, 0, b"\x46", fix=False)),
        ("checksum", "wrong_checksum", changed(words, 10, b"\x12\x34", fix=False)),
        ("total length 79", "wrong_length", changed(words, 2, struct.pack(">H", 79))),
        ("total length 19", "wrong_length", changed(words, 2, struct.pack(">H", 19))),
        ("action 5", "not_multicast", changed(words, 19, b"\xe5")),
        ("request length 50", "wrong_request", changed(words, 30, b"\x32")),
        ("form in an 84-byte frame", "wrong_form", changed(words, 31, b"\x02")),
        ("form 8", "wrong_form", changed(wide, 31, b"\x08")),
        ("a float operator of bytes", "wrong_pair", pair),
        ("a reserved opcode", "reserved_opcode", bytes(Frame(op=0x3F))),
        ("rc 6", "result_code", bytes(Frame(rc=6))),
        ("rc 8", "mismatch", bytes(Frame(rc=8, data=(0x1234500000007000, 0, 0, 0)))),
        ("longer than the frame", "too_short", changed(changed(wide, 2, b"\x05\xb0"), 29, b"\x05\x91")),
        ("shared, command", "wrong_request", changed(chunk, 20, b"\xcd")),
        ("shared, round 1", "wrong_chunk", changed(chunk, 21, b"\x01")),
        ("shared, request length", "wrong_request", changed(chunk, 30, b"\x78")),
        ("shared, form", "wrong_form", changed(chunk, 31, b"\x01")),
        ("shared, bytes", "wrong_chunk", changed(chunk, 45, b"\x60")),
        ("shared, reserved", "wrong_chunk", changed(chunk, 40, b"\x01")),
        ("shared, total length", "wrong_length", changed(chunk, 2, struct.pack(">H", 151))),
        ("RDMA CRC", "bad_crc", changed(write, 60, b"\xff")),
        ("RDMA header", "bad_header_check", changed(write, 36, b"\xff")),
        ("RDMA kind 12", "unknown_kind", changed(write, 24, b"\x2c")),
        ("RDMA version 1", "unknown_version", changed(write, 24, b"\x13")),
        ("RDMA mark 2", "wrong_mark", changed(write, 21, b"\x02")),
        ("a whole frame with the mark", "wrong_mark", changed(write, 21, b"\x01")),
        ("RDMA of 55 bytes", "wrong_length", changed(write, 2, struct.pack(">H", 55))),
        ("trimmed", "trimmed", changed(changed(write, 21, b"\x01"), 2, struct.pack(">H", 56))[:70]),
        ("a bitmap of 5 bytes", "bad_bitmap", changed(resend, 2, struct.pack(">H", 61))),
        ("a request of 47 bytes", "bad_request", changed(known["RDMA RQT"], 2, struct.pack(">H", 103))),
        ("hello, version", "unknown_version", hello_changed(switch, 4, b"\x02", 34)),
        ("hello, kind", "unknown_kind", hello_changed(switch, 5, b"\x04", 34)),
        ("hello, checksum", "wrong_checksum", changed(switch, 24, b"\0\0")),
        ("hello, name", "bad_name", hello_changed(switch, 27, b"/", 34)),
        ("hello without a name", "bad_name", hello_changed(switch, 6, b"\0", 29)),
        ("hello, port", "bad_port", hello_changed(switch, 22, b"\x40", 34)),
        ("hello, NID", "bad_nid", hello_changed(known["host hello"], 16, b"\x00\x0f\xf8\x00", 47)),
        ("hello, leaves", "leaves", hello_changed(switch, 20, b"\0\0", 34)),
        ("link hello, interval", "bad_interval", hello_changed(link, 20, b"\0\0", 36)),
        ("link hello, hears no neighbour", "one_way", hello_changed(link, 23, b"\0", 36)),
        ("link hello, heard port", "bad_port", hello_changed(link, 34, b"\x40", 36)),
        ("other packets that begin with 0", "wrong_version", changed(switch, 3, b"\x43")),
    ]


def story():
    """A reduction of two leaves on tree 9, id 3, and a transfer, as a port sees them."""
    at = {"tree": 9, "reduction": 3, "vni": 0x99}
    known = dict(golden.rdma())
    result = {"arm": 1, "dscp": frames.DSCP_ROOT, "nid": 1, "op": frames.INT_SUM, "count": 3}
    parts = [
        (0.0, bytes(frames.arm(**at, seqno=5, resno=1023, pad=1))),
        (0.001, bytes(Frame(**at, nid=2, rank=1, seqno=5, resno=5, data=(1, 2, 3, -4)))),
        (0.002, bytes(Frame(**at, nid=3, rank=2, seqno=5, resno=5, data=(1, 2, 3, -4)))),
        (0.0035, bytes(Frame(**at, **result, seqno=6, resno=5, data=(3, 6, 9, -12)))),
        (0.004, bytes(Frame(**at, nid=3, rank=2, seqno=6, resno=6, count=0, pad=1))),
        (0.005, known["RDMA RQT"]),
        (0.006, known["RDMA WR"]),
        (0.007, known["RDMA WR"]),
        (0.008, known["RDMA DONE"]),
    ]
    return [Captured(f"story {number}", frame, time=100 + time) for number, (time, frame) in enumerate(parts)]


@cache
def capture():
    """All frames, and the place of each in the file, by name."""
    out = [Captured(name, frame) for name, frame in golden.every()]
    shapes = [
        ("tuple", Frame(op=0x22, data=(0x3FF0000000000000, 4, 0x4000000000000000, 5))),
        ("repsum", Frame(op=0x30, m=1, data=(0, 0, 1, 1))),
        ("bits", Frame(op=frames.BIT_OR, data=(1, 2, 3, 4))),
        ("bfloat16", WideFrame(op=frames.FLT_SUM, form=frames.BFLOAT16, payload=b"\x80\x3f\xc0\x7f" * 10)),
        ("binary16", WideFrame(op=frames.FLT_SUM, form=frames.BITS16, payload=b"\x00\x3c\x01\x00" * 10)),
        ("int8", WideFrame(op=frames.INT_SUM, form=frames.BITS8, payload=b"\xff\x7f" * 100)),
        ("tuples", WideFrame(op=0x12, form=frames.TUPLE, payload=struct.pack("<qQqQ", -3, 7, 9, 1) * 2)),
        ("repsums", WideFrame(op=0x30, form=frames.REPSUM, payload=struct.pack("<4QQ", 0, 0, 0, 3, 0) * 2)),
        ("longest", WideFrame(op=frames.INT_SUM, form=frames.BITS64, payload=bytes(65472))),
    ]
    out += [Captured(name, bytes(frame)) for name, frame in shapes]
    out.append(Captured("unicast", frames.unicast(2, 3, b"hello")))
    tagged = bytes(Frame(tree=77))
    out.append(Captured("tagged", tagged[:12] + b"\x81\x00\xa0\x00" + tagged[12:]))
    lldp = "0180c200000e" "02fd00000001" "88cc" "02070402fd00000001" "0403057031" "06020078" "0000"
    out.append(Captured("lldp", bytes.fromhex(lldp)))
    out += [Captured(f"faulty {number}", frame) for number, (_, _, frame) in enumerate(faulty())]
    out += story()
    for name, frame in golden.every():
        for length in range(14, len(frame)):
            out.append(Captured(f"{name} kept {length}", frame[:length], wire=len(frame)))
            out.append(Captured(f"{name} cut {length}", frame[:length]))
    for one in out[: len(golden.every())]:  # random bytes behind each beginning: none may be
                                            # accepted
        for length in (18, 24, 40):
            rest = bytes((7 * i + length) % 256 for i in range(120))
            out.append(Captured(f"{one.name} garbled {length}", one.frame[:length] + rest))
    return out, {one.name: number for number, one in enumerate(out)}


def write(path):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for one in capture()[0]:
            seconds = int(one.time)
            file.write(struct.pack("<IIII", seconds, round((one.time - seconds) * 1e6), len(one.frame),
                                   one.wire or len(one.frame)) + one.frame)


def tshark(*arguments):
    if not shutil.which("tshark"):
        raise Skip("tshark is not installed (scripts/setup installs it)")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "frames.pcap"
        write(file)
        # Its own settings, not the user's.
        done = subprocess.run(
            [*dissector.command(file), "-o", ETHERTYPES, *arguments],
            capture_output=True, text=True, check=False, timeout=200,
            env={"PATH": "/usr/bin:/bin", "HOME": place, "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
    assert done.returncode == 0 and "Lua:" not in done.stderr, done.stderr
    return done.stdout


@cache
def table():
    """The fields of each frame by name, where present; several values are in the order of the
    bytes."""
    plain, experts = own_fields()
    names = [*COLUMNS, *plain, *experts]
    text = tshark("-2", "-T", "fields", "-E", f"aggregator={SEPARATOR}", "-E", "separator=/t",
                  *(word for name in names for word in ("-e", name)))  # fmt: skip
    rows = []
    for line in text.splitlines():
        values = line.split("\t")
        assert len(values) == len(names), line
        rows.append({name: value for name, value in zip(names, values, strict=True) if value})
    assert len(rows) == len(capture()[0])
    return rows


def row(name):
    return table()[capture()[1][name]]


def experts_of(fields):
    return {name.removeprefix("tributary.expert.") for name in fields if name.startswith("tributary.expert.")}


def expect(name, **wanted):
    fields = row(name)
    for key, value in wanted.items():
        key = "tributary." + key.replace("__", ".")
        # Since Wireshark 4.4 tshark prints words for booleans.
        got = [{"True": "1", "False": "0"}.get(one, one) for one in fields.get(key, "").split(SEPARATOR)]
        got = got[0] if not isinstance(value, list) else got
        assert got == value, f"{name}: {key} is {got}, not {value}\n{fields}"


def test_contribution():
    expect("contribution", kind="contribution", version="4", dscp="52", total_length="80", vni="0x0400", ttl="90",
           protocol="119", checksum="0xa3b7", checksum__status="1", sfa__nid="0x00012345", tree="2748",
           reduction_id="5", command="0xcd", signature="0x0000000000000000", request_length="49", form="0", rank="7",
           cookie="0x677daabc", word="0x00002aa00002a155", seqno="341", arm="0", op="0x14", count="1", resno="341",
           rc="0", retry="0", element__int=["1", "-2", "3", str(0x1122334455667788)])  # fmt: skip
    assert not experts_of(row("contribution"))
    assert row("contribution")["_ws.col.Info"] == "Contribution tree 2748 id 5 seq 341 INT_SUM count 1 rank 7"


def test_pre_arm():
    expect("pre-arm", kind="pre-arm", seqno="1022", resno="3", arm="1", retry="1", pad="1", dscp="8",
           sfa__nid="0x00000001")  # fmt: skip
    assert experts_of(row("pre-arm")) == {"retry"}


def test_wide_contribution():
    expect("wide contribution", kind="contribution", tree="2748", reduction_id="77", form="2", request_length="81",
           signature="0x000123456789abcd", elements="16")  # fmt: skip
    values = row("wide contribution")["tributary.element.float"].split(SEPARATOR)
    assert len(values) == 16 and values[:2] == ["1", "-2.5"] and values[3] == "inf", values
    assert abs(float(values[2]) - 0.1) < 1e-8
    assert "16 x bits32" in row("wide contribution")["_ws.col.Info"]


def test_shared_frame():
    expect("shared frame", kind="shared frame", tree="2748", command="0xce", round="0x00",
           window=str(0x0123456789ABCD), request_length="121", rank="7", cookie="0x677daabc", chunk="5",
           chunk__bytes="100")  # fmt: skip
    assert not experts_of(row("shared frame"))
    assert "chunk 5, 100 bytes, rank 7" in row("shared frame")["_ws.col.Info"]


def test_payloads_of_every_shape():
    expect("tuple", element__float=["1", "2"], element__index=["4", "5"])
    expect("repsum", element__limb=["0x0000000000000000"] * 2 + ["0x0000000000000001"] * 2,
           element__value="1099511627777", m="1")  # fmt: skip
    expect("bits", element__bits=[f"0x{n:016x}" for n in (1, 2, 3, 4)])
    expect("bfloat16", element__float=["1", "nan"] * 10)
    halves = row("binary16")["tributary.element.float"].split(SEPARATOR)
    assert float(halves[0]) == 1 and abs(float(halves[1]) - 2**-24) < 1e-12, halves
    expect("int8", element__int=["-1", "127"] * 32, elements="200")
    expect("tuples", element__int=["-3", "9"] * 2)
    expect("repsums", element__value=["3", "3"], element__m=["0", "0"])
    expect("longest", elements="8184", total_length="65520")
    assert not experts_of(row("longest"))


def test_rdma():
    expect("RDMA RQT", kind="RDMA RQT", rdma__frames="2", rdma__length="1500", rdma__key="0x1122334400050006",
           rdma__incarnation="0x0f1e2d3c4b5a6978", rdma__proof="0x0000000000000000", rdma__slot="0",
           rdma__nonce_low="0xcafe", rdma__nonce_high="0xf00d", rdma__frame_payload="1444", rdma__crc__status="1",
           rdma__header_check__status="1", rdma__immediate="0x8877665544332211", rdma__offset="0x0000000000010000",
           nid=["0x00012345", "0x00000101"])  # fmt: skip
    expect("RDMA RSP", rdma__status="0", rdma__credit="1025", rdma__dcid="0x1001", rdma__cgen="0xbeef",
           rdma__nonce_echo="0xf00dcafe")  # fmt: skip
    expect("RDMA RSP, unproven", rdma__status="13", rdma__proof_high="0x8badf00d", rdma__proof_low="0xdeadc0de")
    expect("RDMA RSP, busy", rdma__status="1", rdma__retry_after="250", rdma__busy="1")
    expect("RDMA WR", rdma__pidx="1", rdma__last="1", rdma__resent="1", rdma__stamp=str(0x0123456789))
    expect("RDMA RESEND", rdma__missing=["0", "1"], rdma__wbase="0")
    expect("RDMA DONE", rdma__wbase="2", rdma__echo=str(0x0123456789))
    for name, _ in golden.rdma():
        assert not experts_of(row(name)) - {"busy", "refused", "resent", "missing"}, row(name)


def test_hellos():
    expect("switch hello", kind="hello", hello__guid="0x1122334455667788", hello__port="7", hello__interval="1000",
           hello__name="leaf0", hello__port_name="up1", hello__checksum__status="1")  # fmt: skip
    expect("host hello", hello__nid="0x00012345", hello__name="node-17.cluster_a", hello__port_name="eth0")
    expect("link hello", kind="link hello", hello__sequence=str(0x01020304), hello__interval="10", hello__hears="1",
           hello__uses_link="1", hello__heard_guid="0x99aabbccddeeff00", hello__heard_port="63")  # fmt: skip
    for name, _ in golden.hellos():
        assert not experts_of(row(name)), row(name)


def test_other_frames():
    expect("unicast", kind="unicast", dfa__nid="0x00000003")
    expect("tagged", tree="77")
    assert row("tagged")["vlan.priority"] == "5"
    assert row("lldp").get("lldp") and not any(name.startswith("tributary.") for name in row("lldp"))


def test_each_fault_is_named():
    for number, (what, name, _) in enumerate(faulty()):
        found = experts_of(row(f"faulty {number}"))
        assert name in found, f"{what}: {name} is not among {found}"
        if not what.startswith("RDMA") and what != "a whole frame with the mark" and not what.startswith("a "):
            assert found <= {name, "resent"}, f"{what}: also {found}"


def test_each_cut_is_named():
    for name, frame in golden.every():
        packet = frame[14:]
        length = struct.unpack(">H", packet[2:4])[0] if packet[0] == 0x45 else 36 if packet[5] == 3 else (
            26 + packet[6] + packet[7])  # fmt: skip
        for at in range(14, len(frame)):
            cut = experts_of(row(f"{name} cut {at}"))
            kept = experts_of(row(f"{name} kept {at}"))
            if at - 14 < length:
                assert "too_short" in cut and "not_captured" not in cut, f"{name} cut {at}: {cut}"
                assert "not_captured" in kept and "too_short" not in kept, f"{name} kept {at}: {kept}"
            else:  # only padding is cut
                assert "too_short" not in cut, f"{name} cut {at}: {cut}"


def test_no_frame_is_a_lua_error():
    for one, fields in zip(capture()[0], table(), strict=True):
        bad = [name for name in fields if name.startswith(("_ws.lua.error", "_ws.dissector_bug", "_ws.malformed."))]
        assert not bad, f"{one.name}: {bad}\n{one.frame.hex()}"
        assert "Lua" not in fields.get("_ws.col.Info", ""), fields


def test_frames_are_joined_to_reductions_and_transfers():
    first = capture()[1]["story 0"] + 1  # numbers of frames begin with 1
    assert len({row(f"story {i}")["tributary.stream"] for i in range(5)}) == 1
    assert row("story 0")["tributary.stream"] != row("contribution")["tributary.stream"]
    expect("story 1", armed_in=str(first), result_in=str(first + 3), kind="contribution")
    expect("story 3", armed_in=str(first), contributed_in=str(first + 1), kind="result", count="3")
    assert float(row("story 3")["tributary.time"]) == 0.0035
    assert row("story 3")["_ws.col.Info"] == "Result tree 9 id 3 of seq 5, arms seq 6 INT_SUM count 3"
    expect("story 4", kind="request")
    golden_request = capture()[1]["RDMA RQT"] + 1  # the same transfer, requested at the beginning
                                                   # of the file
    expect("story 8", rdma__request_in=str(golden_request))
    expect("story 7", rdma__first_sent_in=str(capture()[1]["RDMA WR"] + 1))


def test_every_byte_has_a_field():
    """The leaves of the tree that have a position in the frame cover it completely. The guide's
    filters are passed along: tshark refuses invalid ones."""
    count = len(golden.every())
    guide = (ROOT / "docs/guide/wireshark.md").read_text(encoding="utf-8")
    filters = re.findall(r"^\| `(.*?)` \|", guide, re.M)
    assert len(filters) > 10
    chosen = " || ".join(f"({one})" for one in [*filters, "frame"])
    document = ElementTree.fromstring(tshark("-Y", f"frame.number <= {count} && ({chosen})", "-T", "pdml"))
    for one, packet in zip(capture()[0], document.iter("packet"), strict=False):
        covered = set()
        for leaf in packet.find("proto[@name='tributary']").iter("field"):
            if leaf.get("name") and leaf.get("name") != "tributary.rest" and int(leaf.get("size") or 0):
                covered |= set(range(int(leaf.get("pos")), int(leaf.get("pos")) + int(leaf.get("size"))))
        missing = sorted(set(range(14, len(one.frame))) - covered)
        assert not missing, f"{one.name}: no field for bytes {missing}"


def main():
    report = Cases("wireshark")
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with report.case("wireshark", name.removeprefix("test_")):
                test()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
