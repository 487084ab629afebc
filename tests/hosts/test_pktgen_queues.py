"""Ports of several queues, a worker each: all members get all results, and sums stay exact."""

import json

from test_pktgen import QUICK, Generator, figures, injected_loss_is_exact
from tributary.switch import EXIT_FAILED

WORKERS = ("--queues", "2", "--cores", "0,0")


def queues_of(measurement, port):
    """(frames sent, frames received) of each queue."""
    return [
        (queue["sent"]["frames"], queue["received"]["frames"])
        for queue in measurement["ports"][port]["queues"]
    ]


def reductions_all_right(lab, kind, *vectors, least=50):
    generator = Generator(lab, 2, kind)
    options = ("--leaves", "24", "--trees", "4", "--timeout", "30s", *vectors, *WORKERS, *QUICK)
    generator.start_switch("reduce", *options)
    measured = generator.measure("reduce", *options, "--duration", "1s")
    got = figures(measured)
    assert got["operations"] > least, got
    assert got["operations_at_leaves"] == 24 * got["operations"], got
    assert got["results_checked"] == 25 * got["reductions"], got
    assert got["wrong_results"] == got["operations_unfinished"] == got["hand_off_drops"] == 0, got
    workers = measured["generator"]["workers"]
    assert [worker["queues"] for worker in workers] == [
        [{"port": 0, "queue": queue}, {"port": 1, "queue": queue}] for queue in (0, 1)
    ], workers
    assert sum(worker["handed_on"] for worker in workers) > 0, workers
    for port in (0, 1):
        assert all(sent > 0 for sent, _ in queues_of(measured, port)), measured["ports"]
    return measured


def test_reductions_over_raw_sockets_that_share_an_interface(lab):
    measured = reductions_all_right(lab, "raw")
    for port in (0, 1):
        assert all(received > 0 for _, received in queues_of(measured, port)), measured["ports"]


def test_vectors_over_raw_sockets_that_share_an_interface(lab):
    reductions_all_right(lab, "raw", "--type", "float32", "--elements", "5000", least=4)


def test_reductions_over_two_rings_of_a_packet_socket(lab):
    reductions_all_right(lab, "af_packet")


def queues_lose_exactly(lab, kind, traffic, *options):
    return injected_loss_is_exact(Generator(lab, 2, kind), traffic, *options,
                                  "--packets-per-second", "3000", *WORKERS)


def test_injected_loss_of_a_multicast_is_exact_over_raw_sockets(lab):
    measured = queues_lose_exactly(lab, "raw", "multicast", "--trees", "12")
    for port in (0, 1):
        assert all(min(queue) > 0 for queue in queues_of(measured, port)), measured["ports"]


def test_injected_loss_of_a_multicast_is_exact_over_rings_of_a_packet_socket(lab):
    queues_lose_exactly(lab, "af_packet", "multicast", "--trees", "12")


def test_injected_loss_between_more_nodes_than_flows_of_their_own_is_exact(lab):
    measured = queues_lose_exactly(lab, "raw", "unicast", "--nodes", "3000")
    assert figures(measured)["reordered"] == 0, measured


def test_an_interface_without_so_many_queues_is_refused_with_the_remedy(lab):
    generator = Generator(lab, 2, "af_xdp")
    code, _, error = generator.run("reduce", "--queues", "4", *QUICK)
    assert code == EXIT_FAILED, error
    assert "g0" in error and "4 are asked for" in error and "ethtool -L g0" in error, error


def test_the_table_shows_queues_and_workers(lab):
    generator = Generator(lab, 2)
    options = ("--leaves", "8", *WORKERS, *QUICK)
    generator.start_switch("reduce", *options)
    _, out, error = lab.run(*generator.command("reduce", *options, "--duration", "500ms"))
    assert "port 1 queue 1" in out and "HANDED ON" in out, out + error
    assert json.dumps(out).count("port 0 queue") == 2, out
