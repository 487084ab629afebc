"""Unmodified MPI programs on stand-in nodes, with libtributary_mpi preloaded: every result against the MPI
library's own, and what happens when there is no fabric, or none any more."""

import re
import time
from pathlib import Path

from tributary.cases import Skip
from tributary.mpi_nodes import FABRIC, MPICH, OPENMPI, Missing, Nodes
from tributary.network import wait_until
from tributary.switch import Config

ALONE = True  # sixteen ranks take all the machine has
SOURCE = Path(__file__).resolve().parent / "mpi_check.c"
JOB = "job"


class Cluster:
    """`nodes` nodes on one switch, with a manager that makes groups with wide frames."""

    def __init__(self, lab, library, nodes, **manager):
        self.lab, self.library = lab, library
        self.preload = lab.binaries.switch.parents[1] / "mpi" / library.preload
        lab.need(self.preload)
        try:
            self.program = library.compile(SOURCE, lab.place / "mpi_check")
        except Missing as why:
            raise Skip(str(why)) from None
        self.nodes = Nodes(lab.network, nodes, lab.place)
        self.manager = lab.start_manager(**{"groups": {"payload": 8192, "slots": 64}, **manager})
        self.token = self.manager.create_job(JOB)
        config = Config(lab.place / "switches.sock", self.manager.switches_address)
        section = config.switch("leaf0")
        for n in range(nodes):
            section.port(self.nodes.port(n), kind="af_packet", interface=self.nodes.port(n))
        self.switch = lab.start(config)
        wait_until(lambda: self.manager.get("/api/v1/topology")[1]["switches"], "the manager knows the switch")

    def environment(self, **more):
        return {
            "TRIBUTARY_FABRIC_MANAGER_URL": self.manager.url, "TRIBUTARY_FABRIC_MANAGER_TOKEN": self.token,
            "TRIBUTARY_JOB_ID": JOB, "TRIBUTARY_MPI_INTERFACE": FABRIC, "TRIBUTARY_MPI_VERBOSE": 1,
            "TRIBUTARY_MPI_TUNING": "always", "TRIBUTARY_MPI_SPIN_USEC": 0, **more,
        }  # fmt: skip

    def run(self, ranks, *arguments, seconds=120, **more):
        """Standard output and error; it must have ended well."""
        code, out, err = self.nodes.run(self.library, ranks, [self.program, *arguments], preload=self.preload,
                                        environment=self.environment(**more), seconds=seconds)
        assert code == 0, f"exit code {code}\n{out}\n{err}"
        print(err)
        return out, err

    def nothing_left(self):
        wait_until(lambda: not self.manager.list("groups"), "all groups are gone")


def summary(err):
    """(calls in the network, all calls)."""
    found = re.search(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network", err)
    assert found, err
    return int(found[1]), int(found[2])


def all_right(lab, library, nodes, ranks, what="all"):
    cluster = Cluster(lab, library, nodes)
    _, err = cluster.run(ranks, what)
    here, calls = summary(err)
    assert here > calls / 2, err
    assert "the fabric has failed" not in err, err
    cluster.nothing_left()


def test_every_operation_is_right_with_open_mpi_on_two_nodes(lab):
    all_right(lab, OPENMPI, 2, 2)


def test_every_operation_is_right_with_open_mpi_six_ranks_on_three_nodes(lab):
    all_right(lab, OPENMPI, 3, 6)


def test_every_operation_is_right_with_mpich_on_two_nodes(lab):
    # MPICH 4.0 over TCP may hang in MPI_Finalize by itself; bench/compare/programs/end_together.c, which its ranks
    # have preloaded, says why, and keeps them from it.
    all_right(lab, MPICH, 2, 2, "world")


def test_one_rank_and_one_node_work_without_the_network(lab):
    # Without a remote daemon: with one alone Open MPI 4.1 sometimes hangs before it starts anything.
    cluster = Cluster(lab, OPENMPI, 1)
    for ranks in (1, 2):
        words = [OPENMPI.launcher, "--allow-run-as-root", "--oversubscribe", "-np", ranks, "--mca", "btl", "self,vader",
                 "--mca", "mpi_yield_when_idle", 1, "-x", f"LD_PRELOAD={cluster.preload}"]
        for key, value in cluster.environment().items():
            words += ["-x", f"{key}={value}"]
        code, out, err = lab.run(*words, cluster.program, "sums", "1")
        assert code == 0, f"{code}\n{out}\n{err}"
        assert summary(err)[0] == 0, err
        assert ("has one rank" if ranks == 1 else "on one node") in err, err


def test_reproducible_sums_have_the_same_bits_for_any_ranks_placement_and_way(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    digests = set()
    for ranks, seed, tuning in ((16, 1, "always"), (16, 2, "always"), (16, 3, "never")):
        out, err = cluster.run(ranks, "sums", seed, TRIBUTARY_SUM="reproducible", TRIBUTARY_MPI_TUNING=tuning)
        assert (summary(err)[0] > 0) == (tuning == "always"), err
        digests |= set(re.findall(r"digest (\w+)", out))
    assert len(digests) == 1, digests
    # The values are such that an ordinary sum depends on who has which.
    ordinary = set()
    for seed in (1, 2, 3):
        out, _ = cluster.run(16, "sums", seed, TRIBUTARY_MPI="off")
        ordinary |= set(re.findall(r"digest (\w+)", out))
    assert len(ordinary) > 1, "the test has no force"


def start_loop(cluster, ranks, seconds, **more):
    child = cluster.nodes.start(cluster.library, ranks, [cluster.program, "loop", seconds], preload=cluster.preload,
                                environment=cluster.environment(**more))
    assert child.stdout.readline() == "going\n", child.communicate()
    return child


def finished(child, seconds=60):
    """What it said; it must have ended well."""
    out, err = child.communicate(timeout=seconds)
    assert child.returncode == 0, f"{child.returncode}\n{out}\n{err}"
    print(err)
    return err


def test_a_switch_killed_in_the_middle_leaves_the_job_to_the_mpi_library(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    child = start_loop(cluster, 4, 10, TRIBUTARY_MPI_TIMEOUT=1)
    cluster.switch.kill()
    err = finished(child)
    assert "the fabric has failed" in err and "got no result within" in err, err
    here, calls = summary(err)
    assert 0 < here < calls and "because the fabric failed before" in err, err


def test_a_manager_killed_and_started_again_does_not_disturb_the_job(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    child = start_loop(cluster, 4, 6)
    cluster.manager.kill()
    time.sleep(1)
    cluster.manager.start()
    err = finished(child)
    assert "the fabric has failed" not in err, err
    here, calls = summary(err)
    assert here > calls / 2, err
    cluster.nothing_left()


def test_a_rank_that_is_late_is_no_fault_of_the_fabric(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    _, err = cluster.run(2, "late", TRIBUTARY_MPI_TIMEOUT=1)
    assert "the fabric has failed" not in err, err
    assert summary(err)[0] > 0


def test_without_a_fabric_the_program_runs_and_says_why_or_ends_if_told_so(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    causes = {
        "no fabric manager": ({"TRIBUTARY_FABRIC_MANAGER_URL": "unix:/run/nobody.sock"}, "TRIBUTARY_FABRIC_MANAGER_URL"),
        "a wrong token": ({"TRIBUTARY_FABRIC_MANAGER_TOKEN": "wrong"}, "TRIBUTARY_FABRIC_MANAGER_TOKEN"),
        "no such interface": ({"TRIBUTARY_MPI_INTERFACE": "fabric7"}, "fabric7"),
        "no interface": ({"TRIBUTARY_MPI_INTERFACE": ""}, "TRIBUTARY_MPI_INTERFACE is not set"),
    }
    for cause, (variables, said) in causes.items():
        _, err = cluster.run(2, "sums", "1", TRIBUTARY_MPI_JOIN_TIMEOUT=1, **variables)
        assert "nothing is reduced in the network" in err and said in err, f"{cause}: {err}"
        assert summary(err)[0] == 0, err
    code, out, err = cluster.nodes.run(
        cluster.library, 2, [cluster.program, "sums", "1"], preload=cluster.preload, seconds=60,
        environment=cluster.environment(TRIBUTARY_MPI_INTERFACE="", TRIBUTARY_MPI_REQUIRE=1))
    assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{code}\n{err}"


def test_a_process_without_privilege_is_told_how_to_get_it(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    drop = ["setpriv", "--bounding-set", "-net_raw,-net_admin", "--inh-caps", "-net_raw,-net_admin"]
    code, out, err = cluster.nodes.run(
        cluster.library, 2, [*drop, cluster.program, "sums", "1"], preload=cluster.preload, seconds=60,
        environment=cluster.environment())
    assert code == 0, f"{code}\n{out}\n{err}"
    assert "CAP_NET_RAW" in err and "setcap" in err, err
