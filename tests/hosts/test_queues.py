"""Frames that wait at an output port, and their display to an operator."""

import signal
import struct

from lab import TREE, VNI
from test_ports import host
from tributary.network import wait_until
from tributary.switch import QuickConfig

QUEUE_FRAMES = 512


def queue(switch, port):
    """The only queue of a port."""
    shown = switch.ctl("show", "queues", "--port", port)
    assert [q["class"] for q in shown] == [0], shown
    return shown[0]


def two_switches(lab):
    """h0 -- top -- memif -- leaf; h0's multicasts go down to the leaf."""
    link = {"kind": "memif", "socket": str(lab.place / "memif.sock")}
    lab.root = host(lab, 0)
    # Without LLDP, whose frames would be counted with the others.
    top_config = QuickConfig(lab.place / "top.sock", lldp=False)
    top = top_config.switch("top")
    top.port("host0", kind="af_packet", interface="host0", nid=1, vnis=[VNI])
    top.port("down", **link, role="server")
    top.tree(TREE, 0, "host0", ["down"])
    leaf_config = QuickConfig(lab.place / "leaf.sock", lldp=False)
    leaf = leaf_config.switch("leaf")
    leaf.port("up", **link, role="client")
    leaf.port("sink", kind="null")
    leaf.tree(TREE, 0, "up", ["sink"])
    switches = [lab.start(top_config, "top"), lab.start(leaf_config, "leaf")]
    wait_until(
        lambda: all(p["state"] == "up" for s in switches for p in s.ctl("show", "ports")),
        "the memif connects",
    )
    return switches


def test_a_queue_fills_before_a_peer_that_does_not_read_and_empties_when_it_does(lab):
    top, leaf = two_switches(lab)
    frame = bytes(lab.arm(arm=0))
    leaf.child.send_signal(signal.SIGSTOP)
    try:
        sent = 0
        while not queue(top, "down")["drops"]:
            assert sent < 100_000, queue(top, "down")
            lab.root.send(*[frame] * 64)
            sent += 64
            lab.counter_reaches(top, "top.port.host0.rx_frames", sent)
        full = queue(top, "down")
        assert full["frames_waiting"] == full["most_frames"] == full["frames_limit"] == QUEUE_FRAMES
        assert full["bytes_waiting"] == QUEUE_FRAMES * len(frame)
        assert list(full["drops"]) == ["queue_full"]
        assert lab.counters(top)["top.queue.down.0.frames_waiting"] == QUEUE_FRAMES
        code, out, _ = top.ctl_raw("show", "queues", "--port", "down")
        assert code == 0 and "waiting" in out and f"{QUEUE_FRAMES}/{QUEUE_FRAMES}" in out, out
        _, out, _ = top.ctl_raw("show", "queues")
        assert "host0" in out and "down" in out, out
    finally:
        leaf.child.send_signal(signal.SIGCONT)

    def all_gone():
        now = queue(top, "down")
        return now["frames"] + now["drops"]["queue_full"] == sent

    wait_until(all_gone, "what waited leaves")
    after = queue(top, "down")
    assert (after["frames_waiting"], after["most_frames"]) == (0, QUEUE_FRAMES)
    assert lab.counters(top)["top.port.down.drop.queue_full"] == after["drops"]["queue_full"]
    lab.counter_reaches(leaf, "leaf.port.sink.tx_frames", after["frames"])


def test_a_port_that_is_not_there_has_no_queues(lab):
    lab.star(1)
    switch = lab.start()
    code, _, err = switch.ctl_raw("show", "queues", "--port", "host7")
    assert code == 1 and "no port" in err and "host7" in err, err
    code, _, err = switch.ctl_raw("show", "trees", "--port", "host0")
    assert code == 2 and '--port applies to "show queues" only' in err, err


URGENT = 3


def tagged(frame, traffic_class):
    return frame[:12] + struct.pack("!HH", 0x8100, traffic_class << 13) + frame[12:]


def pause(traffic_class, quanta):
    """A priority flow control frame."""
    header = bytes.fromhex("0180c2000001") + b"\2" * 6 + struct.pack("!HHH", 0x8808, 0x0101, 1 << traffic_class)
    each = [quanta if c == traffic_class else 0 for c in range(8)]
    return (header + struct.pack("!8H", *each)).ljust(60, b"\0")


def class_queue(switch, port, number=URGENT):
    shown = switch.ctl("show", "queues", "--port", port)
    return next((q for q in shown if q["class"] == number), None)


def neighbour_pauses(lab, kind):
    """Two neighbours on tagged links: one sends in a lossless class, the other one never stops pausing it."""
    section = lab.star(1, kind=kind)
    section.traffic_class(URGENT, policy="pause", queue_frames=512)
    section.head["watchdog_ms"] = 1  # less than a pause lasts
    section.tree(TREE, 0, "host0", ["host1"])
    for settings in section.ports.values():
        settings.update(tags=True, nid=None)
    switch = lab.start()
    assert class_queue(switch, "host1")["frames"] == 0, "a class that the file sets is shown"
    plain = bytes(lab.arm(arm=0))
    lab.root.send(tagged(plain, URGENT))
    assert lab.leaves[0].receive() == [plain]  # whose kernel takes the tag off
    wait_until(lambda: class_queue(switch, "host1")["frames"] == 1, "it is counted")

    def given_up():
        lab.leaves[0].send(pause(URGENT, 0xFFFF))
        lab.root.send(tagged(plain, URGENT))
        return class_queue(switch, "host1")["drops"].get("paused_too_long")

    wait_until(given_up, "the watchdog gives the class up")
    queue = class_queue(switch, "host1")
    assert queue["pauses_received"] > 0 and queue["paused_us"] > 0 and queue["given_up_times"] > 0
    assert lab.counters(switch)["leaf0.port.host1.drop.bad_pause"] == 0
    wait_until(lambda: "port host1: its neighbour has paused class 3" in switch.log_text(), "the log says so")
    wait_until(lambda: "class 3 is no longer paused" in switch.log_text(), "it is taken up again")
    assert not class_queue(switch, "host1")["given_up"]


def test_a_neighbour_that_never_stops_pausing_is_named_over_af_packet(lab):
    neighbour_pauses(lab, "af_packet")


def test_a_neighbour_that_never_stops_pausing_is_named_over_af_xdp(lab):
    neighbour_pauses(lab, "af_xdp")


def test_a_lossless_queue_too_small_for_those_who_fill_it_is_refused(lab):
    section = lab.star(2)
    section.traffic_class(URGENT, policy="pause", queue_frames=100)
    for settings in section.ports.values():
        settings.update(tags=True, nid=None)
    file = lab.file("switch.toml", lab.config.text())
    code, _, err = lab.run_switch("--check-config", "--config", file)
    assert code == 2 and "class 3 pauses, so its queue at port" in err and "384 frames" in err, err
