"""Vectors of tributary-pktgen: wide frames through real switches, every result checked at every member."""

import json
import subprocess

from test_pktgen import QUICK, Generator, figures
from tributary.switch import EXIT_FAILED, EXIT_OK, EXIT_USAGE

VECTORS = ("--leaves", "12", "--type", "float32", "--elements", "30000", "--timeout", "30s", *QUICK)


def exact(measurement, least=3):
    got = figures(measurement)
    assert got["operations"] >= least, got
    assert got["wrong_results"] == 0 and got["operations_unfinished"] == 0, got
    assert got["results_checked"] == got["reductions"] * 13, got
    return got


def vectors_over(lab, kind, slots, *options):
    generator = Generator(lab, 3, kind)
    switch = generator.start_switch("reduce", *VECTORS, *options)
    measured = generator.measure(
        "reduce", *VECTORS, *options, "--duration", "1s", "--switch-socket", switch.socket
    )
    got = exact(measured)
    assert got["payload_bytes"] == got["operations"] * 30000 * 4, got
    assert got["root_frames"] < got["contributions"] / 4, "the switch adds them up"
    assert measured["derived"]["total_payload_bytes_per_second"] > 12e6, measured["derived"]
    engine = next(e for e in switch.ctl("show", "trees") if e["tree"] == 0)
    assert (engine["slots"], engine["payload_bytes"]) == (slots, 1408), engine


def test_vectors_over_raw_sockets(lab):
    vectors_over(lab, "raw", 128)


def test_vectors_over_af_xdp_on_two_trees(lab):
    vectors_over(lab, "af_xdp", 64, "--trees", "2")


def test_vectors_stay_exact_where_the_root_s_link_loses_frames(lab):
    generator = Generator(lab, 3)
    switch = generator.start_switch("reduce", *VECTORS, impairment={"loss": 0.01, "seed": 7})
    got = exact(generator.measure("reduce", *VECTORS, "--duration", "2s"))
    lost = sum(value for name, value in lab.counters(switch).items() if name.endswith(".drop.impaired"))
    assert lost > 5, "the fault did not happen"
    assert got["overdue"] > 0, "losses are found by what completes behind them"


def test_two_generators_share_root_and_leaves_of_vectors(lab):
    whole = Generator(lab, 3)
    options = ("--leaves", "6", "--type", "bfloat16", "--operator", "max", "--elements", "5000", "--seed", "5", *QUICK)
    whole.start_switch("reduce", *options)
    whole.interfaces = ["g0"]
    root = subprocess.Popen(
        [*whole.command("reduce", *options, "--role", "root", "--duration", "2s"), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    whole.interfaces = ["g1", "g2"]
    _, leaves, error = whole.run("reduce", *options, "--role", "leaves", "--duration", "1s", "--timeout", "10s")
    out, root_error = root.communicate(timeout=60)
    assert leaves and out, error + root_error
    of_leaves, of_root = figures(leaves["repeats"][0]), figures(json.loads(out)["repeats"][0])
    assert of_leaves["payload_bytes_at_leaves"] > 0 and of_leaves["wrong_results"] == 0, of_leaves
    assert of_root["operations"] > 10 and of_root["wrong_results"] == 0, of_root


def test_a_payload_that_no_port_takes_is_refused_with_the_longest_one(lab):
    generator = Generator(lab, 2)
    options = ("--leaves", "4", "--type", "int8", "--elements", "100000", "--payload", "8192", *QUICK)
    code, _, error = generator.run("reduce", *options, "--duration", "100ms")
    assert code == EXIT_FAILED and "takes an MTU of up to 1500" in error and "--payload 1408" in error, error
    code, _, error = generator.run("reduce", "--type", "int8", "--operator", "repsum", *QUICK)
    assert code == EXIT_USAGE and "no repsum of int8; there are and, or, xor, min, max, sum" in error, error


def test_a_million_floats_in_process_beside_the_ceiling(lab):
    """Until one operation is complete: on a busy machine it may be the only one of several seconds."""
    lab.need(lab.binaries.pktgen)
    command = [
        lab.binaries.pktgen, "reduce", "--leaves", "64", "--elements", "1000000", "--type", "float32",
        "--in-process", "--warmup", "0s", "--duration", "60s", "--operations", "1", "--timeout", "30s",
    ]
    code, out, error = lab.run(*command, "--json")
    assert code == EXIT_OK, error
    result = json.loads(out)
    got = figures(result["repeats"][0])
    assert got["operations"] >= 1 and got["wrong_results"] == 0, got
    assert got["results_checked"] == 65 * got["reductions"] == 65 * 2841 * got["operations"], got
    assert got["root_frames"] < got["contributions"] / 8, got
    derived, ceiling = result["repeats"][0]["derived"], result["ceiling"]
    assert ceiling["total_payload_bytes_per_second"] > 0 and derived["total_payload_bytes_per_second"] > 0
    assert abs(derived["total_payload_bytes_per_second"] / derived["leaf_payload_bytes_per_second"] - 64) < 0.01
