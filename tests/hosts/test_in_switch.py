"""In-switch results: the switch next to the root adds the root's contribution and sends the result
to all."""

import subprocess

from lab import TREE
from test_endpoint import all_hosts
from test_vectors import LIMIT, wide
from tributary import frames


def in_switch_star(lab, leaves=3, kind="af_xdp", slots=0, impairment=None, **process):
    """A star whose switch sends in-switch results; the test closes its host ports where programs
    use them."""
    section = lab.star(leaves, kind, **process)
    section.head["timers_us"] = [50_000] * 4
    section.trees[TREE].update({"wait_count": leaves + 1, "in_switch_results": True})
    if slots:
        section.trees[TREE].update({"slots": slots, "payload": LIMIT})
    if impairment:
        for number in range(leaves + 1):
            section.impairments[f"host{number}"] = impairment
    return section


def close_ports(lab):
    for port in (lab.root, *lab.leaves):
        port.close()


def counter(lab, switch, name):
    return lab.counters(switch)[f"leaf0.engine.host0.{name}"]


def root_contribution(lab, **fields):
    return frames.Frame(**{**lab.identity(), "nid": 1, "rank": 0, "data": (100, 0, 0, 0), **fields})


def test_a_result_reaches_all_members_as_an_arm_of_the_next(lab):
    section = in_switch_star(lab)
    section.head["timers_us"] = [20_000_000] * 4
    switch = lab.start()
    lab.arm_tree(resno=1023)
    contributions = [lab.contribution(n) for n in range(3)] + [root_contribution(lab)]
    for number, (port, contribution) in enumerate(zip([*lab.leaves, lab.root], contributions, strict=True)):
        port.send(contribution)
        lab.counter_reaches(switch, "leaf0.engine.host0.contributions", number + 1)
    seqno = lab.identity()["seqno"]
    expected = lab.arm(
        seqno=(seqno + 1) % 1022, resno=seqno, op=frames.INT_SUM, count=4,
        data=tuple(sum(c.data[lane] for c in contributions) for lane in range(4)),
    )  # fmt: skip
    for port in (lab.root, *lab.leaves):
        assert port.receive() == [bytes(expected)]
    assert counter(lab, switch, "in_switch") == 1
    # A root that missed it: the result is sent again, retry set, and opens a sequence of its own.
    lab.root.send(bytes(lab.arm(seqno=seqno + 2, resno=1023, pad=1)))
    again = lab.arm(seqno=seqno + 3, resno=seqno, op=frames.INT_SUM, count=4, data=expected.data, pad=1)
    for port in (lab.root, *lab.leaves):
        assert port.receive() == [bytes(again)]
    assert counter(lab, switch, "replayed") == 1


def test_hosts_reduce_all_operators_on_a_tree_with_in_switch_results(lab):
    in_switch_star(lab, 4)
    switch = lab.start()
    close_ports(lab)
    reports = all_hosts(lab, "--operators", "mix", "--in-flight", "8", "--in-switch-results")
    assert reports[0]["in_switch_results"] is True
    in_switch = reports[0]["statistics"]["in_switch"]
    assert in_switch > 0 and counter(lab, switch, "in_switch") >= in_switch


def test_two_workers_send_in_switch_results_of_vectors(lab):
    in_switch_star(lab, 3, kind="af_packet", slots=128, workers=2)
    switch = lab.start()
    close_ports(lab)
    reports = all_hosts(lab, *wide(), "--in-switch-results", "--elements", "3001", "--in-flight", "4",
                        "--operators", "wide-mix", iterations=42)  # fmt: skip
    assert reports[0]["statistics"]["in_switch"] > 42 * 3001 // LIMIT
    assert counter(lab, switch, "op_mismatches") == 0


def test_vectors_stay_exact_when_ports_lose_duplicate_and_reorder(lab):
    faults = {"loss": 0.01, "duplicate": 0.01, "reorder": 0.02, "seed": 5}
    in_switch_star(lab, 3, slots=128, impairment=faults)
    switch = lab.start()
    close_ports(lab)
    all_hosts(lab, *wide(), "--in-switch-results", "--elements", "20000", "--operators", "sum-float,sum-int32,max-uint8",
              iterations=12)  # fmt: skip
    lost = sum(value for name, value in lab.counters(switch).items() if name.endswith(".drop.impaired"))
    assert lost > 20
    assert counter(lab, switch, "in_switch") > 0


def test_trees_show_in_switch_results(lab):
    in_switch_star(lab)
    switch = lab.start()
    [tree] = switch.ctl("show", "trees")
    assert tree["in_switch_results"] is True and tree["wait_count"] == 4
    code, out, _ = switch.ctl_raw("show", "trees")
    assert code == 0 and "4, in-switch results" in out, out


def test_twins_have_no_in_switch_results(lab):
    in_switch_star(lab)
    lab.start()
    done = subprocess.run(
        ["ip", "netns", "exec", "h1", str(lab.binaries.host), "--interface", "eth0", "--tree", str(TREE),
         "--twin-tree", "9", "--rank", "1", "--size", "2", "--in-switch-results"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "twin trees have no in-switch results" in done.stderr, done.stderr
