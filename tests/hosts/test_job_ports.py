"""The switches' ports of a job's nodes: closed to other VNIs before its first rank runs, open again when it is over."""

import os
import signal
import time

from altered_manager import AlteredManager
from launching import LIMIT, finish, run, start
from test_fabric_manager import Fabric
from tributary import frames
from tributary.network import RawPort, wait_until

OTHER = 0x500
PORT = "leaf0.port.host0.drop."
REQUIRED = ("--require-offload", "--mpi", "none")  # of programs that call no MPI
NODES = ("--namespaces", "h0:1,h2:1")
RANK = ("sh", "-c", "echo $TRIBUTARY_VNI; exec sleep 1000")


class Sender:
    """Sends frames of h0 for a tree that does not exist: the switch reports a drop reason for
    each."""

    def __init__(self, lab, fabric):
        self.lab, self.fabric = lab, fabric
        self.port = RawPort("h0", "eth0", frames.ETHERTYPE)

    def drops(self):
        counters = self.lab.counters(self.fabric.switch)
        return {name: counters[PORT + name] for name in ("source_guard", "vni_not_permitted", "unknown_tree")}

    def send(self, vni, nid=1):
        """How the frame was dropped, once it was."""
        before = self.drops()
        self.port.send(bytes(self.lab.contribution(0, tree=4000, nid=nid, vni=vni)))
        wait_until(lambda: self.drops() != before, "the frame is dropped")
        after = self.drops()
        return [name for name in after if after[name] != before[name]]


def permissions(fabric):
    return sum(one["permissions"] for one in fabric.switch.ctl("show", "manager"))


def launch(lab, fabric):
    """A job of two nodes, of which each rank has begun, and its VNI."""
    child = start(lab, "--manager", fabric.manager.url, *REQUIRED, *NODES, *RANK)
    lines = [child.stdout.readline() for _ in range(2)]
    assert all(line.strip().isdigit() for line in lines), (lines, child.stderr.read())
    return child, int(lines[0])


def test_ports_of_a_jobs_nodes_take_in_its_vni_alone_while_it_runs(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    sender = Sender(lab, fabric)
    assert sender.send(OTHER) == ["unknown_tree"], "without a job every VNI enters"
    child, vni = launch(lab, fabric)
    assert permissions(fabric) == 2, "of both nodes, before the first rank began"
    assert sender.send(OTHER) == ["vni_not_permitted"]
    assert sender.send(vni) == ["unknown_tree"], "its own enters"
    # The manager dies under the job: the ports stay unchanged, and it restores the job.
    fabric.manager.kill()
    assert sender.send(OTHER) == ["vni_not_permitted"]
    fabric.manager.start()
    fabric.wait_until_found()
    (job,) = [job for job in fabric.manager.list("jobs") if job["job"].startswith("tributary-run")]
    assert job["vni"] == vni, job
    assert sender.send(OTHER) == ["vni_not_permitted"]
    # The switches die: they receive it again after their restart.
    fabric.switch.kill()
    fabric.switch = lab.start(fabric.config)
    wait_until(lambda: permissions(fabric) == 2, "the switches have the permissions again", 60)
    assert sender.send(OTHER) == ["vni_not_permitted"]
    child.terminate()
    finish(lab, child)
    wait_until(lambda: permissions(fabric) == 0, "the permissions are gone with the job")
    assert sender.send(OTHER) == ["unknown_tree"], "the port is open as before"


def test_nodes_that_no_file_of_a_switch_names_say_who_they_are(lab):
    fabric = Fabric(lab, vnis=None)
    sender = Sender(lab, fabric)
    assert sender.send(OTHER, nid=9) == ["unknown_tree"], "the port knows no host"
    child, vni = launch(lab, fabric)
    wait_until(lambda: permissions(fabric) == 2, "the ports of both nodes are set up")
    assert sender.send(vni, nid=9) == ["source_guard"]
    assert sender.send(OTHER) == ["vni_not_permitted"]
    child.terminate()
    finish(lab, child)
    wait_until(lambda: permissions(fabric) == 0, "the permissions are gone with the job")


def test_a_job_without_a_follower_ends_with_its_lease(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    body = {"job": "short", "mcast_limit": 1, "lease_seconds": 1,
            "nodes": [{"name": "h0", "ranks": [0],
                       "inventory": {"interfaces": [{"name": "eth0", "address": "02:00:00:00:00:01", "up": True}]}}]}
    status, allocation = fabric.manager.request("POST", "/api/v1/allocations", body)
    assert status == 201 and not allocation["notes"], allocation
    wait_until(lambda: not [job for job in fabric.manager.list("jobs") if job["job"] == "short"],
               "no client follows its events, and it ends")  # fmt: skip
    wait_until(lambda: permissions(fabric) == 0, "its port is as before")
    texts = [event["text"] for event in fabric.manager.get("/api/v1/events?follow=false")[1]["events"]]
    installed = texts.index("access of job short to its ports is installed")
    assert texts.index("the launcher of job short has been silent for 1 s: the job ends") > installed, texts


def test_a_job_ends_with_its_lease_though_its_launchers_connection_stands(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    body = {"job": "short", "mcast_limit": 1, "lease_seconds": 2,
            "nodes": [{"name": "h0", "ranks": [0],
                       "inventory": {"interfaces": [{"name": "eth0", "address": "02:00:00:00:00:01", "up": True}]}}]}
    status, allocation = fabric.manager.request("POST", "/api/v1/allocations", body)
    assert status == 201, allocation

    def there():
        return [job for job in fabric.manager.list("jobs") if job["job"] == "short"]

    def renew():
        return fabric.manager.request("PUT", "/api/v1/allocations/short/lease", token=allocation["token"])

    with fabric.manager.connection() as stream:
        stream.putrequest("GET", "/api/v1/events?job=short")
        stream.putheader("Authorization", f"Bearer {allocation['token']}")
        stream.endheaders()
        assert stream.getresponse().status == 200
        for _ in range(4):
            time.sleep(1)
            assert renew() == (200, {"job": "short", "lease_seconds": 2})
        assert there()
        # From here on no request arrives, as from a dead machine.
        wait_until(lambda: not there(), "the job ends with its lease", 10)
        wait_until(lambda: permissions(fabric) == 0, "its port is set up no more")
    assert renew()[0] == 401


class Stray:
    """A process of h0 that is not ended with its job: it keeps sending in a VNI to all existing
    trees."""

    def __init__(self, lab, vni):
        port = RawPort("h0", "eth0", frames.ETHERTYPE)
        sent = [bytes(lab.contribution(0, tree=tree, nid=1, vni=vni)) for tree in (0, 1, 2, 3, 4000)]
        self.process = os.fork()
        if self.process == 0:
            while True:
                for frame in sent:
                    port.send(frame)
                time.sleep(0.01)

    def signal(self, number):
        os.kill(self.process, number)

    def end(self):
        self.signal(signal.SIGKILL)
        os.waitpid(self.process, 0)


def test_a_stopped_process_of_a_deleted_job_reaches_no_later_job_of_the_same_vni(lab):
    only = {"first_vni": 1030, "last_vni": 1030, "vni_quarantine_ms": 4000}
    fabric = Fabric(lab, guards=True, vnis=None, groups=only)
    sender = Sender(lab, fabric)
    child, vni = launch(lab, fabric)
    assert vni == 1030
    stray = Stray(lab, vni)
    try:
        before = sender.drops()["unknown_tree"]
        wait_until(lambda: sender.drops()["unknown_tree"] > before, "frames of the job enter")
        stray.signal(signal.SIGSTOP)
        child.terminate()
        finish(lab, child)
        wait_until(lambda: permissions(fabric) == 0, "the job is over")
        others = ("--namespaces", "h1:1,h3:1")
        refused = run(lab, "--manager", fabric.manager.url, *REQUIRED, *others, "true")
        assert refused.code == 1 and "the next is free in" in refused.err, refused.err
        time.sleep(4)
        later = start(lab, "--manager", fabric.manager.url, *REQUIRED, *others, *RANK)
        assert later.stdout.readline().strip() == "1030", "the same VNI, in its time"
        entered = sender.drops()
        stray.signal(signal.SIGCONT)
        wait_until(lambda: sender.drops()["vni_not_permitted"] > entered["vni_not_permitted"] + 20,
                   "frames of the old job are refused where they come from")  # fmt: skip
        assert sender.drops()["unknown_tree"] == entered["unknown_tree"], "none of them entered"
        later.terminate()
        finish(lab, later)
    finally:
        stray.end()


def test_a_job_whose_ports_cannot_be_set_up_is_refused_by_name(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    fabric.switch.stop()
    wait_until(lambda: not any(switch["connected"] for switch in fabric.manager.get("/api/v1/topology")[1]["switches"]),
               "the switches are gone")  # fmt: skip
    ended = run(lab, "--manager", fabric.manager.url, *REQUIRED, *NODES, "true")
    assert ended.code == 1, ended.err
    assert "cannot be launched: access of job tributary-run" in ended.err, ended.err
    assert "it is not connected" in ended.err, ended.err
    assert not [job for job in fabric.manager.list("jobs") if job["job"].startswith("tributary-run")]


def test_an_open_policy_leaves_ports_as_they_are(lab):
    fabric = Fabric(lab, guards=True, vnis=None, groups={"job_ports": "open"})
    sender = Sender(lab, fabric)
    child, _ = launch(lab, fabric)
    assert permissions(fabric) == 0
    assert sender.send(OTHER) == ["unknown_tree"]
    child.terminate()
    finish(lab, child)


def test_the_rdma_policy_is_set_up_before_ranks_begin_and_a_rank_of_another_job_is_refused(lab):
    fabric = Fabric(lab, guards=True, vnis=None, routes={"enabled": True, "vcs": 1})
    status, answer = fabric.manager.request("PATCH", "/api/v1/rdma/policy", {"set": {"window": 256, "restarts": 3}})
    assert status == 200, answer
    region, host = lab.file("region"), f"{lab.binaries.host} rdma"
    serve = f"{host} serve --interface eth0 --vni $TRIBUTARY_VNI --length 4096 --region-file {region}"
    write = f"{host} write --interface eth0 --region @{region} --length 4096 --json"
    ranks = f"""echo "policy $TRIBUTARY_RDMA_POLICY"
        [ $PMIX_RANK = 0 ] && exec {serve} > /dev/null
        until [ -s {region} ]; do sleep 0.1; done
        exec {write} --retry-for 60s"""
    child = start(lab, "--manager", fabric.manager.url, *REQUIRED, "--verbose", *NODES, "sh", "-c", ranks)
    lines = [child.stdout.readline() for _ in range(3)]  # of both ranks, and of the writer's end
    policies = [line for line in lines if line.startswith("policy ")]
    assert len(policies) == 2 and all({"window=256", "restarts=3"} <= set(line.split()) for line in policies), lines
    assert '"bytes"' in "".join(lines), f"a rank of the same job writes: {lines}"

    # A third host's rank, of another job, knows the region as well.
    dropped = "leaf0.port.host1.drop.vni_not_permitted"
    before = lab.counters(fabric.switch)[dropped]
    other = start(lab, "--manager", fabric.manager.url, *REQUIRED, "--env", "TRIBUTARY_RDMA_RETRIES=4",
                  "--namespaces", "h1:1", "sh", "-c", f"exec {write}")  # fmt: skip
    out, err = other.communicate(timeout=LIMIT)
    assert other.returncode == 1 and "does not answer" in err, (other.returncode, out, err)
    assert lab.counters(fabric.switch)[dropped] > before

    child.terminate()
    err = finish(lab, child).err
    phases = [err.index(f"phase {phase}") for phase in ("0: nodes greeted", "2: allocated", "3: nodes ready", "4: ranks started")]
    assert phases == sorted(phases), err


def test_a_policy_in_the_environment_that_a_host_cannot_carry_out_is_refused_by_name(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    ended = run(lab, "--manager", fabric.manager.url, "--env", "TRIBUTARY_RDMA_POLICY=window=1000000",
                "--namespaces", "h0:1", lab.binaries.host, "rdma", "serve", "--interface", "eth0", "--length", "64")  # fmt: skip
    assert ended.code == 1 and "TRIBUTARY_RDMA_POLICY in the environment: 'window=1000000'" in ended.err, ended.err


class AlteredPolicy:
    """A job of two nodes, whose allocation has another value of `fm.rdma.policy` than the
    manager's."""

    def __init__(self, lab, fabric):
        self.lab, self.fabric, self.altered = lab, fabric, 0

    def run(self, value, *options):
        def alter(path, answer):
            if path == "/api/v1/allocations":
                (policy,) = [one for one in answer["values"] if one["name"] == "fm.rdma.policy"]
                assert "window=" in policy["text"]
                del policy["text"]
                policy.update(value)
                self.altered += 1

        before = self.altered
        with AlteredManager(self.lab, self.fabric.manager, alter) as manager:
            ended = run(self.lab, "--manager", manager.url, *options, *NODES, "sh", "-c",
                        'echo "began with policy $TRIBUTARY_RDMA_POLICY in job $TRIBUTARY_JOB_ID"')  # fmt: skip
        (self.lab.place / "altered.sock").unlink()
        assert self.altered == before + 1
        jobs = self.fabric.manager.list
        wait_until(lambda: not [job for job in jobs("jobs") if job["job"].startswith("tributary-run")], "it is given back")
        wait_until(lambda: permissions(self.fabric) == 0, "its nodes' ports are open again")
        return ended


def test_a_policy_of_the_manager_that_nodes_cannot_carry_out_ends_the_job_before_a_rank_begins(lab):
    # A manager of another version, whose fields have other bounds, or one that is broken.
    job = AlteredPolicy(lab, Fabric(lab, guards=True, vnis=None))
    wrong = {
        "window=1000000": "'window=1000000' in a retransmit policy: it can be ",
        "window=256 restarts=many": "'restarts=many' in a retransmit policy: not FIELD=NUMBER",
        "window": "'window' in a retransmit policy: not FIELD=NUMBER",
        "initial_timeout_ns=2000000 most_timeout_ns=1000000": "a retransmit policy makes no sense:",
    }
    for policy, why in wrong.items():
        ended = job.run({"text": policy})
        assert ended.code == 1 and ended.out == "", f"{policy}: {ended.out} {ended.err}"
        assert "cannot take part: the fabric manager's RDMA policy for this job (fm.rdma.policy)" in ended.err, ended.err
        assert why in ended.err and "tributaryctl rdma set policy" in ended.err, f"{policy}: {ended.err}"
    ended = job.run({"number": 256})
    assert ended.code == 1 and ended.out == "" and "(fm.rdma.policy): it is not text" in ended.err, ended.err


def test_a_field_of_the_policy_that_nodes_do_not_know_is_another_versions_and_left_out(lab):
    job = AlteredPolicy(lab, Fabric(lab, guards=True, vnis=None))
    ended = job.run({"text": "window=256 colour=3"}, *REQUIRED)
    assert ended.code == 0, ended.err
    policies = [line.split("policy ")[1].split(" in job")[0].split() for line in ended.out.splitlines()]
    assert len(policies) == 2, ended.out
    for fields in policies:
        assert "window=256" in fields and "colour=3" not in fields and len(fields) > 1, fields


def test_an_allocation_that_the_launcher_cannot_read_is_none_and_given_back(lab):
    job = AlteredPolicy(lab, Fabric(lab, guards=True, vnis=None))
    ended = job.run({"text": 256})
    assert ended.code == 0 and ended.out.count("began with policy  in job \n") == 2, (ended.out, ended.err)
    assert "answer to a request for an allocation is not one that tributary-run can parse" in ended.err, ended.err
    assert "ranks run without reductions in the network" in ended.err, ended.err
    ended = job.run({"text": 256}, *REQUIRED)
    assert ended.code == 1 and ended.out == "" and "install the same version" in ended.err, (ended.out, ended.err)
