"""The fabric of the demo: sixteen hosts, four leaf switches, two spines, one manager.

        +--------+          +--------+
        | spine0 |          | spine1 |
        +--------+          +--------+
             |   each leaf to both   |
        +-------+ +-------+ +-------+ +-------+
        | leaf0 | | leaf1 | | leaf2 | | leaf3 |
        +-------+ +-------+ +-------+ +-------+
         h0 ...    h4 ...    h8 ...    h12 ...

No file configures trees, host locations or links: switches and hosts announce themselves by hellos,
and the manager computes a tree when the hosts have joined. Every host and every switch is a network
namespace; every link is a veth pair, driven through AF_XDP by the switch at its end.
"""

from tributary.manager import Manager
from tributary.network import Network, shell, wait_until
from tributary.switch import QuickConfig, Switch

HOSTS, LEAVES, SPINES = 16, 4, 2
HOSTS_PER_LEAF = HOSTS // LEAVES
JOB = "demonstration"


def host_mac(nid):
    return f"02:00:00:{nid >> 16 & 0x0F:02x}:{nid >> 8 & 0xFF:02x}:{nid & 0xFF:02x}"


def port_mac(nid):
    return f"02:fe:00:{nid >> 16 & 0x0F:02x}:{nid >> 8 & 0xFF:02x}:{nid & 0xFF:02x}"


class Host:
    def __init__(self, number):
        self.number = number
        self.nid = number + 1
        self.namespace = f"h{number}"
        self.interface = "eth0"
        self.port = f"host{number}"
        self.leaf = f"leaf{number // HOSTS_PER_LEAF}"


class Fabric:
    def __init__(self, binaries, place, one_process, kind):
        self.binaries = binaries
        self.place = place
        self.one_process = one_process
        self.kind = kind
        self.hosts = [Host(number) for number in range(HOSTS)]
        self.names = [*(f"leaf{n}" for n in range(LEAVES)), *(f"spine{n}" for n in range(SPINES))]
        self.manager = None
        self.token_file = place / "job.token"
        self.switches = []  # running processes
        self.processes = {}  # by switch

    def namespace_of(self, switch):
        return "switches" if self.one_process else switch

    def lay_cables(self):
        network = Network()
        for namespace in dict.fromkeys(self.namespace_of(name) for name in self.names):
            network.host(namespace)
        for host in self.hosts:
            network.host(host.namespace)
            network.cable(
                host.namespace, host.interface, self.namespace_of(host.leaf), host.port,
                host_mac(host.nid), port_mac(host.nid),
            )
        for leaf in range(LEAVES):
            for spine in range(SPINES):
                network.cable(
                    self.namespace_of(f"leaf{leaf}"), f"l{leaf}up{spine}",
                    self.namespace_of(f"spine{spine}"), f"s{spine}down{leaf}",
                )

    def start_manager(self, **sections):
        self.manager = Manager(self.binaries, self.place, **sections)
        self.token_file.write_text(self.manager.create_job(JOB) + "\n", encoding="utf-8")

    def managers_of_switches(self):
        """Address or addresses that switches dial."""
        return self.manager.switches_address

    def _configs(self):
        """One process for each switch, or one for all, by name."""
        configs = {}

        def section(name):
            process = "switches" if self.one_process else name
            if process not in configs:
                # Many processes on few cores: at the default of 10 ms a process that waits for a
                # core looks dead.
                manager = {"address": self.managers_of_switches(), "link_hello_interval_ms": 200}
                configs[process] = QuickConfig(f"{self.place}/{process}.sock", manager)
            return configs[process].switch(name)

        for leaf in range(LEAVES):
            ports = section(f"leaf{leaf}")
            for host in self.hosts:
                if host.leaf == f"leaf{leaf}":
                    # Only traffic that the manager permits may enter.
                    ports.port(host.port, kind=self.kind, interface=host.port, vnis=[])
            for spine in range(SPINES):
                ports.port(f"up{spine}", kind=self.kind, interface=f"l{leaf}up{spine}")
        for spine in range(SPINES):
            ports = section(f"spine{spine}")
            for leaf in range(LEAVES):
                ports.port(f"leaf{leaf}", kind=self.kind, interface=f"s{spine}down{leaf}")
        return configs

    def start_switches(self):
        for name, config in self._configs().items():
            namespace = "switches" if self.one_process else name
            self.switches.append(Switch(self.binaries, config, self.place, name, namespace))
            self.processes.update(dict.fromkeys(self.names if self.one_process else [name], self.switches[-1]))

    def process_of(self, switch):
        return self.processes[switch]

    def ports_of(self, leaf):
        """The ports of a leaf switch: to its hosts, and up."""
        return [*(host.port for host in self.hosts if host.leaf == leaf), *(f"up{spine}" for spine in range(SPINES))]

    def discovered(self):
        """(switches connected, links between switches that are up), once both match the cabling."""

        def whole():
            topology = self.manager.get("/api/v1/topology")[1]
            connected = sum(switch["connected"] for switch in topology["switches"])
            links = sum(link["up"] for link in topology["links"])
            return (connected, links) if (connected, links) == (LEAVES + SPINES, LEAVES * SPINES) else None

        return wait_until(whole, "the manager finds all switches and links", 60)

    def tree_of(self, group):
        """The tree that the switches hold for a group, or None."""
        return next((tree for tree in self.manager.list("trees") if tree["group"] == group), None)

    def drawing_of(self, tree):
        """Lines to print, or None when the tree is gone meanwhile."""
        try:
            return self.manager.ctl_text("tree", "draw", str(tree["tree"]))
        except RuntimeError:
            if self.tree_of(tree["group"]) is None:
                return None
            raise

    def uplink_in_use(self, tree):
        """(leaf number, spine number) of an uplink the tree crosses, not the root host's leaf's."""
        for part in tree["parts"]:
            above = part["parent"]["to"]
            if part["switch"].startswith("leaf") and above.startswith("spine"):
                return int(part["switch"][4:]), int(above[5:])
        raise LookupError("the tree crosses no uplink")

    def cut(self, leaf, spine):
        shell(f"ip -n {self.namespace_of(f'leaf{leaf}')} link set l{leaf}up{spine} down")

    def engines(self):
        """The entries of `tributaryctl show engines` for engines that did something."""
        engines = [engine for switch in self.switches for engine in switch.ctl("show", "engines")]
        return [engine for engine in engines if engine["contributions"] > 0]

    def trees_left(self):
        """What switches still hold, by switch."""
        left = {}
        for switch in self.switches:
            for tree in switch.ctl("show", "trees"):
                left.setdefault(tree["switch"], []).append(tree["tree"])
        return left

    def drops(self):
        """All drops, by reason."""
        total = {}
        for switch in self.switches:
            for port in switch.ctl("show", "ports"):
                for reason, count in port["drops"].items():
                    total[reason] = total.get(reason, 0) + count
        return total

    def died(self):
        """The first program that has ended, or None."""
        return next((one for one in [*self.switches, self.manager] if not one.alive()), None)

    def stop(self):
        for switch in self.switches:
            switch.child.terminate()
        for switch in self.switches:
            try:
                switch.child.wait(10)
            except Exception:
                switch.kill()
        if self.manager:
            try:
                self.manager.stop(timeout_seconds=10)
            except Exception:
                self.manager.kill()


def lay(options, fabric, say, **manager):
    """Starts everything but the hosts. `manager` adds to the manager's configuration, by table."""
    say(f"{HOSTS} hosts and {LEAVES + SPINES} switches in namespaces of their own, {options.kind} on veth")
    fabric.lay_cables()
    say("starting the fabric manager")
    fabric.start_manager(**manager)
    processes = "one process" if fabric.one_process else "a process each"
    say(f"starting the switches, {processes}; no file says what is cabled to what, or names a tree")
    fabric.start_switches()
    connected, links = fabric.discovered()
    say(f"the manager has found {connected} switches and {links} links between them")
