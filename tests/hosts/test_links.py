"""Links between two real switches that die while their carriers stay, that work in one direction, and
that lose their carrier: which side detects it, and how fast by the switches' own log."""

import re

from tributary.network import shell, wait_until
from tributary.switch import QuickConfig

INTERVAL_MS = 10
DOWN = re.compile(r"switch (\w+): the link at port (\w+) is down \((\w+)\).*?(?:([\d.]+) ms)?(?: ago)?$", re.M)


class TwoSwitches:
    """left and right, each a process of its own, joined through a bridge that can be taken apart without
    a change of either's carrier: left -- l0 | near_l (bridge) near_r | r0 -- right."""

    def __init__(self, lab):
        manager = lab.start_manager()
        self.switches = {}
        lab.network.cable(None, "l0", None, "near_l")
        lab.network.cable(None, "r0", None, "near_r")
        # Frames to 01:80:c2:00:00:0e pass only if bit 14 of group_fwd_mask is set.
        shell("ip link add middle type bridge mcast_snooping 0 && ip link set middle type bridge group_fwd_mask 0x4000")
        shell("ip link set near_l master middle && ip link set near_r master middle && ip link set middle up")
        for name, interface in (("left", "l0"), ("right", "r0")):
            keys = {"address": manager.switches_address, "link_hello_interval_ms": INTERVAL_MS, "link_down_after": 10}
            config = QuickConfig(lab.place / f"{name}.sock", keys)
            config.switch(name).port("fabric", kind="af_packet", interface=interface)
            self.switches[name] = lab.start(config, name)
        wait_until(lambda: self.states() == ["up", "up"], "both ends watch the link, and it is up")

    def link(self, name):
        return self.switches[name].ctl("show", "ports")[0]["link"]

    def states(self):
        return [self.link(name)["state"] for name in ("left", "right")]

    def downs(self, name):
        """(reason, milliseconds since the last hello or None) of each entry in the log."""
        return [(m[3], float(m[4]) if m[4] else None) for m in DOWN.finditer(self.switches[name].log_text())]

    def wait_for_down(self):
        wait_until(lambda: self.states() == ["down", "down"], "both ends say that the link is down")


def test_a_link_cut_in_the_middle_is_down_by_hellos_alone_and_comes_back(lab):
    two = TwoSwitches(lab)
    shell("ip link set near_r nomaster")
    two.wait_for_down()
    for name in two.switches:
        assert two.switches[name].ctl("show", "ports")[0]["state"] == "up", "the carrier stays"
        reasons = {reason for reason, _ in two.downs(name)}
        assert reasons <= {"silent", "one_way"} and reasons, reasons
        assert two.link(name)["last_reason"] in reasons
    silent = [ms for name in two.switches for reason, ms in two.downs(name) if reason == "silent"]
    assert silent and min(silent) >= 10 * INTERVAL_MS, f"ten intervals are borne: {silent}"
    shell("ip link set near_r master middle")
    wait_until(lambda: two.states() == ["up", "up"], "the link comes back")
    assert "is usable again" in two.switches["left"].log_text()
    assert two.link("left")["times_down"] >= 1


def test_a_link_that_works_in_one_direction_is_down_at_both_ends(lab):
    two = TwoSwitches(lab)
    # Frames from the bridge to right are dropped; right's frames still arrive at left.
    shell("tc qdisc add dev near_r root blackhole")
    two.wait_for_down()
    assert two.link("right")["last_reason"] == "silent"
    assert two.link("left")["last_reason"] == "one_way"
    assert two.link("left")["silence_us"] < 1_000_000, "it continues to hear"
    shell("tc qdisc del dev near_r root")
    wait_until(lambda: two.states() == ["up", "up"], "the link comes back")


def test_a_lost_carrier_takes_the_link_down_at_once(lab):
    two = TwoSwitches(lab)
    shell("ip link set near_l down")
    wait_until(lambda: two.link("left")["state"] == "down", "the end without a carrier is down")
    assert two.link("left")["last_reason"] in ("carrier", "silent")
    two.wait_for_down()
    shell("ip link set near_l up")
    wait_until(lambda: two.states() == ["up", "up"], "the link comes back")


def test_a_switch_that_is_stopped_in_good_order_leaves_its_links(lab):
    two = TwoSwitches(lab)
    assert two.switches["right"].stop() == 0
    wait_until(lambda: two.link("left")["state"] == "down", "left knows that right has gone")
    assert two.link("left")["last_reason"] == "left"
