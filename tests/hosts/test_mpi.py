"""Unmodified MPI programs on stand-in nodes, with libtributary_mpi preloaded: every result against the MPI
library's own, and what happens when there is no fabric, or none any more."""

import re
import signal
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


def all_right(lab, library, nodes, ranks):
    cluster = Cluster(lab, library, nodes)
    _, err = cluster.run(ranks, "all")
    here, calls = summary(err)
    assert here > calls / 2, err
    assert "the fabric has failed" not in err, err
    cluster.nothing_left()


def test_every_operation_is_right_with_open_mpi_on_two_nodes(lab):
    all_right(lab, OPENMPI, 2, 2)


def test_every_operation_is_right_with_open_mpi_four_ranks_on_two_nodes(lab):
    all_right(lab, OPENMPI, 2, 4)
