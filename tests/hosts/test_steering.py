"""AF_XDP takes one EtherType off an interface; everything else stays with the kernel."""

from tributary.network import RawPort, wait_until


def addresses(lab):
    lab.sh("ip addr add 10.77.1.1/24 dev host1")
    lab.sh("ip -n h1 addr add 10.77.1.2/24 dev eth0")


def test_ping_passes_while_the_switch_runs(lab):
    lab.star(2)
    addresses(lab)
    switch = lab.start()
    assert lab.xdp_programs("host1") == 1
    lab.sh("ip netns exec h1 ping -c 3 -i 0.05 -W 5 10.77.1.1")
    got, expected = lab.reduce(switch)
    assert got == expected
    lab.sh("ping -c 3 -i 0.05 -W 5 10.77.1.2")


def test_a_foreign_ethertype_reaches_the_kernel_and_not_the_switch(lab):
    lab.star(2)
    switch = lab.start()
    kernel = RawPort(None, "host1", 0x88B6)
    before = lab.counters(switch)["leaf0.port.host1.rx_frames"]
    frame = bytes(lab.contribution(0, ethertype=0x88B6))
    lab.leaves[0].send(frame)
    assert kernel.receive() == [frame]
    assert lab.counters(switch)["leaf0.port.host1.rx_frames"] == before


def test_sigterm_leaves_the_interface_as_it_was_found(lab):
    lab.star(2)
    addresses(lab)
    before = lab.sh("ip -details link show dev host1")
    switch = lab.start()
    assert lab.xdp_programs("host1") == 1
    assert switch.stop() == 0
    after = lab.sh("ip -details link show dev host1")
    assert after == before
    lab.sh("ping -c 1 -W 5 10.77.1.2")


def test_sigkill_leaves_no_xdp_program_behind(lab):
    lab.star(2)
    switch = lab.start()
    assert lab.xdp_programs("host1") == 1
    switch.kill()
    wait_until(lambda: lab.xdp_programs("host1") == 0, "the kernel removes the program")


def test_af_packet_attaches_no_xdp_program(lab):
    lab.star(2, kind="af_packet")
    lab.start()
    assert lab.xdp_programs("host1") == 0
