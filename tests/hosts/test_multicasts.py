"""Broadcasts, allgathers and reduce-scatters through libtributary over a switch whose tree is shared: every byte checked
at every host."""

from test_endpoint import all_hosts, host
from test_vectors import LIMIT, vector_star

CALLS = "broadcast,allgather"


def moved(lab, *arguments, operators=CALLS, iterations=20, slots=16, shared=True):
    return all_hosts(lab, "--slots", str(slots), "--payload", str(LIMIT), "--shared" if shared else "--no-shared",
                     "--operators", operators, *arguments, iterations=iterations)  # fmt: skip


def total(reports, name):
    return sum(report["multicasts"][name] for report in reports)


def test_each_chunk_is_sent_once_and_received_by_all_others(lab):
    switch = vector_star(lab, slots=16, shared=True, timer_us=1_000_000)
    reports = moved(lab, "--elements", "20000", "--in-flight", "2")
    assert all(report["shared"] for report in reports)
    assert total(reports, "chunks_received") == (len(reports) - 1) * total(reports, "chunks_sent")
    # 10 of 160,000 bytes from one host, and 10 from each.
    least = 10 * (1 + len(reports)) * 160_000 // LIMIT
    assert total(reports, "chunks_sent") >= least, "the data is multicast"
    assert total(reports, "wrong_source") == total(reports, "wrong_owner") == 0
    assert not any(value for name, value in lab.counters(switch).items() if name.endswith(".drop.not_shared"))


def test_short_and_long_calls_and_reductions_take_turns(lab):
    vector_star(lab, slots=16, shared=True)
    for elements in (1, 5, 129, 3000):
        moved(lab, "--elements", str(elements), "--in-flight", "4", operators=CALLS + ",sum-int64,barrier")


def test_bytes_stay_right_when_ports_lose_duplicate_and_reorder(lab):
    faults = {"loss": 0.01, "duplicate": 0.01, "reorder": 0.02, "seed": 5}
    vector_star(lab, 3, slots=16, shared=True, impairment=faults)
    reports = moved(lab, "--elements", "50000", iterations=12)
    assert total(reports, "chunks_resent") > 20, "chunks that were lost are sent again"
    assert total(reports, "rounds_with_holes") > 0


def test_each_block_of_a_reduce_scatter_goes_to_its_host_alone(lab):
    vector_star(lab, slots=32, shared=True, in_switch=True, timer_us=1_000_000)
    reports = moved(lab, "--in-switch-results", "--elements", "2000", "--in-flight", "2",
                    operators="reduce-scatter", slots=32)
    assert total(reports, "results") > 0, "the members have windows"
    assert total(reports, "pieces_sent") == len(reports) * total(reports, "results")
    assert total(reports, "wrong_result") == 0


def test_reduce_scatters_stay_right_beside_allgathers_when_ports_lose(lab):
    faults = {"loss": 0.01, "duplicate": 0.01, "reorder": 0.02, "seed": 7}
    vector_star(lab, 3, slots=64, shared=True, in_switch=True, impairment=faults)
    reports = moved(lab, "--in-switch-results", "--elements", "8000", "--in-flight", "4",
                    operators="reduce-scatter,allgather", slots=64, iterations=12)
    assert total(reports, "pieces_resent") > 0


def test_members_of_a_tree_that_is_not_shared_reduce(lab):
    vector_star(lab, 3, slots=16)
    reports = moved(lab, "--elements", "3000", operators=CALLS + ",reduce-scatter", shared=False)
    assert total(reports, "operations") == 0


def test_a_switch_whose_tree_is_not_shared_drops_them_by_name(lab):
    switch = vector_star(lab, 2, slots=16)
    children = [host(lab, rank, 3, "--slots", "16", "--payload", str(LIMIT), "--shared", "--operators", "broadcast",
                     "--member-timeout", "3s", iterations=1) for rank in range(3)]  # fmt: skip
    ended = [child.communicate(timeout=120) for child in children]
    assert any(child.returncode == 1 for child in children), ended
    drops = sum(value for name, value in lab.counters(switch).items() if name.endswith(".drop.not_shared"))
    assert drops > 0
