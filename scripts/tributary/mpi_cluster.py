"""Stand-in nodes on one switch, with a fabric manager and a job: where MPI programs reduce in the network.

    cluster = MpiCluster(Binaries(build), 8, folder)            only inside isolation.py's world
    plain, tributary, said = cluster.turn(OPENMPI, 8, program, seconds, counts)
"""

import json
import statistics
from pathlib import Path

from tributary.manager import Manager
from tributary.mpi_nodes import FABRIC, PLAIN, Nodes
from tributary.network import Network, wait_until
from tributary.switch import Config, Switch

JOB = "mpi"
TIMED_LOOP = Path(__file__).resolve().parents[2] / "bench/compare/programs/mpi.c"


class RunFailed(Exception):
    """A program did not get through; the text has what it said."""


class MpiCluster:
    def __init__(self, binaries, nodes, folder):
        self.folder = Path(folder)
        self.build = binaries.switch.parents[1]
        self.nodes = Nodes(Network(), nodes, folder)
        self.manager = Manager(binaries, folder, groups={"payload": 8192, "slots": 128})
        self.token = self.manager.create_job(JOB)
        config = Config(self.folder / "switches.sock", self.manager.switches_address)
        section = config.switch("leaf0")
        for n in range(nodes):
            section.port(self.nodes.port(n), kind="af_packet", interface=self.nodes.port(n))
        self.switch = Switch(binaries, config, self.folder)
        wait_until(lambda: self.manager.get("/api/v1/topology")[1]["switches"], "the manager knows the switch")

    def environment(self, **more):
        return {
            "TRIBUTARY_FABRIC_MANAGER_URL": self.manager.url, "TRIBUTARY_FABRIC_MANAGER_TOKEN": self.token,
            "TRIBUTARY_JOB_ID": JOB, "TRIBUTARY_MPI_INTERFACE": FABRIC, **more,
        }  # fmt: skip

    def time(self, library, ranks, program, seconds, counts, preloaded, **more):
        """({bytes: median microseconds of an allreduce, 0: of a barrier}, what was said)."""
        for old in self.folder.glob("rank*"):
            old.unlink()
        words = [program, self.folder, PLAIN, seconds, ",".join(map(str, counts))]
        preload = self.build / "mpi" / library.preload if preloaded else None
        code, out, err = self.nodes.run(library, ranks, words, preload=preload, environment=self.environment(**more),
                                        seconds=120 + 20 * seconds * len(counts))
        if code != 0:
            raise RunFailed(f"{library.name}, {ranks} ranks: exit code {code}\n{out}\n{err}")
        each = [[json.loads(line) for line in (self.folder / f"rank{rank}").read_text().splitlines()]
                for rank in range(ranks)]
        return {point[0]["bytes"]: statistics.median(one["median_us"] for one in point) for point in zip(*each)}, err

    def close(self):
        self.switch.stop()
        self.manager.stop()
