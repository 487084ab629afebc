"""A switch and its fabric manager: trees that are in no file, and their lifetime."""

from lab import TREE, VNI
from scripted_manager import ScriptedManager, tree
from tributary.network import wait_until
from tributary.switch import QuickConfig


def managed_star(lab, leaves=2):
    """A star without a tree in its file, and its manager. No hellos arrive between the frames."""
    manager = ScriptedManager(lab)
    section = lab.star(leaves)
    section.trees.clear()
    lab.config.manager = {"address": manager.address, "hello_interval_ms": 0}
    return manager, section


def test_hosts_reduce_on_a_tree_that_the_manager_installed(lab):
    manager, _ = managed_star(lab)
    switch = lab.start()
    hello = manager.meet()
    assert 'name: "leaf0"' in hello and "limits { trees: 8192 ports: 3" in hello
    version = manager.install(5, tree(TREE, 2, 0, [1, 2]))
    assert switch.ctl("version")["switches"][0]["tables_version"] == version == 2
    got, expected = lab.reduce(switch)
    assert got == expected


def test_a_tree_stays_when_the_manager_goes_and_is_reported_to_the_next_one(lab):
    manager, _ = managed_star(lab)
    switch = lab.start()
    manager.meet()
    manager.install(5, tree(TREE, 2, 0, [1, 2]))
    manager.hang_up()
    hello = manager.meet()
    assert f"in_force {{ version: 2 trees {{ number: {TREE} wait_count: 2" in hello
    got, expected = lab.reduce(switch)
    assert got == expected
    manager.install(6, f"changes {{ remove_tree: {TREE} }}")
    assert switch.ctl("show", "trees") == []


def test_a_refused_transaction_names_the_change(lab):
    manager, section = managed_star(lab)
    section.tree(9, 1, "host0", ["host1"])
    switch = lab.start()
    manager.meet()
    manager.say(f"prepare {{ transaction: 5 {tree(TREE, 2, 0, [1, 9])} }}")
    assert ('refused { transaction: 5 reason: "tree 7: child port 9 does not exist: the switch has '
            'ports 0 to 2" }') in manager.hear_until("refused")
    manager.say(f"prepare {{ transaction: 6 {tree(9, 2, 0, [1])} }}")
    assert "tree 9 is in the switch\\'s own file" in manager.hear_until("refused")
    shown = switch.ctl("show", "manager")[0]
    assert shown["channel"] == "up" and shown["manager"] == "scripted"
    assert shown["transactions"]["refused"] == 2
    assert shown["trees_of_file"] == 1 and shown["trees_of_manager"] == 0


def test_a_port_that_lists_no_vni_opens_by_the_managers_permission(lab):
    manager, section = managed_star(lab)
    for port in section.ports.values():
        port["vnis"] = []
    switch = lab.start()
    manager.meet()
    manager.install(5, tree(TREE, 2, 0, [1, 2]))
    lab.root.send(bytes(lab.arm()))
    lab.counter_reaches(switch, "leaf0.port.host0.drop.vni_not_permitted", 1)
    changes = " ".join(f"changes {{ permit {{ port: {port} vni: {VNI} }} }}" for port in range(3))
    manager.install(6, changes)
    got, expected = lab.reduce(switch)
    assert got == expected


def test_a_link_that_goes_down_is_reported(lab):
    manager, _ = managed_star(lab)
    lab.start()
    manager.meet()
    lab.sh("ip -n h2 link set eth0 down")
    assert "up: true" not in manager.hear_until('name: "host2"')
    lab.sh("ip -n h2 link set eth0 up")
    assert "up: true" in manager.hear_until('name: "host2"')


def test_a_reload_keeps_the_managers_trees_and_reports_those_of_the_file(lab):
    manager, section = managed_star(lab)
    switch = lab.start()
    manager.meet()
    manager.install(5, tree(TREE, 2, 0, [1, 2]))
    section.tree(9, 1, "host0", ["host1"])
    switch.reload()
    hello = manager.meet()
    assert "number: 9 wait_count: 1 children: 2 from_file: true" in hello
    assert f"number: {TREE} " in hello
    section.tree(TREE, 1, "host0", ["host1"])
    lab.config.write(switch.file)
    code, _, error = switch.ctl_raw("reload")
    assert code == 1 and f"tree {TREE} is in use by the fabric manager" in error
    got, expected = lab.reduce(switch)
    assert got == expected


def test_statistics_come_at_the_interval_asked_for(lab):
    manager, _ = managed_star(lab)
    switch = lab.start()
    manager.meet("statistics_ms: 100")
    manager.install(5, tree(TREE, 2, 0, [1, 2]))
    lab.reduce(switch)
    assert f"trees {{ tree: {TREE} full: 1 }}" in manager.hear_until(f"trees {{ tree: {TREE} ")


def test_switches_hear_each_other_and_a_loop_is_named(lab):
    manager = ScriptedManager(lab)
    lab.config = QuickConfig(lab.file("switch.sock"), manager=manager.address)
    for name in ("leaf0", "leaf1"):
        section = lab.config.switch(name)
        section.port("up", kind="ring", ring="cable")
        section.port("a", kind="ring", ring=f"loop-{name}")
        section.port("b", kind="ring", ring=f"loop-{name}")
    switch = lab.start()

    def heard():
        return [
            [port.get("neighbour"), port.get("neighbour_port")]
            for one in switch.ctl("show", "manager") for port in one["ports"]
        ]

    wait_until(lambda: heard() == [["leaf1", "up"], ["leaf0", "b"], ["leaf0", "a"],
                                   ["leaf0", "up"], ["leaf1", "b"], ["leaf1", "a"]],
               "every port hears its neighbour")
    assert len(switch.ctl("show", "manager")[0]["problems"]) >= 1


def test_a_refused_switch_and_its_manager_say_so_once(lab):
    manager = lab.start_manager(manager={"log_level": "debug"})
    processes = []
    for number in (1, 2):  # two of one name
        config = QuickConfig(lab.place / f"{number}.sock", manager.switches_address, log_level="debug")
        config.switch("leaf0", guid=number).port("p", kind="null")
        processes.append(lab.start(config, f"switch{number}"))
        if number == 1:
            wait_until(lambda: "connected to the manager" in processes[0].log_text(), "the first one is taken")
    refused = processes[1]
    wait_until(lambda: refused.log_text().count("same error again") >= 2, "it is refused again and again", 60)
    wait_until(lambda: manager.log_text().count("rejected again") >= 2, "so it is", 60)
    text = refused.log_text()
    assert text.count('a switch "leaf0" is connected already') == 1, text
    assert "connected to the manager" not in text, text
    assert manager.log_text().count("switch leaf0: rejected, from") == 1, manager.log_text()
    assert manager.log_text().count("switch leaf0: connected from") == 1
    assert processes[0].stop() == 0
    wait_until(lambda: "connected to the manager" in refused.log_text(), "its turn comes", 60)
