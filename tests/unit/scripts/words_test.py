"""The check of words: phrases are found where they count, and nowhere else."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/runner")]

import words  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

LIST = r"""
# a comment
\banew\b => again
{message}(^|[:;,] )there is no\b => "no ..."
{comment}^/// Of [a-z] => a sentence
"""


def found(files):
    """The problems of a small tree, given as path: text."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {"docs/develop/words.txt": LIST, **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return words.problems(root, list(files))


def places(problems):
    return [problem.split(":")[1] for problem in problems]


def test_a_phrase_is_found_in_messages_comments_and_pages():
    for path in ("room/a.cpp", "room/a.hpp", "endpoint/python/a.py", "docs/page.md"):
        text = {"md": "It starts anew.\n"}.get(path.split(".")[-1], 'say("it starts anew");  // anew\n')
        got = found({path: text if not path.endswith(".py") else 'say("it starts anew")  # anew\n'})
        assert got and all("write: again" in one for one in got), (path, got)


def test_identifiers_and_included_files_are_no_messages():
    assert not found({"room/a.cpp": '#include "room/anew.hpp"\nint anew = renew(anew);\n'})


def test_of_tests_only_comments_count():
    assert places(found({"tests/a.cpp": 'EXPECT_TRUE(x) << "anew";\n// once anew\n'})) == ["2"]


def test_a_slash_in_a_string_begins_no_comment():
    assert not found({"room/a.cpp": 'open("http://anew-host");\n'.replace("anew-host", "renewed")})
    assert places(found({"room/a.cpp": 'open("http://x/anew");\n'})) == ["1"]


def test_a_phrase_for_messages_is_allowed_elsewhere():
    assert places(found({"room/a.cpp": '// Where there is no path: there is no tree.\nfail("there is no tree");\n'})) == ["2"]


def test_a_docstring_is_no_genitive_fragment():
    assert places(found({"room/a.hpp": "/// Of all groups.\nint n;\n// Of these, one stays.\n"})) == ["1"]


def test_the_changelog_may_say_what_was():
    assert not found({"docs/changelog.md": "`anew` is now `again`.\n"})


def test_this_project_has_none():
    import style
    problems = style.check_words(style.project_files(ROOT))
    assert not problems, problems


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("words.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("words")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"words.{short}"):
            with report.case("words", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
