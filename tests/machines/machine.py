"""The tools of a case: a guest with NICs of one kind, a switch in it, hosts at the other ends.

    machine.bind("vfio-pci")                the driver of the NICs
    machine.run_switch(machine.star())      a switch of this configuration, running, its ports up
    machine.reduce("--payload", "1408")     hosts do reductions; every result is right
    machine.switch.ctl("show", "ports")

A case states what it needs; existing state that fits is kept. So each can be run alone.
"""

import json
import re
import subprocess
import time

import pages
from guest import ROOT, CannotRun
from kinds import MANAGEMENT, PORTS
from tributary.cases import Failed
from tributary.manager import Manager
from tributary.network import shell, wait_until
from tributary.switch import Config

FIRST_NID = 16
TREE = 1
SOCKET = "/run/tributary/switch.sock"
CLASS, VLAN = 3, 100  # of the link between two switches
MANAGEMENT_ADDRESSES = ("10.77.0.1", "10.77.0.2")  # here, and in the guest
MANAGER_PORT = 7581
GUIDE = ROOT / "docs/operate/real-nics.md"
START_SECONDS = 60


def tls(folder):
    return {"tls_ca": f"{folder}/certificate.pem", "tls_certificate": f"{folder}/certificate.pem", "tls_key": f"{folder}/key.pem"}


class GuestSwitch:
    """A tributary-switch in the guest. Its log is a file here, too."""

    def __init__(self, guest, name, config):
        self.guest, self.config = guest, config
        self.log = guest.out / f"{name}.log"
        config.write(guest.out / f"{name}.toml")
        self.ports = sum(len(section.ports) for section in config.switches)
        guest.must(f"setsid tributary-switch --config /out/{name}.toml > /out/{name}.log 2>&1 & echo $! > /out/{name}.pid")
        self.pid = int((guest.out / f"{name}.pid").read_text())
        wait_until(lambda: " ready: " in self.log_text() or self.ended(), f"{name} is ready; {self.log}", START_SECONDS)

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def ended(self):
        return self.guest.run(f"kill -0 {self.pid}")[0] != 0

    def ctl(self, *arguments):
        return json.loads(self.guest.must(f"tributaryctl --json {' '.join(arguments)}"))

    def ports_up(self):
        return sum(port["state"] == "up" for port in self.ctl("show", "ports"))

    def says(self, text, since, within_seconds):
        """Time until the log had `text` behind its first `since` characters; None: time-out."""
        begin = time.monotonic()
        while text not in self.log_text()[since:]:
            if time.monotonic() > begin + within_seconds:
                return None
            time.sleep(0.01)
        return time.monotonic() - begin

    def end(self, signal="TERM", seconds=30):
        """The exit code is unknown: it is a child of the guest that is not waited for."""
        self.guest.run(f"kill -{signal} {self.pid}")
        wait_until(self.ended, f"the switch ends on SIG{signal}; {self.log}", seconds)


class Machine:
    def __init__(self, kind, nics, guest, binaries, release):
        self.kind, self.nics, self.guest, self.binaries, self.release = kind, nics, guest, binaries, release
        self.switch = None
        self.present = list(range(PORTS))  # NICs that are plugged in
        self._started = 0

    # The guide

    def guide(self, beginning):
        """Commands of docs/operate/real-nics.md: the block with this beginning that is marked to
        run here."""
        found = [block.commands for block in pages.Page(GUIDE).blocks
                 if block.mark == "in a machine" and block.text.startswith(beginning)]
        if len(found) != 1:
            raise Failed(f"{GUIDE.name} has {len(found)} blocks marked `in a machine` that begin with {beginning!r}, not one")
        return found[0]

    def doctor(self, config):
        """Its exit code and its findings. The configuration is the guide's."""
        config.write(self.guest.out / "switch.toml")
        code, said = self.guest.run(self.guide("tributary-switch --doctor").strip() + " --json")
        return code, json.loads(said)["findings"]

    # Drivers of the NICs

    def drivers(self):
        """{number of a NIC that is plugged in: the name of the driver that has it, or ""}"""
        files = " ".join(f"/sys/bus/pci/devices/{self.nics.address(n)}/driver" for n in self.present)
        output = self.guest.must(f"for file in {files}; do basename $(readlink $file || echo /); done")
        return dict(zip(self.present, (line.strip("/") for line in output.split()), strict=True))

    def bind(self, driver):
        """All that are plugged in. Raises CannotRun when the driver refuses one."""
        others = [self.nics.address(n) for n, has in self.drivers().items() if has != driver]
        if others:
            self.end_switch()
            code, said = self.guest.run(f"modprobe -a {driver.replace('virtio-pci', 'virtio-net')} && "
                                        f"dpdk-devbind.py --force --bind={driver} {' '.join(others)}", 90)
            if code or set(self.drivers().values()) != {driver}:
                raise CannotRun(f"the guest's {driver} does not take {' '.join(others)}: {said.strip()[-400:]}")

    def interface(self, n):
        """The kernel's name for a NIC that its driver has."""
        device = f"/sys/bus/pci/devices/{self.nics.address(n)}"
        return self.guest.must(f"ls {device}/net {device}/virtio*/net 2>/dev/null | grep -v :; true").split()[0]

    # Configurations

    def port(self, section, n, **keys):
        keys = {"nid": FIRST_NID + n, **keys}
        section.port(f"h{n}", **{"kind": "pci", "pci": self.nics.address(n), **keys})
        section.route(FIRST_NID + n, f"h{n}")

    def star(self, payload=1408, members=None, interfaces=None, ethertype=None, trees=(TREE,), **process):
        """A switch with trees over all NICs, or over these, the first one's host their root; on `interfaces` of the kernel."""
        shell("ip link del joint", check=False)
        config = Config(SOCKET, **process)
        section = config.switch("leaf0", ethertype=ethertype)
        members = self.present if members is None else members
        for n in members:
            self.port(section, n, **({"kind": "af_xdp", "pci": None, "interface": interfaces[n]} if interfaces else {}))
        first, *others = (f"h{n}" for n in members)
        for tree in trees:
            section.tree(tree, len(others), first, others)
            section.trees[tree].update(payload=payload, slots=16)
        return config

    def pair(self, manager=None):
        """Two switches with a host each, on the first two NICs, and a link of tagged frames between them, on the others."""
        # A bridge that also forwards hellos and LLDP, as a cable does.
        shell("ip link show joint || ip link add joint type bridge group_fwd_mask 0xfff8")
        shell("ip link set joint mtu 9000 up")
        config = Config(SOCKET, manager)
        for n in (0, 1):
            shell(f"ip link set t{n + 2} master joint")
            section = config.switch(f"leaf{n}")
            section.traffic_class(CLASS, policy="pause", queue_frames=1024)
            self.port(section, n)
            section.port("link", kind="pci", pci=self.nics.address(n + 2), tags=True, vlan=VLAN)
            if not manager:
                section.tree(TREE, 1, *(("h0", ["link"]) if n == 0 else ("link", ["h1"])))
                section.trees[TREE].update(payload=1408, slots=16)
                section.route(FIRST_NID + 1 - n, "link")
        return config

    # The manager, outside of the guest

    def start_manager(self):
        """Reached by the guest's own NIC, with TLS; one certificate for both ends."""
        here, there = MANAGEMENT_ADDRESSES
        shell(f"ip addr replace {here}/24 dev {MANAGEMENT}")
        device = f"/sys/bus/pci/devices/{self.nics.address(PORTS)}"
        self.guest.must(f"i=$(ls {device}/virtio*/net) && ip addr replace {there}/24 dev $i && ip link set $i up")
        shell(f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=leaf0 "
              f"-addext subjectAltName=DNS:leaf0,DNS:leaf1,IP:{here} "
              f"-keyout {self.guest.out}/key.pem -out {self.guest.out}/certificate.pem")
        return Manager(self.binaries, self.guest.sockets,
                       switches={"listen": [f"{here}:{MANAGER_PORT}"], **tls(self.guest.out)})

    def at_the_manager(self):
        return {"address": f"{MANAGEMENT_ADDRESSES[0]}:{MANAGER_PORT}", **tls("/out")}

    # The switch

    def run_switch(self, config, restart=False):
        """Runs a switch of this configuration, with all its ports up. A running one that fits is
        kept, unless `restart`."""
        if self.switch and not restart and self.switch.config.text() == config.text() and not self.switch.ended():
            return self.switch
        self.end_switch()
        self._started += 1
        self.switch = GuestSwitch(self.guest, f"switch{self._started}", config)
        if self.switch.ended():
            raise Failed(f"the switch does not start:\n{self.switch.log_text()[-2000:]}")
        wait_until(lambda: self.switch.ports_up() == self.switch.ports, f"all ports come up; {self.switch.log}", 20)
        return self.switch

    def end_switch(self):
        if self.switch and not self.switch.ended():
            self.switch.end()
        self.switch = None

    # Hosts

    def start_hosts(self, *arguments, members=None):
        members = self.present if members is None else members
        return [
            subprocess.Popen(
                [str(self.binaries.host), "--interface", f"t{n}", "--nid", str(FIRST_NID + n), "--rank", str(rank),
                 "--size", str(len(members)), "--json", "--timeout", "20s", *map(str, arguments)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, n in enumerate(members)
        ]

    def finish(self, hosts, seconds=60):
        """A summary figure. Every result was compared with the host's own, bit for bit."""
        end, reports = time.monotonic() + seconds, []
        try:
            for host in hosts:
                said, error = host.communicate(timeout=max(0.1, end - time.monotonic()))
                if host.returncode:
                    raise Failed(f"{' '.join(host.args)}\n{said}{error}exit code {host.returncode}{self.about_the_switch()}")
                reports.append(json.loads(said))
        except subprocess.TimeoutExpired:
            raise Failed(f"reductions do not end within {seconds} s{self.about_the_switch()}") from None
        finally:
            for host in hosts:
                host.kill()
                host.wait()
        assert all(report["checked"] and report["wrong"] == 0 for report in reports), reports
        first = reports[0]
        return f"{first['iterations']} reductions, {first['reductions_per_second']:.0f} a second"

    def about_the_switch(self):
        return f"\n{self.guest.run('tributaryctl show ports')[1]}" if self.switch and self.guest.alive() else ""

    def reduce(self, *arguments, members=None, payload=1408, tree=TREE):
        members = self.present if members is None else members
        return self.finish(self.start_hosts("--tree", tree, "--root-nid", FIRST_NID + members[0], "--payload", payload,
                                            "--slots", 16, *arguments, members=members))

    def rdma(self, sizes="1,1443,65536"):
        """Transfers between the hosts of the first two NICs, every byte checked; a figure of them."""
        done = subprocess.run(
            [str(self.binaries.pktgen), "rdma", "--interface", "t0,t1", "--first-nid", str(FIRST_NID), "--transfer-sizes", sizes,
             "--in-flight", "2", "--no-calibrate", "--warmup", "100ms", "--duration", "1s", "--json"],
            capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failed(f"{done.stdout}{done.stderr}exit code {done.returncode}{self.about_the_switch()}")
        result = json.loads(done.stdout)
        got = {name: figure["value"] for name, figure in result["repeats"][0]["figures"].items()}
        assert got["transfers"] > 10 and got["transfers_failed"] == got["transfers_unfinished"] == 0, got
        assert got["writes"] > 0 and got["reads"] > 0 and got["digest_errors"] == 0, got
        assert got["written_digest"] == got["arrived_digest"], got
        return f"{got['transfers']:.0f} transfers, {got['payload_bytes']:.0f} bytes"

    # The link

    def set_link(self, n, up):
        """Time until the switch reports the change, or None after a second."""
        since = len(self.switch.log_text())
        self.guest.monitor("set_link", name=f"nic{n}", up=up)
        return self.switch.says(f"port h{n} is {'up' if up else 'down'}", since, 1.0)

    def faults(self):
        """Kernel messages of the guest about accesses that its IOMMU refused, other than the kind's
        known one."""
        found = re.finditer(r"DMAR: .*fault addr (\S+).*", self.guest.must("dmesg"))
        return [fault[0] for fault in found if fault[1] != self.kind.known_fault]
