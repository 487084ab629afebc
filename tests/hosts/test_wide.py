"""Wide reduction frames through a running switch: vectors are combined in slots, and leave as
one."""

import struct

from lab import TREE
from tributary import frames

LIMIT = 1408


def wide_star(lab, kind, leaves=3, process=(), **keys):
    """A star whose tree has slots; `keys` are its own."""
    section = lab.star(leaves, kind, **dict(process))
    section.trees[TREE].update({"slots": 128, "payload": LIMIT, **keys})
    return section


def wide(lab, leaf, slot, elements, **fields):
    own = {"nid": leaf + 2, "rank": leaf + 1, "payload": struct.pack(f"<{len(elements)}i", *elements)}
    return frames.WideFrame(**{**lab.identity(), "reduction": slot, **own, **fields})


def arm(lab, slot):
    """An arm of 84 bytes on an id of seven bits."""
    lab.arm_tree(reduction=slot)


def reduce(lab, switch, slot, bytes_each):
    arm(lab, slot)
    before = lab.counters(switch)["leaf0.engine.host0.contributions"]
    vectors = [[(n + 1) * i + slot for i in range(bytes_each // 4)] for n in range(len(lab.leaves))]
    sent = [wide(lab, n, slot, vector, signature=n + 5) for n, vector in enumerate(vectors)]
    lab.leaves[0].send(sent[0])
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", before + 1)
    for leaf, frame in zip(lab.leaves[1:], sent[1:], strict=True):
        leaf.send(frame)
    total = [sum(column) for column in zip(*vectors, strict=True)]
    count = len(vectors)
    signature = sum(n + 5 for n in range(count))
    return lab.root.receive(), [bytes(wide(lab, 0, slot, total, count=count, signature=signature))]


def vectors_of_every_id(lab, kind, **process):
    wide_star(lab, kind, process=process)
    switch = lab.start()
    for slot, length in ((0, LIMIT), (7, 40), (8, LIMIT), (127, 1024), (100, LIMIT)):
        got, expected = reduce(lab, switch, slot, length)
        assert got == expected, f"id {slot}, {length} bytes"
    # Both forms on one id, in turn.
    got, expected = lab.reduce(switch)
    assert got == expected
    got, expected = reduce(lab, switch, 0, LIMIT)
    assert got == expected
    assert lab.counters(switch)["leaf0.engine.host0.full"] == 7


def test_vectors_are_added_up_over_af_xdp(lab):
    vectors_of_every_id(lab, "af_xdp")


def test_vectors_are_added_up_over_af_packet(lab):
    vectors_of_every_id(lab, "af_packet")


def test_vectors_are_added_up_where_two_workers_share_a_switch(lab):
    vectors_of_every_id(lab, "af_packet", workers=2)


def test_a_partial_vector_leaves_when_the_time_is_over(lab):
    section = wide_star(lab, "af_xdp")
    # Until then a program has to start and look, on a busy machine, with a sanitizer.
    section.head["timers_us"] = [3_000_000] * 4
    switch = lab.start()
    arm(lab, 77)
    vector = list(range(LIMIT // 4))
    lab.leaves[1].send(wide(lab, 1, 77, vector))
    occupied = []
    while not occupied or occupied[0]["count"] == 0:
        occupied = next(e for e in switch.ctl("show", "engines") if e["port"] == "host0")["occupied"]
        assert occupied, "the time was over before the test looked"
    assert (occupied[0]["reduction"], occupied[0]["form"], occupied[0]["payload_bytes"]) == (77, "bits32", LIMIT)
    assert lab.root.receive() == [bytes(wide(lab, 1, 77, vector))]


def test_trace_and_explain_show_form_bytes_and_slot(lab):
    wide_star(lab, "af_xdp")
    switch = lab.start()
    switch.ctl("trace", "all")
    reduce(lab, switch, 100, LIMIT)
    events = [e for e in switch.ctl("trace") if e.get("reduction") == 100]
    shapes = {e["event"]: (e.get("form"), e.get("payload_bytes")) for e in events}
    assert shapes["armed"] == (None, None), events
    assert shapes["contributed"] == shapes["completed_full"] == ("bits32", LIMIT), events
    frame = bytes(wide(lab, 0, 100, [1] * (LIMIT // 4))).hex()
    steps = "\n".join(switch.ctl("explain", "--switch", "leaf0", "--port", "host1", frame)["steps"])
    assert f"multicast, tree {TREE}, reduction 100" in steps and f"{LIMIT} bytes of elements of form 2 bits32" in steps, steps


def test_what_does_not_suit_the_slots_is_dropped_by_name(lab):
    wide_star(lab, "af_xdp", slots=16)
    switch = lab.start()
    good = bytes(wide(lab, 0, 3, [1] * (LIMIT // 4)))
    bad = {
        "bad_length": bytes(wide(lab, 0, 3, [1] * (LIMIT // 4 + 2))),
        "truncated": good[:-1],
        "bad_request": good[:44] + b"\x31" + good[45:],
        "bad_form": good[:45] + b"\x09" + good[46:],
        "bad_reduction_id": bytes(wide(lab, 0, 16, [1] * 10)),
    }
    for reason, frame in bad.items():
        lab.leaves[0].send(frame)
        lab.counter_reaches(switch, f"leaf0.port.host1.drop.{reason}", 1)
    assert lab.root.nothing_more() == []
    tree = next(t for t in switch.ctl("show", "trees") if t["tree"] == TREE)
    assert (tree["slots"], tree["payload_bytes"], tree["slot_memory_bytes"]) == (16, LIMIT, 16 * LIMIT)


def test_a_reload_without_room_changes_nothing(lab):
    section = wide_star(lab, "af_packet")
    section.head["wide_memory_mib"] = 1
    switch = lab.start()
    section.trees[TREE]["payload"] = 1024
    section.tree(TREE + 1, 3, "host0", ["host1", "host2", "host3"])
    section.trees[TREE + 1].update({"slots": 128, "payload": LIMIT, "float16": True})
    for number in range(2, 9):
        section.tree(TREE + number, 3, "host0", ["host1", "host2", "host3"])
        section.trees[TREE + number].update({"slots": 64, "payload": LIMIT})
    lab.config.write(switch.file)
    code, _, error = switch.ctl_raw("reload")
    assert code == 1 and "no room in slot memory: 64 slots of 1408 bytes need 90112 bytes" in error, error
    assert f"tree {TREE + 1} has 360448" in error, error
    got, expected = reduce(lab, switch, 127, LIMIT)
    assert got == expected
