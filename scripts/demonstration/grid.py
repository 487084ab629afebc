"""The fabric of the faults' demo: leaves on a grid, a root for every row and every column.

              column0   column1   column2
                 |         |         |
        row0 - leaf0.0 - leaf0.1 - leaf0.2          a host at every leaf
        row1 - leaf1.0 - leaf1.1 - leaf1.2          a link from every leaf to its row's and its column's root
        row2 - leaf2.0 - leaf2.1 - leaf2.2

No file configures the links: the manager finds the topology. Every switch is a process in a
namespace of its own; the hosts' interfaces are in the namespace of this program.
"""

import subprocess

from tributary.manager import Manager
from tributary.network import Network, shell, wait_until
from tributary.switch import QuickConfig, Switch

SIZE = 3
LEAVES = [f"leaf{row}.{column}" for row in range(SIZE) for column in range(SIZE)]
ROOTS = [f"{line}{n}" for line in ("row", "column") for n in range(SIZE)]


def roots_of(leaf):
    """By port: {"row": "row0", "column": "column2"}."""
    row, column = leaf.removeprefix("leaf").split(".")
    return {"row": f"row{row}", "column": f"column{column}"}


CABLES = [f"{leaf}-{root}" for leaf in LEAVES for root in roots_of(leaf).values()]
VICTIMS = [*LEAVES, *ROOTS, *CABLES]


class Grid:
    def __init__(self, binaries, place, kind):
        self.binaries = binaries
        self.place = place
        self.kind = kind
        self.hosts = {f"h{n}": (f"host{n}", n + 1) for n in range(len(LEAVES))}  # interface, NID; at LEAVES[n]
        self.manager = None
        self.switches = {}  # running processes, by name
        self.configs = {}

    def lay_cables(self, bridged=None):
        """`bridged`: the link that will be cut. It passes through a bridge here, which can be cut
        without either end noticing: their carriers stay up."""
        network = Network()
        for name in [*LEAVES, *ROOTS]:
            network.host(name)
        for leaf, (interface, _) in zip(LEAVES, self.hosts.values(), strict=True):
            network.cable(None, interface, leaf, "host")
            for port, root in roots_of(leaf).items():
                there = leaf.replace(".", "-")
                if f"{leaf}-{root}" == bridged:
                    network.cable(leaf, port, None, "near_leaf")
                    network.cable(root, there, None, "near_root")
                else:
                    network.cable(leaf, port, root, there)
        if bridged in CABLES:
            # Frames to 01:80:c2:00:00:0e pass only if bit 14 of group_fwd_mask is set.
            shell("ip link add cable type bridge mcast_snooping 0 && ip link set cable type bridge group_fwd_mask 0x4000")
            shell("ip link set near_leaf master cable && ip link set near_root master cable && ip link set cable up")

    def start_manager(self, **sections):
        self.manager = Manager(self.binaries, self.place, **sections)

    def start_switches(self, **manager):
        """`manager` adds to the keys of [manager] of every switch."""
        for name in [*LEAVES, *ROOTS]:
            config = QuickConfig(f"{self.place}/{name}.sock", {"address": self.manager.switches_address, **manager})
            section = config.switch(name)
            if name in LEAVES:
                _, nid = self.hosts[f"h{LEAVES.index(name)}"]
                section.port("host", kind=self.kind, interface="host", nid=nid)
                for port in roots_of(name):
                    section.port(port, kind=self.kind, interface=port, tags=True)
            else:
                for leaf in LEAVES:
                    if name in roots_of(leaf).values():
                        port = leaf.replace(".", "-")
                        section.port(port, kind=self.kind, interface=port, tags=True)
            self.configs[name] = config
            self.start_switch(name)

    def start_switch(self, name):
        self.switches[name] = Switch(self.binaries, self.configs[name], self.place, name, name)

    def kill(self, victim):
        """Fails a switch or link without notifying any program, as a crash or a broken cable does.
        Returns a description."""
        if victim in CABLES:
            shell("ip link set near_root nomaster")
            return f"{victim} is cut"
        self.switches.pop(victim).kill()
        return f"{victim} is dead"

    def revive(self, victim):
        if victim in CABLES:
            shell("ip link set near_root master cable")
            return f"{victim} is mended"
        self.start_switch(victim)
        return f"{victim} is back"

    def discovered(self):
        """(switches connected, links between them that are up), once both match the cabling."""
        expected = (len(LEAVES) + len(ROOTS), len(CABLES))

        def whole():
            topology = self.manager.get("/api/v1/topology")[1]
            found = (
                sum(switch["connected"] for switch in topology["switches"]),
                sum(link["up"] for link in topology["links"]),
            )
            return found if found == expected else None

        return wait_until(whole, "the manager finds all switches and links", 60)

    def routes_in_force(self):
        """The set of routes that all switches have, once no update is pending."""

        def converged():
            answer = self.manager.get("/api/v1/routes")[1]
            return None if "installing" in answer or "next" in answer else answer.get("in_force")

        return wait_until(converged, "routes are in force", 60)

    def pairs_through(self, victim):
        """Pairs of hosts whose frames go through a switch, or over a cable, by the manager's routes."""
        found = []
        for a in self.hosts:
            for b in self.hosts:
                hops = [] if a == b else self.manager.get(f"/api/v1/paths?from={self._at(a)}&to={self._at(b)}")[1]["hops"]
                names = [hop["switch"] for hop in hops]
                links = [f"{x}-{y}" for x, y in zip(names, names[1:], strict=False)]
                crossed = links + [f"{y}-{x}" for x, y in zip(names, names[1:], strict=False)]
                if victim in names[1:-1] or victim in crossed:
                    found.append((a, b))
        return found

    def _at(self, host):
        return self.hosts[host][1]

    def faults(self):
        """The faults that the manager reports, the oldest first."""
        return list(reversed(self.manager.get("/api/v1/faults?limit=100")[1]["faults"]))

    def drops(self):
        """Every drop of the switches that run, by reason."""
        total = {}
        for switch in self.switches.values():
            for port in switch.ctl("show", "ports"):
                for reason, count in port["drops"].items():
                    total[reason] = total.get(reason, 0) + count
        return total

    def stop(self):
        for switch in self.switches.values():
            switch.child.terminate()
        for switch in self.switches.values():
            try:
                switch.child.wait(10)
            except subprocess.TimeoutExpired:
                switch.kill()
        if self.manager:
            try:
                self.manager.stop(timeout_seconds=10)
            except subprocess.TimeoutExpired:
                self.manager.kill()
