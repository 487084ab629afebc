"""Named groups with in-switch results, through a real manager and real switches: no request is
needed, the switch next to the root sends them, also while switches restart, links are cut and hosts
die. And which groups do without, and why."""

import signal
from contextlib import contextmanager

from test_fabric_manager import Fabric
from tributary.network import shell, wait_until

ENDLESS = 10_000_000
SITE = {"payload": 8192, "slots": 64}


def start(fabric, group, iterations, *extra, size=None, **says):
    """Hosts that state no preference, except those in `says`: r2="--no-in-switch-results"."""
    size = size or fabric.hosts
    hosts = []
    for rank in range(size):
        said = [says[f"r{rank}"]] if f"r{rank}" in says else []
        hosts += fabric.start_hosts(group, iterations, *extra, *said, size=size, ranks=[rank])
    return hosts


def in_switch_at(fabric):
    """The switches that send in-switch results."""
    return {tree["switch"] for tree in fabric.trees_in_switches() if tree.get("in_switch_results")}


def leaf_of(rank):
    return f"leaf{rank // 2}"


def in_switch_results_of(fabric):
    return sum(value for name, value in fabric.lab.counters(fabric.switch).items() if name.endswith(".in_switch"))


def more_in_switch_results(fabric):
    """Also after what is in flight."""
    before = in_switch_results_of(fabric)
    wait_until(lambda: in_switch_results_of(fabric) > before + 50, "more in-switch results are sent", 60)


def the_root(reports):
    assert all(report["in_switch_results"] for report in reports), reports
    (root,) = [report for report in reports if report["root"]]
    return root


def nothing_is_left(fabric):
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone", 60)
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree", 60)


def stop(hosts):
    for host in hosts:
        host.send_signal(signal.SIGINT)
    for host in hosts:
        host.communicate(timeout=100)


@contextmanager
def held(host):
    """The host does not run: the others' reductions are under way, and the group cannot end."""
    host.send_signal(signal.SIGSTOP)
    yield
    host.send_signal(signal.SIGCONT)


def results_come_from_the_root(fabric, group, why, **options):
    """The group runs without, reports why, and no switch sends its results."""
    hosts = start(fabric, group, 20_000, *options.pop("extra", ()), **options)
    fabric.wait_for_state(group, "ready")
    with held(hosts[3]):
        shown = fabric.group(group)
        assert shown["in_switch_results"] is False and why in shown["in_switch_note"], shown
        text = fabric.manager.ctl_text("show", "groups", f"job/{group}")
        assert f"no in-switch results because: {shown['in_switch_note']}" in text, text
        numbers = {route["tree"] for route in shown["routes"]}
        told = [tree for tree in fabric.trees_in_switches() if tree["tree"] in numbers]
        assert told and not any(tree.get("in_switch_results") for tree in told), told
    reports = fabric.finish(hosts)
    assert not any(report["in_switch_results"] for report in reports), reports
    (root,) = [report for report in reports if report["root"]]
    assert root["statistics"]["in_switch"] == 0, root


def test_in_switch_results_are_the_default(lab):
    fabric = Fabric(lab)
    hosts = start(fabric, "g", ENDLESS, "--operators", "mix", "--in-flight", "8", "--root-rank", "2")
    fabric.wait_for_state("g", "ready")
    assert in_switch_at(fabric) == {leaf_of(2)}
    assert fabric.group("g")["in_switch_results"] is True
    (tree,) = fabric.manager.list("trees")
    top = [part for part in tree["parts"] if part["in_switch_results"]]
    assert [(part["switch"], part["wait_count"]) for part in top] == [(leaf_of(2), 4)], tree
    assert "4, in-switch results" in fabric.manager.ctl_text("show", "trees", str(tree["tree"]))
    assert "the switch next to the root multicasts the results" in fabric.manager.ctl_text("show", "groups", "job/g")
    more_in_switch_results(fabric)
    stop(hosts)
    reports = fabric.finish(start(fabric, "h", 300, "--operators", "mix", "--in-flight", "8"))
    root = the_root(reports)
    assert root["iterations"] == 300 and root["statistics"]["in_switch"] > 0, root


def test_one_member_that_refuses_is_enough_and_the_root_adds(lab):
    fabric = Fabric(lab)
    results_come_from_the_root(fabric, "g", "refused them", r1="--in-switch-results", r2="--no-in-switch-results")
    nothing_is_left(fabric)


def test_a_site_that_leaves_it_to_those_who_ask(lab):
    fabric = Fabric(lab, groups={"in_switch_results": False})
    results_come_from_the_root(fabric, "silent", "groups.in_switch_results is false")
    root = the_root(fabric.finish(start(fabric, "asking", 300, r3="--in-switch-results")))
    assert root["statistics"]["in_switch"] > 0, root
    nothing_is_left(fabric)


def test_twin_trees_are_as_ever(lab):
    fabric = Fabric(lab)
    results_come_from_the_root(fabric, "g", "it has 2 trees", extra=("--trees", "2"))
    nothing_is_left(fabric)


def test_what_was_said_survives_the_manager_and_what_a_group_has_a_change_of_its_file(lab):
    fabric = Fabric(lab, groups={"lease_ms": 300_000})
    create = ["group", "create", "--job", "job", "--size", "4"]
    fabric.manager.ctl(*create, "refused", "--no-in-switch-results")
    fabric.manager.ctl(*create, "asked", "--in-switch-results")
    running = start(fabric, "running", ENDLESS, "--root-rank", "0")
    fabric.wait_for_state("running", "ready")
    fabric.manager.kill()
    text = fabric.manager.file.read_text()
    assert "lease_ms = 300000" in text, text
    fabric.manager.file.write_text(text.replace("lease_ms = 300000", "lease_ms = 300000\nin_switch_results = false"))
    fabric.manager.start()
    fabric.wait_until_found()
    assert fabric.group("running")["in_switch_results"] is True
    assert in_switch_at(fabric) == {leaf_of(0)}
    more_in_switch_results(fabric)
    stop(running)
    root = the_root(fabric.finish(start(fabric, "asked", 300)))
    assert root["statistics"]["in_switch"] > 0, root
    results_come_from_the_root(fabric, "refused", "refused them")


def test_vectors_of_a_group_that_was_made_so_beforehand_are_exact(lab):
    fabric = Fabric(lab, groups=SITE)
    fabric.manager.ctl("group", "create", "wide", "--job", "job", "--size", "4", "--root-rank", "0")
    hosts = fabric.start_hosts("wide", 200, "--operators", "wide-mix", "--elements", "3000", "--root-rank", "0")
    fabric.wait_for_state("wide", "ready")
    used = {entry["switch"]: entry["used"] for entry in fabric.manager.list("memory")}
    place = 64 * 1408
    assert used["leaf0"] == 3 * place and used["leaf1"] == 2 * place, used
    reports = fabric.finish(hosts)
    assert the_root(reports)["statistics"]["in_switch"] > 200, reports
    nothing_is_left(fabric)


def test_groups_of_one_and_two_and_of_one_switch(lab):
    fabric = Fabric(lab)
    for size in (1, 2):
        reports = fabric.finish(start(fabric, f"g{size}", 200, size=size))
        root = the_root(reports)
        assert (root["statistics"]["in_switch"] > 0) == (size > 1), root
    nothing_is_left(fabric)


def test_two_trees_are_refused_with_the_reason(lab):
    fabric = Fabric(lab)
    (host,) = fabric.start_hosts("twins", 10, "--trees", "2", "--in-switch-results", size=1)
    out, err = host.communicate(timeout=60)
    assert host.returncode == 2, f"{out}{err}"
    assert "twin trees have no in-switch results" in err, err


def test_switches_that_restart_get_it_again_and_no_result_is_lost(lab):
    fabric = Fabric(lab, groups={"lease_ms": 300_000})
    hosts = start(fabric, "g", 40_000, "--operators", "mix", "--in-flight", "8")
    fabric.wait_for_state("g", "ready")
    (top,) = in_switch_at(fabric)
    for _ in range(2):
        with held(hosts[3]):
            fabric.switch.kill()
            fabric.switch = lab.start(fabric.config)
            fabric.wait_until_found()
            wait_until(lambda: in_switch_at(fabric) == {top}, "the switch sends in-switch results again", 60)
        wait_until(lambda: in_switch_results_of(fabric) > 50, "the new one does so", 60)
    assert the_root(fabric.finish(hosts))["iterations"] == 40_000
    nothing_is_left(fabric)


def test_a_tree_that_is_rerouted_round_a_cut_link_keeps_in_switch_results(lab):
    fabric = Fabric(lab, groups={"lease_ms": 300_000})
    hosts = start(fabric, "g", 40_000, "--operators", "mix", "--in-flight", "8")
    fabric.wait_for_state("g", "ready")
    (tree,) = fabric.manager.list("trees")
    (top,) = in_switch_at(fabric)
    spine = next(part["switch"] for part in tree["parts"] if part["switch"].startswith("spine"))

    def is_led_round():
        trees = fabric.manager.list("trees")
        return trees and all(part["switch"] != spine for part in trees[0]["parts"]) and in_switch_at(fabric) == {top}

    with held(hosts[3]):
        before = in_switch_results_of(fabric)
        shell(f"ip link set l1s{spine[-1]} down")
        wait_until(is_led_round, "another spine has the tree, and the same switch sends its results", 60)
    reports = fabric.finish(hosts)
    assert the_root(reports)["iterations"] == 40_000
    assert in_switch_results_of(fabric) > before + 50
    nothing_is_left(fabric)


def test_a_member_that_is_killed_is_named_by_the_others(lab):
    fabric = Fabric(lab, groups={"lease_ms": 60_000, "leave_limit_ms": 3000})
    hosts = start(fabric, "g", ENDLESS, "--root-rank", "0", "--member-timeout", "3s")
    fabric.wait_for_state("g", "ready")
    more_in_switch_results(fabric)
    dead = hosts.pop(3)
    dead.kill()
    dead.communicate()
    for host in hosts:
        out, err = host.communicate(timeout=100)
        assert host.returncode != 0 and "rank 3" in err, f"{out}{err}"
