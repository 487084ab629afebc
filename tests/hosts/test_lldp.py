"""LLDP with a third-party station: Debian's lldpd, in the namespace of a host on a switch's port.
What each lists of the other, also after one has left."""

import json
import os
import signal
import subprocess
from pathlib import Path

from tributary.cases import Skip
from tributary.network import RawPort, shell, wait_until

UNPACKED = Path(__file__).resolve().parents[2] / "build-peers"
ETHERTYPE = 0x88CC
NEAREST_BRIDGE = bytes.fromhex("0180c200000e")


class Lldpd:
    """The daemon of one host, with a socket of its own; everything else of it is in the test's world."""

    def __init__(self, lab, host):
        self.daemon, self.client = UNPACKED / "usr/sbin/lldpd", UNPACKED / "usr/sbin/lldpcli"
        if not self.daemon.exists():
            raise Skip("lldpd is not unpacked: scripts/setup")
        libraries = ":".join(str(path.parent) for path in UNPACKED.glob("usr/lib/*/liblldpctl.so.4"))
        self.environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
        self.socket = lab.place / f"{host}.lldpd"
        # It drops its privileges to a user that its package would have created.
        for file, line in (("passwd", "_lldpd:x:64000:64000::/run/lldpd:/usr/sbin/nologin"), ("group", "_lldpd:x:64000:")):
            own = lab.file(file, Path("/etc", file).read_text(encoding="utf-8") + line + "\n")
            shell(f"mount --bind {own} /etc/{file}")
        Path("/run/lldpd").mkdir()
        self.log = lab.place / f"{host}.lldpd.log"
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(
                ["ip", "netns", "exec", host, str(self.daemon), "-d", "-u", str(self.socket), "-I", "eth0",
                 "-L", str(self.client), "-O", "/dev/null"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self.environment,
            )  # fmt: skip
        wait_until(self.answers, "lldpd answers")

    def ask(self, *words):
        return subprocess.run(
            [str(self.client), "-u", str(self.socket), "-f", "json0", *words],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=self.environment,
        )

    def answers(self):
        assert self.child.poll() is None, self.log.read_text(encoding="utf-8", errors="replace")
        return self.socket.exists() and self.ask("show", "configuration").returncode == 0

    def neighbours(self):
        """One for each at eth0, as `lldpcli -f json0` has it."""
        (lldp,) = json.loads(self.ask("show", "neighbors", "details").stdout)["lldp"]
        return lldp.get("interface", [])

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(30)


def value(entry, *path):
    """In json0 everything is a list of one."""
    for key in path:
        (entry,) = entry[key]
    return entry["value"]


def address_of(host):
    (link,) = json.loads(shell(f"ip -n {host} -json link show dev eth0"))
    return link["address"]


def switch_and_host_see_each_other(lab, kind):
    lab.star(1, kind=kind)
    switch, lldpd = lab.start(), Lldpd(lab, "h1")
    wait_until(lambda: len(lldpd.neighbours()) == 1, "lldpd lists one neighbour")
    (seen,) = lldpd.neighbours()
    (port,) = [p for p in switch.ctl("show", "ports") if p["port"] == "host1"]
    assert value(seen, "chassis", "name") == "leaf0"
    assert value(seen, "chassis", "descr").startswith("Tributary switch ")
    assert value(seen, "port", "id") == "host1" and seen["port"][0]["id"][0]["type"] == "ifname"
    assert value(seen, "port", "descr") == port["device"]
    assert value(seen, "port", "ttl") == "121"
    enabled = [c["type"] for c in seen["chassis"][0]["capability"] if c["enabled"]]
    assert enabled == ["Bridge"], enabled

    wait_until(lambda: switch.ctl("show", "neighbours"), "the switch lists the host")
    (heard,) = switch.ctl("show", "neighbours")
    assert (heard["switch"], heard["port"]) == ("leaf0", "host1")
    assert heard["chassis"] == heard["neighbour_port"] == address_of("h1")
    assert heard["port_description"] == "eth0" and heard["system_name"]
    assert heard["capabilities"] == ["station"] and heard["ttl_s"] == 120, heard
    counters = lab.counters(switch)
    assert counters["leaf0.port.host1.lldp_received"] >= 1 and counters["leaf0.port.host1.lldp_sent"] >= 1
    assert counters["leaf0.port.host1.lldp_discarded"] == 0
    assert heard["system_name"] in switch.ctl_raw("show", "neighbours")[1]
    return switch, lldpd


def test_a_hosts_lldpd_and_the_switch_list_each_other_over_af_packet_until_the_host_leaves(lab):
    switch, lldpd = switch_and_host_see_each_other(lab, "af_packet")
    lldpd.stop()
    wait_until(lambda: switch.ctl("show", "neighbours") == [], "the switch knows that lldpd has gone")


def test_a_hosts_lldpd_and_the_switch_list_each_other_over_af_xdp_until_the_switch_leaves(lab):
    switch, lldpd = switch_and_host_see_each_other(lab, "af_xdp")
    assert switch.stop() == 0
    wait_until(lambda: lldpd.neighbours() == [], "lldpd knows that the switch has gone")
    lldpd.stop()


def test_a_switch_without_lldp_says_nothing_and_drops_what_it_hears_as_foreign(lab):
    lab.star(1, kind="af_packet", lldp=False)
    port = RawPort("h1", "eth0", ETHERTYPE)
    switch = lab.start()
    port.send(NEAREST_BRIDGE + bytes(6) + ETHERTYPE.to_bytes(2, "big") + bytes(46))
    lab.counter_reaches(switch, "leaf0.port.host1.drop.foreign_ethertype", 1)
    assert lab.counters(switch)["leaf0.port.host1.tx_frames"] == 0
    code, _, error = switch.ctl_raw("show", "neighbours")
    assert code == 1 and "lldp = false" in error, error
