"""Frames in, frames out: a switch on kernel interfaces, hosts that are raw sockets."""

from lab import SEQNO
from tributary import frames


def four_contributions_become_one(lab, kind):
    lab.star(4, kind=kind)
    switch = lab.start()
    got, expected = lab.reduce(switch)
    assert got == expected
    assert lab.root.nothing_more() == [], "the root got more than one frame"
    assert [leaf.nothing_more(0.05) for leaf in lab.leaves] == [[]] * 4
    assert lab.counters(switch)["leaf0.tree.7.full"] == 1


def test_four_contributions_become_one_over_af_xdp(lab):
    four_contributions_become_one(lab, "af_xdp")


def test_four_contributions_become_one_over_af_packet(lab):
    four_contributions_become_one(lab, "af_packet")


def test_nothing_armed_passes_every_contribution_unchanged(lab):
    lab.star(4)
    switch = lab.start()
    sent = [bytes(lab.contribution(leaf)) for leaf in range(4)]
    for leaf, frame in zip(lab.leaves, sent, strict=True):
        leaf.send(frame)
    assert sorted(lab.root.receive(4)) == sorted(sent)
    assert lab.counters(switch)["leaf0.tree.7.passed_through"] == 4


def test_disarm_releases_the_engine(lab):
    lab.star(2)
    switch = lab.start()
    lab.arm_tree()
    lab.arm_tree(arm=0)
    sent = [bytes(lab.contribution(leaf)) for leaf in range(2)]
    for leaf, frame in zip(lab.leaves, sent, strict=True):
        leaf.send(frame)
    assert sorted(lab.root.receive(2)) == sorted(sent)
    assert lab.counters(switch)["leaf0.engine.host0.disarms"] == 1


def test_a_dead_leaf_yields_a_partial_result(lab):
    section = lab.star(3)
    section.head["timers_us"] = [1_000_000] * 4
    switch = lab.start()
    lab.arm_tree()
    for leaf in (0, 1):
        lab.leaves[leaf].send(lab.contribution(leaf))
    (raw,) = lab.root.receive()
    partial = frames.parse(raw)
    assert (partial.count, partial.data[0], partial.seqno) == (2, 1 + 2, SEQNO)
    assert lab.counters(switch)["leaf0.tree.7.partial"] == 1
    # The late one finds no armed engine and reaches the root on its own.
    late = bytes(lab.contribution(2))
    lab.leaves[2].send(late)
    assert lab.root.receive() == [late]
    assert lab.counters(switch)["leaf0.tree.7.late"] == 1


def test_eight_reductions_of_one_tree_at_once(lab):
    lab.star(2)
    lab.start()
    for reduction in range(8):
        lab.arm_tree(reduction=reduction)
    for leaf in (1, 0):
        for reduction in range(7, -1, -1):
            lab.leaves[leaf].send(lab.contribution(leaf, reduction=reduction, data=(reduction,) * 4))
    results = [frames.parse(raw) for raw in lab.root.receive(8)]
    assert sorted(r.reduction for r in results) == list(range(8))
    assert all(r.count == 2 and r.data == (2 * r.reduction,) * 4 for r in results), results


def test_a_full_descriptor_table_costs_only_the_reduction_it_has_no_room_for(lab):
    section = lab.star(2)
    section.head["descriptors_per_engine"] = 2
    switch = lab.start()
    for reduction in range(3):
        lab.arm_tree(reduction=reduction)
    assert lab.counters(switch)["leaf0.engine.host0.arm_failures"] == 1
    for reduction in (2, 0, 1):
        for leaf in (0, 1):
            lab.leaves[leaf].send(lab.contribution(leaf, reduction=reduction))
    results = [frames.parse(raw) for raw in lab.root.receive(4)]
    counts = sorted((r.reduction, r.count) for r in results)
    assert counts == [(0, 2), (1, 2), (2, 1), (2, 1)]
    assert lab.root.nothing_more(0.1) == []


def test_unicast_follows_its_route(lab):
    section = lab.star(2)
    section.route(3, "host2")
    lab.start()
    frame = bytearray(bytes(lab.contribution(0)))
    frame[30:34] = frames.unicast_address(3).to_bytes(4, "big")
    frame[24:26] = b"\0\0"
    frame[24:26] = frames.checksum(bytes(frame[14:34])).to_bytes(2, "big")
    lab.leaves[0].send(frame)
    assert lab.leaves[1].receive() == [bytes(frame)]
    assert lab.root.nothing_more(0.1) == []
