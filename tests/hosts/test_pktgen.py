"""tributary-pktgen against a running switch over kernel interfaces: its report matches the
traffic."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from tributary.network import wait_until
from tributary.switch import EXIT_FAILED, EXIT_OK, EXIT_USAGE, TextConfig

QUICK = ("--warmup", "50ms", "--no-calibrate", "--quiet")


class Generator:
    """A generator in a namespace of its own, cabled to a switch in this one."""

    def __init__(self, lab, ports, kind="raw"):
        self.lab = lab
        lab.need(lab.binaries.pktgen)
        self.host = lab.network.host("pktgen")
        self.kind = kind
        self.interfaces = [f"g{number}" for number in range(ports)]
        self.far = [f"s{number}" for number in range(ports)]
        for near, far in zip(self.interfaces, self.far, strict=True):
            lab.network.cable(self.host, near, None, far)

    def command(self, traffic, *options):
        return [
            "ip", "netns", "exec", self.host, str(self.lab.binaries.pktgen), traffic,
            "--interface", ",".join(self.interfaces), "--transport", self.kind, *options,
        ]

    def start_switch(self, traffic, *options, port_kind=None, impairment=None):
        """A switch with just the configuration that the generator asks for."""
        socket = self.lab.place / "switch.sock"
        code, text, error = self.lab.run(
            *self.command(traffic, *options), "--print-switch-config",
            "--switch-interfaces", ",".join(self.far), "--switch-socket", socket,
        )
        assert code == EXIT_OK, error
        if port_kind:
            text = re.sub(r'(?m)^kind = "af_xdp"$', f'kind = "{port_kind}"', text)
        if impairment:
            # The section of the first port: it begins behind the first line that names its
            # interface.
            keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in impairment.items())
            line = f'interface = "{self.far[0]}"\n'
            head, _, tail = text.partition(line)
            port, separator, rest = tail.partition("\n\n")
            text = f"{head}{line}{port}\n\n[switch.port.impairment]\n{keys}{separator}{rest}"
        return self.lab.start(TextConfig(text, socket))

    def run(self, traffic, *options):
        """(exit code, the result, standard error)"""
        code, out, error = self.lab.run(*self.command(traffic, *options), "--json")
        return code, json.loads(out) if out else None, error

    def measure(self, traffic, *options):
        """The only measurement of a successful run."""
        code, result, error = self.run(traffic, *options)
        assert code == EXIT_OK, f"exit code {code}: {error}\n{json.dumps(result, indent=1)}"
        return result["repeats"][0]


def figures(measurement):
    return {name: figure["value"] for name, figure in measurement["figures"].items()}


def reductions_all_right(lab, kind):
    generator = Generator(lab, 3, kind)
    options = ("--leaves", "24", "--trees", "2", "--operators", "mix", "--timeout", "30s", *QUICK)
    switch = generator.start_switch("reduce", *options)
    measured = generator.measure(
        "reduce", *options, "--duration", "1s", "--switch-socket", switch.socket
    )
    got = figures(measured)
    assert got["operations"] > 50, got
    assert got["wrong_results"] == 0 and got["operations_unfinished"] == 0, got
    assert got["results_checked"] >= got["operations"] * 25
    assert got["reductions_by_one_frame"] > 0.9 * got["reductions"], got
    assert measured["switch"]["received_frames"] > 0, "the switch was asked"


def test_reductions_over_raw_sockets(lab):
    reductions_all_right(lab, "raw")


def test_reductions_over_a_packet_sockets_ring(lab):
    reductions_all_right(lab, "af_packet")


def test_reductions_over_af_xdp(lab):
    reductions_all_right(lab, "af_xdp")


def test_two_generators_share_the_root_and_the_leaves(lab):
    whole = Generator(lab, 3)
    options = ("--leaves", "10", "--seed", "5", *QUICK, "--duration", "2s")
    whole.start_switch("reduce", "--leaves", "10")
    whole.interfaces = ["g0"]
    root = subprocess.Popen(
        [*whole.command("reduce", *options, "--role", "root"), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    whole.interfaces = ["g1", "g2"]
    # An operation that begins before the other one has ended cannot finish.
    _, leaves, error = whole.run(
        "reduce", *options[:-1], "1s", "--role", "leaves", "--timeout", "10s"
    )
    out, root_error = root.communicate(timeout=60)
    assert leaves and out, error + root_error
    of_leaves, of_root = figures(leaves["repeats"][0]), figures(json.loads(out)["repeats"][0])
    assert of_leaves["operations_at_leaves"] > 100 and of_leaves["wrong_results"] == 0, of_leaves
    assert of_root["operations"] > 10 and of_root["wrong_results"] == 0, of_root


def injected_loss_is_exact(generator, traffic, *options):
    """With two ports, one receives what the other sends: each lost frame is one copy."""
    options = (*options, *QUICK)
    switch = generator.start_switch(traffic, *options, impairment={"loss": 0.05, "seed": 11})
    measured = generator.measure(
        traffic, *options, "--warmup", "0s", "--duration", "2s", "--switch-socket", switch.socket
    )
    got = figures(measured)
    counters = generator.lab.counters(switch)
    injected = sum(value for name, value in counters.items() if name.endswith(".drop.impaired"))
    others = {name: value for name, value in counters.items()
              if ".drop." in name and value and not name.endswith(".impaired")}
    assert not others, others
    assert injected > 100, "the fault did not happen"
    assert got["lost"] == injected, (got, injected)
    assert measured["sent"]["frames"] - measured["received"]["frames"] == injected
    assert got["duplicated"] == got["damaged"] == got["misdelivered"] == 0, got
    return measured


def test_injected_loss_is_reported_to_the_frame(lab):
    injected_loss_is_exact(Generator(lab, 2), "unicast", "--pattern", "permutation",
                           "--packets-per-second", "5000")


def test_injected_duplicates_are_reported_to_the_frame(lab):
    generator = Generator(lab, 2)
    options = ("--pattern", "permutation", "--packets-per-second", "5000", *QUICK)
    generator.start_switch("unicast", *options, impairment={"duplicate": 0.05, "seed": 11})
    got = figures(generator.measure("unicast", *options, "--duration", "1s"))
    assert got["duplicated"] > 50 and got["lost"] == 0, got


def test_injected_delay_shows_in_the_latencies_as_what_it_is(lab):
    generator = Generator(lab, 2)
    options = ("--pattern", "permutation", "--packets-per-second", "500", *QUICK)
    delay_us = 20_000
    generator.start_switch("unicast", *options, impairment={"delay_us": delay_us})
    latency = generator.measure("unicast", *options, "--duration", "2s")["latencies"]
    (series,) = latency.values()
    # Half of the frames arrive at the port that delays received frames, the other half leaves by
    # it: each is delayed once. The rest of the latency is the machine's own time.
    assert series["min_ns"] >= 1000 * delay_us, series
    assert series["p50_ns"] < 1000 * (delay_us + 15_000), series


def test_multicast_reaches_every_other_port_once(lab):
    generator = Generator(lab, 4)
    options = ("--trees", "4", "--sizes", "64,1400", "--packets-per-second", "2000", *QUICK)
    generator.start_switch("multicast", *options)
    measured = generator.measure("multicast", *options, "--duration", "1s")
    got = figures(measured)
    assert got["lost"] == got["duplicated"] == got["reordered"] == 0, got
    assert measured["received"]["frames"] == 3 * measured["sent"]["frames"], measured


def test_a_capture_holds_what_was_sent_and_is_replayed(lab):
    generator = Generator(lab, 2)
    options = ("--pattern", "permutation", "--packets-per-second", "1000", *QUICK)
    generator.start_switch("unicast", *options)
    capture = lab.file("all.pcapng")
    measured = generator.measure("unicast", *options, "--duration", "500ms", "--pcap", str(capture))
    assert capture.stat().st_size > 100 * measured["sent"]["frames"]
    again = lab.file("again.pcapng")
    for speed, cores in (("0", ""), ("1", "0,0")):
        replayed = generator.measure(
            "replay", "--file", str(capture), "--speed", speed, "--cores", cores, *QUICK[2:],
            "--pcap", str(again),
        )
        # What was sent during the warm-up is in the capture, too.
        assert replayed["sent"]["frames"] >= measured["sent"]["frames"]
        assert figures(replayed)["other_direction"] > 0, "what was received is left alone"
        for port, before in zip(replayed["ports"], measured["ports"], strict=True):
            assert port["sent"]["frames"] >= before["sent"]["frames"] > 100, (port, before)
    code, _, error = lab.run(
        *generator.command("replay", "--file", str(again), "--direction", "received", *QUICK[2:])
    )
    assert code == EXIT_OK, error


def test_a_full_disk_ends_the_capture_and_nothing_else(lab):
    generator = Generator(lab, 2)
    options = ("--pattern", "permutation", *QUICK)
    generator.start_switch("unicast", *options)
    small = lab.place / "small"
    small.mkdir()
    lab.sh(f"mount -t tmpfs -o size=1m tmpfs {small}")
    code, result, error = generator.run(
        "unicast", *options, "--duration", "2s", "--pcap", str(small / "full.pcap")
    )
    assert code == EXIT_FAILED
    assert "full.pcap" in error and "space" in error, error
    assert result["problems"] and result["repeats"][0]["received"]["frames"] > 0, result


def test_silence_is_explained(lab):
    generator = Generator(lab, 2)
    code, result, error = generator.run(
        "reduce", "--leaves", "4", *QUICK, "--timeout", "500ms", "--duration", "5s"
    )
    assert code == EXIT_FAILED
    assert "nothing came back" in error and "rank 0" in error, error
    assert "--print-switch-config" in error, error
    assert result["failure"], result


def test_a_stream_of_which_nothing_comes_back_is_a_failure_however_short(lab):
    generator = Generator(lab, 2)
    for rate in ("0", "1000"):
        code, result, error = generator.run(
            "unicast", "--pattern", "permutation", "--packets-per-second", rate, *QUICK,
            "--timeout", "500ms", "--duration", "100ms",
        )
        assert code == EXIT_FAILED, error
        assert "nothing came back" in error, error
        assert result["problems"], result


def test_reductions_none_of_which_ends_are_a_failure(lab):
    lab.need(lab.binaries.pktgen)
    # Three leaves of four are missing from each try: everything in flight is given up.
    code, out, error = lab.run(
        lab.binaries.pktgen, "reduce", "--in-process", *QUICK, "--leaves", "64", "--absent", "0.75",
        "--duration", "100ms", "--timeout", "200ms", "--json",
    )
    # Whether one of their frames returns within the measurement depends on the length of the try.
    said = ("not one operation was completed", "nothing came back")
    assert code == EXIT_FAILED and any(words in error for words in said), error
    assert figures(json.loads(out)["repeats"][0])["operations"] == 0, out


def test_a_bound_on_losses_is_in_the_exit_code(lab):
    generator = Generator(lab, 2)
    options = ("--pattern", "permutation", "--packets-per-second", "5000", *QUICK)
    generator.start_switch("unicast", *options, impairment={"loss": 0.05, "seed": 11})
    options = (*options, "--warmup", "0s", "--duration", "500ms")
    code, result, error = generator.run("unicast", *options, "--max-loss", "0.001")
    assert code == EXIT_FAILED and "--max-loss allows 0.1 %" in error, error
    assert result["problems"], result
    generator.measure("unicast", *options, "--max-loss", "0.5")


def test_a_measurement_has_exactly_the_operations_that_were_asked_for(lab):
    generator = Generator(lab, 3)
    options = ("--leaves", "6", "--trees", "3", "--timeout", "30s", *QUICK)
    generator.start_switch("reduce", *options)
    for more in ((), ("--operations-per-second", "3000"), ("--cores", "0,0")):
        measured = generator.measure(
            "reduce", *options, "--operations", "500", "--duration", "60s", *more
        )
        got = figures(measured)
        assert got["operations"] == measured["operations"] == 500, got
        assert got["operations_at_leaves"] == 3000, got
        assert got["frames_that_made_reductions"] == got["reductions"] == 500, got


def test_a_run_leaves_the_engines_to_the_next_one(lab):
    generator = Generator(lab, 3)
    options = ("--leaves", "16", "--timeout", "30s", *QUICK)
    both_trees = (*options, "--trees", "2")
    socket = lab.place / "switch.sock"
    code, text, error = lab.run(
        *generator.command("reduce", *both_trees), "--print-switch-config",
        "--switch-interfaces", ",".join(generator.far), "--switch-socket", socket,
    )
    assert code == EXIT_OK, error
    # As many descriptors as one of the trees needs.
    text, changed = re.subn(r"(?m)^descriptors_per_engine = .*$", "descriptors_per_engine = 8", text)
    assert changed == 1, text
    switch = lab.start(TextConfig(text, socket))
    options = (*options, "--switch-socket", socket)

    def occupied():
        return sum(n for name, n in lab.counters(switch).items() if name.endswith(".occupied"))

    def run(tree, *more):
        measured = generator.measure("reduce", *options, "--first-tree", str(tree), *more)
        assert measured["switch"]["arm_failures"] == 0, measured["switch"]
        got = figures(measured)
        assert got["reductions_by_one_frame"] == got["reductions"] > 0, got
        lab.counter_reaches(switch, "switch0.engine.p0.disarms", 1)
        assert occupied() == 0, "an engine stays armed"

    run(0, "--duration", "300ms")
    run(1, "--duration", "300ms")
    # An interrupted run leaves nothing behind either.
    child = subprocess.Popen(
        [*generator.command("reduce", *options, "--duration", "1h")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )
    full = lab.counters(switch)["switch0.tree.0.full"]
    lab.counter_reaches(switch, "switch0.tree.0.full", full + 50)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == EXIT_FAILED
    run(1, "--duration", "300ms")


def test_arm_failures_of_the_switch_are_warned_of(lab):
    lab.need(lab.binaries.pktgen)
    code, out, error = lab.run(
        lab.binaries.pktgen, "reduce", "--in-process", *QUICK, "--descriptors", "2",
        "--duration", "60s", "--operations", "200", "--timeout", "30s", "--json",
    )
    assert code == EXIT_OK, error
    result = json.loads(out)
    assert "warning: the switch could not arm" in error and result["warnings"], error
    assert result["repeats"][0]["switch"]["arm_failures"] > 0, result


def test_several_traffics_keep_their_shares(lab):
    lab.need(lab.binaries.pktgen)
    scenario = lab.file(
        "mixed.toml",
        "[in_process]\nports = 4\n"
        '[[traffic]]\nkind = "reduce"\nleaves = 64\nshare = 3\n'
        '[[traffic]]\nkind = "unicast"\npattern = "permutation"\nsizes = [64, 1518]\nshare = 1\n',
    )
    code, out, error = lab.run(
        lab.binaries.pktgen, "run", scenario, *QUICK, "--duration", "2s", "--timeout", "30s",
        "--json",
    )
    assert code == EXIT_OK, error
    result = json.loads(out)
    (measured,) = result["repeats"]
    got = figures(measured)
    share = got["reduce.sent"] / measured["sent"]["frames"]
    assert 0.7 < share < 0.8, (share, got)
    assert not result["warnings"], result["warnings"]


def test_an_interface_that_is_not_there(lab):
    generator = Generator(lab, 2)
    generator.interfaces[1] = "nowhere0"
    code, _, error = generator.run("reduce", *QUICK)
    assert code == EXIT_FAILED
    assert "nowhere0" in error and "g0" in error, error


def test_a_missing_capability(lab):
    generator = Generator(lab, 2)
    command = generator.command("reduce", *QUICK)
    at = command.index(str(lab.binaries.pktgen))
    without = ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw"]
    code, _, error = lab.run(*command[:at], *without, *command[at:])
    assert code == EXIT_FAILED
    assert "CAP_NET_RAW" in error and "host agent" in error, error


def test_usage_errors_name_the_key(lab):
    lab.need(lab.binaries.pktgen)
    scenario = lab.file("wrong.toml", '[in_process]\n[[traffic]]\nkind = "reduce"\nleafs = 3\n')
    code, _, error = lab.run(lab.binaries.pktgen, "run", scenario)
    assert code == EXIT_USAGE
    assert "wrong.toml:4" in error and "did you mean 'leaves'" in error, error
    code, _, error = lab.run(lab.binaries.pktgen, "rdma", "--in-process", "--window", "200")
    assert code == EXIT_USAGE and "a window of 200" in error, error


def interrupted(lab, number, *options):
    """The result of a run in process that gets a signal in mid-measurement."""
    lab.need(lab.binaries.pktgen)
    report = lab.file("report.json")
    child = subprocess.Popen(
        [lab.binaries.pktgen, "reduce", "--in-process", *QUICK, "--duration", "1h",
         "--json", "--output", str(report), *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )
    time.sleep(3)
    child.send_signal(number)
    _, error = child.communicate(timeout=60)
    assert child.returncode == EXIT_FAILED and "interrupted" in error, error
    return json.loads(report.read_text())


def was_cut_short(measurement, longest):
    assert measurement["cut_short"], measurement
    assert 0 < measurement["seconds"] < longest, measurement["seconds"]
    assert figures(measurement)["operations"] > 0, measurement
    assert measurement["latencies"]["operation_at_root"]["count"] > 0, measurement


def test_ctrl_c_keeps_what_was_measured(lab):
    was_cut_short(interrupted(lab, signal.SIGINT)["repeats"][0], 60)


def test_a_service_manager_that_ends_a_run_keeps_what_was_measured(lab):
    sheet = lab.file("report.csv")
    was_cut_short(interrupted(lab, signal.SIGTERM, "--csv", str(sheet))["repeats"][0], 60)
    assert ",true," in sheet.read_text().splitlines()[1]


def test_ctrl_c_in_a_search_keeps_the_try_under_way(lab):
    result = interrupted(lab, signal.SIGTERM, "--search")
    assert not result["search"] or not result["search"]["steps"], result
    was_cut_short(result["repeats"][0], 60)


def test_a_switch_that_ends_in_mid_run_is_noticed(lab):
    generator = Generator(lab, 3)
    options = ("--leaves", "6", "--timeout", "1s", *QUICK)
    switch = generator.start_switch("reduce", *options, port_kind="af_packet")
    report = lab.file("report.json")
    child = subprocess.Popen(
        [*generator.command("reduce", *options, "--duration", "1h", "--switch-socket",
                            str(switch.socket)), "--json", "--output", str(report)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )
    lab.counter_reaches(switch, "switch0.engine.p0.full", 50)
    time.sleep(0.5)
    switch.stop()
    _, error = child.communicate(timeout=60)
    assert child.returncode == EXIT_FAILED, error
    assert "nothing has come back for" in error and "rank 0" in error, error
    (measured,) = json.loads(report.read_text())["repeats"]
    was_cut_short(measured, 60)
    assert measured["switch"] is None


def test_a_full_disk_under_a_report_leaves_the_others(lab):
    lab.need(lab.binaries.pktgen)
    small = lab.place / "small"
    small.mkdir()
    lab.sh(f"mount -t tmpfs -o size=4k tmpfs {small}")
    (small / "filling").write_bytes(b"x" * 4096)
    pairs = [("--output", "--csv"), ("--csv", "--output")]
    if shutil.which("gnuplot"):
        pairs.append(("--plot", "--output"))
    for option, other in pairs:
        kept = lab.file("kept")
        code, out, error = lab.run(
            lab.binaries.pktgen, "reduce", "--in-process", *QUICK, "--duration", "100ms", "--json",
            option, small / "report", other, kept,
        )
        assert code == EXIT_FAILED, error
        assert "No space left" in error and str(small / "report") in error, error
        assert "RATE" in out and kept.stat().st_size > 100, out
        assert [file.name for file in small.iterdir()] == ["filling"], "a part of a report is left"


def test_ten_thousand_leaves_in_process(lab):
    lab.need(lab.binaries.pktgen)
    code, out, error = lab.run(
        lab.binaries.pktgen, "reduce", "--leaves", "10000", "--in-process", "--duration", "60s",
        "--operations", "50", "--timeout", "60s", "--quiet", "--json",
    )
    assert code == EXIT_OK, error
    result = json.loads(out)
    got = figures(result["repeats"][0])
    assert got["operations"] > 0 and got["wrong_results"] == 0, got
    assert got["results_checked"] == 10_001 * got["reductions"], got
    assert result["ceiling"]["frames_per_second"] > 0
    assert os.cpu_count() == 1 or result["repeats"][0]["switch"]["busy_share"] > 0
