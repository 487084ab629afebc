"""Trees on two workers: reductions stay right while trees move, and where no port can be steered."""

import json
import subprocess
import time

from lab import VNI
from tributary import frames
from tributary.network import RawPort
from tributary.switch import Config

FIRST_NID = 16
TREES = {2: (0, 1), 4: (2, 3)}  # tree -> its hosts, the root first; both trees begin at worker 0
MOVED = "trees whose number modulo 128 is"
IPV4 = 0x0800
PATIENCE_SECONDS = 90


class Loaded:
    """A switch with two workers, the first of which is busy with frames of two buckets of trees: those
    of TREES, whose hosts are on interfaces of two kinds."""

    def __init__(self, lab):
        self.lab = lab
        lab.need(lab.binaries.host)
        load = lab.place / "load.pcap"
        heavy = [128 + tree for tree in TREES]
        frames.write_pcap(load, [bytes(frames.Frame(tree=heavy[i % 2], reduction=i % 8)) for i in range(64)])
        for queue in (0, 1):
            frames.write_pcap(lab.place / f"sorted-{queue}.pcap", [])
        config = Config(lab.place / "switch.sock", workers=2)
        section = config.switch("leaf0")
        section.port("load", kind="pcap", rx_file=str(load), repeat=True)  # of the first worker
        section.port("sorted", kind="pcap", rx_file=str(lab.place / "sorted-{queue}.pcap"))
        section.port("sink", kind="null")
        for tree in heavy:
            section.tree(tree, 0, "load", ["sink"])
        for tree, hosts in TREES.items():
            for n in hosts:
                lab.network.host(f"h{n}")
                lab.network.cable(f"h{n}", "eth0", None, f"host{n}")
                section.port(f"host{n}", kind=("af_packet", "af_xdp")[n % 2], interface=f"host{n}",
                             nid=FIRST_NID + n, vnis=[VNI])
                section.route(FIRST_NID + n, f"host{n}")
            section.tree(tree, 1, f"host{hosts[0]}", [f"host{hosts[1]}"])
            section.trees[tree].update(payload=1408, slots=16)
        self.switch = lab.start(config)

    def reduce(self):
        """Reductions of both trees at the same time, each result compared by its hosts."""
        running = [
            subprocess.Popen(
                ["ip", "netns", "exec", f"h{n}", str(self.lab.binaries.host), "--interface", "eth0", "--nid", str(FIRST_NID + n),
                 "--rank", str(rank), "--size", str(len(hosts)), "--tree", str(tree), "--root-nid", str(FIRST_NID + hosts[0]),
                 "--vni", str(VNI), "--payload", "1408", "--slots", "16", "--operations", "400", "--timeout", "30s", "--json"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for tree, hosts in TREES.items() for rank, n in enumerate(hosts)
        ]
        try:
            for host in running:
                said, error = host.communicate(timeout=PATIENCE_SECONDS)
                assert host.returncode == 0, f"{' '.join(host.args)}\n{said}{error}"
                report = json.loads(said)
                assert report["checked"] and report["wrong"] == 0, report
        finally:
            for host in running:
                host.kill()
                host.wait()

    def worker_of(self):
        return {each["tree"]: each["worker"] for each in self.switch.ctl("show", "trees") if each["tree"] in TREES}


def test_reductions_are_right_while_their_trees_move(lab):
    loaded = Loaded(lab)
    end = time.monotonic() + PATIENCE_SECONDS
    loaded.reduce()
    while MOVED not in loaded.switch.log_text():
        assert time.monotonic() < end, f"no tree moves: {loaded.switch.ctl('show', 'workers')}"
        loaded.reduce()
    loaded.reduce()
    assert set(loaded.worker_of()) == set(TREES)
    ports = {each["port"]: each for each in loaded.switch.ctl("show", "ports")}
    assert ports["sorted"]["steering"] == "sorted", ports["sorted"]
    for n in range(4):
        assert ports[f"host{n}"]["steering"] == "hand-over" and ports[f"host{n}"]["steering_why"], ports[f"host{n}"]


def test_two_workers_on_interfaces_that_cannot_be_steered_say_why_and_hand_over(lab):
    section = lab.star(2, workers=2)
    section.head["ethertype"] = IPV4
    lab.root, *lab.leaves = (RawPort(f"h{n}", "eth0", IPV4) for n in range(3))
    switch = lab.start()
    got, expected = lab.reduce(switch, ethertype=IPV4)
    assert got == expected
    for each in switch.ctl("show", "ports"):
        why = each["steering_why"]
        assert f"ethtool -L {each['port']} combined 2" in why, why
        assert switch.log_text().count(f"port {each['port']}: one worker polls it") == 1, switch.log_text()


def test_rules_of_interfaces_need_the_ethertype_of_ipv4(lab):
    lab.star(2, workers=2)
    switch = lab.start()
    got, expected = lab.reduce(switch)
    assert got == expected
    for each in switch.ctl("show", "ports"):
        assert "only of EtherType 0x0800" in each["steering_why"], each
