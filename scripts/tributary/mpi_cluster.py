"""Stand-in nodes on one switch, with a fabric manager and a job: where MPI programs reduce in the network.

    cluster = MpiCluster(Stand(Binaries(build), folder), 8)     only inside isolation.py's world
    code, out, err = cluster.run(OPENMPI, 8, [program, ...])    with its library preloaded, a rank a node
    code, out, err = cluster.run(OPENMPI, 8, [program, ...], preloaded=False, nodes=2)
    code, out, err = cluster.run(OPENMPI, 8, [program, ...], **cluster.ofi())   sending by libfabric, which needs `routes`

With a `user` the ranks are that user's, without a capability: each node has its host agent, which knows the job.
"""

import re
import shutil
import subprocess
from pathlib import Path

from tributary import mpi_library
from tributary.host_agent import HostAgent
from tributary.manager import Manager
from tributary.mpi_nodes import FABRIC, PLAIN, Nodes
from tributary.network import Network, wait_until
from tributary.switch import Config, Switch

JOB = "mpi"
ROUTES = {"enabled": True, "vcs": 1}  # for MpiCluster(routes=...): unicast between the nodes
PROVIDER = "libtributary-fi.so"


class Stand:
    """The environment of a cluster: binaries, a folder, a network, and how programs are started.
    The lab of a test is one, too."""

    def __init__(self, binaries, folder):
        self.binaries, self.place = binaries, Path(folder)
        self.network = Network()

    def start_manager(self, **sections):
        return Manager(self.binaries, self.place, **sections)

    def start(self, config):
        return Switch(self.binaries, config, self.place)

    def start_agent(self, namespace, place, **settings):
        return HostAgent(self.binaries, place, namespace, **settings)


class MpiCluster:
    """`nodes` nodes on one switch, with a manager that makes groups with wide frames. `process`: keys of the switch's
    [process]. `user`: the number of whose ranks they are; None: root's."""

    def __init__(self, stand, nodes, process=None, bound=True, user=None, **manager):
        self.folder = stand.place
        self.build = stand.binaries.switch.parents[1]
        self.user, self.agents = user, []
        self.nodes = Nodes(stand.network, nodes, self.folder, bound, user)
        self.manager = stand.start_manager(**{"groups": {"payload": 8192, "slots": 128}, **manager})
        self.job = self.manager.create_whole_job(JOB, **({} if user is None else {"assignVni": True}))
        self.token = self.job["sessionToken"]
        if user is not None:
            self.start_agents(stand)
        config = Config(self.folder / "switches.sock", self.manager.switches_address, **(process or {}))
        self.wire(stand.network, config, [self.nodes.port(n) for n in range(nodes)])
        self.switch = stand.start(config)
        wait_until(self.is_found, "the manager knows the switches and their links")
        if "routes" in manager:
            wait_until(self.routes_in_force, "the routes are in force")

    def wire(self, network, config, ports):
        """Adds switches to the configuration; `ports` are the ends of the nodes' links. Here one switch has them all."""
        section = config.switch("leaf0")
        for port in ports:
            section.port(port, kind="af_packet", interface=port)

    def is_found(self):
        topology = self.manager.get("/api/v1/topology")[1]
        expected = {section.head["name"] for section in self.switch.config.switches}
        connected = {switch["name"] for switch in topology["switches"] if switch["connected"]}
        return expected == connected and all(link["up"] for link in topology["links"])

    def routes_in_force(self):
        answer = self.manager.get("/api/v1/routes")[1]
        return None if "installing" in answer or "next" in answer else answer.get("in_force")

    def start_agents(self, stand):
        """Of all nodes; each knows the job, and how its programs reach the manager."""
        Path("/run/tributary").mkdir(exist_ok=True)
        self.manager.socket.chmod(0o666)  # stand-in nodes reach it by this alone
        for name in self.nodes.hosts.names:
            place = self.folder / name
            place.mkdir()
            self.agents.append(stand.start_agent(name, place, interface=FABRIC, socket=str(place / "host.sock")))
        self.declare()

    def declare(self):
        access = {"url": self.manager.url, "token": self.token}
        for agent in self.agents:
            agent.ask(request="add_job", job=JOB, vni=self.job["vni"], uid=self.user, manager=access)

    def preload(self, library):
        built = self.build / "endpoint" / "mpi" / library.preload
        return built if self.user is None or mpi_library.ROOT else self.readable(built)

    def readable(self, library):
        """A library of the build, with those of the build that it needs, where every user may read them."""
        folder = self.folder / "libraries"
        folder.mkdir(exist_ok=True)
        shown = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
        for needed in re.findall(r"=> (/\S+)", shown):
            if Path(needed).is_relative_to(self.build):
                shutil.copy(needed, folder / Path(needed).name)
        return Path(shutil.copy(library, folder))

    def ofi(self):
        """Variables with which Open MPI sends by the provider for libfabric; as tributary-run --transport ofi."""
        built = self.build / "endpoint" / "ofi" / PROVIDER
        if not built.exists():
            raise mpi_library.Missing(f"{built} is not built: that needs libfabric-dev, which scripts/setup installs")
        folder = built.parent if self.user is None else self.readable(built).parent
        return {
            "FI_PROVIDER": "tributary", "FI_PROVIDER_PATH": folder, "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi",
            "OMPI_MCA_mtl_ofi_provider_include": "tributary",
        }  # fmt: skip

    def environment(self, **more):
        if self.user is not None:
            return {"LD_LIBRARY_PATH": self.folder / "libraries", **more}
        return {
            "TRIBUTARY_FABRIC_MANAGER_URL": self.manager.url, "TRIBUTARY_FABRIC_MANAGER_TOKEN": self.token,
            "TRIBUTARY_JOB_ID": JOB, "TRIBUTARY_MPI_INTERFACE": FABRIC, **more,
        }  # fmt: skip

    def start(self, library, ranks, words, stderr=subprocess.PIPE, **variables):
        """A program with its library preloaded, as a child process."""
        return self.nodes.start(library, ranks, words, preload=self.preload(library),
                                environment=self.environment(**variables), stderr=stderr)

    def run(self, library, ranks, words, preloaded=True, seconds=120, nodes=None, **variables):
        """(exit code, standard output, standard error)."""
        preload = self.preload(library) if preloaded else None
        return self.nodes.run(library, ranks, words, preload=preload, environment=self.environment(**variables),
                              seconds=seconds, nodes=nodes)

    def close(self):
        for agent in self.agents:
            agent.stop()
        self.switch.stop()
        self.manager.stop()
