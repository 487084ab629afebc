"""Impairments of a running switch: set, changed and cleared while frames flow, and counted to the frame."""

import threading
import time

from tributary.network import RawPort


def ordinary(lab, leaves=1, kind="af_packet"):
    """A switch that forwards the root's frames to all leaves, unchanged."""
    section = lab.star(leaves, kind=kind, lldp=False)
    section.tree(100, 0, "host0", [f"host{number + 1}" for number in range(leaves)])
    # Frames of any EtherType: a changed bit may alter it.
    lab.everything = RawPort("h1", "eth0")
    return lab.start()


def sent_and_received(lab, switch, count, first=0):
    """Sends `count` different frames from the root, one after the other; returns those that
    arrived, in order."""
    sent = [bytes(lab.arm(tree=100, arm=0, seqno=(first + n) % 1000, rank=first + n)) for n in range(count)]
    before = lab.counters(switch)["leaf0.port.host0.rx_frames"]
    for start in range(0, count, 20):
        lab.root.send(*sent[start : start + 20])
        lab.counter_reaches(switch, "leaf0.port.host0.rx_frames", before + min(start + 20, count))
    return sent, lab.everything.nothing_more(0.5)


def impairment(switch, port, direction):
    (one,) = switch.ctl("impair", "show", "--port", port, "--direction", direction)
    return one


def test_a_loss_is_set_changed_and_cleared_and_what_is_counted_is_what_is_missing(lab):
    switch = ordinary(lab)
    sent, got = sent_and_received(lab, switch, 100)
    assert got == sent
    assert switch.ctl("impair", "show") == []

    answer = switch.ctl("impair", "set", "--port", "host1", "--direction", "sent", "--loss", "30%", "--seed", "7")
    assert [(one["port"], one["direction"], one["on"], one["seed"]) for one in answer] == [("host1", "sent", True, 7)]
    assert answer[0]["settings"] == {"loss": 0.3}
    sent, got = sent_and_received(lab, switch, 300, 100)
    counted = impairment(switch, "host1", "sent")
    assert counted["frames"] == 300
    assert 0 < counted["lost"] == 300 - len(got)
    assert set(got) < set(sent)
    assert lab.counters(switch)["leaf0.impairment.host1.sent.lost"] == counted["lost"]
    assert lab.counters(switch)["leaf0.port.host1.drop.impaired"] == counted["lost"]

    # The same seed loses the same ones again.
    switch.ctl("impair", "set", "--port", "host1", "--direction", "sent", "--loss", "30%", "--seed", "7")
    again, got_again = sent_and_received(lab, switch, 300, 400)
    assert [again.index(frame) for frame in got_again] == [sent.index(frame) for frame in got]

    assert [one["port"] for one in switch.ctl("impair", "clear", "--all")] == ["host1"]
    sent, got = sent_and_received(lab, switch, 100, 700)
    assert got == sent
    assert impairment(switch, "host1", "sent")["on"] is False


def test_each_kind_of_fault_does_what_it_says(lab):
    switch = ordinary(lab)

    def impaired(*options, count=200, direction="received", port="host0"):
        before = impairment(switch, port, direction)
        switch.ctl("impair", "set", "--port", port, "--direction", direction, "--seed", "3", *options)
        sent, got = sent_and_received(lab, switch, count)
        after = impairment(switch, port, direction)
        switch.ctl("impair", "clear", "--all")
        assert after["frames"] - before["frames"] == count
        return sent, got, {key: after[key] - before[key] for key in before if isinstance(before[key], int)}

    sent, got, did = impaired("--good-to-bad", "5%", "--bad-to-good", "25%")
    assert 0 < did["burst_lost"] == len(sent) - len(got)

    sent, got, did = impaired("--duplicate", "20%")
    assert 0 < did["duplicated"] == len(got) - len(sent)
    assert set(got) == set(sent)

    sent, got, did = impaired("--corrupt", "20%", "--corrupt-bits", "2", port="host1", direction="sent")
    assert len(got) == len(sent)
    changed = [(a, b) for a, b in zip(sent, got, strict=True) if a != b]
    assert 0 < did["corrupted"] == len(changed)
    assert all(sum((x ^ y).bit_count() for x, y in zip(a, b, strict=True)) == 2 for a, b in changed)

    sent, got, did = impaired("--reorder", "10%", "--reorder-distance", "3", "--reorder-hold", "100ms")
    assert sorted(got) == sorted(sent) and got != sent
    assert did["reordered"] > 0

    # 94 bytes each: 100 kbit/s carry 133 in a second, and the queue has room for 10.
    sent, got, did = impaired("--rate", "100k", "--rate-burst", "94", "--rate-queue", "940")
    assert 0 < did["rate_limited"] == len(sent) - len(got)
    assert did["rate_delayed"] > 0

    # Twenty at the same time, and room for five.
    sent, got, did = impaired("--delay", "200ms", "--held-frames", "5", count=100)
    assert did["did_not_fit"] == len(sent) - len(got) > 0
    assert did["delayed"] == len(got)

    sent, got, did = impaired("--delay", "50ms", count=20)
    assert got == sent and did["delayed"] == 20

    # It ignores other kinds of frames.
    switch.ctl("impair", "set", "--port", "host0", "--loss", "1", "--kinds", "unicast,foreign")
    sent, got = sent_and_received(lab, switch, 50)
    assert got == sent


def test_impairments_come_and_go_under_traffic_and_nothing_else_is_lost(lab):
    switch = ordinary(lab, kind="af_xdp")
    stop = threading.Event()
    total = [0]
    got = [0]

    def traffic():
        while not stop.is_set():
            got[0] += len(lab.leaves[0].waiting())  # the socket does not have room for all of them
            lab.root.send(*[bytes(lab.arm(tree=100, arm=0, seqno=n)) for n in range(10)])
            total[0] += 10
            time.sleep(0.002)

    sender = threading.Thread(target=traffic)
    sender.start()
    try:
        for round_ in range(15):
            for port, direction in (("host0", "received"), ("host1", "sent")):
                options = ["--loss", "20%"] if round_ % 2 else ["--delay", "3ms", "--jitter", "2ms"]
                switch.ctl("impair", "set", "--port", port, "--direction", direction, *options)
            if round_ % 3 == 2:
                switch.ctl("impair", "clear", "--all")
    finally:
        stop.set()
        sender.join()
    switch.ctl("impair", "clear", "--all")
    got[0] += len(lab.leaves[0].nothing_more(1.0))
    counters = lab.counters(switch)
    lost = sum(value for name, value in counters.items() if name.startswith("leaf0.impairment.") and name.endswith(".lost"))
    assert lost > 0
    assert counters["leaf0.port.host0.rx_frames"] == total[0]
    assert got[0] == total[0] - lost


def test_what_cannot_be_is_refused_and_says_why(lab):
    switch = ordinary(lab)
    cases = [
        (["set", "--port", "host9", "--loss", "1%"], 'no port "host9"; known are host0, host1'),
        (["set", "--port", "host1", "--switch", "leaf7", "--loss", "1%"], 'no switch "leaf7"'),
        (["set", "--port", "host1", "--good-to-bad", "1%"], "good_to_bad: needs bad_to_good above 0"),
        (["set", "--port", "host1", "--corrupt", "1%", "--corrupt-bits", "65"], "corrupt_bits: 65 is out of range"),
        (["set", "--port", "host1", "--loss", "0"], "let nothing go wrong"),
    ]
    for arguments, expected in cases:
        code, _, said = switch.ctl_raw("impair", *arguments)
        assert code == 1, arguments
        assert expected in said, said
    code, _, said = switch.ctl_raw("impair", "set", "--port", "host1", "--loss", "1%", "--kinds", "unicats")
    assert code == 2 and "did you mean unicast?" in said, said
    assert switch.ctl("impair", "show") == []
    assert switch.ctl("impair", "clear", "--all") == []


def test_the_file_impairs_each_direction_by_itself(lab):
    section = lab.star(1, kind="af_packet", lldp=False)
    section.tree(100, 0, "host0", ["host1"])
    section.impairments["host1"] = {"loss": 1.0, "seed": 5, "received": {"loss": 0.0}}
    lab.everything = RawPort("h1", "eth0")
    switch = lab.start()
    _, got = sent_and_received(lab, switch, 20)
    assert got == []
    shown = {one["direction"]: one for one in switch.ctl("impair", "show", "--port", "host1")}
    assert shown["sent"]["on"] and shown["sent"]["lost"] == 20 and shown["sent"]["seed"] == 5
    assert not shown["received"]["on"]
