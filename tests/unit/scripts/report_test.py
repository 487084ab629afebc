"""bench/report: what it keeps of each benchmark's result, and the page that it makes of that."""

import json
import subprocess
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]

from tributary.cases import Cases, wanted  # noqa: E402

sys.dont_write_bytecode = True  # of a script without a suffix
loader = SourceFileLoader("report", str(ROOT / "bench" / "report"))
report = module_from_spec(spec_from_loader("report", loader))
loader.exec_module(report)


def spread(median):
    return {"median": median, "min": median - 0.1, "max": median + 0.1}


# The least of what each benchmark's --json has, and the cells that are kept of it: {(row, column): ratio}.
RESULTS = {
    "allreduce": ({"points": [{"hosts": 2, "operation": "barrier", "bytes": 0, "ratio": spread(0.2), "best_peer": "mpich",
                               "latency_us": {"tributary": spread(50), "mpich": spread(10), "openmpi": spread(12)}},
                              {"hosts": 4, "operation": "allreduce 1 KiB", "bytes": 1024, "latency_us": {"tributary": spread(50)}}]},
                  {("2 hosts", "barrier"): 0.2}),
    "mpi": ({"points": [{"nodes": 2, "ranks_per_node": 8, "operation": "allreduce", "bytes": 1024, "plain_us": 30.0,
                         "tributary_us": 10.0, "ratio": 3.0, "least_ratio": 2.5},
                        {"nodes": 16, "ranks_per_node": 1, "operation": "barrier", "bytes": 0, "plain_us": 30.0,
                         "tributary_us": 10.0, "ratio": 3.1, "least_ratio": 2.5}]},
            {("2 nodes x 8 ranks", "1 KiB"): 3.0, ("16 nodes", "barrier"): 3.1}),
    "vectors": ({"points": [{"mtu": 9000, "hosts": 4, "bytes": 1 << 20, "ratio": spread(0.7), "best_peer": "openmpi",
                             "latency_us": {"tributary": spread(3000), "openmpi": spread(2100)}}]},
                {("MTU 9,000, 4 hosts", "1 MiB"): 0.7}),
    "reduction": ({"points": [{"leaves": 16, "trees_installed": trees, "contributions_per_second": 38.3e6, "ratio": spread(ratio)}
                              for trees, ratio in ((2, 0.76), (8192, 0.85))]},
                  {("16 leaves", "few trees"): 0.76, ("16 leaves", "8,192 trees"): 0.85}),
    "replication": ({"points": [{"bytes": 64, "copies": 1, "ratio": spread(1.5), "copies_per_second": {"tributary": spread(37e6)}}]},
                    {("64 bytes", "1 copy"): 1.5}),
    "unicast": ({"points": [{"bytes": 64, "destinations": 1024, "ratio": spread(0.7), "frames_per_second": {"tributary": spread(26e6)}}]},
                {("64 bytes", "1,024 destinations"): 0.7}),
    "rdma": ({"points": [{"mtu": 1500, "loss": 0.01, "goodput": {"tributary": spread(2.7e9), "cubic": spread(0.5e9)},
                          "ratio_to": {"cubic": spread(5.4)}}]},
             {("MTU 1,500, 1.0% lost", "TCP, cubic"): 5.4}),
    "launch": ({"rows": [{"place": "nodes", "launcher": name, "ms": {"ready": ms, "ended": ms}, "ratio": {"ready": 660 / ms, "ended": 1.2}}
                         for name, ms in (("mpirun", 660), ("tributary-run", 500), ("tributary-run, fabric", 600))]},
               {("8 nodes", "until `MPI_Init` is over"): 1.32, ("8 nodes", "until the job has ended"): 1.2}),
}
MACHINE = {"cpu": "a processor", "cpus": 2, "kernel": "6.1", "system": "Debian", "load": 0.1}


def kept():
    return {name: read(RESULTS[name][0]) for name, *_, read in report.PARTS}


def test_each_benchmark_has_a_result_here():
    assert report.NAMES == list(RESULTS), "the list of this test and that of bench/report differ"


def test_cells_are_what_the_benchmarks_measured():
    for name, cells in kept().items():
        found = {(one["row"], one["column"]): one["ratio"]["median"] for one in cells}
        assert found == RESULTS[name][1], (name, found)


def test_the_page_shows_losses_as_it_shows_wins():
    text = report.part({"machine": MACHINE, "commit": "abc", "date": "2026-11-29", "quick": False, "parts": kept()})
    assert "| 2 hosts | 0.20 (50 / 10) |" in text, text
    assert "| 8 nodes | **1.32** (500 / 660) | **1.20** (500 / 660) |" in text, text
    figures = sum(len(cells) for cells in kept().values())
    assert f"Of {figures} figures 6 are in our favour, 5 in that of the peer." in text, text
    assert "commit abc, 2026-11-29" in text and "in short turns" not in text


def test_quick_options_take_the_place_of_others():
    assert report.merged(["a", "--turns", "5", "--nodes", "2"], ["--turns", "3"]) == ["a", "--nodes", "2", "--turns", "3"]
    assert report.merged(["a", "--hosts", "2"], ["--quick"]) == ["a", "--hosts", "2", "--quick"]


def test_a_benchmark_that_fails_leaves_the_page_as_it_is():
    with tempfile.TemporaryDirectory() as place:
        failing = Path(place) / "bench" / "mpi"
        failing.parent.mkdir()
        failing.write_text("#!/bin/sh\nexit 1\n")
        failing.chmod(0o755)
        options = type("Options", (), {"build": Path(place)})
        try:
            report.run(["build/bench/mpi"], options, Path(place) / "out.json")
            raise AssertionError("it was taken")
        except report.Failed as why:
            assert "build/bench/mpi ended with 1" in str(why)


def test_the_page_is_made_of_the_results_beside_it():
    page = ROOT / "docs" / "performance.md"
    results = json.loads((ROOT / "docs" / "benchmarks" / "report.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "performance.md"
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        report.write(results, copy)
        assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), \
            "run: bench/report --from docs/benchmarks/report.json"


def test_the_command_line_is_refused_with_what_to_do():
    done = subprocess.run([ROOT / "bench" / "report", "--build", "/nowhere"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "meson setup" in done.stderr, done.stderr
    done = subprocess.run([ROOT / "bench" / "report", "--list", "--quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == sum(len(part[3]) for part in report.PARTS), done.stdout


def main():
    tests = [(n.removeprefix("test_"), f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("report.", *(f"  {name}" for name, _ in tests), sep="\n")
        return 0
    cases = Cases("report")
    for name, function in tests:
        if wanted(f"report.{name}"):
            with cases.case("report", name):
                function()
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
