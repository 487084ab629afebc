"""Frames beyond 1,792 bytes, which a process has room for when `longest_frame` says so: over every
kind of port that supports them, and the handling of those that are too long."""

import json

from lab import TREE
from test_pktgen import QUICK, Generator, figures
from test_pktgen_transport import over_memif
from tributary import frames
from tributary.network import RawPort, wait_until
from tributary.switch import EXIT_FAILED, EXIT_OK, QuickConfig

LONG = ("--sizes", "9000,64,3000,1518", "--packets-per-second", "1000", *QUICK)


def let_long_frames_through(lab, generator, mtu=9000):
    for near, far in zip(generator.interfaces, generator.far, strict=True):
        lab.sh(f"ip -n {generator.host} link set {near} mtu {mtu}")
        lab.sh(f"ip link set {far} mtu {mtu}")


def all_pass(measured):
    got = figures(measured)
    sent = measured["sent"]
    assert sent["frames"] > 100 and sent["bytes"] > 3000 * sent["frames"], measured
    assert measured["received"] == sent, measured
    for fault in ("lost", "damaged", "too_long", "misdelivered", "duplicated"):
        assert got[fault] == 0, got


def cross_a_switch(lab, kind):
    generator = Generator(lab, 2, kind)
    let_long_frames_through(lab, generator)
    switch = generator.start_switch("unicast", *LONG)
    counters = lab.counters(switch)
    all_pass(generator.measure("unicast", *LONG, "--duration", "1s"))
    assert lab.counters(switch)["switch0.port.p0.rx_frames"] > counters["switch0.port.p0.rx_frames"]
    assert "kind = \"af_packet\"" in switch.file.read_text()


def test_long_frames_cross_packet_sockets_from_a_raw_generator(lab):
    cross_a_switch(lab, "raw")


def test_long_frames_cross_packet_sockets_from_one_over_dpdk(lab):
    cross_a_switch(lab, "af_packet")


def test_long_frames_cross_memifs(lab):
    traffic = 'kind = "unicast"\nsizes = [9000, 64, 3000, 1518]\npackets_per_second = 1000\n'
    # The switch takes a moment to detect the connection.
    _, measured = over_memif(lab, f"[[traffic]]\n{traffic}", "--warmup", "1s", "--timeout", "5s")
    all_pass(measured)


def test_long_frames_cross_a_switch_in_process_and_its_ceiling(lab):
    lab.need(lab.binaries.pktgen)
    code, out, error = lab.run(
        lab.binaries.pktgen, "unicast", "--in-process", "--ports", "4", "--no-busy", *LONG,
        "--calibrate", "--duration", "500ms", "--json",
    )
    assert code == EXIT_OK, error
    result = json.loads(out)
    all_pass(result["repeats"][0])


def long_frame(lab, length):
    """Whatever it carries: only its length is checked."""
    return bytes(lab.contribution(0)).ljust(length, b"\xa5")


def test_frames_that_are_too_long_for_a_packet_socket_are_counted_and_the_mtu_is_warned_of(lab):
    section = lab.star(1, kind="af_packet")
    section.tree(100, 0, "host0", ["host1"])
    for number in range(2):
        lab.sh(f"ip -n h{number} link set eth0 mtu 9000")
        lab.sh(f"ip link set host{number} mtu 9000")
    switch = lab.start()
    assert "MTU of 9000" in switch.log_text() and "longest_frame = 9014" in switch.log_text()
    # Some are cut short by the kernel, and none is passed on so.
    lengths = (1793, 1900, 1982, 1983, 2048, 5000, 9000)
    lab.leaves[0].send(*(long_frame(lab, length) for length in lengths))
    lab.counter_reaches(switch, "leaf0.port.host1.drop.too_long", len(lengths))
    fits = bytes(lab.arm(tree=100, arm=0)).ljust(1792, b"\0")
    lab.root.send(fits)
    assert lab.leaves[0].receive() == [fits]
    assert lab.root.nothing_more(0.1) == []


def test_frames_that_are_too_long_for_where_they_leave_are_counted_as_refused(lab):
    section = lab.star(1, kind="af_packet")
    section.tree(100, 0, "host0", ["host1"])
    lab.sh("ip -n h0 link set eth0 mtu 9000")
    lab.sh("ip link set host0 mtu 9000")
    switch = lab.start()
    arm = bytes(lab.arm(tree=100, arm=0))
    fits = arm.ljust(1514, b"\0")
    lab.root.send(arm.ljust(1515, b"\0"), fits)
    assert lab.leaves[0].receive() == [fits]
    lab.counter_reaches(switch, "leaf0.port.host1.tx_refused", 1)


def test_frames_that_are_too_long_for_af_xdp_are_counted_as_missed(lab):
    lab.star(1)
    for number in range(2):
        lab.sh(f"ip -n h{number} link set eth0 mtu 3000")
        lab.sh(f"ip link set host{number} mtu 3000")
    switch = lab.start()
    assert "MTU of 3000" in switch.log_text()
    lab.leaves[0].send(*([long_frame(lab, 2500)] * 3))
    lab.counter_reaches(switch, "leaf0.port.host1.rx_missed", 3)
    shown = {port["port"]: port for port in switch.ctl("show", "ports")}
    assert shown["host1"]["rx_missed"] == 3 and shown["host1"]["rx_frames"] == 0, shown
    assert lab.root.nothing_more(0.1) == []
    # They leak no buffer: the port keeps working.
    got, expected = lab.reduce(switch)
    assert got == expected


def test_af_xdp_with_frames_beyond_a_page_is_refused_with_what_to_use_instead(lab):
    lab.star(1, longest_frame=9014)
    code, _, error = lab.run_switch("--config", lab.file("switch.toml", lab.config.text()))
    assert code == EXIT_FAILED and "use kind = \"af_packet\"" in error, error
    assert "Traceback" not in error and "up to 3328 bytes" in error, error


def test_a_memif_server_with_shorter_buffers_than_its_client_counts_what_does_not_fit(lab):
    """The client's buffers are the shared ones, so the server must not trust their length."""
    root = lab.network.host("h0")
    lab.network.cable(root, "eth0", None, "host0")
    lab.network.cable(None, "in0", None, "in1")
    for interface in ("in0", "in1"):
        lab.sh(f"ip link set {interface} mtu 9000")
    link = {"kind": "memif", "socket": str(lab.place / "memif.sock")}
    short = QuickConfig(lab.place / "short.sock")
    section = short.switch("short")
    section.port("out", kind="af_packet", interface="host0")
    section.port("in", **link, role="server")
    section.tree(TREE, 0, "in", ["out"])
    long = QuickConfig(lab.place / "long.sock", longest_frame=9014)
    section = long.switch("long")
    section.port("out", **link, role="client")
    section.port("in", kind="af_packet", interface="in1")
    section.tree(TREE, 0, "in", ["out"])
    server = lab.start(short, "short")
    client = lab.start(long, "long")
    for switch in (server, client):
        wait_until(
            lambda s=switch: all(p["state"] == "up" for p in s.ctl("show", "ports")), "memif is up"
        )
    sender = RawPort(None, "in0", frames.ETHERTYPE)
    receiver = RawPort(root, "eth0", frames.ETHERTYPE)
    fits = bytes(lab.arm(arm=0))
    lengths = (9000, 2500, 2049, 1793)
    for sent in range(40, 401, 40):  # no more at a time than the rings hold
        sender.send(*(fits.ljust(length, b"\0") for length in lengths * 10))
        lab.counter_reaches(server, "short.port.in.drop.too_long", sent)
    sender.send(fits)
    assert receiver.receive() == [fits]
