"""scripts/demo-faults: a 3x3 fabric of real switches loses one of them, or a link, under traffic, and traffic
resumes; and nothing of it remains when it is interrupted."""

import json
import os
import signal
import subprocess
from pathlib import Path

from programs import programs
from tributary.network import shell, wait_until

ALONE = True

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo-faults"
KEYS = {
    "victim", "hello_interval_ms", "down_after", "sent", "lost", "drops", "died", "came_back", "faults",
}  # fmt: skip
# The goal is 50 ms, of a machine with a core for each worker. Fifteen switches on two cores, with other
# tests beside, wait for one another; in a debugger's or a sanitizer's build, longer.
MOST_MS = 3000


def start(lab, *extra):
    for binary in (lab.binaries.switch, lab.binaries.ctl, lab.binaries.fabricd):
        lab.need(binary)
    return subprocess.Popen(
        [str(DEMO), "--no-setup", "--build", str(lab.binaries.switch.parents[1]), "--rate", "2000",
         "--kind", "af_packet", *extra],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def show(lab, *extra):
    file = lab.file("faults.json")
    demo = start(lab, "--output", str(file), *extra)
    printed, _ = demo.communicate(timeout=250)
    assert demo.returncode == 0, printed
    result = json.loads(file.read_text())
    assert set(result) == KEYS
    assert result["died"]["faults"], f"the manager has not seen it:\n{printed}"
    assert all(fault["state"] == "installed" for fault in result["faults"] if not fault["failures"]), printed
    assert "\033" not in printed and "\r" not in printed, "plain in a pipe"
    return result, printed


def print_times(result):
    died = result["died"]
    print(
        f"{result['victim']}: {result['hello_interval_ms']} ms hellos, down after {result['down_after']}:"
        f" detected after {died['detected_ms']:.0f} ms, traffic restored {died['detected_to_restored_ms']:.0f} ms later,"
        f" {died['lost']} frames lost of the watched pairs"
    )


def test_a_link_is_cut_in_the_middle_and_traffic_resumes(lab):
    result, printed = show(lab, "--victim", "leaf0.1-row0")
    print_times(result)
    assert result["died"]["lost"] > 0, f"no host noticed that the link was cut:\n{printed}"
    assert result["died"]["detected_to_restored_ms"] <= MOST_MS, printed
    assert result["came_back"]["restored_ms"] is not None, printed


def test_a_leaf_switch_dies_and_comes_back_under_traffic(lab):
    result, printed = show(lab)
    print_times(result)
    assert result["died"]["lost"] > 0, f"no host noticed that the switch died:\n{printed}"
    assert result["died"]["detected_to_restored_ms"] <= MOST_MS, printed
    assert result["came_back"]["faults"], f"the manager has not seen it come back:\n{printed}"
    for step in ("detected", "computed", "verified", "sent", "installed"):
        assert f" {step}" in printed, printed


def test_ctrl_c_leaves_nothing(lab):
    demo = start(lab)
    wait_until(lambda: len(programs()) == 16, "the switches and the manager run", 120)
    os.killpg(demo.pid, signal.SIGINT)
    assert demo.wait(60) != 0
    wait_until(lambda: len(programs()) == 0, "everything it started is gone")
    assert shell("ip netns list") == ""


def test_a_victim_that_does_not_exist_is_named_with_those_that_do(lab):
    demo = start(lab, "--victim", "leaf9.9")
    printed, _ = demo.communicate(timeout=60)
    assert demo.returncode == 2, printed
    assert "leaf9.9" in printed and "column2" in printed and "leaf0.1-row0" in printed, printed
