"""bench/visited reads callgrind's profiles: which file's lines executed how many instructions."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]

from tributary.cases import Cases, wanted  # noqa: E402

loader = importlib.machinery.SourceFileLoader("visited", str(ROOT / "bench/visited"))
visited = importlib.util.module_from_spec(importlib.util.spec_from_loader("visited", loader))
loader.exec_module(visited)

PROFILE = """\
positions: line
events: Ir
fl=(1) ../core/a.cpp
fn=(1) f
10 5
+1 3
fi=(2) /house/core/b.hpp
* 7
fe=(1)
-4 2
cfi=(3) ../core/c.cpp
cfn=(2) g
calls=1 20
12 100
13 1
fl=(3)
fn=(2)
20 96
fi=(9) /usr/include/x.h
3 4
totals: 118
"""


def test_each_files_own_instructions_are_counted_and_calls_are_not_counted_twice():
    counts = visited.instructions(PROFILE, Path("/house/build"), Path("/house"))
    assert counts == {"core/a.cpp": 11, "core/b.hpp": 7, "core/c.cpp": 96, "others": 4}


def test_files_with_less_than_the_share_are_left_out():
    rows = visited.table({"much": 990, "little": 9, "none": 1}, 0.005)
    assert rows[2:] == ["| `much` | 99.0% |", "| `little` | 0.9% |"]


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("visited.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("visited")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"visited.{short}"):
            with report.case("visited", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
