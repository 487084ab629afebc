"""RDMA data that finds a full queue continues as its headers, visible to the operator."""

import signal
import struct

from test_ports import host
from test_queues import queue
from tributary import frames
from tributary.network import RawPort, wait_until
from tributary.switch import QuickConfig

SOURCE, SINK = 1, 2
HEADERS = 70
QUEUE_FRAMES = 32


def data_frame(length, pidx):
    """A WR of this many bytes. Its CRC is for the sink, and no switch checks it."""
    header = bytes.fromhex("d1000000") + struct.pack("<BBHHHIIQII", 0x13, 0, 1, 2, 3, 4, pidx, 0, 0, 0)
    return frames.unicast(SOURCE, SINK, (header + b"\x5a" * length)[: length - 34])


def two_switches(lab, mtu, policy, **process):
    """h0 -- near -- memif -- far -- in this namespace."""
    sender = host(lab, 0)
    lab.network.cable(None, "out0", None, "out1")
    lab.sh(f"ip -n h0 link set eth0 mtu {mtu}")
    for interface in ("host0", "out0", "out1"):
        lab.sh(f"ip link set {interface} mtu {mtu}")
    link = {"kind": "memif", "socket": str(lab.place / "memif.sock")}
    near_config = QuickConfig(lab.place / "near.sock", lldp=False, **process)
    near = near_config.switch("near")
    near.traffic_class(0, queue_frames=QUEUE_FRAMES, **policy)
    near.port("host0", kind="af_packet", interface="host0", nid=SOURCE)
    near.port("up", **link, role="server")
    near.route(SINK, "up")
    far_config = QuickConfig(lab.place / "far.sock", lldp=False, **process)
    far = far_config.switch("far")
    far.traffic_class(0, queue_frames=4096)
    far.port("down", **link, role="client")
    far.port("out", kind="af_packet", interface="out0")
    far.route(SINK, "out")
    switches = [lab.start(near_config, "near"), lab.start(far_config, "far")]
    wait_until(lambda: all(p["state"] == "up" for s in switches for p in s.ctl("show", "ports")), "the memif connects")
    return sender, *switches


def fill(lab, sender, near, length, what):
    """Sends until the counter `what` of the queue to the other switch rises; returns how many were
    sent."""
    sent = 0
    while not what(queue(near, "up")):
        assert sent < 20_000, queue(near, "up")
        sender.send(*(data_frame(length, sent + i) for i in range(32)))
        sent += 32
        lab.counter_reaches(near, "near.port.host0.rx_frames", sent)
    return sent


def headers_arrive(lab, length, mtu, **process):
    sender, near, far = two_switches(lab, mtu, {}, **process)
    receiver = RawPort(None, "out1", frames.ETHERTYPE)
    code, out, error = near.ctl_raw("explain", "--switch", "near", "--port", "host0", data_frame(min(length, 300), 0).hex())
    assert code == 0 and f"of at most {QUEUE_FRAMES} frames wait in its queue" in out, (out, error)
    assert f"trimmed to its first {HEADERS} bytes" in out, out
    far.child.send_signal(signal.SIGSTOP)
    try:
        near.ctl("trace", "all")
        sent = fill(lab, sender, near, length, lambda q: q["trimmed_frames"] >= 20)
        full = queue(near, "up")
        assert full["frames_waiting"] == QUEUE_FRAMES and full["drops"] == {}, full
        assert full["trimmed_waiting"] == full["trimmed_frames"] <= full["trimmed_limit"] == 512, full
        assert full["trimmed_bytes"] == full["trimmed_frames"] * (length - HEADERS), full
        assert lab.counters(near)["near.queue.up.0.trimmed_frames"] == full["trimmed_frames"]
        _, out, _ = near.ctl_raw("show", "queues", "--port", "up")
        assert "TRIMMED" in out, out
    finally:
        far.child.send_signal(signal.SIGCONT)
    got = []
    while len(got) < sent:
        got += receiver.receive()
    cut = [raw for raw in got if len(raw) == HEADERS]
    assert len(cut) == full["trimmed_frames"]
    for raw in cut:
        (pidx,) = struct.unpack("<I", raw[50:54])
        whole = data_frame(length, pidx)
        assert raw[35] == 1, "the mark"
        assert struct.unpack(">H", raw[16:18]) == (HEADERS - 14,), "the length"
        checked = raw[14:24] + b"\0\0" + raw[26:34]
        assert struct.unpack(">H", raw[24:26]) == (frames.checksum(checked),), "the checksum"
        assert raw[36:] == whole[36:HEADERS], "and all else is as it was"
    for raw in got:
        if len(raw) != HEADERS:
            assert len(raw) == length
    first_cut = next(i for i, raw in enumerate(got) if len(raw) == HEADERS)
    assert any(len(raw) == length for raw in got[first_cut + len(cut) :]), "they came ahead of whole frames"


def test_data_without_room_arrives_as_its_headers_ahead_of_what_waited(lab):
    headers_arrive(lab, 1400, 1500)


def test_so_does_data_in_frames_of_nine_thousand_bytes(lab):
    headers_arrive(lab, 9000, 9000, longest_frame=9014)


def test_a_class_with_the_policy_drop_trims_nothing(lab):
    sender, near, far = two_switches(lab, 1500, {"policy": "drop"})
    far.child.send_signal(signal.SIGSTOP)
    try:
        fill(lab, sender, near, 1400, lambda q: q["drops"])
        full = queue(near, "up")
        assert list(full["drops"]) == ["queue_full"] and full["trimmed_frames"] == 0, full
    finally:
        far.child.send_signal(signal.SIGCONT)
    wait_until(lambda: queue(near, "up")["frames_waiting"] == 0, "all that waited leaves")
