"""scripts/demo-rdma, smaller: everything arrives despite loss and reordering, the table shows lost
and resent frames, and nothing of it remains when it is interrupted."""

import json
import os
import signal
import subprocess
from pathlib import Path

from programs import programs
from tributary.network import shell, wait_until

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo-rdma"
KEYS = {
    "size", "seed", "loss", "reorder", "mtu", "seconds", "goodput_bits_per_second", "digest_equal", "switches",
    "drops", "missed", "hosts",
}  # fmt: skip


def start(lab, *extra):
    for binary in (lab.binaries.switch, lab.binaries.ctl, lab.binaries.pktgen):
        lab.need(binary)
    return subprocess.Popen(
        [str(DEMO), "--no-setup", "--build", str(lab.binaries.switch.parents[1]), *extra],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def show(lab, *extra):
    file = lab.file("rdma.json")
    demo = start(lab, "--output", str(file), *extra)
    printed, _ = demo.communicate(timeout=250)
    assert demo.returncode == 0, printed
    result = json.loads(file.read_text())
    assert set(result) == KEYS
    assert result["digest_equal"] and result["hosts"]["h2"]["digest_errors"] == 0, printed
    assert result["hosts"]["h2"]["bytes_arrived"] == result["size"], printed
    assert "\033" not in printed and "\r" not in printed, "plain in a pipe"
    return result, printed


def test_everything_arrives_through_loss_and_reordering(lab):
    result, printed = show(lab, "--size", "3500k", "--loss", "0.02", "--reorder", "0.02", "--seed", "5")
    assert result["size"] == 4_000_000, "whole transfers"
    towards_h2 = result["switches"]["h1 to h2"]
    sender, receiver = result["hosts"]["h1"], result["hosts"]["h2"]
    assert towards_h2["lost"] > 20 and towards_h2["reordered"] > 20, printed
    sent = sender["data_frames"] + sender["control_frames"]
    assert sent - sum(result["missed"].values()) <= towards_h2["frames"] <= sent, printed
    assert 0 < receiver["lost_frames"] <= sender["resent_frames"], printed
    assert "equal" in printed and f"{towards_h2['lost']:,}" in printed, printed


def test_without_faults_nothing_is_lost(lab):
    result, printed = show(lab, "--size", "2M", "--loss", "0", "--reorder", "0", "--mtu", "9000", "--kind", "af_packet")
    assert all(counts["lost"] == counts["reordered"] == 0 for counts in result["switches"].values()), printed
    assert result["switches"]["h1 to h2"]["frames"] > 200, printed


def test_ctrl_c_leaves_nothing(lab):
    demo = start(lab, "--size", "100G")
    wait_until(lambda: len(programs()) == 4, "two switches and two generators run", 120)
    os.killpg(demo.pid, signal.SIGINT)
    assert demo.wait(60) != 0
    wait_until(lambda: len(programs()) == 0, "everything it started is gone")
    assert shell("ip netns list") == ""


def test_what_cannot_be_moved_is_a_usage_error(lab):
    for options, word in ((("--size", "1X"), "give bytes"), (("--mtu", "9000"), "af_packet"), (("--loss", "2"), "0.5")):
        demo = start(lab, *options)
        printed, _ = demo.communicate(timeout=60)
        assert demo.returncode == 2 and word in printed, printed
