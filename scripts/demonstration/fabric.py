"""The fabric of the demo: sixteen hosts, four leaf switches, one root switch, one tree.

                     +------+
                     | root |              wait count 12: the three leaves below it
                     +------+
             /       |      |       \\
        +-------+ +-------+ +-------+ +-------+
        | leaf0 | | leaf1 | | leaf2 | | leaf3 |     wait count 4 each; leaf0: 15, all but h0
        +-------+ +-------+ +-------+ +-------+
         h0 ...    h4 ...    h8 ...    h12 ...      h0 is the tree's root

Contributions travel from every host toward h0: up to `root`, and down again through leaf0, whose parent
port on this tree is h0's. Every host and every switch is a network namespace; every link is a veth pair,
driven through AF_XDP by the switch at its end.
"""

from tributary.network import Network
from tributary.switch import Config, Switch

HOSTS, LEAVES = 16, 4
HOSTS_PER_LEAF = HOSTS // LEAVES
TREE, VNI, COOKIE = 1, 0x0400, 0x7A3B91C5


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
        self.switches = []  # running processes

    def namespace_of(self, switch):
        return "switches" if self.one_process else switch

    def lay_cables(self):
        network = Network()
        names = ["root", *(f"leaf{n}" for n in range(LEAVES))]
        for namespace in dict.fromkeys(self.namespace_of(name) for name in names):
            network.host(namespace)
        for host in self.hosts:
            network.host(host.namespace)
            network.cable(
                host.namespace, host.interface, self.namespace_of(host.leaf), host.port,
                host_mac(host.nid), port_mac(host.nid),
            )
        for n in range(LEAVES):
            network.cable(self.namespace_of(f"leaf{n}"), f"up{n}", self.namespace_of("root"), f"leaf{n}")

    def _configs(self):
        """(process name, namespace, config): one process for each switch, or one for all."""
        configs = {}

        def section(name):
            process = "switches" if self.one_process else name
            if process not in configs:
                configs[process] = Config(f"{self.place}/{process}.sock")
            return configs[process].switch(name)

        root = section("root")
        for n in range(LEAVES):
            root.port(f"leaf{n}", kind=self.kind, interface=f"leaf{n}")
        root.tree(TREE, HOSTS - HOSTS_PER_LEAF, "leaf0", [f"leaf{n}" for n in range(1, LEAVES)])
        for n in range(LEAVES):
            leaf = section(f"leaf{n}")
            hosts = [host for host in self.hosts if host.leaf == f"leaf{n}"]
            for host in hosts:
                leaf.port(host.port, kind=self.kind, interface=host.port, nid=host.nid, vnis=[VNI])
            leaf.port("up", kind=self.kind, interface=f"up{n}")
            ports = [host.port for host in hosts]
            if n == 0:
                leaf.tree(TREE, HOSTS - 1, ports[0], [*ports[1:], "up"])
            else:
                leaf.tree(TREE, HOSTS_PER_LEAF, "up", ports)
            for host in self.hosts:
                leaf.route(host.nid, host.port if host in hosts else "up")
        for host in self.hosts:
            root.route(host.nid, host.leaf)
        return configs

    def start_switches(self):
        for name, config in self._configs().items():
            namespace = "switches" if self.one_process else name
            self.switches.append(Switch(self.binaries, config, self.place, name, namespace))

    def engines(self):
        """What `tributaryctl show engines` says of every engine that serves the tree."""
        engines = [engine for switch in self.switches for engine in switch.ctl("show", "engines")]
        serving = {(f"leaf{n}", "up") for n in range(1, LEAVES)} | {("root", "leaf0"), ("leaf0", "host0")}
        return [engine for engine in engines if (engine["switch"], engine["port"]) in serving]

    def drops(self):
        """Every drop there was, by reason; an orderly demo has none."""
        total = {}
        for switch in self.switches:
            for port in switch.ctl("show", "ports"):
                for reason, count in port["drops"].items():
                    total[reason] = total.get(reason, 0) + count
        return total

    def died(self):
        """The first switch that is no longer running, or None."""
        return next((switch for switch in self.switches if not switch.alive()), None)

    def stop(self):
        for switch in self.switches:
            switch.child.terminate()
        for switch in self.switches:
            try:
                switch.child.wait(10)
            except Exception:
                switch.kill()
