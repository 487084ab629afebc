"""Open MPI that sends by libtributary-fi.so: every way to send, with and without loss; an ordinary user's ranks, whose
sockets come from the host agents; and the programs of libfabric itself."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from test_host_agent import ALICE, BOB, need
from tributary.cases import Skip
from tributary.mpi_cluster import PROVIDER, ROUTES, MpiCluster
from tributary.mpi_library import OPENMPI, Missing, write_remote_shell
from tributary.network import wait_until

ALONE = True
SOURCE = Path(__file__).with_name("mpi_messages.c")
MODES = ("kinds", "probes", "wildcards", "truncated", "self", "many", "unexpected", "cancelled")
LOSS = {"loss": 0.005, "reorder": 0.01, "duplicate": 0.005, "seed": 5}


def ranks_of(program):
    """Numbers of the processes that run it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "exe").readlink() == program:
                found.append(int(entry.name))
        except OSError:
            continue  # ended, or a thread of the kernel
    return sorted(found)


class Cluster(MpiCluster):
    def __init__(self, lab, nodes, faults=None):
        need(lab)
        lab.need(lab.binaries.switch.parents[1] / "endpoint" / "ofi" / PROVIDER)
        self.faults = faults
        try:
            self.program = OPENMPI.compile(SOURCE, lab.place / "mpi_messages")
        except Missing as why:
            raise Skip(str(why)) from None
        super().__init__(lab, nodes, user=ALICE, routes=ROUTES)

    def wire(self, network, config, ports):
        section = config.switch("leaf0")
        for port in ports:
            section.port(port, kind="af_packet", interface=port, impairment=self.faults)

    def check(self, ranks, *modes, seconds=120, **variables):
        code, out, err = self.run(OPENMPI, ranks, [self.program, *modes], preloaded=False, seconds=seconds,
                                  **self.ofi(), **variables)  # fmt: skip
        assert code == 0 and [f"{mode}: right" for mode in modes] == out.splitlines(), f"{code}\n{out}\n{err}"

    def nothing_left(self):
        for agent in self.agents:
            counted = agent.guard()
            assert counted["passed"] > 0 and sum(counted.values()) == counted["passed"], counted
            (job,) = agent.ask(request="show")["jobs"]
            assert job["sockets"] == 0, job


def test_every_way_to_send_between_nodes_and_on_one(lab):
    cluster = Cluster(lab, 2)
    cluster.check(4, *MODES)
    cluster.check(2, "kinds", "probes", TRIBUTARY_OFI_PROGRESS="caller")
    cluster.check(2, "flood")
    cluster.nothing_left()


def test_every_way_to_send_over_links_that_lose_repeat_and_reorder(lab):
    cluster = Cluster(lab, 2, LOSS)
    cluster.check(4, *MODES, seconds=240)
    cluster.nothing_left()


def test_64_ranks_on_8_nodes(lab):
    cluster = Cluster(lab, 8)
    cluster.check(64, "wildcards", "probes", seconds=300)
    cluster.nothing_left()


def test_when_a_rank_is_killed_all_end_and_the_next_job_is_not_hurt(lab):
    cluster = Cluster(lab, 2)
    words = [cluster.program, *["kinds"] * 200]
    child = cluster.nodes.start(OPENMPI, 2, words, environment=cluster.environment(**cluster.ofi()))
    ranks = wait_until(lambda: len(found := ranks_of(cluster.program)) == 2 and found, "both ranks run")
    time.sleep(2)
    os.kill(ranks[1], signal.SIGKILL)
    try:
        out, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        raise AssertionError("ranks hang when another was killed") from None
    assert child.returncode != 0, f"{out}\n{err}"
    cluster.check(2, "kinds")
    cluster.nothing_left()


def test_windows_of_open_mpi_are_written_read_and_counted_in(lab):
    cluster = Cluster(lab, 2)
    # Debian's settings leave out what does that by libfabric: RDMA, and atomics.
    cluster.check(4, "windows", OMPI_MCA_osc="rdma", OMPI_MCA_btl="self,ofi",
                  OMPI_MCA_btl_ofi_provider_include="tributary")  # fmt: skip
    cluster.nothing_left()


def test_a_switch_that_restarts_holds_messages_up_and_none_is_lost(lab):
    cluster = Cluster(lab, 2)
    rounds = 40
    words = [cluster.program, *["kinds"] * rounds]
    child = cluster.nodes.start(OPENMPI, 2, words, environment=cluster.environment(**cluster.ofi()))
    wait_until(lambda: len(ranks_of(cluster.program)) == 2, "both ranks run")
    time.sleep(1)
    cluster.switch.kill()
    cluster.switch = lab.start(cluster.switch.config)
    wait_until(cluster.is_found, "the manager knows the switch again")
    wait_until(cluster.routes_in_force, "the routes are in force again")
    assert child.poll() is None, "the ranks had ended before the switch was back: more rounds"
    try:
        out, err = child.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        child.kill()
        raise AssertionError("ranks hang after the switch has restarted") from None
    assert child.returncode == 0 and out.splitlines() == ["kinds: right"] * rounds, f"{out}\n{err}"
    cluster.nothing_left()


PING = ("fi_pingpong", "-p", "tributary", "-e", "rdm", "-c", "-I", "100")


class Programs:
    """Of libfabric, on the nodes of a cluster."""

    def __init__(self, lab):
        if not shutil.which("fi_info") or not shutil.which("fi_pingpong"):
            raise Skip("libfabric-bin is not installed: scripts/setup")
        self.cluster = Cluster(lab, 2)

    def words(self, node, *command, shell=None, **variables):
        own = self.cluster.environment(**self.cluster.ofi(), **variables)
        shell = shell or self.cluster.nodes.hosts.shell
        return [str(shell), self.cluster.nodes.name(node), "env", *(f"{k}={v}" for k, v in own.items()), *command]

    def ping(self, client, server_shell=None, **variables):
        """(exit code and output of the client, those of the server, which is on node 0)"""
        server = subprocess.Popen(self.words(0, *PING, shell=server_shell), stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)  # fmt: skip
        time.sleep(1)
        words = self.words(client, *PING, self.cluster.nodes.name(0), **variables)
        asked = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        try:
            said, _ = server.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            server.kill()
            said, _ = server.communicate()
        return (asked.returncode, asked.stdout), (server.returncode, said)


def test_programs_of_libfabric(lab):
    programs = Programs(lab)
    shown = subprocess.run(programs.words(0, "fi_info", "-p", "tributary"), capture_output=True, text=True, check=False)
    assert shown.returncode == 0 and "FI_EP_RDM" in shown.stdout, shown.stdout + shown.stderr
    asked = programs.words(0, "fi_info", "-p", "tributary", "-c", "FI_MULTICAST", FI_LOG_LEVEL="info")
    refused = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "not this provider: capabilities" in refused.stderr, refused.stderr
    assert "FI_MULTICAST" in refused.stderr, refused.stderr
    for client in (1, 0):  # of another node, and of the same one
        asked, served = programs.ping(client)
        assert asked[0] == 0 and served[0] == 0, f"{asked}\n{served}"


def test_a_program_of_another_user_and_job_is_refused_by_name(lab):
    programs = Programs(lab)
    cluster = programs.cluster
    for agent in cluster.agents:
        agent.ask(request="add_job", job="another", vni=cluster.job["vni"] + 1, uid=BOB)
    place = lab.place / "bob"
    place.mkdir()
    for name in cluster.nodes.hosts.names:
        (place / name).symlink_to(lab.place / name)
    asked, served = programs.ping(0, write_remote_shell(place, user=BOB), FI_LOG_LEVEL="warn")
    assert asked[0] != 0 and "different jobs" in asked[1], f"{asked}\n{served}"
    asked, served = programs.ping(0)
    assert asked[0] == 0 and served[0] == 0, f"{asked}\n{served}"
    cluster.nothing_left()
