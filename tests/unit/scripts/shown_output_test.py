"""tests/docs: links of a page (pages.py), and what a page shows against what a command prints (shown.py)."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "docs")]

import pages  # noqa: E402
import shown  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

TREE = """\
the tree:

tree 1 of demonstration/demo
h0  (root)
└─ leaf0  (port 0 up, waits for 16)
   ├─ 1: h1
   └─ 4: spine0  (port 0 up, waits for 12)
  allreduces per second              2,792 armed, 2,611 disarmed
  the cut uplink                     a new tree was in force 14 ms after the cut
""".splitlines()


def test_what_is_printed_may_be_shown_in_part():
    assert shown.missing(["h0  (root)", "└─ leaf0  (port 0 up, waits for 16)"], TREE) is None
    assert shown.missing(["h0  (root)", "...", "   └─ 4: spine0  (port 0 up, waits for 12)"], TREE) is None
    assert shown.missing(["tree 1 of <job>/demo"], TREE) is None


def test_lines_that_are_left_out_need_dots():
    assert shown.missing(["h0  (root)", "   ├─ 1: h1"], TREE) == "   ├─ 1: h1"


def test_small_integers_are_compared():
    assert shown.missing(["└─ leaf0  (port 0 up, waits for 15)"], TREE) == "└─ leaf0  (port 0 up, waits for 15)"


def test_figures_are_not_compared():
    assert shown.missing(["  allreduces per second   9,137 armed, 12,611 disarmed"], TREE) is None
    assert shown.missing(["  the cut uplink   a new tree was in force 1.2 s after the cut"], TREE) is None
    assert shown.missing(["up for 3.2 s"], ["up for 900 ms"]) is None
    assert shown.missing(["2026-11-23T12:00:01.250Z installed"], ["2026-11-29T08:12:40.001Z installed"]) is None


def test_words_are_compared():
    assert shown.missing(["  allreduces a second   9,137 armed, 12,611 disarmed"], TREE)
    assert shown.missing(["h0  (leaf)"], TREE) == "h0  (leaf)"
    assert shown.missing(["anything"], []) == "anything"
    assert shown.missing([], []) is None


DRAWN = """\
tree 5 of j1/demo
h0  (root)
└─ leaf0  (port 0 up, waits for 4)
   ├─ 1: h1
   └─ 4: spine  (port 0 up, waits for 2)
      └─ 1: leaf1  (port 4 up, waits for 2)
         ├─ 0: h2
         └─ 1: h3
""".splitlines()


def test_wait_counts_of_drawn_trees_add_up():
    assert shown.waits_wrongly(DRAWN) is None
    assert shown.waits_wrongly([line.replace("for 4", "for 3") for line in DRAWN]) == "└─ leaf0  (port 0 up, waits for 3)"
    assert "leaf0" in shown.waits_wrongly(DRAWN[:-1]), "a host is gone"
    assert shown.waits_wrongly([*DRAWN[:-2], "         ..."]) is None, "what is left out is not counted"


def test_headings_of_tables_are_found():
    assert shown.headings(["PORT   LINK  MBIT/S", "host0  up     10000", "A note"]) == ["PORT   LINK  MBIT/S"]


def read(text):
    path = ROOT / "docs" / "of-this-test.md"
    page = pages.Page.__new__(pages.Page)
    page.path, page.name, page.lines = path, "of-this-test.md", text.split("\n")
    page.blocks, page.prose, page.wrong = [], [], []
    page._read()
    return page


def test_each_command_of_a_console_has_its_lines():
    page = read("```console\n$ one \\\n  two\nof one\n$ three\nof three\n...\n```\n")
    assert page.blocks[0].steps == [("one \\\n  two", ["of one"]), ("three", ["of three", "..."])], page.blocks[0].steps
    assert page.blocks[0].commands == "one \\\n  two\nthree"


def test_a_block_shows_what_the_one_above_prints():
    page = read("```sh\nscripts/demo\n```\n\n<!-- printed above -->\n```\nh0  (root)\n```\n")
    assert not page.wrong and page.blocks[0].steps == [("scripts/demo", ["h0  (root)"])]
    assert read("<!-- printed above -->\n```\nh0\n```\n").wrong, "above it there is no command"
    assert read("```sh\na\n```\n<!-- printed above -->\n\ntext\n").wrong, "the mark stands before no block"


def test_an_example_gives_its_reason():
    page = read("<!-- needs a fabric -->\n<!-- an example: with traffic -->\n```console\n$ a\nB  C\n```\n")
    assert not page.wrong and page.blocks[0].example and page.blocks[0].mark == "needs a fabric"
    assert read("<!-- an example -->\n```console\n$ a\nB\n```\n").wrong


PAGE = """\
# A page

A link whose text [goes on in
the next line](first.md), and one [in a line](second.md#there); no link is `[code](not.md)`, nor `one that
[wraps](not.md)`.

* [in a list](third.md)
* an ![image
of two lines](picture.svg)

```
[in a block](not.md)
```
[below it](fourth.md)
"""


def test_links_are_found_with_the_line_where_they_begin():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.md"
        path.write_text(PAGE, encoding="utf-8")
        root, pages.ROOT = pages.ROOT, Path(folder)
        try:
            links = list(pages.Page(path).links())
        finally:
            pages.ROOT = root
    assert links == [(3, "first.md"), (4, "second.md#there"), (7, "third.md"), (8, "picture.svg"), (14, "fourth.md")], links


def main():
    tests = [(n.removeprefix("test_"), f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("shown_output.", *(f"  {name}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("shown_output")
    for name, function in tests:
        if wanted(f"shown_output.{name}"):
            with report.case("shown_output", name):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
