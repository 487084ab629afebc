"""Named groups with wide frames, through a real manager and real switches: what hosts, switches and
the manager's file negotiate, and that vectors are reduced exactly with it."""

import signal

from test_fabric_manager import Fabric
from tributary.network import wait_until

LENGTH = "3000"  # elements; several frames at an MTU of 1500
SITE = {"payload": 8192, "slots": 64}


def frames_of(reports):
    """(slots, payload), the same at all members."""
    (frames,) = {(report["slots"], report["payload"]) for report in reports}
    return frames


def memory_used(fabric):
    return {entry["switch"]: entry["used"] for entry in fabric.manager.list("memory")}


def test_a_named_group_gets_wide_frames_and_reduces_vectors_of_all_types_exactly(lab):
    fabric = Fabric(lab, groups=SITE)
    hosts = fabric.start_hosts("wide", 200, "--operators", "wide-mix", "--elements", LENGTH)
    fabric.wait_for_state("wide", "ready")
    place = 64 * 1408 * 2  # with room for sums of 16-bit floats
    used = memory_used(fabric)
    kept = 64 * 1408  # results, by the switch next to the root
    assert used["leaf0"] == place + kept and used["leaf1"] == place and sorted(used.values())[0] == 0, used
    shown = fabric.manager.ctl_text("show", "memory")
    assert "tree" in shown and "(job/wide) 176 KiB" in shown and "64 MiB" in shown, shown
    trees = fabric.trees_in_switches()
    assert all(host.poll() is None for host in hosts), "this was looked at while they ran"
    reports = fabric.finish(hosts)
    assert frames_of(reports) == (64, 1408), "an MTU of 1500 has room for that"
    assert all(report["iterations"] == 200 for report in reports)
    assert trees
    root = next(report for report in reports if report["root"])
    # In the 84-byte form a vector of 3,000 doubles is 750 pieces, here 18.
    assert root["statistics"]["reduction_frames"] < 200 * 150, root["statistics"]
    wait_until(lambda: not any(memory_used(fabric).values()), "no switch holds a place any more")


def test_one_member_with_a_small_mtu_lowers_the_payload_for_all(lab):
    fabric = Fabric(lab, groups=SITE)
    lab.sh("ip -n h1 link set eth0 mtu 1000")
    hosts = fabric.start_hosts("small", 200, "--operators", "wide-mix", "--elements", LENGTH)
    fabric.wait_for_state("small", "ready")
    note = fabric.group("small")["frames_note"]
    assert "rank 1" in note and "takes 896 bytes" in note, note
    assert frames_of(fabric.finish(hosts)) == (64, 896)


def test_a_switch_without_wide_memory_takes_wide_frames_from_groups_that_cross_it(lab):
    fabric = Fabric(lab, switches={"leaf1": {"wide_memory_mib": 0}}, groups=SITE)
    across = fabric.finish(fabric.start_hosts("across", 50, "--elements", LENGTH))
    assert frames_of(across) == (8, 32)
    beside = fabric.finish(fabric.start_hosts("beside", 50, "--elements", LENGTH, size=2))
    assert frames_of(beside) == (64, 1408), "both hosts are attached to leaf0"


def held(fabric, n, *options):
    """The hosts of group g<n>, whose root is stopped: the group can neither continue nor end, and
    holds its memory."""
    hosts = fabric.start_hosts(f"g{n}", 30000, "--root-rank", str(n), "--elements", "100", *options, size=3)
    fabric.wait_for_state(f"g{n}", "ready")
    hosts[0].send_signal(signal.SIGSTOP)
    return hosts


def let_go(fabric, running):
    for hosts in running:
        hosts[0].send_signal(signal.SIGCONT)
    for hosts in running:
        fabric.finish(hosts)


def test_without_room_in_a_switch_a_group_gets_fewer_slots_then_none_and_says_who_has_it(lab):
    # A mebibyte holds two places of 128 slots, and one of 64, where the root adds.
    small = {"leaf0": {"wide_memory_mib": 1}}
    fabric = Fabric(lab, hosts=2, switches=small, groups={"payload": 8192})
    running, got = [], []
    for n in range(3):
        running.append(held(fabric, n, "--no-in-switch-results"))
        group = fabric.group(f"g{n}")
        got.append((group["slots"], group["payload"]))
    assert got == [(128, 1408), (128, 1408), (64, 1408)], got
    note = fabric.group("g2")["frames_note"]
    assert "64 reductions in flight instead of 128, because leaf0 has 1048576 bytes" in note, note
    assert "of group 'g0' of job job holds 360448" in note, note
    let_go(fabric, running)


def test_results_that_a_switch_would_keep_cost_no_group_its_slots(lab):
    # A mebibyte holds 128 slots with kept results, and 128 without; not 128 with them, twice.
    fabric = Fabric(lab, hosts=2, switches={"leaf0": {"wide_memory_mib": 1}}, groups={"payload": 8192})
    running = [held(fabric, n) for n in range(2)]
    first, second = fabric.group("g0"), fabric.group("g1")
    assert (first["slots"], first["in_switch_results"]) == (128, True), first
    assert (second["slots"], second["in_switch_results"]) == (128, False), second
    note = second["in_switch_note"]
    assert "fewer than 128 reductions in flight then, because leaf0 has 1048576 bytes" in note, note
    assert "of group 'g0' of job job holds 540672" in note, note
    let_go(fabric, running)


def test_a_manager_that_is_killed_knows_the_frames_of_its_groups_when_it_is_back(lab):
    fabric = Fabric(lab, groups=SITE)
    hosts = fabric.start_hosts("kept", 3000, "--operators", "wide-mix", "--elements", "500")
    fabric.wait_for_state("kept", "ready")
    before = memory_used(fabric)
    assert any(before.values())
    fabric.manager.kill()
    fabric.manager.start()
    fabric.wait_until_found()
    assert all(host.poll() is None for host in hosts), "the manager died while they reduced"
    group = fabric.group("kept")
    assert (group["state"], group["slots"], group["payload"]) == ("ready", 64, 1408), group
    assert memory_used(fabric) == before
    assert frames_of(fabric.finish(hosts)) == (64, 1408)
