"""The fabric manager with real switches, real hosts and real sockets: it discovers, installs, dies,
restarts."""

import json
import re
import signal
import subprocess
import time

from beside import Beside
from tributary.network import shell, wait_until
from tributary.switch import EXIT_FAILED, QuickConfig

JOB = "job"
RETRY_USEC = 10_000_000


def add_spines(network, config, leaves, settings=lambda name: {}):
    """Two spines above the leaves (sections of the configuration), over links l0s0, l0s1 and so on."""
    for leaf, section in enumerate(leaves):
        for spine in range(2):
            network.cable(None, f"l{leaf}s{spine}", None, f"s{spine}l{leaf}")
            section.port(f"up{spine}", kind="af_packet", interface=f"l{leaf}s{spine}")
    for spine in range(2):
        section = config.switch(f"spine{spine}", **settings(f"spine{spine}"))
        for leaf in range(len(leaves)):
            section.port(f"leaf{leaf}", kind="af_packet", interface=f"s{spine}l{leaf}")


class Fabric:
    """Two leaves and two spines; each leaf has `hosts` hosts. Everything is discovered; with `guards` the
    switches' files say which host is at which port, for hosts that send no hello; `vnis` are open
    to all, None: every VNI is. `switches` has keys of their sections, by name; `also` are further
    addresses that they dial for a manager."""

    def __init__(self, lab, hosts=2, guards=False, descriptors=None, vnis=(), switches=None, also=(), **manager):
        for binary in (lab.binaries.host, lab.binaries.ctl):
            lab.need(binary)
        self.lab = lab
        self.hosts = 2 * hosts
        self.manager = lab.start_manager(**manager)
        self.token = self.manager.create_job(JOB)
        self.token_file = lab.file("job.token")
        self.token_file.write_text(self.token + "\n")
        config = QuickConfig(lab.place / "switches.sock", {"address": [self.manager.switches_address, *also]})
        engines = {"descriptors_per_engine": descriptors} if descriptors else {}

        def settings(name):
            return {**engines, **(switches or {}).get(name, {})}

        leaves = []
        for leaf in range(2):
            section = config.switch(f"leaf{leaf}", **settings(f"leaf{leaf}"))
            leaves.append(section)
            for n in range(hosts):
                number = leaf * hosts + n
                name = lab.network.host(f"h{number}")
                nid = number + 1
                lab.network.cable(name, "eth0", None, f"host{number}", f"02:00:00:00:00:{nid:02x}")
                section.port(
                    f"host{number}", kind="af_packet", interface=f"host{number}",
                    vnis=None if vnis is None else list(vnis),
                    nid=nid if guards else None,
                )
        add_spines(lab.network, config, leaves, settings)
        self.config = config
        self.switch = lab.start(config)
        self.wait_until_found()

    def wait_until_found(self):
        def found():
            topology = self.manager.get("/api/v1/topology")[1]
            return (
                sum(switch["connected"] for switch in topology["switches"]) == 4
                and sum(link["up"] for link in topology["links"]) == 4
            )

        wait_until(found, "the manager finds four switches and four links")

    def start_hosts(self, group, iterations, *extra, manager=None, size=None, timeout=60, ranks=None):
        """Ranks 0 to size - 1, each on the host of its number; all hosts by default. Or only
        these."""
        size = size or self.hosts
        return [
            subprocess.Popen(
                ["ip", "netns", "exec", f"h{rank}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"',
                 f"h{rank}", str(self.lab.binaries.host), "--interface", "eth0", "--group", group, "--job", JOB,
                 "--manager", manager or self.manager.url, "--token-file", str(self.token_file),
                 "--rank", str(rank), "--size", str(size), "--operations", str(iterations),
                 "--json", "--timeout", f"{timeout}s", *extra],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in (range(size) if ranks is None else ranks)
        ]  # fmt: skip

    def finish(self, hosts):
        """The hosts' reports; all must have ended successfully, with every result right."""
        reports = []
        for host in hosts:
            out, err = host.communicate(timeout=200)
            assert host.returncode == 0, f"{host.args}\n{out}{err}\n{self.manager.log_text()}"
            reports.append(json.loads(out))
        assert all(report["wrong"] == 0 for report in reports)
        return reports

    def group(self, name):
        return next((group for group in self.manager.list("groups") if group["name"] == name), None)

    def wait_for_state(self, name, state):
        wait_until(
            lambda: (self.group(name) or {}).get("state") == state, f"group {name} becomes {state}", 60
        )

    def trees_in_switches(self):
        return self.switch.ctl("show", "trees")

    def tree_numbers(self):
        return sorted((tree["switch"], tree["tree"]) for tree in self.trees_in_switches())


def test_hosts_join_by_name_reduce_and_leave_nothing_behind(lab):
    fabric = Fabric(lab)
    reports = fabric.finish(fabric.start_hosts("demo", 300))
    assert all(report["iterations"] == 300 for report in reports)
    root = next(report for report in reports if report["root"])
    assert root["root_frames_per_reduction"] < 1.5, "the engines did not reduce"
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_a_group_of_one_reduces_by_itself(lab):
    fabric = Fabric(lab)
    (report,) = fabric.finish(fabric.start_hosts("alone", 100, size=1))
    assert report["root"] and report["iterations"] == 100
    assert not fabric.trees_in_switches(), "no host is below its root"
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")


def test_a_manager_killed_while_hosts_reduce_finds_all_again(lab):
    fabric = Fabric(lab)
    hosts = fabric.start_hosts("demo", 30_000)
    fabric.wait_for_state("demo", "ready")
    before = fabric.tree_numbers()
    assert before
    fabric.manager.kill()
    assert fabric.tree_numbers() == before
    fabric.manager.start()
    fabric.wait_until_found()
    assert all(host.poll() is None for host in hosts), "the manager died in the middle of the stream"
    assert fabric.group("demo")["state"] == "ready"
    fabric.finish(hosts)
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_twin_trees_lose_a_cable_without_a_retry(lab):
    # On a busy machine a host may not run for longer than the usual 32 ms, and the root asks again;
    # a loss that only a retry recovers takes these seconds here, and is visible. With longer frames
    # a busy member may know its group only after the first arm, which costs a retry long before the
    # cut.
    fabric = Fabric(lab, groups={"payload": 32})
    hosts = fabric.start_hosts("twins", 30_000, "--trees", "2", "--retry", f"{RETRY_USEC}us")
    fabric.wait_for_state("twins", "ready")
    group = fabric.group("twins")
    assert group["disjoint"], group
    tree = fabric.manager.list("trees")[0]
    inner = next(part for part in tree["parts"] if part["switch"].startswith("leaf") and
                 part["parent"]["to"].startswith("spine"))
    leaf, spine = inner["switch"][-1], inner["parent"]["to"][-1]
    for of_tree in range(2):  # each twin has its spine, and both have carried enough traffic
        lab.counter_reaches(fabric.switch, f"spine{of_tree}.queue.leaf0.0.frames", 2_000)
    shell(f"ip link set l{leaf}s{spine} down")
    assert all(host.poll() is None for host in hosts), "it was cut in the middle of the stream"
    reports = fabric.finish(hosts)
    root = next(report for report in reports if report["root"])
    assert root["iterations"] == 30_000
    asked = {name: sum(report["statistics"][name] for report in reports)
             for name in ("retried", "requests_sent", "resent")}  # fmt: skip
    assert not any(asked.values()), asked
    assert all(root["statistics"][name] for name in ("won_on_first", "won_on_second")), root["statistics"]


def test_a_crashed_member_does_not_hold_the_group_for_ever(lab):
    fabric = Fabric(lab, groups={"lease_ms": 6000, "leave_limit_ms": 3000})
    hosts = fabric.start_hosts("demo", 10_000_000, "--root-rank", "0", timeout=10)
    fabric.wait_for_state("demo", "ready")
    crashed = hosts.pop(1)
    crashed.kill()
    crashed.communicate()
    for host in hosts:
        out, err = host.communicate(timeout=100)
        assert host.returncode == EXIT_FAILED, f"{out}{err}"
    wait_until(lambda: fabric.group("demo") is None, "the group of the dead is gone", 60)
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_a_manager_that_was_stopped_for_longer_than_leases_run_ends_none(lab):
    # Leases that a busy machine can keep: a host that does not run for that long has left.
    fabric = Fabric(lab, groups={"lease_ms": 5000})
    hosts = fabric.start_hosts("demo", 10_000_000)
    fabric.wait_for_state("demo", "ready")
    fabric.manager.child.send_signal(signal.SIGSTOP)
    time.sleep(6.5)  # the manager's own clock does not advance
    fabric.manager.child.send_signal(signal.SIGCONT)
    wait_until(lambda: "did not run for " in fabric.manager.log_text(), "the manager notices")
    group = fabric.group("demo")
    assert group["state"] == "ready" and all(m["state"] == "joined" for m in group["members"]), group
    for host in hosts:
        host.kill()
        host.wait()
    wait_until(lambda: fabric.group("demo") is None, "leases end all the same", 30)


def test_a_member_that_does_not_come_is_named_and_the_others_are_notified(lab):
    fabric = Fabric(lab, groups={"join_limit_ms": 1500})
    hosts = fabric.start_hosts("demo", 10)
    hosts.pop().kill()
    for host in hosts:
        out, err = host.communicate(timeout=100)
        assert host.returncode != 0
        assert "demo" in out + err


def test_a_client_of_the_slingshot_contract_gets_its_address_and_root(lab):
    fabric = Fabric(lab, guards=True)
    request = fabric.manager.request
    body = {"macs": ["0:00:01", "0:00:02", "0:00:03"], "vni": 77, "timeout": 20_000_000,
            "jobID": JOB, "jobStepID": "0"}  # fmt: skip
    status, answer = request("POST", "/fabric/collectives/multicasts", body, fabric.token)
    assert status == 201, answer
    assert 0 <= answer["mcastID"] <= 8191
    assert answer["hwRoot"].split(":")[:3] == ["00", "00", "00"]
    assert len(answer["hwRoot"].split(":")) == 6
    assert any(tree["tree"] == answer["mcastID"] for tree in fabric.trees_in_switches())
    status, _ = request("DELETE", f"/fabric/collectives/multicasts/{answer['mcastID']}", None, fabric.token)
    assert status == 200
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")
    assert request("GET", "/fabric/collectives/jobs")[1]["documentLinks"] == [f"/fabric/collectives/jobs/{JOB}"]
    assert request("DELETE", f"/fabric/collectives/jobs/{JOB}")[0] == 200


def test_groups_come_and_go_while_another_one_reduces(lab):
    fabric = Fabric(lab)
    lasting = fabric.start_hosts("lasting", 20_000, "--root-rank", "0")
    fabric.wait_for_state("lasting", "ready")

    def come_and_go():
        for n in range(3):
            fabric.finish(fabric.start_hosts(f"short{n}", 50, "--root-rank", "1"))

    with Beside(come_and_go):
        fabric.finish(lasting)


def test_events_and_metrics_show_each_change(lab):
    fabric = Fabric(lab)
    fabric.finish(fabric.start_hosts("demo", 10))
    status, text = fabric.manager.get("/metrics")
    assert status == 200
    assert 'tributary_switch_connected{switch="leaf0"} 1' in text
    assert "\nprocess_open_fds " in text
    with fabric.manager.connection() as plain:
        plain.request("GET", "/metrics")
        assert plain.getresponse().read().decode().rstrip().endswith("# EOF")
    assert fabric.manager.get("/readyz")[0] == 200
    assert fabric.manager.get("/openapi.json")[1]["openapi"].startswith("3.")


def test_a_database_that_is_away_is_noticed_though_nothing_changes(lab):
    fabric = Fabric(lab, guards=True)
    manager = fabric.manager
    assert manager.get("/readyz")[0] == 200
    away = manager.database.with_name("away.db")
    manager.database.rename(away)
    wait_until(lambda: manager.get("/readyz")[0] == 503, "the manager notices")
    assert f"{manager.database} was removed or replaced" in manager.get("/readyz")[1]["message"]
    assert manager.get("/healthz")[0] == 200, "running groups continue"
    assert "tributary_store_failing 1" in manager.get("/metrics")[1]
    complaint = rf" error: .*{manager.database} was removed or replaced"

    def complaints():
        return len(re.findall(complaint, manager.log_text()))

    # A pending store of the topology may have detected it first; the check of the names reports it
    # in any case.
    wait_until(lambda: complaints() == 1, "the log says it as an error")
    assert manager.request("POST", "/fabric/collectives/jobs", {"jobID": "lost"})[0] == 503
    away.rename(manager.database)
    wait_until(lambda: manager.get("/readyz")[0] == 200, "it is back, and taken notice of")
    assert manager.request("POST", "/fabric/collectives/jobs", {"jobID": "kept"})[0] == 201
    manager.database.unlink()
    wait_until(lambda: manager.get("/readyz")[0] == 503, "the manager notices again")
    wait_until(lambda: complaints() == 2, "once each time")
    manager.kill()
    manager.start()
    wait_until(lambda: manager.get("/api/v1/managers")[1]["other_fabrics"], "a new store is another fabric")
    assert manager.get("/readyz")[0] == 503, "no switch takes anything from it"
    manager.ctl("adopt", manager.get("/api/v1/managers")[1]["other_fabrics"][0]["fabric"])
    fabric.wait_until_found()
    wait_until(lambda: manager.get("/readyz")[0] == 200, "a new start makes a new one")


def fill(directory):
    """Until it takes no further byte."""
    with open(directory / "filler", "ab", buffering=0) as filler:
        for block in (4096, 1):
            try:
                while True:
                    filler.write(b"x" * block)
            except OSError:
                pass


def test_a_full_disk_takes_nothing_on_and_does_not_keep_the_manager_from_starting(lab):
    disk = lab.place / "disk"
    disk.mkdir()
    shell(f"mount -t tmpfs -o size=400k tmpfs {disk}")
    manager = lab.start_manager(store={"file": str(disk / "fabric.db")})
    token = manager.create_job("before")

    def create(job):
        return manager.request("POST", "/fabric/collectives/jobs", {"jobID": job})[0]

    def jobs():
        return {job["job"] for job in manager.list("jobs")}

    fill(disk)
    assert create("refused") == 503
    assert jobs() == {"before"}, "it was answered 503 and done"
    manager.kill()
    manager.start()
    assert jobs() == {"before"}
    assert manager.get("/fabric/collectives/jobs/before", token)[0] == 200
    assert "make room" in str(manager.get("/readyz")[1])
    assert create("refused") == 503
    (disk / "filler").unlink()
    wait_until(lambda: create("after") == 201, "the store accepts changes again")
    manager.kill()
    manager.start()
    assert jobs() == {"before", "after"}
    fill(disk)
    other = lab.file("other.toml", manager.file.read_text().replace("fabric.db", "new.db"))
    code, _, err = lab.run(lab.binaries.fabricd, "--config", other)
    assert code == 1 and "no room for a new store" in err, err
