"""forward_foreign: ARP, IP, ping and TCP between two namespaces through the switch, with impairments on the way."""

import random
import socket
import threading

from tributary import frames
from tributary.network import RawPort, inside, without_offloads
from tributary.switch import QuickConfig


def two_hosts(lab, kind="af_xdp", mtu=1500, others=0, **keys):
    """h0 at 10.0.0.1 and h1 at 10.0.0.2, on ports that are joined; `others` more hosts on ports that are not."""
    lab.config = QuickConfig(lab.place / "switch.sock", longest_frame=max(1792, mtu + 14))
    section = lab.config.switch("leaf0", forward_foreign=True, **keys)
    for number in range(2 + others):
        host, port = lab.network.host(f"h{number}"), f"host{number}"
        lab.network.cable(host, "eth0", None, port)
        lab.sh(f"ip netns exec {host} sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0")
        for interface, where in (("eth0", f"-n {host} "), (port, "")):
            lab.sh(f"ip {where}link set {interface} mtu {mtu}")
        lab.sh(f"ip -n {host} addr add 10.0.0.{number + 1}/24 dev eth0")
        lab.sh(f"ip -n {host} addr add fd00::{number + 1}/64 dev eth0 nodad")
        without_offloads(host, "eth0")
        section.port(port, kind=kind, interface=port)
    return section


def ping(lab, address, *options, count=5):
    return lab.run("ip", "netns", "exec", "h0", "ping", "-n", "-c", str(count), "-i", "0.05", "-W", "2", *options, address)


def transfer(data):
    """Sends `data` by TCP from h0 to h1, and returns the received bytes."""
    with inside("h1"):
        listener = socket.create_server(("10.0.0.2", 5001))
    with inside("h0"):
        client = socket.socket()
    client.settimeout(60)
    listener.settimeout(60)
    received = bytearray()

    def serve():
        connection, _ = listener.accept()
        with connection:
            while piece := connection.recv(1 << 16):
                received.extend(piece)

    server = threading.Thread(target=serve)
    server.start()
    with client:
        client.connect(("10.0.0.2", 5001))
        client.sendall(data)
    server.join()
    listener.close()
    return bytes(received)


def passes(lab, kind, mtu):
    two_hosts(lab, kind, mtu)
    switch = lab.start()
    code, out, error = ping(lab, "10.0.0.2", "-M", "do", "-s", str(mtu - 28))
    assert code == 0 and ", 0% packet loss" in out, out + error
    code, out, error = ping(lab, "fd00::2")
    assert code == 0 and ", 0% packet loss" in out, out + error
    data = random.Random(1).randbytes(2 << 20)
    assert transfer(data) == data
    counters = lab.counters(switch)
    for port in ("host0", "host1"):
        assert counters[f"leaf0.port.{port}.foreign_frames"] > 20
        assert counters[f"leaf0.port.{port}.drop.foreign_ethertype"] == 0
        assert counters[f"leaf0.port.{port}.drop.too_long"] == 0


def test_arp_ip_and_tcp_pass_af_xdp(lab):
    passes(lab, "af_xdp", 1500)


def test_arp_ip_and_tcp_pass_af_packet(lab):
    passes(lab, "af_packet", 1500)


def test_jumbo_frames_pass_af_packet(lab):
    passes(lab, "af_packet", 9000)


def test_tcp_survives_an_impaired_switch_and_what_was_lost_is_what_is_counted(lab):
    two_hosts(lab)
    switch = lab.start()
    impaired = [
        ("host1", "sent", ["--loss", "1%", "--delay", "1ms", "--jitter", "200us", "--kinds", "foreign", "--seed", "5"]),
        ("host0", "received", ["--reorder", "2%", "--reorder-distance", "3", "--duplicate", "1%", "--seed", "6"]),
    ]
    for port, direction, options in impaired:
        switch.ctl("impair", "set", "--port", port, "--direction", direction, *options)
    data = random.Random(2).randbytes(1 << 20)
    assert transfer(data) == data
    did = {(one["port"], one["direction"]): one for one in switch.ctl("impair", "show")}
    assert did["host1", "sent"]["lost"] > 0 and did["host1", "sent"]["delayed"] > 500
    assert did["host0", "received"]["reordered"] > 0 and did["host0", "received"]["duplicated"] > 0

    switch.ctl("impair", "clear", "--all")
    switch.ctl("impair", "set", "--port", "host1", "--direction", "sent", "--loss", "1")
    code, out, _ = ping(lab, "10.0.0.2", "-W", "0.2", count=3)
    assert code == 1 and "100% packet loss" in out, out
    switch.ctl("impair", "clear", "--port", "host1")
    code, out, error = ping(lab, "10.0.0.2")
    assert code == 0 and ", 0% packet loss" in out, out + error


def test_reductions_pass_beside_it_and_a_third_port_hears_nothing(lab):
    section = two_hosts(lab, others=1, foreign_ports=["host0", "host1"])
    section.tree(100, 0, "host0", ["host1", "host2"])
    switch = lab.start()
    third = RawPort("h2", "eth0")
    third.nothing_more(0.2)
    member = RawPort("h1", "eth0", frames.ETHERTYPE)
    root = RawPort("h0", "eth0", frames.ETHERTYPE)
    frame = bytes(lab.arm(tree=100, arm=0))
    root.send(frame)
    code, out, error = ping(lab, "10.0.0.2")
    assert code == 0 and ", 0% packet loss" in out, out + error
    assert member.receive() == [frame]
    assert [one for one in third.nothing_more(0.3) if one[12:14] != b"\x88\xcc"] == [frame]
    code, _, _ = ping(lab, "10.0.0.3", "-W", "0.2", count=2)
    assert code == 1
    assert lab.counters(switch)["leaf0.port.host2.foreign_frames"] == 0
