"""scripts/demo, smaller: its JSON, and that nothing of it remains however it ends."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from programs import programs
from tributary.network import shell, wait_until

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo"
KEYS = {
    "hosts", "switches", "reductions", "wrong", "root_frames_armed", "root_frames_disarmed",
    "latency_us", "reductions_per_second", "cut_link", "repaired", "repair_seconds", "engines",
}  # fmt: skip


def start(lab, *extra, build=None):
    for binary in (lab.binaries.switch, lab.binaries.host, lab.binaries.ctl, lab.binaries.fabricd):
        lab.need(binary)
    return subprocess.Popen(
        [str(DEMO), "--no-setup", "--build", str(build or lab.binaries.switch.parents[1]), *extra],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def small(lab, *extra):
    file = lab.file("demo.json")
    demo = start(lab, "--reductions", "200", "--output", str(file), *extra)
    printed, _ = demo.communicate(timeout=250)
    assert demo.returncode == 0, printed
    assert "all exact" in printed
    return json.loads(file.read_text())


def test_json_has_the_promised_keys_and_ideal_frame_counts(lab):
    result = small(lab)
    assert set(result) == KEYS
    assert set(result["latency_us"]) == {"p50", "p99"}
    assert (result["hosts"], result["switches"]) == (16, 6)
    assert (result["reductions"], result["wrong"]) == (200, 0)
    assert 1 <= result["root_frames_armed"] < 15
    assert result["root_frames_disarmed"] >= 15
    leaves = {engine["switch"] for engine in result["engines"] if engine["switch"].startswith("leaf")}
    assert leaves == {"leaf0", "leaf1", "leaf2", "leaf3"}
    assert all(engine["full"] > 0 for engine in result["engines"] if engine["switch"] in leaves)
    assert programs() == []


def browsed(lab):
    """The page of the kept demo, from outside its world."""
    lab.sh("ip link set lo up")
    view = subprocess.Popen([str(DEMO), "--view", "0"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r"http://127.0.0.1:(\d+)/", view.stdout.readline())[1])

        def asked(method, path):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        status, page = asked("GET", "/")
        assert status == 200 and "<html" in page, page
        status, topology = asked("GET", "/api/v1/topology")
        assert status == 200 and "spine1" in topology, topology
        assert asked("POST", "/api/v1/switches/leaf0/drain")[0] in (401, 403), "who looks changes nothing"
    finally:
        view.send_signal(signal.SIGINT)
        view.communicate(timeout=30)
    assert view.returncode == 0
    for port, said in (("70000", "a port is 1 to 65535"), ("one", "invalid int value")):
        refused = subprocess.run([str(DEMO), "--view", port], capture_output=True, text=True, check=False, timeout=60)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = subprocess.run([str(DEMO), "--view", port], capture_output=True, text=True, check=False, timeout=60)
    assert refused.returncode == 1 and "--view PORT takes another port" in refused.stderr, refused.stderr


def test_a_demo_that_is_kept_is_entered_and_ended(lab):
    kept = start(lab, "--keep")
    printed, _ = kept.communicate(timeout=120)
    assert kept.returncode == 0 and "scripts/demo --enter" in printed, printed

    def demo(*arguments):
        done = subprocess.run([str(DEMO), *arguments], capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout + done.stderr

    again = start(lab, "--keep")
    assert "one is kept already" in again.communicate(timeout=60)[0] and again.returncode == 1
    code, said = demo("--enter", "reduce", "50")
    assert code == 0 and "50 allreduces" in said and "all exact" in said, said
    # The commands of the tour, except interactive ones.
    code, said = demo("--enter", "sh", "-c", "tributaryctl fabric show topology && tributaryctl show engines"
                      " && tributaryctl --socket spine0.sock show ports")  # fmt: skip
    assert code == 0 and "leaf3" in said and "spine0" in said, said
    browsed(lab)
    code, said = demo("--enter", "reduce", "many")
    assert code == 1 and "not a number" in said, said
    assert demo("--stop") == (0, "demo: ended; everything it made is removed\n")
    assert programs() == []
    assert demo("--stop") == (0, "demo: none is kept\n")
    assert demo("--enter", "true")[0] == 1


def test_a_cut_uplink_is_replaced_while_the_hosts_reduce(lab):
    file = lab.file("demo.json")
    demo = start(lab, "--reductions", "20000", "--output", str(file))
    printed, _ = demo.communicate(timeout=280)
    assert demo.returncode == 0, printed
    result = json.loads(file.read_text())
    assert result["cut_link"] != "none", "the run was over before the cable was cut"
    assert result["repaired"] and result["wrong"] == 0
    assert "nothing" in printed.splitlines()[-1], printed


def test_a_run_that_is_over_before_its_tree_is_drawn(lab):
    with tempfile.TemporaryDirectory() as folder:
        slow = Path(folder)  # the same programs, except for a slow one
        for room in ("dataplane", "controlplane", "endpoint"):
            (slow / room).symlink_to(lab.binaries.switch.parents[1] / room)
        ctl = slow / "tools" / "tributaryctl" / "tributaryctl"
        ctl.parent.mkdir(parents=True)
        (slow / "tools" / "host").symlink_to(lab.binaries.host.parent)
        ctl.write_text(f'#!/bin/sh\ncase "$*" in *"tree draw"*) sleep 3 ;; esac\nexec {lab.binaries.ctl} "$@"\n')
        ctl.chmod(0o755)
        demo = start(lab, "--reductions", "100", build=slow)
        printed, _ = demo.communicate(timeout=250)
    assert demo.returncode == 0, printed
    assert "the run was over before" in printed and "the tree that the manager computed" not in printed


def test_all_switches_in_one_process(lab):
    assert small(lab, "--processes", "1")["wrong"] == 0


def ended_by(lab, number, *, whole_group):
    demo = start(lab, "--reductions", "10000000")
    wait_until(lambda: programs().count("tributary-host") == 16, "the hosts run", 120)
    (os.killpg if whole_group else os.kill)(demo.pid, number)
    assert demo.wait(60) != 0
    wait_until(lambda: programs() == [], "everything it started is gone")
    assert shell("ip netns list") == ""


def test_ctrl_c_leaves_nothing(lab):
    ended_by(lab, signal.SIGINT, whole_group=True)


def test_sigterm_leaves_nothing(lab):
    ended_by(lab, signal.SIGTERM, whole_group=False)


def test_sigkill_leaves_nothing(lab):
    ended_by(lab, signal.SIGKILL, whole_group=False)


def test_two_demos_side_by_side(lab):
    demos = [start(lab, "--reductions", "100") for _ in range(2)]
    for demo in demos:
        printed, _ = demo.communicate(timeout=250)
        assert demo.returncode == 0, printed
