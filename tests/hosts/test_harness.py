"""The harness itself, with no switch: the assumptions of the other tests hold on this machine."""

import os
import shutil

from tributary import frames
from tributary.network import RawPort, shell


def test_world_is_private(lab):
    assert os.getpid() == 1
    interfaces = shell("ip -brief link").split("\n")
    assert [line.split()[0] for line in interfaces if line] == ["lo"], interfaces
    assert shell("ip netns list") == ""


def test_hosts_do_not_have_the_machines_settings_of_the_kernel(lab):
    """On a machine with containers new namespaces forward; here `ip` makes them so."""
    (lab.place / "bin").mkdir()
    ip = lab.file("bin/ip", f"""#!/bin/sh
        {shutil.which("ip")} "$@" || exit
        [ "$1 $2" = "netns add" ] || exit 0
        exec {shutil.which("ip")} netns exec "$3" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=1
        """)  # fmt: skip
    ip.chmod(0o755)
    os.environ["PATH"] = f"{ip.parent}:{os.environ['PATH']}"
    lab.network.host("h")
    for name in ("ip_forward", "conf/all/forwarding", "conf/default/forwarding", "conf/all/rp_filter"):
        assert shell(f"ip netns exec h cat /proc/sys/net/ipv4/{name}").strip() == "0", name


def test_golden_contribution_is_built_and_read(lab):
    """The worked contribution of docs/protocol/wire-format.md, byte for byte."""
    golden = bytes.fromhex(
        "45d00050040000005a77a3b712345000"
        "ff9455e7cd0000000000000000003100"
        "07000000677daabc00002aa00002a155"
        "0000000000000001fffffffffffffffe"
        "00000000000000031122334455667788"
    )
    frame = frames.Frame(
        tree=0xABC, reduction=5, nid=0x12345, vni=0x400, cookie=0x677DAABC, rank=7, seqno=0x155,
        resno=0x155, op=frames.INT_SUM, data=(1, -2, 3, 0x1122334455667788),
    )
    assert bytes(frame)[14:] == golden
    assert bytes(frames.parse(bytes(frame))) == bytes(frame)


def test_frames_cross_a_cable_between_namespaces(lab):
    lab.network.host("a")
    lab.network.host("b")
    lab.network.cable("a", "eth0", "b", "eth0")
    sender, receiver = (RawPort(name, "eth0", frames.ETHERTYPE) for name in "ab")
    sent = [bytes(lab.contribution(leaf)) for leaf in range(3)]
    sender.send(*sent)
    assert receiver.receive(3) == sent
    assert sender.nothing_more(0.05) == [], "a raw port hears itself"
