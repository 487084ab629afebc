"""SIGHUP to tributary-fabricd: keys that may change at run time do, and a refused file changes
nothing."""

import re
import signal

from test_fabric_manager import JOB, Fabric
from tributary.network import wait_until

JOBS = "/fabric/collectives/jobs"


class Reloaded(Fabric):
    """Hosts do not run: members act through HTTP, and the switches' files give their ports."""

    def __init__(self, lab, **options):
        super().__init__(lab, guards=True, **options)

    def write(self, **values):
        """Sets existing keys of the file to these values."""
        text = self.manager.file.read_text()
        for key, value in values.items():
            text, changed = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
            assert changed == 1, f"{key} stands {changed} times in\n{text}"
        self.manager.file.write_text(text)

    def hang_up(self, result="is read again"):
        """Sends SIGHUP; returns the log from there on, once it contains the result."""
        before = len(self.manager.log_text())
        self.manager.child.send_signal(signal.SIGHUP)

        def said():
            return re.search(f"SIGHUP: .*{result}", self.manager.log_text()[before:])

        wait_until(said, f"the log says: SIGHUP: ... {result}")
        return self.manager.log_text()[before:]

    def limit_of_a_new_job(self, name):
        assert self.manager.request("POST", JOBS, {"jobID": name})[0] == 201
        return self.manager.get(f"{JOBS}/{name}")[1]["mcastLimit"]

    def join(self, group, *hosts, size=None):
        """The last one's answer: when the group is ready, if these are all."""
        size = size or len(hosts)
        for rank, host in enumerate(hosts):
            wait = 60_000 if rank + 1 == size else 0
            answer = self.manager.request(
                "POST", f"/api/v1/groups/{group}/members?wait={wait}",
                {"rank": rank, "size": size, "mac": f"0:00:{host + 1:02x}", "job": JOB},
            )  # fmt: skip
        return answer

    def renew(self, group, rank):
        status, answer = self.manager.request("PUT", f"/api/v1/groups/{JOB}/{group}/members/{rank}/lease")
        assert status == 200, answer
        return answer["lease_seconds"]


def test_limits_leases_and_the_log_level_change_while_it_runs(lab):
    world = Reloaded(
        lab,
        manager={"log_level": "info"},
        groups={"multicast_limit": 2, "lease_ms": 30_000, "max_size": 2, "join_limit_ms": 600_000},
    )
    manager = world.manager
    assert world.limit_of_a_new_job("before") == 2
    status, membership = world.join("runs", 0, 2)
    assert (status, membership["lease_seconds"]) == (200, 30)
    assert " debug: " not in manager.log_text()
    status, answer = world.join("big", 0, size=3)
    assert status == 400 and "1 to 2 members" in answer["message"], answer

    world.write(multicast_limit=5, lease_ms=60_000, max_size=3, join_limit_ms=1000, log_level='"debug"')
    said = world.hang_up()
    assert "needs a restart" not in said and " error: " not in said, said

    assert world.limit_of_a_new_job("after") == 5
    assert manager.get(f"{JOBS}/before")[1]["mcastLimit"] == 2, "a job that was there keeps its limit"
    assert world.renew("runs", 0) == 60, "a longer lease comes with the next renewal"
    status, answer = world.join("big", 0, size=3)
    assert status == 202, answer
    assert answer["ends_in_seconds"] <= 1, answer
    wait_until(lambda: world.group("big") is None, "its members did not come within the new limit")
    assert manager.request("DELETE", f"/api/v1/groups/{JOB}/runs")[0] == 202
    wait_until(lambda: re.search(r" debug: .*tree \d", manager.log_text()), "transactions stand in the log")


def test_a_file_that_is_refused_changes_nothing_and_the_log_says_where_it_is_wrong(lab):
    world = Reloaded(lab, manager={"log_level": "info"}, groups={"multicast_limit": 2, "lease_ms": 30_000})
    manager = world.manager
    assert world.join("runs", 0, 2)[0] == 200
    good = manager.file.read_text()
    for number, (values, complaint) in enumerate((
        ({"multicast_limit": 9, "lease_ms": 7}, r"lease_ms.*100"),
        ({"multicast_limit": 9, "lease_ms": '"soon"'}, r"lease_ms"),
        ({"multicast_limit": 9, "log_level": '"shrill"'}, r"log_level.*shrill"),
        ({"multicast_limit": "9\nlease = 5", "lease_ms": 60_000}, r"lease\b"),
        ({"multicast_limit": "= 9", "lease_ms": 60_000}, r"fabricd.toml:\d+"),
    )):
        world.write(**values)
        said = world.hang_up("nothing is changed")
        assert re.search(rf" error: (?s:.*){complaint}", said), said
        assert str(manager.file) in said, "which file"
        assert manager.alive()
        assert world.limit_of_a_new_job(f"after{number}") == 2
        assert world.renew("runs", 0) == 30
        manager.file.write_text(good)
    manager.file.unlink()
    assert str(manager.file) in world.hang_up("nothing is changed")
    assert world.limit_of_a_new_job("without-a-file") == 2
    manager.file.write_text(good)
    world.write(multicast_limit=9)
    world.hang_up()
    assert world.limit_of_a_new_job("in-the-end") == 9


def test_keys_that_need_a_new_start_are_named_and_left_alone(lab):
    world = Reloaded(lab, groups={"multicast_limit": 2})
    database = world.manager.database
    world.write(file=f'"{lab.place}/other.db"', multicast_limit=3)
    said = world.hang_up()
    assert re.search(r"not changed before a restart: .*store.*file", said), said
    assert world.limit_of_a_new_job("after") == 3, "what may change did"
    assert database.exists() and not (lab.place / "other.db").exists()


def test_a_switch_reports_how_many_descriptors_it_has_and_the_quota_follows_the_file(lab):
    world = Reloaded(lab, hosts=3, descriptors=8, groups={"descriptors_per_tree": 8})
    # Three hosts of each leaf, and a spine's engine has room for one tree toward leaf0.
    assert world.join("a", 0, 3)[0] == 200
    assert world.join("b", 1, 4)[0] == 200
    spines = {tree["switch"] for tree in world.trees_in_switches() if tree["switch"].startswith("spine")}
    assert len(spines) == 2, "the second one is led around the first one's spine"
    status, answer = world.join("c", 2, 5)
    assert status == 507 and answer["message"].startswith("04:"), answer
    assert re.search(r"spine\d port 0 \(to leaf0\) has 8 descriptors", answer["message"]), answer
    shown = world.manager.ctl_text("show", "switches")
    assert re.search(r"spine0 .* 8/8 ", shown), shown
    world.write(descriptors_per_tree=4)
    world.hang_up()
    status, answer = world.join("c", 2, 5)
    assert status == 200, answer
