"""Every kind of port that needs no NIC, as a link between switches or to a host."""

from lab import TREE, VNI
from tributary import frames
from tributary.network import RawPort, wait_until
from tributary.switch import QuickConfig


def host(lab, number):
    name = f"h{number}"
    lab.network.host(name)
    lab.network.cable(name, "eth0", None, f"host{number}")
    return RawPort(name, "eth0", frames.ETHERTYPE)


def two_levels(lab, up, down, one_process):
    """h0 on switch `top`, h1 and h2 on switch `leaf`, and a link of the given settings between."""
    top, leaf = configurations(lab, up, down, one_process)
    return [lab.start(top, "top")] + ([] if one_process else [lab.start(leaf, "leaf")])


def configurations(lab, up, down, one_process):
    lab.root, *lab.leaves = (host(lab, number) for number in range(3))
    timers = {"timers_us": [10_000_000] * 4}
    top_config = QuickConfig(lab.place / "top.sock")
    leaf_config = top_config if one_process else QuickConfig(lab.place / "leaf.sock")
    top = top_config.switch("top", **timers)
    top.port("host0", kind="af_packet", interface="host0", nid=1, vnis=[VNI])
    top.port("down", **down)
    top.tree(TREE, 2, "host0", ["down"])
    leaf = leaf_config.switch("leaf", **timers)
    leaf.port("up", **up)
    for number in (1, 2):
        leaf.port(f"host{number}", interface=f"host{number}", nid=number + 1, vnis=[VNI])
    leaf.tree(TREE, 2, "up", ["host1", "host2"])
    return top_config, leaf_config


def is_at(state, switch, port):
    wait_until(
        lambda: next(x["state"] for x in switch.ctl("show", "ports") if x["port"] == port) == state,
        f"the memif {port} is {state}",
    )


def reduction_crosses_both(lab, switches):
    lab.arm_tree()
    for leaf, port in enumerate(lab.leaves):
        port.send(lab.contribution(leaf))
    result = frames.parse(lab.root.receive()[0])
    assert (result.count, result.data[0]) == (2, 1 + 2)
    assert lab.root.nothing_more(0.1) == []
    counters = {}
    for switch in switches:
        counters.update(lab.counters(switch))
    assert counters["leaf.engine.up.full"] == 1
    assert counters["leaf.engine.up.contributions"] == 2
    # One frame that counts two crosses the link.
    assert counters["top.engine.host0.full"] == 1
    assert counters["top.engine.host0.contributions"] == 1


def test_two_switches_of_one_process_joined_by_a_ring(lab):
    link = {"kind": "ring", "ring": "leaf-top"}
    reduction_crosses_both(lab, two_levels(lab, link, link, one_process=True))


def test_two_processes_joined_by_a_memif(lab):
    link = {"kind": "memif", "socket": str(lab.place / "memif.sock")}
    switches = two_levels(
        lab, {**link, "role": "client"}, {**link, "role": "server"}, one_process=False
    )
    for switch, port in zip(switches, ("down", "up"), strict=True):
        is_at("up", switch, port)
    reduction_crosses_both(lab, switches)


def test_a_memif_client_starts_before_its_server_and_finds_it_again_after_a_kill_and_a_stop(lab):
    link = {"kind": "memif", "socket": str(lab.place / "memif.sock")}
    top_config, leaf_config = configurations(
        lab, {**link, "role": "client"}, {**link, "role": "server"}, one_process=False
    )
    leaf = lab.start(leaf_config, "leaf")
    is_at("down", leaf, "up")
    top = None
    for leave in ("kill", "stop", None):
        top = lab.start(top_config, "top")
        is_at("up", top, "down")
        is_at("up", leaf, "up")
        if leave:
            getattr(top, leave)()
            is_at("down", leaf, "up")
    reduction_crosses_both(lab, [top, leaf])


def test_two_processes_joined_by_a_cable_with_af_xdp_at_both_ends(lab):
    lab.network.cable(None, "up0", None, "down0")
    reduction_crosses_both(
        lab, two_levels(lab, {"interface": "up0"}, {"interface": "down0"}, one_process=False)
    )


def test_pcap_files_in_and_out(lab):
    sent = [bytes(lab.contribution(0, seqno=number)) for number in range(100)]
    frames.write_pcap(lab.file("in.pcap"), sent)
    config = QuickConfig(lab.place / "switch.sock")
    section = config.switch("leaf0")
    section.port("out", kind="pcap", tx_file=str(lab.file("out.pcap")))
    section.port("in", kind="pcap", rx_file=str(lab.file("in.pcap")))
    section.tree(TREE, 2, "out", ["in"])  # so that it may lead to a switch: a single host's
                                          # unopened frames do not pass
    switch = lab.start(config)
    lab.counter_reaches(switch, "leaf0.port.out.tx_frames", 100)
    assert switch.stop() == 0
    # Nothing armed: they pass unchanged, in order.
    assert frames.read_pcap(lab.file("out.pcap")) == sent


def test_an_impaired_port_loses_what_it_is_configured_to_and_counts_it(lab):
    section = lab.star(1, kind="af_packet")
    section.tree(100, 0, "host0", ["host1"])
    section.impairments["host0"] = {"loss": 0.5, "seed": 7}
    switch = lab.start()
    sent = [bytes(lab.arm(tree=100, arm=0, seqno=number)) for number in range(400)]
    for start in range(0, len(sent), 20):
        lab.root.send(*sent[start : start + 20])
        lab.counter_reaches(switch, "leaf0.port.host0.rx_frames", start + 20)
    got = lab.leaves[0].nothing_more(0.5)
    lost = lab.counters(switch)["leaf0.port.host0.drop.impaired"]
    assert 0 < lost < len(sent)
    assert len(got) == len(sent) - lost
    assert set(got) <= set(sent)
