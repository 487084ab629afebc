"""Two hosts and two switches in a row; the link between the switches may be made unreliable.

    h1 eth0 --- host [s1] peer ~~~~~~~ peer [s2] host --- eth0 h2

Every host and every switch is a network namespace; every link is a veth pair. Routes are in the
switches' configuration, without a manager.
"""

from fabric import host_mac, port_mac
from tributary.network import Network, shell
from tributary.switch import QuickConfig, Switch

NIDS = {"h1": 1, "h2": 2}
SWITCHES = {"s1": "h1", "s2": "h2"}
# The switch that sends on the link between them.
DIRECTIONS = {"h1 to h2": "s1", "h2 to h1": "s2"}


class Pair:
    def __init__(self, binaries, place, kind, mtu):
        self.binaries = binaries
        self.place = place
        self.kind = kind
        self.mtu = mtu
        self.switches = {}  # running processes, by name

    def lay_cables(self):
        network = Network()
        for name in (*NIDS, *SWITCHES):
            network.host(name)
        for switch, host in SWITCHES.items():
            nid = NIDS[host]
            network.cable(host, "eth0", switch, "host", host_mac(nid), port_mac(nid))
        network.cable("s1", "peer", "s2", "peer")
        if self.mtu != 1500:
            for host in NIDS:
                shell(f"ip -n {host} link set eth0 mtu {self.mtu}")
            for switch in SWITCHES:
                for port in ("host", "peer"):
                    shell(f"ip -n {switch} link set {port} mtu {self.mtu}")

    def start_switches(self, impairment):
        longest = {} if self.mtu <= 1500 else {"longest_frame": self.mtu + 14}
        for switch, host in SWITCHES.items():
            config = QuickConfig(f"{self.place}/{switch}.sock", **longest)
            section = config.switch(switch)
            section.port("host", kind=self.kind, interface="host")
            section.port("peer", kind=self.kind, interface="peer")
            for name, nid in NIDS.items():
                section.route(nid, "host" if name == host else "peer")
            self.switches[switch] = Switch(self.binaries, config, self.place, switch, switch)
            # Only for frames it sends: the other switch impairs its own.
            faults = {key: value for key, value in impairment.items() if value}
            if faults.keys() & {"loss", "reorder"}:
                self._impair(switch, faults)

    def _impair(self, switch, faults):
        options = [word for key, value in faults.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        code, out, error = self.switches[switch].ctl_raw(
            "impair", "set", "--port", "peer", "--direction", "sent", "--kinds", "rdma", *options
        )
        if code:
            raise RuntimeError(f"{switch} cannot be impaired: {out}{error}")

    def impairments(self):
        """Impairments of frames between the switches, by direction."""
        done = {}
        for direction, switch in DIRECTIONS.items():
            counters = self.switches[switch].ctl("show", "counters")
            prefix = f"{switch}.impairment.peer.sent."
            own = {name.removeprefix(prefix): n for name, n in counters.items() if name.startswith(prefix)}
            sent = counters.get(f"{switch}.port.peer.tx_frames", 0)
            done[direction] = own or {"frames": sent, "lost": 0, "reordered": 0}
        return done

    def drops(self):
        """Drops of the switches, by reason."""
        total = {}
        for switch in self.switches.values():
            for port in switch.ctl("show", "ports"):
                for reason, count in port["drops"].items():
                    total[reason] = total.get(reason, 0) + count
        return total

    def missed(self):
        """Frames that arrived faster than the switches took them, by port: lost, but not an
        error."""
        return {
            name.removesuffix(".rx_missed").replace(".port.", " "): count
            for switch in self.switches.values()
            for name, count in switch.ctl("show", "counters").items()
            if name.endswith(".rx_missed")
        }

    def stop(self):
        for switch in self.switches.values():
            switch.child.terminate()
        for switch in self.switches.values():
            try:
                switch.child.wait(10)
            except Exception:
                switch.kill()
