"""Whether a command prints what a page shows of it.

Shown lines have to be printed as they stand, one after the other, in the order of the page. They differ in

    spaces           any number of them is one; empty lines do not count
    figures          numbers with a unit, decimals, thousands or more than four digits, and times: any other will do.
                     Small integers are compared: "waits for 16" is not "waits for 15"
    ...              alone: any lines; within a line: any text
    words in <...>   any word

What is printed before the first and after the last shown line does not matter.
"""

import re

UNITS = r"(?:ns|us|ms|s|min|h|%|B|[KMG]i?B|[kMG]?bit/s|[kM]?frames/s|k?op/s|[kM]B/s)"
FIGURE = (rf"\d{{4}}-\d\d-\d\d[T ][\d:.]+Z?|\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+\.\d+|\d{{5,}}|\d+(?= {UNITS}(?![\w/]))")
# Any figure, also where it is not followed by the same unit: 900 us may be 1.2 ms another time.
ANY_FIGURE = rf"(?:{FIGURE}|\d+)(?: {UNITS}(?![\w/]))?"
PART = re.compile(rf"(?P<gap>\.\.\.)|(?P<word><[\w -]+>)|(?P<figure>(?:{FIGURE})(?: {UNITS}(?![\w/]))?)|(?P<space>\s+)")


def pattern(line):
    """The regular expression of what may be printed for this shown line."""
    made, at = [], 0
    line = line.strip()
    for part in PART.finditer(line):
        made.append(re.escape(line[at : part.start()]))
        at = part.end()
        made.append({"gap": ".*", "word": r"\S+", "figure": ANY_FIGURE, "space": r"\s+"}[part.lastgroup])
    made.append(re.escape(line[at:]))
    return re.compile("".join(made))


def missing(shown, printed):
    """The first of the `shown` lines that is not printed where it should be; None if all are."""
    printed = [line.strip() for line in printed if line.strip()]
    shown = [line for line in shown if line.strip()]
    starts = range(len(printed)) if shown and shown[0].strip() != "..." else [0]
    furthest = -1
    for start in starts:
        found = _follow(shown, printed, start)
        if found is None:
            return None
        furthest = max(furthest, found)
    return shown[max(furthest, 0)] if shown else None


def _follow(shown, printed, at):
    """Compares from printed line `at` on; the index of the shown line that is not there, or None."""
    gap = False
    for index, line in enumerate(shown):
        if line.strip() == "...":
            gap = True
            continue
        wanted = pattern(line)
        while gap and at < len(printed) and not wanted.fullmatch(printed[at]):
            at += 1
        if at >= len(printed) or not wanted.fullmatch(printed[at]):
            return index
        at, gap = at + 1, False
    return None


def waits_wrongly(lines):
    """The first line of a drawn tree of a group by name whose wait count is not the number of hosts below it (and the
    root's own at the first switch); None if all are right. Switches below which lines are left out are not checked."""
    nodes, above = [], []  # nodes: [line, wait count, hosts below, whether all is drawn]
    for line in lines:
        if line.strip() == "...":
            for node in above:
                node[3] = False
            continue
        entry = re.match(r"^((?:   |│  )*)[├└]─ (?:\d+: )?(\S+)(?:  \(.*waits for (\d+)\))?$", line)
        if not entry:
            above = []
            continue
        depth = len(entry.group(1)) // 3
        above = above[:depth]
        if entry.group(3):
            above.append([line, int(entry.group(3)), 0 if depth else 1, True])
            nodes.append(above[-1])
        else:
            for node in above:
                node[2] += 1
    return next((line for line, count, hosts, whole in nodes if whole and count != hosts), None)


def headings(lines):
    """The lines that are headings of a table: columns in capitals. Those of an example are compared with what is printed
    if that has a table at all."""
    return [line for line in lines if re.fullmatch(r"[A-Z][A-Z0-9/ .-]*", line.strip()) and "  " in line.strip()]
