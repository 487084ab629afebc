"""libtributary through tributary-host: whole allreduces over switches, every result checked there."""

import json
import subprocess

from lab import COOKIE, TREE, VNI
from tributary.network import wait_until


def host(lab, rank, size, *extra, iterations=400):
    return subprocess.Popen(
        ["ip", "netns", "exec", f"h{rank}", str(lab.binaries.host), "--interface", "eth0",
         "--nid", str(rank + 1), "--tree", str(TREE), "--vni", str(VNI), "--cookie", str(COOKIE),
         "--rank", str(rank), "--size", str(size), "--operations", str(iterations),
         "--timeout", "60s", "--seed", "11", "--json", *extra],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def all_hosts(lab, *extra, iterations=400):
    """Runs every host of the star to its end; their reports, the root's first."""
    lab.need(lab.binaries.host)
    size = len(lab.leaves) + 1
    children = [host(lab, rank, size, *extra, iterations=iterations) for rank in range(size)]
    reports = []
    for rank, child in enumerate(children):
        out, err = child.communicate(timeout=200)
        assert child.returncode == 0, f"h{rank}: exit code {child.returncode}\n{out}{err}"
        reports.append(json.loads(out))
    assert all(r["wrong"] == 0 and r["iterations"] == iterations for r in reports), reports
    return reports


def star(lab, leaves=4, **impairment):
    """The hosts' own raw sockets listen; the test's would only fill up."""
    section = lab.star(leaves)
    section.head["timers_us"] = [50_000] * 4
    for number in range(leaves + 1):
        section.route(number + 1, f"host{number}")
        if impairment:
            section.impairments[f"host{number}"] = impairment
    for port in (lab.root, *lab.leaves):
        port.close()
    return lab.start()


def test_every_operator_is_exact_with_engines_armed(lab):
    switch = star(lab)
    reports = all_hosts(lab, "--operators", "mix", "--in-flight", "8")
    assert lab.counters(switch)["leaf0.engine.host0.full"] >= 400
    assert reports[0]["root_frames_per_reduction"] < 2


def test_every_operator_is_exact_with_engines_disarmed(lab):
    switch = star(lab)
    reports = all_hosts(lab, "--operators", "mix", "--no-armed", "--in-flight", "8")
    assert lab.counters(switch)["leaf0.engine.host0.full"] == 0
    assert reports[0]["root_frames_per_reduction"] >= 4


def test_long_vectors_are_pipelined(lab):
    star(lab)
    all_hosts(lab, "--operators", "mix", "--elements", "1000", iterations=30)


def test_results_stay_exact_when_ports_lose_duplicate_and_reorder(lab):
    switch = star(lab, 3, loss=0.02, duplicate=0.02, reorder=0.02, seed=5)
    all_hosts(lab, "--operators", "mix", "--in-flight", "8", "--retry", "5ms", iterations=300)
    counters = lab.counters(switch)
    lost = sum(v for name, v in counters.items() if name.endswith(".drop.impaired"))
    assert lost > 0, "no fault was injected"


def test_results_stay_exact_where_every_host_has_a_thread_of_its_own(lab):
    switch = star(lab, 3, loss=0.02, duplicate=0.02, reorder=0.02, seed=6)
    all_hosts(lab, "--own-thread", "--operators", "mix", "--in-flight", "8", "--retry", "5ms",
              iterations=300)
    counters = lab.counters(switch)
    lost = sum(v for name, v in counters.items() if name.endswith(".drop.impaired"))
    assert lost > 0, "no fault was injected"


def test_hosts_on_af_xdp_reduce_while_their_interfaces_carry_ping(lab):
    star(lab, 3)
    lab.sh("ip -n h1 addr add 10.77.2.1/24 dev eth0; ip addr add 10.77.2.2/24 dev host1")
    lab.need(lab.binaries.host)
    options = ["--transport", "af_xdp", "--operators", "mix", "--in-flight", "8", "--progress"]
    children = [host(lab, rank, 4, *options, iterations=300) for rank in range(3)]
    wait_until(lambda: "xdp" in lab.sh("ip -n h1 link show dev eth0"), "the host takes its frames")
    lab.sh("ip netns exec h1 ping -c 3 -i 0.05 -W 20 10.77.2.2")
    lab.sh("ping -c 3 -i 0.05 -W 20 10.77.2.1")
    # The last member starts only now: the others were running during the pings.
    children.append(host(lab, 3, 4, *options, iterations=300))
    for child in children:
        out, err = child.communicate(timeout=200)
        assert child.returncode == 0, out + err
        assert json.loads(out)["wrong"] == 0
    assert "xdp" not in lab.sh("ip -n h1 link show dev eth0"), "the interface is as it was found"


def test_two_groups_on_two_trees_do_not_disturb_each_other(lab):
    section = lab.star(4)
    section.tree(TREE + 1, 1, "host3", ["host4"])
    section.tree(TREE, 2, "host0", ["host1", "host2"])
    lab.start()
    lab.need(lab.binaries.host)
    children = [host(lab, rank, 3, "--operators", "mix") for rank in range(3)]
    for rank in range(2):
        children.append(
            subprocess.Popen(
                ["ip", "netns", "exec", f"h{rank + 3}", str(lab.binaries.host), "--interface", "eth0",
                 "--nid", str(rank + 4), "--tree", str(TREE + 1), "--vni", str(VNI), "--cookie", "9",
                 "--rank", str(rank), "--size", "2", "--operations", "400", "--json"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        )
    for child in children:
        out, err = child.communicate(timeout=200)
        assert child.returncode == 0, out + err
        assert json.loads(out)["wrong"] == 0


def test_a_missing_interface_is_named(lab):
    lab.need(lab.binaries.host)
    code, _, err = lab.run(
        lab.binaries.host, "--interface", "nosuch0", "--tree", "1", "--rank", "0", "--size", "2"
    )
    assert code == 1 and "nosuch0" in err, (code, err)


def test_a_missing_privilege_is_named(lab):
    lab.star(1)
    lab.need(lab.binaries.host)
    code, _, err = lab.run(
        "setpriv", "--bounding-set=-net_raw,-sys_admin", "--inh-caps=-net_raw,-sys_admin",
        lab.binaries.host, "--interface", "host0", "--tree", "1", "--rank", "0", "--size", "2",
    )  # fmt: skip
    assert code == 1 and "CAP_NET_RAW" in err, (code, err)
