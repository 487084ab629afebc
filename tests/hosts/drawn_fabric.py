"""Scripted switches of a given topology, for a real manager: each sends a hello, its ports'
neighbours, and their counters.

    switches = fat_tree(pods=4, leaves=4, ups=2, cores=2, hosts=2)
    switches = dragonfly(groups=5, routers=4, hosts=2)
    with drawn(manager, switches) as fabric:              connected
        fabric.set_link(("leaf0.0", 0), ("agg0.0", 2), up=False)
        fabric.carry("leaf0.0", {port: {"sent_bytes": 1_000_000}})
        fabric.silence("leaf0.0", 4)                      a host whose programs have ended

A switch is (name, number of hosts, {port: (other switch, its port)}); hosts are at the ports behind those.
The speakers are those of bench/manager, one thread for all."""

import importlib.util
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path

from tributary.network import wait_until

BENCH = Path(__file__).resolve().parents[2] / "bench" / "manager"
SPEED_MBPS = 100_000
PORT_FIELDS = {"received": 2, "sent": 3, "received_bytes": 9, "sent_bytes": 10, "pauses_received": 11,
               "pauses_sent": 12, "paused_ns": 13}  # fmt: skip


def _bench():
    loader = SourceFileLoader("bench_manager", str(BENCH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_manager", loader))
    loader.exec_module(module)
    return module


class _Cables:
    def __init__(self):
        self.ports = {}

    def switch(self, name):
        self.ports[name] = {}

    def join(self, a, b):
        ports = self.ports[a], self.ports[b]
        here, there = (len(p) for p in ports)
        ports[0][here], ports[1][there] = (b, there), (a, here)

    def switches(self, hosts_of):
        return [(name, hosts_of(name), ports) for name, ports in self.ports.items()]


def fat_tree(pods, leaves, ups, cores, hosts):
    """Every leaf to all of its pod's `ups`, each of these to its own `cores`."""
    cables = _Cables()
    for pod in range(pods):
        for kind, count in (("leaf", leaves), ("agg", ups)):
            for n in range(count):
                cables.switch(f"{kind}{pod}.{n}")
    for up in range(ups):
        for core in range(cores):
            cables.switch(f"core{up}.{core}")
    for pod in range(pods):
        for up in range(ups):
            for leaf in range(leaves):
                cables.join(f"leaf{pod}.{leaf}", f"agg{pod}.{up}")
            for core in range(cores):
                cables.join(f"agg{pod}.{up}", f"core{up}.{core}")
    return cables.switches(lambda name: hosts if name.startswith("leaf") else 0)


def dragonfly(groups, routers, hosts):
    """All routers of a group are joined, and each two groups by one link."""
    cables = _Cables()
    for group in range(groups):
        for n in range(routers):
            cables.switch(f"g{group}r{n}")
    for group in range(groups):
        for n in range(routers):
            for other in range(n):
                cables.join(f"g{group}r{other}", f"g{group}r{n}")
    for group in range(groups):
        for other in range(group):
            cables.join(f"g{group}r{other % routers}", f"g{other}r{(group - 1) % routers}")
    return cables.switches(lambda name: hosts)


class DrawnFabric:
    def __init__(self, manager, switches):
        self.manager = manager
        self.bench = bench = _bench()
        self.number = {name: s for s, (name, _, _) in enumerate(switches)}
        self.down = set()
        self.silent = set()
        first_nid = [1]
        for _, hosts, _ in switches:
            first_nid.append(first_nid[-1] + hosts)

        def port_message(s, port):
            name, _, cables = switches[s]
            up = (name, port) not in self.down
            message = bench.number(1, port) + bench.data(2, f"p{port}") + bench.number(3, int(up))
            message += bench.number(4, SPEED_MBPS)
            if port not in cables and (name, port) not in self.silent:
                nid = first_nid[s] + port - len(cables)
                message += bench.data(6, bench.data(1, f"h{nid}") + bench.number(5, nid))
            elif port in cables and up:
                other, there = cables[port]
                guid = bench.guid_of(self.number[other])
                message += bench.data(6, bench.data(1, other) + bench.fixed64(2, guid) + bench.number(3, there))
            return message

        class Speakers(bench.Switches):
            @staticmethod
            def _hello(s, count):
                name, hosts, cables = switches[s]
                ports = len(cables) + hosts
                hello = bench.number(1, 1) + bench.data(2, name) + bench.fixed64(3, bench.guid_of(s))
                hello += bench.fixed64(4, 1) + bench.data(5, "drawn")
                limits = bench.number(1, 8192) + bench.number(2, ports) + bench.number(3, bench.DESCRIPTORS)
                return hello + bench.data(6, limits) + b"".join(bench.data(7, port_message(s, p)) for p in range(ports))

        self.port_message = port_message
        self.hosts = first_nid[-1] - 1
        self.speakers = Speakers(manager.switches_address, len(switches))

    def _say(self, name, message):
        self.speakers.sockets[self.number[name]].sendall(self.bench.framed(message))

    def connect(self):
        self.speakers.start()
        count = len(self.number)
        wait_until(lambda: self.speakers.welcomed + self.speakers.rejected == count, "all switches are welcome", 120)
        assert not self.speakers.rejected
        wait_until(lambda: self.bench.figure(self.manager, "tributary_hosts") == self.hosts, "all hosts are known", 120)

    def set_link(self, *ends, up):
        for end in ends:
            (self.down.discard if up else self.down.add)(end)
        for name, port in ends:
            self._say(name, self.bench.data(2, self.bench.data(1, self.port_message(self.number[name], port))))

    def silence(self, name, port):
        """Its port is up, but receives no more hellos."""
        self.silent.add((name, port))
        self._say(name, self.bench.data(2, self.bench.data(1, self.port_message(self.number[name], port))))

    def carry(self, name, ports):
        """Counters of ports, as the switch's next report; `drops` by reason beside those of PORT_FIELDS."""
        bench, report = self.bench, b""
        for port, figures in ports.items():
            text = bench.number(1, port)
            for field, value in figures.items():
                if field == "drops":
                    text += b"".join(bench.data(4, bench.data(1, why) + bench.number(2, n)) for why, n in value.items())
                else:
                    text += bench.number(PORT_FIELDS[field], value)
            report += bench.data(1, text)
        self._say(name, bench.data(6, report))


@contextmanager
def drawn(manager, switches):
    fabric = DrawnFabric(manager, switches)
    try:
        fabric.connect()
        yield fabric
    finally:
        manager.stop()
        fabric.speakers.stop()
