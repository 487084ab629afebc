"""Two managers against one fabric, and one on a back-up: nothing is removed from a switch before the
operator agrees, and each says why. And several addresses of one manager."""

import contextlib
import sqlite3
import subprocess

from test_fabric_manager import JOB, Fabric
from tributary.network import wait_until
from tributary.switch import Config

MANY = 10_000_000  # reductions, for longer than a test takes


def managers(manager):
    return manager.get("/api/v1/managers")[1]


def rejected(manager):
    """The names of switches that it rejects because they belong to another fabric."""
    return {name for fabric in managers(manager)["other_fabrics"] for name in fabric["switches"]}


def epoch_of(manager):
    return managers(manager)["managers"][0]["epoch"]


def reduced(fabric):
    """Reductions that all engines have completed."""
    counters = fabric.lab.counters(fabric.switch)
    return sum(value for name, value in counters.items() if ".engine." in name and name.endswith(".full"))


def goes_on(fabric):
    before = reduced(fabric)
    wait_until(lambda: reduced(fabric) > before + 100, "the group reduces on")


@contextlib.contextmanager
def running_group(fabric):
    """A group that reduces until the block ends."""
    hosts = fabric.start_hosts("demo", MANY, timeout=600)
    try:
        fabric.wait_for_state("demo", "ready")
        goes_on(fabric)
        yield
        assert all(host.poll() is None for host in hosts), "a member has given up"
    finally:
        for host in hosts:
            host.kill()
            host.communicate()


def back_up(manager, place):
    with contextlib.closing(sqlite3.connect(manager.database)) as source:
        with contextlib.closing(sqlite3.connect(place)) as copy:
            source.backup(copy)


def restore(manager, place):
    for file in manager.database.parent.glob(manager.database.name + "*"):
        file.unlink()
    manager.database.write_bytes(place.read_bytes())
    manager.database.chmod(0o600)


def restart(fabric, times):
    for _ in range(times):
        fabric.manager.kill()
        fabric.manager.start()
        fabric.wait_until_found()


def test_two_managers_with_different_stores_remove_nothing_and_both_say_why(lab):
    other = lab.start_manager(name="other")
    fabric = Fabric(lab, also=[other.switches_address])
    manager = fabric.manager
    config = Config(lab.place / "lone.sock", {"address": [other.switches_address, manager.switches_address]})
    config.switch("lone").port("p", kind="null")
    lone = lab.start(config, name="lone")
    wait_until(lambda: other.list("switches"), "the lone switch is the other manager's")
    assert managers(manager)["fabric"] != managers(other)["fabric"]
    with running_group(fabric):
        trees = fabric.tree_numbers()
        assert trees
        # One switch comes from the other fabric.
        other.kill()
        wait_until(lambda: rejected(manager) == {"lone"}, "the manager rejects it")
        assert any("lone" in problem for problem in manager.get("/api/v1/topology")[1]["problems"])
        assert "belongs to fabric" in manager.log_text() and "tributaryctl fabric adopt" in manager.log_text()
        assert manager.get("/readyz")[0] == 200, "its own switches are managed as before"
        assert manager.create_job("later")
        other.start()
        wait_until(lambda: lone.ctl("show", "manager")[0]["channel"] == "up", "it is back where it belongs")
        # All others go to a manager that does not know their trees.
        manager.kill()
        four = {"leaf0", "leaf1", "spine0", "spine1"}
        wait_until(lambda: rejected(other) == four, "the other manager rejects them all")
        assert fabric.tree_numbers() == trees
        goes_on(fabric)
        assert "tributary_switches_of_other_fabrics 4" in other.get("/metrics")[1]
        assert "belongs to fabric" in other.log_text()
        manager.start()
        fabric.wait_until_found()
        assert managers(manager)["managers"][0]["role"] == "leader"
        assert fabric.tree_numbers() == trees
        assert fabric.group("demo")["state"] == "ready"
        goes_on(fabric)


def test_a_switch_that_was_adopted_is_not_taken_back_without_a_word(lab):
    other = lab.start_manager(name="other")
    fabric = Fabric(lab, also=[other.switches_address])
    manager, ours = fabric.manager, managers(fabric.manager)["fabric"]
    assert other.request("POST", "/api/v1/adoptions", {"fabric": ours})[0] == 404, "it has met none of it"
    manager.kill()
    wait_until(lambda: len(rejected(other)) == 4, "the other manager rejects them all")
    adopted = other.ctl("adopt", ours)
    assert adopted["adopted"] == ours and adopted["epoch"] == epoch_of(other)
    wait_until(lambda: sum(s["connected"] for s in other.list("switches")) == 4, "they are its own now")
    shown = fabric.switch.ctl("show", "manager")
    assert {switch["fabric"] for switch in shown} == {managers(other)["fabric"]}
    manager.start()
    other.kill()
    wait_until(lambda: len(rejected(manager)) == 4, "the first one rejects them")
    other.start()
    wait_until(lambda: sum(s["connected"] for s in other.list("switches")) == 4, "the adoption is stored")
    assert managers(other)["adopted_fabrics"][0]["fabric"] == ours


def test_a_manager_on_a_back_up_changes_nothing_before_the_operator_agrees(lab):
    fabric = Fabric(lab)
    manager = fabric.manager
    copy = lab.place / "back-up.db"
    back_up(manager, copy)
    restart(fabric, 2)
    newest = epoch_of(manager)
    with running_group(fabric):
        trees = fabric.tree_numbers()
        manager.kill()
        restore(manager, copy)
        for _ in range(3):  # a start raises its epoch, and does not help
            manager.start()
            wait_until(lambda: managers(manager)["managers"][0]["role"] == "superseded", "it says so")
            assert "superseded" in manager.get("/readyz")[1]["message"]
            assert manager.request("POST", "/fabric/collectives/jobs", {"jobID": "x"})[0] == 503
            assert fabric.tree_numbers() == trees
            goes_on(fabric)
            manager.kill()
        manager.start()
        text = manager.ctl_text("show", "managers")
        assert "superseded" in text and f"tributaryctl fabric adopt {managers(manager)['fabric']}" in text
        manager.ctl("adopt", managers(manager)["fabric"])
        assert epoch_of(manager) > newest
        fabric.wait_until_found()
        wait_until(lambda: manager.get("/readyz")[0] == 200, "it leads")


def test_a_back_up_that_is_restored_as_the_page_says_leads_at_once(lab):
    fabric = Fabric(lab)
    manager = fabric.manager
    copy = lab.place / "back-up.db"
    back_up(manager, copy)
    restart(fabric, 2)
    manager.kill()
    restore(manager, copy)
    raised = subprocess.run([str(lab.binaries.fabricd), "--raise-epoch", "--config", str(manager.file)],
                            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert raised.returncode == 0 and "the epoch is 1001 now" in raised.stdout, raised.stdout + raised.stderr
    manager.start()
    fabric.wait_until_found()
    assert managers(manager)["managers"][0]["role"] == "leader"
    busy = subprocess.run([str(lab.binaries.fabricd), "--raise-epoch", "--config", str(manager.file)],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert busy.returncode == 1 and "is locked by process" in busy.stderr, busy.stderr


def test_hosts_and_commands_know_several_addresses(lab):
    fabric = Fabric(lab)
    several = f"unix:{lab.place}/nobody.sock,{fabric.manager.url}"
    fabric.finish(fabric.start_hosts("demo", 50, manager=several))
    done = subprocess.run([str(lab.binaries.ctl), "fabric", "--manager", several, "show", "jobs", "--json"],
                          capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and JOB in done.stdout, done.stdout + done.stderr
    alone = subprocess.run([str(lab.binaries.ctl), "fabric", "--manager", f"{several},{several}", "show", "jobs"],
                           capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert alone.returncode == 2 and "is there twice" in alone.stderr, alone.stderr
