"""The tools of a test on real namespaces: hosts on links, switches, a shell.

    lab.star(4)                 hosts h0 (the root), h1, ... each on a veth pair to here, and a config
                                whose switch has a port for each
    lab.start()                 the switch, with that config
    lab.root, lab.leaves        their raw ports
    lab.sh("ip link")           as an operator would type it

Everything runs in the test's private world; see run.py.
"""

import os
import re
import subprocess
from pathlib import Path

from tributary import frames
from tributary.cases import Skip
from tributary.host_agent import HostAgent
from tributary.manager import Manager
from tributary.network import Network, RawPort, shell, wait_until
from tributary.switch import Binaries, QuickConfig, Switch

VNI = 0x0400
COOKIE = 0x1234ABCD
TREE = 7
SEQNO = 5


class Lab:
    def __init__(self, build, place):
        self.binaries = Binaries(build)
        self.place = place
        self.network = Network()
        self.switches = []
        self.managers = []
        self.agents = []
        self.browsers = []
        self.build = build
        self.config = None
        self.root = None
        self.leaves = []

    # The network

    def star(self, leaves=4, kind="af_xdp", **process):
        """One switch, a root h0 and `leaves` hosts on one reduction tree."""
        self.config = QuickConfig(self.place / "switch.sock", **process)
        self.section = self.config.switch("leaf0")
        ports = []
        for number in range(leaves + 1):
            host, port = self.network.host(f"h{number}"), f"host{number}"
            # One in 512 random addresses has a NID that no host may have.
            self.network.cable(host, "eth0", None, port, f"02:00:00:00:00:{number + 1:02x}")
            self.section.port(port, kind=kind, interface=port, nid=number + 1, vnis=[VNI])
            ports.append(RawPort(host, "eth0", frames.ETHERTYPE))
        self.root, *self.leaves = ports
        self.section.tree(TREE, leaves, "host0", [f"host{n + 1}" for n in range(leaves)])
        return self.section

    # Programs

    def need(self, binary):
        if not binary.exists():
            raise Skip(f"{binary.name} is not built: ninja -C {self.binaries.switch.parents[1]}")

    def start(self, config=None, name="switch", **options):
        """A switch, running and ready."""
        self.need(self.binaries.switch)
        switch = Switch(self.binaries, config or self.config, self.place, name, **options)
        self.switches.append(switch)
        return switch

    def start_manager(self, **sections):
        """A fabric manager that answers; `sections` are tables of its configuration."""
        self.need(self.binaries.fabricd)
        self.managers.append(Manager(self.binaries, self.place, **sections))
        return self.managers[-1]

    def start_agent(self, namespace, place=None, **settings):
        """A host agent that answers; `settings` as HostAgent has them."""
        self.need(self.binaries.hostd)
        self.agents.append(HostAgent(self.binaries, place or self.place, namespace, **settings))
        return self.agents[-1]

    def run_switch(self, *arguments):
        """Runs a switch that is expected to end on its own: (exit code, standard output, standard
        error)."""
        self.need(self.binaries.switch)
        return self.run(str(self.binaries.switch), *arguments)

    def run(self, *command):
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    def sh(self, command, check=True):
        return shell(command, check, quiet=False)

    def file(self, name, text=None):
        path = self.place / name
        if text is not None:
            path.write_text(text, encoding="utf-8")
        return path

    def artefact(self, name):
        """A path for a file worth keeping after the test, such as a screenshot: in
        TRIBUTARY_ARTEFACTS, or in `artefacts` of the build. It outlives the test's world."""
        folder = Path(os.environ.get("TRIBUTARY_ARTEFACTS", self.build / "artefacts"))
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    # Queries

    def xdp_programs(self, interface):
        """How many XDP programs are attached, natively or generic."""
        shown = shell(f"ip -details link show dev {interface}")
        return len(re.findall(r"prog/xdp|xdpgeneric|xdpdrv", shown))

    def arm(self, **fields):
        return frames.arm(**{**self.identity(), **fields})

    def contribution(self, leaf, **fields):
        """The contribution of leaf number `leaf` (0 is the first); its NID is leaf + 2, the root's
        is 1."""
        own = {"nid": leaf + 2, "rank": leaf + 1, "data": (leaf + 1, 10 * (leaf + 1), -1, 1 << 40)}
        return frames.Frame(**{**self.identity(), **own, **fields})

    def identity(self):
        return {"tree": TREE, "vni": VNI, "cookie": COOKIE, "seqno": SEQNO, "resno": SEQNO}

    # Steps of several tests

    def counters(self, switch):
        """Every counter of the process by its flat name, e.g. leaf0.engine.host0.full."""
        return switch.ctl("show", "counters")

    def counter_reaches(self, switch, name, value):
        wait_until(lambda: self.counters(switch)[name] >= value, f"{name} reaches {value}")

    def arm_tree(self, **fields):
        """The root arms; every leaf receives the arm, bit for bit."""
        sent = bytes(self.arm(**fields))
        self.root.send(sent)
        for leaf in self.leaves:
            assert leaf.receive() == [sent], f"{leaf.name} did not get the arm as it was sent"

    def reduce(self, switch, **fields):
        """Arms, contributes from every leaf in turn, and returns (received by the root,
        expected)."""
        self.arm_tree(**fields)
        before = self.counters(switch)["leaf0.engine.host0.contributions"]
        contributions = [self.contribution(n, **fields) for n in range(len(self.leaves))]
        self.leaves[0].send(contributions[0])
        # The result carries the first one's header, so it must arrive first.
        self.counter_reaches(switch, "leaf0.engine.host0.contributions", before + 1)
        for leaf, contribution in zip(self.leaves[1:], contributions[1:], strict=True):
            leaf.send(contribution)
        data = tuple(sum(c.data[lane] for c in contributions) for lane in range(4))
        expected = self.contribution(0, **{**fields, "count": len(contributions), "data": data})
        return self.root.receive(), [bytes(expected)]

    # The end

    def print_logs(self):
        """After a failure: the output of managers and switches."""
        for manager in self.managers:
            print(f"--- log of {manager.file.stem}:\n{manager.log_text()}")
        for agent in self.agents:
            print(f"--- log of the host agent of {agent.namespace}:\n{agent.log_text()}")
        for switch in self.switches:
            print(f"--- log of {switch.file.stem}:\n{switch.log_text()}")
            if switch.alive():
                counted = {name: value for name, value in self.counters(switch).items() if value}
                print("--- its counters that are not zero:")
                print(*(f"{name} {value}" for name, value in counted.items()), sep="\n")

    def finish(self):
        """Every switch that the test left running ends in good order, and so without a finding of a
        sanitizer; none has ended on its own before."""
        for switch in self.switches:
            code = switch.stop()
            if code != 0 and not switch.killed:
                raise AssertionError(f"{switch.file.stem} ended with exit code {code}")
        for manager in self.managers:
            if code := manager.stop():
                raise AssertionError(f"{manager.file.stem} ended with exit code {code}")
        for agent in self.agents:
            if code := agent.stop():
                raise AssertionError(f"the host agent of {agent.namespace} ended with exit code {code}")

    def close(self):
        for browser in self.browsers:
            browser.close()
        for agent in self.agents:
            agent.kill()
        for manager in self.managers:
            manager.kill()
        for switch in self.switches:
            switch.kill()


