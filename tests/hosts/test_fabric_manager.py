"""The fabric manager with real switches, real hosts and real sockets: it finds, installs, dies, comes back."""

import json
import subprocess
import threading

from tributary.network import shell, wait_until
from tributary.switch import Config

JOB = "job"


class Fabric:
    """Two leaves and two spines; each leaf has `hosts` hosts. Everything is discovered; with `guards` the
    switches' files say which host is at which port, for hosts that say no hello."""

    def __init__(self, lab, hosts=2, guards=False, **manager):
        for binary in (lab.binaries.host, lab.binaries.ctl):
            lab.need(binary)
        self.lab = lab
        self.hosts = 2 * hosts
        self.manager = lab.start_manager(**manager)
        self.token = self.manager.create_job(JOB)
        self.token_file = lab.file("job.token")
        self.token_file.write_text(self.token + "\n")
        config = Config(lab.place / "switches.sock", self.manager.switches_address)
        for leaf in range(2):
            section = config.switch(f"leaf{leaf}")
            for n in range(hosts):
                number = leaf * hosts + n
                name = lab.network.host(f"h{number}")
                nid = number + 1
                lab.network.cable(name, "eth0", None, f"host{number}", f"02:00:00:00:00:{nid:02x}")
                section.port(
                    f"host{number}", kind="af_packet", interface=f"host{number}", vnis=[],
                    nid=nid if guards else None,
                )
            for spine in range(2):
                lab.network.cable(None, f"l{leaf}s{spine}", None, f"s{spine}l{leaf}")
                section.port(f"up{spine}", kind="af_packet", interface=f"l{leaf}s{spine}")
        for spine in range(2):
            section = config.switch(f"spine{spine}")
            for leaf in range(2):
                section.port(f"leaf{leaf}", kind="af_packet", interface=f"s{spine}l{leaf}")
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

    def start_hosts(self, group, iterations, *extra, manager=None):
        return [
            subprocess.Popen(
                ["ip", "netns", "exec", f"h{rank}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"',
                 f"h{rank}", str(self.lab.binaries.host), "--interface", "eth0", "--group", group, "--job", JOB,
                 "--manager", manager or self.manager.url, "--token-file", str(self.token_file),
                 "--rank", str(rank), "--size", str(self.hosts), "--iterations", str(iterations),
                 "--json", "--timeout", "60", *extra],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(self.hosts)
        ]  # fmt: skip

    def finish(self, hosts):
        """The hosts' reports; all must have ended well, with every result right."""
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


def test_hosts_join_by_name_reduce_and_leave_nothing_behind(lab):
    fabric = Fabric(lab)
    reports = fabric.finish(fabric.start_hosts("demo", 300))
    assert all(report["iterations"] == 300 for report in reports)
    root = next(report for report in reports if report["root"])
    assert root["root_frames_per_reduction"] < 1.5, "the engines did not reduce"
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_a_manager_killed_while_hosts_reduce_finds_all_again(lab):
    fabric = Fabric(lab)
    hosts = fabric.start_hosts("demo", 30_000)
    fabric.wait_for_state("demo", "ready")
    before = fabric.trees_in_switches()
    fabric.manager.kill()
    assert fabric.trees_in_switches() == before or len(fabric.trees_in_switches()) == len(before)
    fabric.manager.start()
    fabric.wait_until_found()
    assert fabric.group("demo")["state"] in ("ready", "receiving_leave_req")
    fabric.finish(hosts)
    wait_until(lambda: not fabric.manager.list("groups"), "the group is gone")
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_twin_trees_lose_a_cable_without_a_retry(lab):
    fabric = Fabric(lab)
    hosts = fabric.start_hosts("twins", 30_000, "--trees", "2")
    fabric.wait_for_state("twins", "ready")
    group = fabric.group("twins")
    assert group["disjoint"], group
    tree = fabric.manager.list("trees")[0]
    inner = next(part for part in tree["parts"] if part["switch"].startswith("leaf") and
                 part["parent"]["to"].startswith("spine"))
    leaf, spine = inner["switch"][-1], inner["parent"]["to"][-1]
    shell(f"ip link set l{leaf}s{spine} down")
    reports = fabric.finish(hosts)
    root = next(report for report in reports if report["root"])
    assert root["iterations"] == 30_000


def test_a_crashed_member_does_not_hold_the_group_for_ever(lab):
    fabric = Fabric(lab, groups={"lease_ms": 1500, "leave_limit_ms": 3000})
    hosts = fabric.start_hosts("demo", 10_000_000)
    fabric.wait_for_state("demo", "ready")
    for host in hosts:
        host.kill()
        host.communicate()
    wait_until(lambda: fabric.group("demo") is None, "the group of the dead is gone", 60)
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def test_a_member_that_does_not_come_is_named_and_the_others_are_told(lab):
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
    assert status in (200, 201), answer
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
    lasting = fabric.start_hosts("lasting", 20_000, "--root", "0")
    fabric.wait_for_state("lasting", "ready")
    failures = []

    def come_and_go():
        try:
            for n in range(3):
                fabric.finish(fabric.start_hosts(f"short{n}", 50, "--root", "1"))
        except AssertionError as failure:
            failures.append(failure)

    beside = threading.Thread(target=come_and_go)
    beside.start()
    fabric.finish(lasting)
    beside.join(200)
    assert not failures, failures[0]


def test_events_and_metrics_tell_what_happened(lab):
    fabric = Fabric(lab)
    fabric.finish(fabric.start_hosts("demo", 10))
    status, text = fabric.manager.get("/metrics")
    assert status == 200
    assert 'tributary_switch_connected{switch="leaf0"} 1' in text
    assert text.rstrip().endswith("# EOF")
    assert fabric.manager.get("/readyz")[0] == 200
    assert fabric.manager.get("/openapi.json")[1]["openapi"].startswith("3.")
