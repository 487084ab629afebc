"""scripts/tributary/marked.py, and bench/compare's page: a command replaces its own parts of a page and nothing else."""

import sys
import tempfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench" / "compare" / "lib")]

from compare import page, plot  # noqa: E402
from tributary import marked  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

PAGE = """\
# Side by side

By hand: | a | table |

<!-- made by bench/compare/unicast -->

old

<!-- end of bench/compare/unicast -->

More by hand.

<!-- made by bench/compare/scaling -->

another command's

<!-- end of bench/compare/scaling -->
"""
UNICAST = {
    "comparison": "unicast", "command": "bench/compare/unicast --quick", "versions": {"dpdk": "22.11"},
    "machine": {"date": "2026-11-29", "cpu": "a processor", "cpus": 2, "tsc_mhz": 2596, "memory_gib": 4, "pages": "2 MiB",
                "kernel": "6.1", "system": "Debian", "load": 0.1},
    "points": [{"bytes": 64, "destinations": 1, "ratio": {"median": 0.75, "min": 0.7, "max": 0.8},
                "frames_per_second": {name: {"median": 28e6, "min": 27e6, "max": 29e6} for name in ("tributary", "testpmd-macswap")},
                "cycles_per_frame": {"tributary": 92.0, "testpmd-macswap": 64.0}}],
    "goals": [{"goal": "of testpmd", "aim": 0.7, "reached": 0.75}],
}


def refusal(text, command="a/command"):
    try:
        marked.replaced(text, command, "new", "page.md")
    except marked.Unmarked as refused:
        return str(refused)
    raise AssertionError("it was taken")


def test_a_part_is_replaced_and_the_rest_stays():
    new = marked.replaced(PAGE, "bench/compare/unicast", "\nnew\n\n")
    assert new == PAGE.replace("\nold\n", "\nnew\n")
    assert marked.replaced(new, "bench/compare/unicast", "new") == new, "twice is once"


def test_a_page_without_the_part_is_refused_with_what_to_write():
    assert "<!-- made by a/command -->" in refusal(PAGE) and "page.md" in refusal(PAGE)
    assert "once" in refusal("<!-- made by a/command -->\n")
    assert "once" in refusal("<!-- end of a/command -->\n<!-- made by a/command -->\n")
    assert "once" in refusal("<!-- made by a/command -->\n<!-- end of a/command -->\n" * 2)


def test_a_file_is_left_as_it_is_if_a_part_is_missing():
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "page.md"
        file.write_text(PAGE)
        try:
            marked.write(file, {"bench/compare/unicast": "new", "bench/compare/all": "new"})
            raise AssertionError("it was taken")
        except marked.Unmarked:
            assert file.read_text() == PAGE


def test_comparisons_leave_what_is_written_by_hand():
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "benchmarks.md"
        file.write_text(PAGE)
        plots, plot.bars = plot.bars, lambda *_, **__: None
        try:
            page.PLOTS["unicast"] = lambda *_: None
            page.write([UNICAST], file, Path(place))
        finally:
            plot.bars = plots
        text = file.read_text()
        assert "By hand: | a | table |" in text and "More by hand." in text and "another command's" in text
        assert "old" not in text and "| 64 | 1 | 28.0 | 28.0 | 92 / 64 | **0.75** (0.70 to 0.80) |" in text, text
        assert "2026-11-29" in text and "goal" not in text


def test_every_part_that_a_command_writes_is_on_its_page():
    for name in ("replication", "reduction", "unicast", "allreduce", "scaling"):
        marked.replaced((ROOT / "docs/benchmarks.md").read_text(), f"bench/compare/{name}", "")
    for file, commands in {"rdma": ["bench/rdma --simulate", "bench/rdma --live"], "multicast": ["bench/multicast/figures"],
                           "scale": ["bench/scale/figures --only simulated", "bench/scale/figures --only compared"]}.items():
        for command in commands:
            marked.replaced((ROOT / "docs/benchmarks" / f"{file}.md").read_text(), command, "")


def test_figures_are_drawn_from_the_tables_of_their_pages():
    sys.dont_write_bytecode = True  # of a script without a suffix
    loader = SourceFileLoader("figures", str(ROOT / "bench" / "figures"))
    figures = module_from_spec(spec_from_loader("figures", loader))
    loader.exec_module(figures)
    for name, draw in figures.PAGES.items():
        _, _, categories, series = draw()
        assert len(categories) > 2 and all(len(values) == len(categories) for _, values in series), (name, categories)
        assert all(any(values) for _, values in series), (name, series)
        assert f"({name}.svg)" in (ROOT / "docs" / "benchmarks" / f"{name}.md").read_text(), f"{name}.md does not show its figure"
    assert figures.value("1.09 (0.80 to 1.18)") == (1.09, 0.8, 1.18) and figures.value("489 (1.30)") == (489, 489, 489)
    assert figures.value("8,019") == (8019, 8019, 8019) and figures.value("sat.") is None


def main():
    tests = [(n.removeprefix("test_"), f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("marked.", *(f"  {name}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("marked")
    for name, function in tests:
        if wanted(f"marked.{name}"):
            with report.case("marked", name):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
