"""Behaviour of tributary-pktgen's ports when the far end is another process, or disappears."""

import json
import subprocess
import time

from test_pktgen import QUICK, Generator, figures
from tributary.switch import EXIT_FAILED, EXIT_OK, TextConfig


def memif_scenario(lab, traffic):
    """Two ports that connect to the memifs of a switch, which --print-switch-config supports."""
    ports = "".join(
        f'[[port]]\nkind = "memif"\nsocket = "{lab.place}/memif.sock"\nmemif_id = {number}\n'
        'role = "client"\n'
        for number in range(2)
    )
    return lab.file("memif.toml", f"{ports}{traffic}")


def over_memif(lab, traffic, *options):
    lab.need(lab.binaries.pktgen)
    scenario = memif_scenario(lab, traffic)
    socket = lab.place / "switch.sock"
    command = [lab.binaries.pktgen, "run", scenario, *QUICK, "--switch-socket", socket]
    code, text, error = lab.run(*command, "--print-switch-config")
    assert code == EXIT_OK and "server" in text, error + text
    switch = lab.start(TextConfig(text, socket))
    code, out, error = lab.run(
        *command, "--duration", "1s", "--timeout", "20s", *options, "--json"
    )
    assert code == EXIT_OK, f"{error}\n{out}"
    return switch, json.loads(out)["repeats"][0]


def test_reductions_over_memif(lab):
    switch, measured = over_memif(lab, '[[traffic]]\nkind = "reduce"\nleaves = 12\n')
    got = figures(measured)
    assert got["operations"] > 50 and got["wrong_results"] == 0, got
    assert got["reductions_by_one_frame"] > 0.9 * got["reductions"], got
    counters = lab.counters(switch)
    assert counters["switch0.port.p0.rx_frames"] > 0 and counters["switch0.port.p1.rx_frames"] > 0


def test_transfers_over_memif(lab):
    _, measured = over_memif(
        lab, '[[traffic]]\nkind = "rdma"\ntransfer_sizes = [100003, 0, 1]\n', "--duration", "60s", "--operations", "60"
    )
    got = figures(measured)
    assert got["transfers"] == 60 and got["digest_errors"] == 0, got
    assert got["written_digest"] == got["arrived_digest"], got


def test_the_switch_reports_its_drops_with_their_names(lab):
    """It has no route to half of the hosts: the generator misses their frames, the switch reports
    why."""
    generator = Generator(lab, 2)
    switch = generator.start_switch("unicast", "--nodes", "2", *QUICK)
    _, result, _ = generator.run(
        "unicast", "--nodes", "4", "--packets-per-second", "2000", *QUICK, "--duration", "1s",
        "--timeout", "1s", "--switch-socket", switch.socket,
    )
    measured = result["repeats"][0]
    drops = measured["switch"]["drops"]
    assert set(drops) == {"switch0.port.p0.drop.no_route", "switch0.port.p1.drop.no_route"}, drops
    lost = figures(measured)["lost"]
    # Each looks from its own moment on; at this rate that is a few frames.
    assert lost > 500 and abs(lost - sum(drops.values())) < 100, (lost, drops)


def goes_away(lab, command, named):
    """Starts a long measurement, lets it get going, runs `command`; returns (result, standard
    error)."""
    generator = Generator(lab, 3)
    options = ("--leaves", "6", *QUICK)
    switch = generator.start_switch("reduce", *options, port_kind="af_packet")
    report = lab.file("report.json")
    child = subprocess.Popen(
        [*generator.command("reduce", *options, "--duration", "60s"), "--json", "--output", str(report)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )
    lab.counter_reaches(switch, "switch0.engine.p0.full", 50)
    time.sleep(0.5)
    lab.sh(command.format(host=generator.host))
    _, error = child.communicate(timeout=60)
    assert child.returncode == EXIT_FAILED, error
    assert named in error, error
    result = json.loads(report.read_text())
    (measured,) = result["repeats"]
    assert measured["cut_short"] and 0 < measured["seconds"] < 60, measured
    got = figures(measured)
    assert got["operations"] > 0 and got["wrong_results"] == 0, got
    return result, error


def test_an_interface_that_is_removed_ends_the_run_with_its_name(lab):
    # The kernel sets it down first, so that may have ended the run.
    result, _ = goes_away(lab, "ip -n {host} link del g1", "interface 'g1' is gone")
    assert "'g1'" in result["failure"], result


def test_an_interface_that_goes_down_ends_the_run_with_the_command_that_helps(lab):
    result, _ = goes_away(lab, "ip -n {host} link set g1 down", "ip link set g1 up")
    assert "'g1' is down" in result["failure"], result
