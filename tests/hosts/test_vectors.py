"""Vectors through libtributary: whole allreduces of wide frames over a switch, every element checked at every host."""

import subprocess

from lab import TREE
from test_endpoint import all_hosts

LIMIT = 1408


def vector_star(lab, leaves=4, kind="af_xdp", slots=128, payload=LIMIT, mtu=None, impairment=None, timer_us=50_000,
                shared=False, in_switch=False, **process):
    section = lab.star(leaves, kind, **process)
    section.head["timers_us"] = [timer_us] * 4
    section.trees[TREE].update({"slots": slots, "payload": payload, "float16": True, "shared": shared})
    if in_switch:
        section.trees[TREE].update({"wait_count": leaves + 1, "in_switch_results": True})
    for number in range(leaves + 1):
        if mtu:
            lab.sh(f"ip -n h{number} link set eth0 mtu {mtu}")
            lab.sh(f"ip link set host{number} mtu {mtu}")
        if impairment:
            section.impairments[f"host{number}"] = impairment
    for port in (lab.root, *lab.leaves):
        port.close()
    return lab.start()


def wide(slots=128, payload=LIMIT):
    return ["--slots", str(slots), "--payload", str(payload)]


def reduced(lab, *arguments, operator="wide-mix", iterations=84, **shape):
    return all_hosts(lab, *wide(**shape), "--operators", operator, *arguments, iterations=iterations)


def test_every_operator_is_exact_in_wide_frames(lab):
    # Hosts of a busy machine are late by more than the usual timer.
    switch = vector_star(lab, timer_us=1_000_000)
    reports = reduced(lab, "--elements", "3001", "--in-flight", "4")
    root = reports[0]
    assert root["payload"] == LIMIT and root["slots"] == 128
    # 42 kinds twice; of 3,001 elements of 1 to 40 bytes.
    assert root["statistics"]["injected"] > 84 * 3001 * 4 // LIMIT // 2, "vectors travel in wide frames"
    assert root["root_frames_per_reduction"] < 3, "the switch adds them up, unless hosts are late"
    assert lab.counters(switch)["leaf0.engine.host0.op_mismatches"] == 0


def test_short_vectors_and_long_ones_take_turns(lab):
    vector_star(lab, slots=16)
    for length in (1, 5, 9, 100):
        reduced(lab, "--elements", str(length), "--in-flight", "8", slots=16)


def test_vectors_stay_exact_when_ports_lose_duplicate_and_reorder(lab):
    faults = {"loss": 0.01, "duplicate": 0.01, "reorder": 0.02, "seed": 5}
    switch = vector_star(lab, 3, impairment=faults)
    reports = reduced(lab, "--elements", "20000", operator="sum-float,sum-int32,max-uint8", iterations=12)
    lost = sum(value for name, value in lab.counters(switch).items() if name.endswith(".drop.impaired"))
    assert lost > 20
    asked = sum(report["statistics"]["overdue"] for report in reports)
    assert asked > 0, "losses are found by what completes behind them"


def test_vectors_in_jumbo_frames(lab):
    vector_star(lab, 3, kind="af_packet", payload=8896, mtu=9000, longest_frame=9216)
    reports = reduced(lab, "--elements", "50000", operator="sum-float,min-uint64,repsum", iterations=9,
                      payload=8896)  # fmt: skip
    assert reports[0]["payload"] == 8896


def test_a_payload_beyond_the_mtu_is_refused_with_what_fits(lab):
    vector_star(lab)
    done = subprocess.run(
        ["ip", "netns", "exec", "h1", str(lab.binaries.host), "--interface", "eth0", "--tree", "7", "--rank", "1",
         "--size", "2", "--payload", "2816", "--slots", "64"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "payload of 2816 bytes" in done.stderr and "at most 1408" in done.stderr, done.stderr


def test_a_type_of_wide_frames_is_refused_in_a_group_without(lab):
    vector_star(lab)
    done = subprocess.run(
        ["ip", "netns", "exec", "h1", str(lab.binaries.host), "--interface", "eth0", "--tree", "7", "--rank", "0",
         "--size", "1", "--operators", "sum-float"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "wide frames" in done.stderr and "32 bytes" in done.stderr, done.stderr


def test_hosts_on_af_xdp_reduce_vectors(lab):
    vector_star(lab, 2)
    reduced(lab, "--elements", "10000", "--transport", "af_xdp", operator="sum-double,sum-bfloat16,xor-uint8",
            iterations=9)  # fmt: skip
