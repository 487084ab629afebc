"""tributaryctl: every command against a running switch, for people and as JSON."""

import itertools
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import termios
import unicodedata

from lab import SEQNO, TREE
from tributary import dissector, frames
from tributary.network import wait_until


def rows(switch, what):
    return switch.ctl("show", what)


def test_show_ports_counts_frames_and_names_devices(lab):
    lab.star(2, lldp=False)
    switch = lab.start()
    lab.reduce(switch)
    ports = {row["port"]: row for row in rows(switch, "ports")}
    assert list(ports) == ["host0", "host1", "host2"]
    assert ports["host1"]["kind"] == "af_xdp" and ports["host1"]["state"] == "up"
    assert "host1" in ports["host1"]["device"]
    assert (ports["host0"]["rx_frames"], ports["host0"]["tx_frames"]) == (1, 1)
    assert (ports["host1"]["rx_frames"], ports["host1"]["tx_frames"]) == (1, 1)
    assert ports["host1"]["drops"] == {}


def test_show_trees(lab):
    lab.star(2)
    switch = lab.start()
    lab.reduce(switch)
    (tree,) = rows(switch, "trees")
    assert (tree["tree"], tree["wait_count"], tree["parent"]) == (TREE, 2, "host0")
    assert tree["children"] == ["host1", "host2"]
    assert (tree["full"], tree["partial"], tree["late"]) == (1, 0, 0)


def test_show_engines_shows_who_is_waited_for(lab):
    lab.star(2)
    switch = lab.start()
    lab.arm_tree()
    lab.leaves[0].send(lab.contribution(0))
    lab.counter_reaches(switch, "leaf0.engine.host0.contributions", 1)
    engine = next(row for row in rows(switch, "engines") if row["port"] == "host0")
    (descriptor,) = engine["occupied"]
    assert (descriptor["tree"], descriptor["sequence"]) == (TREE, SEQNO)
    assert (descriptor["count"], descriptor["missing"]) == (1, 1)
    assert descriptor["opcode"] == "INT_SUM"


def test_show_workers_names_each_workers_ports(lab):
    lab.star(2, workers=2)
    switch = lab.start()
    workers = rows(switch, "workers")
    assert len(workers) == 2
    ports = sorted(port for worker in workers for port in worker["ports"])
    assert ports == ["leaf0/host0", "leaf0/host1", "leaf0/host2"]


def test_two_workers_reduce_together(lab):
    lab.star(4, workers=2)
    switch = lab.start()
    for round_number in range(8):
        got, expected = lab.reduce(switch, reduction=round_number)
        assert got == expected
    handed = sum(worker["handed_over"] for worker in rows(switch, "workers"))
    assert handed > 0, "no frame crossed between the workers"


def test_counters_have_flat_names(lab):
    lab.star(1)
    switch = lab.start()
    counters = rows(switch, "counters")
    for name in (
        "leaf0.port.host0.rx_frames", "leaf0.port.host1.drop.source_guard", "leaf0.engine.host0.full",
        "leaf0.queue.host0.0.queue_full", "leaf0.tree.7.passed_through", "worker.0.iterations",
    ):
        assert name in counters, name
    assert all(isinstance(value, int) for value in counters.values())


def test_every_show_is_also_a_table_for_people(lab):
    lab.star(1)
    switch = lab.start()
    lab.reduce(switch)
    for what in ("ports", "queues", "trees", "engines", "counters", "workers"):
        code, out, err = switch.ctl_raw("show", what)
        assert (code, err) == (0, ""), (what, code, err)
        assert "host0" in out, out
        assert "\033[" not in out, "colours without a terminal"
        assert not out.lstrip().startswith(("{", "[")), f"JSON without --json:\n{out}"


def columns_of(line):
    """On a terminal; East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_every_table_fits_80_columns_and_a_pipe_gets_all(lab):
    manager = lab.start_manager()
    section = lab.star(2)
    section.tree(TREE + 1, 0, "host0", ["host1"])
    lab.config.manager = manager.switches_address
    switch = lab.start()
    wait_until(lambda: any(s["connected"] for s in manager.list("switches")), "the manager knows the switch")
    shows = [
        *(("show", what) for what in ("ports", "links", "neighbours", "queues", "trees", "engines", "counters",
                                      "workers", "manager")),
        ("trace", "dump"), ("impair", "show"), ("version",),
        *(("fabric", "show", what) for what in ("topology", "switches", "hosts", "links", "groups", "trees",
                                                "transactions", "jobs", "nodes", "memory", "routes", "faults")),
        ("fabric", "show", "switches", "leaf0"),
    ]  # fmt: skip
    where = {
        **{name: value for name, value in os.environ.items() if name != "COLUMNS"},
        "TRIBUTARY_SOCKET": switch.socket, "TRIBUTARY_FABRIC_MANAGER_URL": manager.url,
    }  # fmt: skip

    def shown(command, **environment):
        done = subprocess.run(
            [lab.binaries.ctl, *command],
            env={**where, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, (command, done)
        return done.stdout

    for command in shows:
        for columns in (80, 40):
            for line in shown(command, COLUMNS=str(columns)).splitlines():
                assert columns_of(line) <= columns, (command, line)
        assert "columns:" not in shown(command), command
    assert "left out" in shown(("show", "ports"), COLUMNS="80")


def test_trace_dumps_the_last_events(lab):
    lab.star(2)
    switch = lab.start()

    def last_events(count):
        return [event["event"] for event in switch.ctl("trace", "dump")][-count:]

    assert switch.ctl("trace", "all") == {"tracing": True, "all": True}
    lab.reduce(switch)
    assert last_events(3) == ["armed", "contributed", "completed_full"]
    assert switch.ctl("trace", "on") == {"tracing": True, "all": False}
    lab.reduce(switch, seqno=SEQNO + 1, resno=SEQNO + 1)
    assert last_events(3) == ["completed_full", "armed", "completed_full"], "contributions are left out"
    switch.ctl("trace", "off")
    before = len(switch.ctl("trace"))
    lab.reduce(switch, seqno=SEQNO + 2, resno=SEQNO + 2)
    assert len(switch.ctl("trace")) == before


def test_trace_follows_events_until_its_count_or_q(lab):
    lab.star(2, lldp=False)
    switch = lab.start()
    follow = [str(lab.binaries.ctl), "--socket", switch.socket, "trace", "--follow", "--tree", str(TREE), "--json"]
    counted = subprocess.Popen([*follow, "--count", "3"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(lab.binaries.ctl, ["tributaryctl", "--socket", switch.socket, "trace", "--follow"])
    said = b""
    # It covers events from its start on, and does not report when that is.
    for seqno in itertools.count(SEQNO):
        lab.reduce(switch, seqno=seqno % 1024, resno=seqno % 1024)
        if select.select([terminal], [], [], 0)[0]:
            said += os.read(terminal, 65536)
        if counted.poll() is not None and b"completed_full" in said:
            break
    assert counted.wait(30) == 0, counted.stderr.read()
    events = [json.loads(line) for line in counted.stdout]
    assert len(events) == 3 and all(event["tree"] == TREE for event in events), events
    assert [e["number"] for e in events] == sorted(e["number"] for e in events)
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # its end
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_trace_that_is_followed_ends_with_its_switch_and_says_so(lab):
    lab.star(1, lldp=False)
    switch = lab.start()
    follow = [str(lab.binaries.ctl), "--socket", switch.socket, "trace", "--follow", "--json"]
    follower = subprocess.Popen(follow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Once it has printed something, it has asked at least once.
    while not select.select([follower.stdout], [], [], 0)[0]:
        assert follower.poll() is None, follower.stderr.read()
        lab.arm_tree()
    switch.stop()
    _, said = follower.communicate(timeout=60)
    assert follower.returncode == 1 and str(switch.socket) in said, said


def test_capture_of_drops_has_only_what_was_refused(lab):
    lab.star(2, lldp=False)
    switch = lab.start()
    file = lab.file("drops.pcapng")
    capture = subprocess.Popen(
        [str(lab.binaries.ctl), "--socket", switch.socket, "capture", "--drops", "--kind", "reduction", "--count", "1",
         "-o", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    wait_until(lambda: file.exists() and file.stat().st_size > 0, "the capture begins")
    lab.reduce(switch)
    refused = bytes(lab.arm(tree=TREE + 1))
    lab.root.send(refused)
    assert capture.wait(30) == 0, capture.stdout.read()
    assert pcapng_packets(file.read_bytes()) == [refused]


def pcapng_packets(data):
    """The packets of a pcapng file, read from its blocks; any malformed block is an error."""
    packets, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and length >= 12 and at + length <= len(data), f"block at {at}"
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length, f"block at {at}"
        if at == 0:
            assert kind == 0x0A0D0D0A and struct.unpack_from("<I", data, 8)[0] == 0x1A2B3C4D
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            packets.append(data[at + 28 : at + 28 + captured])
        at += length
    return packets


def test_capture_of_one_tree_is_valid_pcapng_with_the_frames(lab):
    section = lab.star(2)
    section.tree(TREE + 1, 0, "host0", ["host1"])
    switch = lab.start()
    file = lab.file("host0.pcapng")
    capture = subprocess.Popen(
        [str(lab.binaries.ctl), "--socket", switch.socket, "capture", "--switch", "leaf0",
         "--port", "host0", "--tree", str(TREE), "--count", "2", "-o", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    # The file appears once the switch has accepted the capture.
    wait_until(lambda: file.exists() and file.stat().st_size > 0, "the capture begins")
    other = bytes(lab.arm(tree=TREE + 1, arm=0))
    lab.root.send(other)
    assert lab.leaves[0].receive() == [other]
    got, expected = lab.reduce(switch)
    assert got == expected
    assert capture.wait(30) == 0, capture.stdout.read()
    assert pcapng_packets(file.read_bytes()) == [bytes(lab.arm()), *expected]
    if shutil.which("tshark"):  # tests/unit/packaging reports it if it is missing
        fields = ("frame.interface_name", "tributary.kind", "tributary.tree", "tributary.rc", "tributary.armed_in")
        done = subprocess.run(
            [*dissector.command(file), "-2", "-T", "fields", "-E", "separator=/s",
             *(word for field in fields for word in ("-e", field))],
            capture_output=True, text=True, check=False, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": str(lab.place)},
        )  # fmt: skip
        # The arm carries a result, as those of a root in operation do.
        port = "leaf0/host0"
        assert done.stdout.splitlines() == [f"{port} result {TREE} 0 ", f"{port} contribution {TREE} 0 1"], done


def test_q_ends_a_watch_and_leaves_the_terminal_as_it_was(lab):
    lab.star(1)
    switch = lab.start()
    child, terminal = pty.fork()
    if child == 0:
        os.execv(lab.binaries.ctl, ["tributaryctl", "--socket", switch.socket, "show", "ports", "--watch", "1h"])
    before = termios.tcgetattr(terminal)
    said = b""
    while b"host1" not in said:
        said += os.read(terminal, 65536)
    wait_until(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO, "keys are given at once")
    os.write(terminal, b"xq")
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert termios.tcgetattr(terminal) == before


def test_capture_ended_by_ctrl_c_leaves_a_whole_file(lab):
    lab.star(2)
    switch = lab.start()
    file = lab.file("all.pcapng")
    capture = subprocess.Popen(
        [str(lab.binaries.ctl), "--socket", switch.socket, "capture", "-o", str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    wait_until(lambda: file.exists() and file.stat().st_size > 0, "the capture begins")
    empty = file.stat().st_size
    lab.reduce(switch)
    wait_until(lambda: file.stat().st_size > empty, "frames are captured")
    capture.send_signal(signal.SIGINT)
    assert capture.wait(30) == 0, capture.stdout.read()
    assert bytes(lab.arm()) in pcapng_packets(file.read_bytes())
    assert switch.alive()


def test_explain_shows_the_decision_and_changes_nothing(lab):
    lab.star(2)
    switch = lab.start()
    before = {n: v for n, v in lab.counters(switch).items() if not n.startswith("worker.")}

    def explained(port, frame):
        return switch.ctl("explain", "--switch", "leaf0", "--port", port, bytes(frame).hex())

    assert explained("host1", lab.contribution(0))["event"] == "passed_not_armed"
    assert explained("host0", lab.arm())["event"] == "armed"
    refused = explained("host1", lab.contribution(0, nid=77))
    assert (refused["action"], refused["reason"]) == ("drop", "source_guard")
    assert refused["meaning"] and refused["steps"]
    after = {n: v for n, v in lab.counters(switch).items() if not n.startswith("worker.")}
    assert after == before
    lab.arm_tree()
    assert explained("host1", lab.contribution(0))["event"] == "contributed"
    code, out, _ = switch.ctl_raw(
        "explain", "--switch", "leaf0", "--port", "host1", bytes(lab.contribution(0)).hex()
    )
    assert code == 0 and out.strip()


def test_explain_names_what_is_wrong_with_its_input(lab):
    lab.star(1)
    switch = lab.start()
    code, _, err = switch.ctl_raw("explain", "--switch", "leaf0", "--port", "host1", "02zz")
    assert code != 0 and "hex" in err, (code, err)
    code, _, err = switch.ctl_raw("explain", "--switch", "leaf0", "--port", "host9", "02")
    assert code == 1 and "host9" in err, (code, err)


def test_reload_says_what_it_applied_and_what_needs_a_restart(lab):
    section = lab.star(2)
    switch = lab.start()
    section.tree(200, 2, "host0", ["host1", "host2"])
    lab.config.process["workers"] = 2
    lab.config.write(switch.file)
    report = switch.ctl("reload")
    assert report["applied"] and any("workers" in text for text in report["ignored"]), report
    assert [tree["tree"] for tree in rows(switch, "trees")] == [TREE, 200]


def test_version(lab):
    lab.star(1)
    switch = lab.start()
    version = switch.ctl("version")
    assert version["pid"] == switch.child.pid
    assert version["switches"][0]["name"] == "leaf0"


def test_no_switch_behind_the_socket_is_said_with_what_to_do(lab):
    lab.need(lab.binaries.ctl)
    code, out, err = lab.run(lab.binaries.ctl, "--socket", "/run/none.sock", "show", "ports")
    assert (code, out) == (1, "") and "/run/none.sock" in err, (code, out, err)


def test_wrong_usage_is_exit_code_2(lab):
    lab.need(lab.binaries.ctl)
    code, _, err = lab.run(lab.binaries.ctl, "show", "prots")
    assert code == 2 and "prots" in err, (code, err)


def test_answers_are_json_documents(lab):
    lab.star(1)
    switch = lab.start()
    commands = (
        ("show", "ports"), ("show", "queues"), ("show", "trees"), ("show", "engines"), ("show", "counters"),
        ("show", "workers"), ("trace", "dump"), ("trace", "on"), ("reload",), ("version",),
        ("explain", "--switch", "leaf0", "--port", "host1", bytes(frames.Frame()).hex()),
    )  # fmt: skip
    for command in commands:
        code, out, err = switch.ctl_raw(*command, "--json")
        assert (code, err) == (0, ""), (command, code, err)
        json.loads(out)
