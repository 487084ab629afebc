"""Start, reload, stop, and interfaces that disappear."""

import threading

from lab import COOKIE, SEQNO, TREE, VNI
from beside import Beside
from tributary import frames
from tributary.network import RawPort, wait_until
from tributary.switch import QuickConfig


def test_sigterm_emits_what_engines_hold_and_exits_0(lab):
    lab.star(2)
    switch = lab.start()
    lab.arm_tree()
    lab.leaves[0].send(lab.contribution(0))
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", 1)
    assert switch.stop() == 0
    held = lab.root.receive()
    assert len(held) == 1, "the contribution in the engine was lost"
    assert frames.parse(held[0]).count == 1


def test_sigterm_removes_the_control_socket(lab):
    lab.star(1)
    switch = lab.start()
    assert lab.file("switch.sock").exists()
    assert lab.file("switch.sock").stat().st_mode & 0o777 == 0o660
    switch.stop()
    assert not lab.file("switch.sock").exists()


def test_reload_loses_no_frame_of_an_untouched_tree(lab):
    """Multicast from the root in a closed loop while other trees come and go."""
    section = lab.star(2)
    section.tree(100, 0, "host0", ["host1", "host2"])
    switch = lab.start()
    version = switch.ctl("version")["switches"][0]["tables_version"]

    stop = threading.Event()
    lost = []

    def traffic():
        batch = [bytes(lab.arm(tree=100, seqno=n, arm=0)) for n in range(32)]
        while not stop.is_set() and not lost:
            lab.root.send(*batch)
            for leaf in lab.leaves:
                if (got := leaf.receive(len(batch))) != batch:
                    lost.append(f"{leaf.name} got {len(got)} of {len(batch)}")

    with Beside(traffic, stop.set):
        for round_number in range(1, 11):
            if round_number % 2:
                section.tree(200, 2, "host0", ["host1", "host2"])
            else:
                section.trees.pop(200)
            switch.reload()
            wait_until(
                lambda wanted=version + round_number:
                switch.ctl("version")["switches"][0]["tables_version"] >= wanted or lost,
                f"reload {round_number}",
            )
    assert not lost, lost
    drops = {n: v for n, v in lab.counters(switch).items() if ".drop." in n and v}
    assert not drops, drops


def test_reload_keeps_a_reduction_in_flight(lab):
    section = lab.star(4)
    switch = lab.start()
    lab.arm_tree()
    for leaf in (0, 1):
        lab.leaves[leaf].send(lab.contribution(leaf))
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", 2)
    section.tree(200, 2, "host0", ["host1", "host2"])
    section.tree(201, 0, "host0", ["host1"])
    switch.reload()
    wait_until(lambda: len(switch.ctl("show", "trees")) == 3, "the new trees are there")
    for leaf in (2, 3):
        lab.leaves[leaf].send(lab.contribution(leaf))
    (raw,) = lab.root.receive()
    assert frames.parse(raw).count == 4
    assert frames.parse(raw).data[0] == 1 + 2 + 3 + 4


def test_a_bad_reload_changes_nothing_and_is_reported(lab):
    section = lab.star(2)
    switch = lab.start()
    section.tree(200, 2, "nosuchport", ["host1", "host2"])
    switch.reload()
    wait_until(lambda: "nosuchport" in switch.log_text(), "the error is in the log")
    assert [tree["tree"] for tree in switch.ctl("show", "trees")] == [TREE]
    got, expected = lab.reduce(switch)
    assert got == expected


def test_a_port_that_goes_down_does_not_stop_the_others(lab):
    lab.star(3)
    switch = lab.start()
    lab.sh("ip -n h3 link set eth0 down")
    wait_until(lambda: port_state(switch, "host3") == "down", "the switch sees the port down")
    lab.root.send(lab.arm())
    assert [len(leaf.receive()) for leaf in lab.leaves[:2]] == [1, 1]
    for leaf in (0, 1):
        lab.leaves[leaf].send(lab.contribution(leaf))
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", 2)
    lab.sh("ip -n h3 link set eth0 up")
    wait_until(lambda: port_state(switch, "host3") == "up", "the switch sees the port up again")
    # A reopened link loses its raw socket's error state with a new socket.
    again = RawPort("h3", "eth0", frames.ETHERTYPE)
    again.send(lab.contribution(2))
    assert frames.parse(lab.root.receive()[0]).count == 3


def test_a_port_that_is_deleted_does_not_stop_the_others(lab):
    lab.star(3)
    switch = lab.start()
    lab.sh("ip link delete host3")
    wait_until(lambda: port_state(switch, "host3") in ("away", "down"), "the switch misses the port")
    lab.root.send(lab.arm())
    assert [len(leaf.receive()) for leaf in lab.leaves[:2]] == [1, 1]
    for leaf in (0, 1):
        lab.leaves[leaf].send(lab.contribution(leaf))
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", 2)
    assert "host3" in switch.log_text()
    assert switch.stop() == 0


def port_state(switch, name):
    return next(port["state"] for port in switch.ctl("show", "ports") if port["port"] == name)


def test_two_processes_side_by_side(lab):
    lab.star(2)
    first = lab.start()
    config = QuickConfig(lab.place / "second.sock")
    section = config.switch("other", timers_us=[10_000_000] * 4)
    ports = []
    for number in range(3):
        name = f"g{number}"
        lab.network.host(name)
        lab.network.cable(name, "eth0", None, f"other{number}")
        section.port(f"other{number}", kind="af_packet", interface=f"other{number}", nid=number + 1)
        ports.append(RawPort(name, "eth0", frames.ETHERTYPE))
    section.tree(TREE, 2, "other0", ["other1", "other2"])
    second = lab.start(config, "second")
    ports[0].send(lab.arm())
    assert [len(port.receive()) for port in ports[1:]] == [1, 1]
    for leaf, port in enumerate(ports[1:]):
        port.send(lab.contribution(leaf))
    assert frames.parse(ports[0].receive()[0]).count == 2
    got, expected = lab.reduce(first)
    assert got == expected
    assert second.stop() == 0
    assert first.alive()
    identity = (TREE, VNI, COOKIE, SEQNO)
    result = frames.parse(got[0])
    assert (result.tree, result.vni, result.cookie, result.seqno) == identity
