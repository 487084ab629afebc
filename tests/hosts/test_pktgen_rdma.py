"""tributary-pktgen rdma over kernel interfaces: every byte is right, whatever the switch does to frames."""

import json
import subprocess

from tributary.switch import EXIT_FAILED, EXIT_OK

from test_pktgen import QUICK, Generator, figures

TRANSFERS = ("rdma", "--transfer-sizes", "0,1,1443,1444,1445,1048579", "--in-flight", "4")


def all_right(measured, transfers):
    got = figures(measured)
    assert got["transfers"] == transfers and got["transfers_failed"] == got["transfers_unfinished"] == 0, got
    assert got["writes"] > 0 and got["reads"] > 0, got
    assert got["digest_errors"] == 0 and got["written_digest"] == got["arrived_digest"], got
    assert got["payload_bytes"] == transfers // 6 * (1 + 1443 + 1444 + 1445 + 1048579), got
    return got


def of_kind(lab, kind):
    generator = Generator(lab, 2, kind)
    switch = generator.start_switch(*TRANSFERS)
    measured = generator.measure(
        *TRANSFERS, *QUICK, "--duration", "60s", "--operations", "60", "--switch-socket", switch.socket
    )
    all_right(measured, 60)
    assert measured["latencies"]["write_done"]["count"] + measured["latencies"]["read_done"]["count"] == 60


def test_transfers_over_raw_sockets(lab):
    of_kind(lab, "raw")


def test_transfers_over_a_packet_sockets_ring(lab):
    of_kind(lab, "af_packet")


def test_transfers_over_af_xdp(lab):
    of_kind(lab, "af_xdp")


def test_transfers_through_loss_and_reordering_are_done_and_say_what_was_resent(lab):
    generator = Generator(lab, 2)
    impairment = {"loss": 0.01, "duplicate": 0.005, "reorder": 0.01, "reorder_distance": 20, "seed": 3}
    generator.start_switch(*TRANSFERS, impairment=impairment)
    measured = generator.measure(*TRANSFERS, *QUICK, "--seed", "4", "--duration", "60s", "--operations", "60")
    got = all_right(measured, 60)
    assert got["lost_frames"] > 0 and got["resent_frames"] >= got["lost_frames"], got
    assert got["duplicate_frames"] > 0, got


def test_jumbo_frames_need_ports_that_take_them(lab):
    generator = Generator(lab, 2)
    jumbo = (*TRANSFERS, "--mtu", "9000")
    generator.start_switch(*jumbo)
    code, _, error = generator.run(*jumbo, *QUICK, "--duration", "10s")
    assert code == EXIT_FAILED and "takes an MTU of up to 1500" in error, error
    for interface in generator.interfaces:
        lab.sh(f"ip -n {generator.host} link set {interface} mtu 9000")
    for interface in generator.far:
        lab.sh(f"ip link set {interface} mtu 9000")
    got = figures(generator.measure(*jumbo, *QUICK, "--duration", "60s", "--operations", "60"))
    assert got["transfers"] == 60 and got["digest_errors"] == 0, got
    assert got["data_frames"] < 2000, "with an MTU of 1500 they are 7310"


def test_transfers_share_ports_with_other_traffics(lab):
    lab.need(lab.binaries.pktgen)
    scenario = lab.file("mixed.toml", "[in_process]\nports = 3\nbusy = false\n" + "".join(
        f'[[traffic]]\nkind = "{kind}"\n{keys}'
        for kind, keys in (("reduce", "leaves = 8\n"), ("rdma", "transfer_sizes = [100000, 0]\nshare = 3\n"),
                           ("unicast", "packets_per_second = 1000.0\n"))
    ))  # fmt: skip
    code, out, error = lab.run(lab.binaries.pktgen, "run", scenario, *QUICK, "--duration", "1s", "--timeout", "30s", "--json")
    assert code == EXIT_OK, error
    got = figures(json.loads(out)["repeats"][0])
    assert got["rdma.transfers"] > 0 and got["rdma.digest_errors"] == 0, got
    assert got["reduce.operations"] > 0 and got["unicast.lost"] == 0, got


def test_two_generators_are_the_two_ends(lab):
    both = Generator(lab, 2)
    both.start_switch(*TRANSFERS)
    ports = both.interfaces
    options = (*TRANSFERS, *QUICK, "--seed", "9", "--duration", "60s", "--operations", "60", "--warmup", "0s")
    both.interfaces = [ports[1]]
    server = subprocess.Popen(
        [*both.command(*options, "--serve", "--first-nid", "65537"), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    both.interfaces = [ports[0]]
    measured = both.measure(*options, "--to", "65537", "--first-nid", "65536")
    out, error = server.communicate(timeout=60)
    assert server.returncode == EXIT_OK, error
    at_client, at_server = figures(measured), figures(json.loads(out)["repeats"][0])
    assert at_client["transfers"] == 60 and at_client["transfers_failed"] == 0, at_client
    assert at_server["writes_arrived"] == at_client["writes"], at_server
    assert at_server["reads_served"] == at_client["reads"], at_server
    assert at_server["arrived_digest"] == at_client["written_digest"], (at_client, at_server)
    assert at_server["digest_errors"] == at_client["digest_errors"] == 0


def test_a_missing_peer_is_reported(lab):
    generator = Generator(lab, 2)
    generator.start_switch(*TRANSFERS)
    generator.interfaces = generator.interfaces[:1]
    code, _, error = generator.run(
        *TRANSFERS, *QUICK, "--seed", "1", "--duration", "20s", "--timeout", "1s", "--to", "65537"
    )
    assert code == EXIT_FAILED and "4 transfers to end" in error and "nothing came back" in error, error
