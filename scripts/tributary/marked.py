"""The parts of a page that a command writes. They stand between two comments that name the command, and only they
are replaced; everything else on the page is written by hand and stays:

    <!-- made by bench/scale/figures -->
    ...
    <!-- end of bench/scale/figures -->

    marked.write(page, {"bench/scale/figures": text})
"""

from pathlib import Path


class Unmarked(Exception):
    """The page has no such part; the text says what to write into it."""


def _borders(command):
    return f"<!-- made by {command} -->", f"<!-- end of {command} -->"


def replaced(page, command, text, name="the page"):
    """`page` with `text` as the part of `command`. Raises Unmarked unless the part is there exactly once."""
    begin, end = _borders(command)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise Unmarked(f"{name} has no part of {command}: write '{begin}' and '{end}' once, each on a line of its own, "
                       "where it belongs")
    before, rest = page.split(begin)
    return before + begin + "\n\n" + text.strip() + "\n\n" + end + rest.split(end)[1]


def write(path, parts):
    """Replaces the parts {command: text} of the file; leaves it as it is if one of them is not there."""
    path = Path(path)
    page = path.read_text(encoding="utf-8")
    for command, text in parts.items():
        page = replaced(page, command, text, path)
    path.write_text(page, encoding="utf-8")
