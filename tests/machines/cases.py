"""The cases, in the order in which a guest of each kind does them."""

import inspect
import re
import struct
import sys

from guest import ROOT
from kinds import PORTS
from machine import CLASS, FIRST_NID, TREE, VLAN
from tributary import frames
from tributary.cases import Failed
from tributary.network import RawPort, wait_until

ROUNDS = ("--operations", 300)


def only(applies):
    """A case of the kinds for which this holds: a function of the Kind and the release of Debian."""
    def mark(case):
        case.applies = applies
        return case
    return mark


def wrong(findings):
    return [each for each in findings if each["verdict"] == "wrong"]


def the_doctor_names_what_is_missing(m, said):
    m.bind(m.kind.driver)
    code, findings = m.doctor(m.star())
    missing = {each["check"] for each in wrong(findings)}
    assert code == 1 and {"vfio", "driver"} <= missing, findings
    assert sum(each["check"] == "driver" for each in wrong(findings)) == PORTS, findings
    assert "iommu" not in missing and "firmware" not in missing, findings


def a_switch_is_refused_nics_that_the_kernel_has(m, said):
    m.bind(m.kind.driver)
    m.star().write(m.guest.out / "refused.toml")
    code, text = m.guest.run("tributary-switch --config /out/refused.toml")
    assert code == 1 and m.nics.address(0) in text and "vfio-pci" in text, f"exit code {code}\n{text}"


def the_unit_gives_a_nic_to_vfio_pci(m, said):
    m.bind(m.kind.driver)
    unit = (ROOT / "packaging/tributary-nic@.service").read_text()
    for command in re.findall("^ExecStart=(.*)", unit, re.MULTILINE):
        m.guest.must(command.replace("%i", m.nics.address(0)))
    assert list(m.drivers().values()) == ["vfio-pci", *[m.kind.driver] * (PORTS - 1)]


def the_doctor_is_content_once_it_is_obeyed(m, said):
    m.guest.must(m.guide("modprobe vfio-pci"), 90)
    config = m.star()
    for _ in range(3):
        code, findings = m.doctor(config)
        # Without hugepages it only advises; it must not change cores and firmware of a guest.
        heard = wrong(findings) + [each for each in findings if (each["check"], each["verdict"]) == ("hugepages", "advice")]
        commands = list(dict.fromkeys(each["command"] for each in heard))
        for command in commands:
            m.guest.must(command, 60)
        if not commands:
            break
    assert code == 0 and not wrong(findings), wrong(findings)


def a_switch_starts_as_the_doctor_left_the_machine(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.star())
    unexpected = re.findall(r".* (?:error|critical|warning): .*|.*memory: ordinary pages.*", switch.log_text())
    assert not unexpected, unexpected
    m.guest.must(m.guide("tributary-switch --check-config"))
    m.guest.must(m.guide("tributaryctl show ports"))


def reductions(m, said):
    m.bind("vfio-pci")
    m.run_switch(m.star())
    said.append(m.reduce(*ROUNDS))


def vectors_in_frames_of_1500_bytes(m, said):
    m.bind("vfio-pci")
    m.run_switch(m.star())
    said.append(m.reduce("--operations", 100, "--elements", 1000, "--in-flight", 4, "--operators", "wide-mix"))


def rdma_with_every_byte_checked(m, said):
    m.bind("vfio-pci")
    m.run_switch(m.star())
    said.append(m.rdma())


def a_link_that_goes_and_comes_twice_is_reported_within_a_second(m, said):
    m.bind("vfio-pci")
    m.run_switch(m.star())
    took = [m.set_link(1, up) for up in (False, True) * 2]
    said.append("reported after " + ", ".join("more than a second" if each is None else f"{each:.2f} s" for each in took))
    assert None not in took, took
    said.append(m.reduce(*ROUNDS))


def a_switch_that_was_killed_starts_again(m, said):
    m.bind("vfio-pci")
    m.run_switch(m.star()).end("KILL")
    m.run_switch(m.star(), restart=True)
    said.append(m.reduce(*ROUNDS))


@only(lambda kind, release: not kind.hash)
def two_workers(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.star(workers=2))
    said.append(m.reduce(*ROUNDS))
    # None of these drivers takes a rule on raw bytes, and each port says why its frames are handed over.
    ports = switch.ctl("show", "ports")
    assert all(each.get("steering_why") for each in ports), ports
    said.append(ports[0]["steering_why"])
    workers = switch.ctl("show", "workers")
    assert len(workers) == 2 and all(each["frames"] for each in workers), workers


IPV4 = 0x0800  # EtherType with which a NIC's hash takes the fabric's addresses
PLACED = {1: 1, 2: 0, 129: 1, 8190: 0}  # tree -> worker: its number modulo 128, modulo 2


def most_come_to_the_worker_of_their_tree(m, switch, said):
    """Of each tree's frames: they are counted at its worker, and only hellos are handed over."""
    assert {each["tree"]: each["worker"] for each in switch.ctl("show", "trees")} == PLACED
    for tree, worker in PLACED.items():
        before = switch.ctl("show", "workers")
        said.append(m.reduce("--ethertype", IPV4, *ROUNDS, tree=tree))
        after = switch.ctl("show", "workers")
        got, crossed = ([new[key] - old[key] for old, new in zip(before, after, strict=True)]
                        for key in ("frames", "handed_over"))
        assert got[worker] > 10 * got[1 - worker] and sum(crossed) < sum(got) / 10, (tree, got, crossed)


@only(lambda kind, release: kind.hash)
def the_hash_brings_each_tree_to_its_worker(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.star(workers=2, ethertype=IPV4, trees=PLACED))
    ports = switch.ctl("show", "ports")
    assert [each.get("steering") for each in ports] == ["hash"] * PORTS, ports
    assert not any(each.get("steering_why") for each in ports), ports
    most_come_to_the_worker_of_their_tree(m, switch, said)


@only(lambda kind, release: kind.hash)
def a_link_that_goes_and_comes_keeps_its_hash(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.star(workers=2, ethertype=IPV4, trees=PLACED))
    for up in (False, True):
        assert m.set_link(1, up) is not None, "reported within a second"
    most_come_to_the_worker_of_their_tree(m, switch, said)


@only(lambda kind, release: kind.hash)
def two_workers_without_the_ethertype_of_ipv4_hand_over(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.star(workers=2))
    ports = switch.ctl("show", "ports")
    assert all("0x0800" in each.get("steering_why", "") for each in ports), ports
    said.append(m.reduce(*ROUNDS))


def vectors_in_frames_of_9000_bytes(m, said):
    m.bind("vfio-pci")
    m.guest.must(m.guide("sysctl"))
    m.run_switch(m.star(payload=8896, longest_frame=9014))
    said.append(m.reduce("--operations", 50, "--elements", 4448, "--in-flight", 2, "--operators", "wide-mix", payload=8896))


def tagged(frame, vlan):
    return frame[:12] + struct.pack("!HH", 0x8100, CLASS << 13 | vlan) + frame[12:]


def two_switches_back_to_back_carry_tags_and_traffic_classes(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.pair())
    said.append(m.reduce(*ROUNDS, members=(0, 1)))
    # A frame that arrives in a class leaves in it, without its tag; with another VLAN id it does
    # not leave.
    link, host = RawPort(None, "t3"), RawPort(None, "t1", frames.ETHERTYPE)
    arm = bytes(frames.arm(tree=TREE, arm=0, nid=FIRST_NID))
    link.send(tagged(arm, VLAN + 1), tagged(arm, VLAN))
    assert host.receive() == [arm]
    assert host.nothing_more() == []
    (queue,) = (each for each in switch.ctl("show", "queues", "--switch", "leaf1", "--port", "h1") if each["class"] == CLASS)
    assert queue["frames"] == 1, queue
    assert switch.ctl("show", "counters")["leaf1.port.link.drop.foreign_vlan"] == 1


def pause_frames_are_left_to_the_switch_if_the_driver_can_do_so(m, said):
    m.bind("vfio-pci")
    switch = m.run_switch(m.pair())
    refused = "its driver cannot change what the NIC does with pause frames" in switch.log_text()
    assert refused != m.kind.pauses, switch.log_text()


def a_group_by_name_through_a_manager(m, said):
    m.bind("vfio-pci")
    manager = m.start_manager()
    try:
        m.run_switch(m.pair(manager=m.at_the_manager()))
        wait_until(lambda: [link["up"] for link in manager.get("/api/v1/topology")[1]["links"]] == [True],
                   "the manager finds both switches and their link", 30)
        token = m.guest.place / "job.token"
        token.write_text(manager.create_job("job") + "\n")
        hosts = m.start_hosts("--group", "demo", "--job", "job", "--manager", manager.url, "--token-file", token, *ROUNDS,
                              members=(0, 1))
        said.append(m.finish(hosts))
        m.set_link(0, False)
        wait_until(lambda: not any(host["up"] for host in manager.list("hosts") if host["nid"] == FIRST_NID),
                   "the manager hears of the link that went", 2)
        m.set_link(0, True)
    except Exception:
        said.append(manager.log_text()[-3000:])
        raise
    finally:
        manager.kill()


def a_switch_stops_in_order_without_a_fault_of_the_iommu(m, said):
    m.bind("vfio-pci")
    switch = m.switch or m.run_switch(m.star())
    switch.end()
    assert "drained" in switch.log_text(), switch.log_text()[-1000:]
    assert not m.faults(), m.faults()


def a_nic_that_is_unplugged_is_let_go_of_and_comes_back_and_the_others_go_on(m, said):
    m.bind("vfio-pci")
    gone = m.present[-1]
    config = m.star(members=m.present[:-1])
    m.port(config.switches[0], gone)
    switch = m.run_switch(config)
    m.present.remove(gone)
    since = len(switch.log_text())
    let_go = m.guest.unplug(f"nic{gone}")
    seen = switch.says(f"port h{gone} is ", since, 5)
    said.append(m.reduce(*ROUNDS))
    if seen is None or not let_go:
        kernel = m.guest.run("dmesg | tail -30")[1]
        raise Failed(f"reported after {seen} s, let go of: {let_go}\n{switch.log_text()[since:]}\n{kernel}")
    m.guest.monitor("device_add", **m.nics.device(gone))
    m.present.append(gone)
    wait_until(lambda: m.guest.run(f"ls /sys/bus/pci/devices/{m.nics.address(gone)}/driver")[0] == 0, "the guest has it again")
    m.guest.must(f"dpdk-devbind.py --force --bind=vfio-pci {m.nics.address(gone)}")
    assert switch.says(f"port h{gone} is up", since, 20) is not None, switch.log_text()[since:]


def the_kernels_driver_hears_of_its_link_unless_qemu_is_silent(m, said):
    # Where the kernel's own driver is not notified either, QEMU raises no interrupt.
    m.bind(m.kind.driver)
    m.end_switch()
    interface = m.interface(1)
    carrier = f"cat /sys/class/net/{interface}/carrier"
    m.guest.must(f"ip link set {interface} up; n=0; until [ $({carrier}) = 1 ] || [ $((n += 1)) = 50 ]; do sleep 0.1; done")
    seen = []
    for up in (False, True):
        m.guest.monitor("set_link", name="nic1", up=up)
        code, _ = m.guest.run(f"n=0; until [ $({carrier}) = {up:d} ]; do [ $((n += 1)) -lt 30 ] || exit 1; sleep 0.1; done")
        seen.append(code == 0)
    said.append(f"down and up are seen: {seen}")
    assert seen[0] == m.kind.link_interrupts and seen[1], seen


def af_xdp(m, said, mtu, mode):
    m.bind(m.kind.driver)
    m.end_switch()  # virtio's driver does not release a program once the MTU is too long for it
    interfaces = [m.interface(n) for n in m.present]
    m.guest.must(f"for i in {' '.join(interfaces)}; do ip link set $i mtu {mtu} up; done")
    switch = m.run_switch(m.star(interfaces=interfaces))
    generic = len(re.findall("cannot run XDP in native mode", switch.log_text()))
    assert generic == (0 if mode == "native" else len(interfaces)), f"{mode} was expected\n{switch.log_text()}"
    said.append(f"{mode}: {m.reduce(*ROUNDS)}")


def af_xdp_on_the_kernels_driver(m, said):
    af_xdp(m, said, 1500, m.kind.xdp[m.release])


@only(lambda kind, release: kind.xdp[release] == "native")
def af_xdp_where_the_mtu_is_too_long_for_the_driver(m, said):
    af_xdp(m, said, 9000, "generic")


@only(lambda kind, release: kind.pairs > 1)
def af_xdp_after_the_guides_section_on_interfaces(m, said):
    m.bind(m.kind.driver)
    m.end_switch()
    m.guest.must(m.guide("ip link set eth1"))
    assert "combined 1" in m.guest.must("ethtool -l eth1").lower().replace(":", "").replace("\t", " ")


CASES = [function for _, function in inspect.getmembers(sys.modules[__name__], inspect.isfunction)
         if list(inspect.signature(function).parameters) == ["m", "said"]]
CASES.sort(key=lambda function: function.__code__.co_firstlineno)


def cases_of(kind, release):
    return [case for case in CASES if getattr(case, "applies", lambda *_: True)(kind, release)]
