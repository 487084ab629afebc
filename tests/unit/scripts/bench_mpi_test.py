"""bench/mpi: the evaluation of its turns, for plain MPI and the preloaded program."""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench" / "mpi")]

import comparison  # noqa: E402
from comparison import Turn  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402
from tributary.mpi_nodes import processors_of  # noqa: E402


def test_stand_in_nodes_share_the_processors_evenly():
    assert processors_of(3, {0, 1}) == [{0}, {1}, {0}]
    assert processors_of(2, {0, 1}) == [{0}, {1}]
    assert processors_of(2, {1, 3, 4, 6, 7}) == [{1, 3}, {4, 6, 7}]
    assert processors_of(4, {5}) == [{5}] * 4
    for nodes in range(1, 20):
        shares = processors_of(nodes, set(range(8)))
        times = [sum(cpu in share for share in shares) for cpu in range(8)]
        assert max(times) - min(times) <= 1 and all(shares), shares


def near(a, b):
    return abs(a - b) < 1e-9


def test_a_ratio_is_that_of_both_plain_runs():
    assert near(comparison.ratio(Turn(40, 20)), 2)
    assert near(comparison.ratio(Turn(90, 60, 40)), 1), "the geometric mean of 90 and 40 is 60"
    found = comparison.compared([Turn(90, 60, 40), Turn(100, 50, 100), Turn(100, 25, 100)])
    assert near(found["ratio"], 2) and near(found["least_ratio"], 1) and near(found["plain_us"], 100)
    assert near(found["control_ratio"], 1) and near(found["greatest_control_ratio"], 90 / 40)
    assert not found["is_below"] and not found["is_slower"]


def test_a_program_that_is_slower_in_every_turn_is_slower_from_five_turns_on():
    for turns, chance in ((1, 1 / 3), (3, 1 / 27), (4, 1 / 81), (5, 1 / 243), (7, 1 / 2187)):
        found = comparison.compared([Turn(100, 120, 101)] * turns)
        assert near(found["chance"], chance), found
        assert found["is_below"] and found["is_slower"] == (turns >= 5), found


def test_times_that_scatter_by_as_much_with_plain_mpi_alone_prove_nothing():
    turns = [Turn(76, 100, 94), Turn(100, 80, 90), Turn(80, 104, 110), Turn(110, 98, 75), Turn(70, 90, 100)]
    found = comparison.compared(turns)
    assert found["is_below"] and not found["is_slower"] and found["chance"] > 0.1, found
    assert "within what plain MPI differs from itself" in comparison.said(found)


def test_a_small_difference_counts_where_plain_mpi_hardly_differs_from_itself():
    turns = [Turn(100, 108, 100.5), Turn(101, 107, 100), Turn(99, 106, 100), Turn(100, 107, 101), Turn(101, 108, 101)]
    found = comparison.compared(turns)
    assert found["is_slower"], found
    assert "slower than plain MPI differs from itself" in comparison.said(found)
    # The goal is 0.95: a smaller slowdown is ignored even if certain.
    found = comparison.compared([Turn(100, 103, 100)] * 7)
    assert found["chance"] < 0.01 and not found["is_below"] and not found["is_slower"]


def test_a_turn_that_something_disturbed_does_not_make_a_program_slower():
    for turns in (3, 7):
        found = comparison.compared([Turn(100, 900, 100)] + [Turn(100, 100, 100)] * (turns - 1))
        assert not found["is_below"] and found["chance"] > 0.3, found


def test_where_preloading_changes_nothing_few_points_seem_slower():
    draw = random.Random(7)
    points = 400
    found = [comparison.compared([Turn(*(draw.lognormvariate(0, 0.2) for _ in range(3))) for _ in range(5)])
             for _ in range(points)]  # fmt: skip
    below = sum(point["is_below"] for point in found)
    slower = sum(point["is_slower"] for point in found)
    assert below > points / 5, "the test has no force"
    assert 0 < slower <= 0.03 * points, slower


def test_more_turns_than_can_be_enumerated_are_drawn_and_say_nearly_the_same():
    nine = comparison.chance([Turn(100, 104, 103), Turn(100, 99, 104), Turn(100, 105, 97)] * 3)
    twelve = comparison.chance([Turn(100, 104, 103), Turn(100, 99, 104), Turn(100, 105, 97)] * 4)
    assert comparison.chance([Turn(100, 104, 103), Turn(100, 99, 104), Turn(100, 105, 97)] * 4) == twelve
    assert 0 < twelve < nine < 2 * twelve, (nine, twelve)


def test_without_a_control_every_point_below_the_goal_counts():
    found = comparison.compared([Turn(90, 100), Turn(95, 100), Turn(92, 100)])
    assert found["is_slower"] and found["chance"] is None and "control_ratio" not in found
    assert comparison.said(found) == "no control"


def test_each_run_is_first_second_and_last_equally_often():
    orders = [comparison.order(turn) for turn in range(6)]
    assert orders[:3] == orders[3:]
    for place in range(3):
        assert sorted(runs[place] for runs in orders[:3]) == ["control", "plain", "preloaded"], orders


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("bench_mpi.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("bench_mpi")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"bench_mpi.{short}"):
            with report.case("bench_mpi", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
