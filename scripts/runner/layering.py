#!/usr/bin/env python3
"""Who may use whom: holds the tree against the table of rooms, docs/develop/rooms.toml.

    scripts/runner/layering.py              says what the table does not allow, or what it has too much
    scripts/runner/layering.py --picture    draws the house as docs/develop/building.md has it
    scripts/runner/layering.py --stamp F    for the build: makes F if nothing is wrong, and F.d, what it read

Reads #include lines, namespaces and the dependencies in meson.build; needs no build and no compiler.
The head of the table says what its keys mean.
"""

import argparse
import os
import re
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

TABLE = "docs/develop/rooms.toml"
PAGE = "docs/develop/building.md"
PICTURE = re.compile(r"(<!-- the house: begin -->\n```\n)(.*?)(```\n<!-- the house: end -->)", re.DOTALL)
SOURCES = (".hpp", ".cpp", ".h", ".c")
KEYS = {"is", "pure", "namespace", "uses", "with", "below", "until"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.MULTILINE)
# An include that cannot be resolved: a macro instead of a file.
MACRO_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]+(?![<\"])([^\n]*)", re.MULTILINE)
# A source that meson compiles for another folder's target.
FOREIGN_SOURCE = re.compile(r"'((?:[\w.\-]+/|\.\./)*[\w.\-]+\.(?:cpp|c))'")
NAMESPACE = re.compile(r"^(?:inline )?namespace (tributary[\w:]*|[a-z]\w*) \{", re.MULTILINE)
ONLY_DECLARED = re.compile(r"\s*(?:(?:class|struct|enum class) [\w: ]+;\s*)+\}")
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"' r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.DOTALL
)
# What the standard library allows without an include that reveals it.
IMPURE_CALLS = {
    r"_clock::now\b": "reads a clock",
    r"\bclock_gettime\b|\bgettimeofday\b|\bstd::time\(|\b__rdtsc\b": "reads a clock",
    r"\brandom_device\b": "takes randomness from the system",
    r"\bgetenv\b": "reads the environment",
    r"\bstd::this_thread\b|\bthread_local\b": "has to do with threads",
    r"\bstd::system\(|\bf?printf\(|\bfopen\(": "reaches the system",
    r"\bstd::execution\b": "runs threads",
}


# C headers are our API; elsewhere this names a function that no include reveals.
EXTERN = re.compile(r"\bextern\b(?!\s+template\b)")


class BadTable(Exception):
    """The table cannot be read at all."""


@dataclass
class Room:
    name: str
    line: int  # of the table
    what: str
    pure: bool
    namespace: str
    uses: list
    outside: list
    below: bool  # its sub-folders belong to it
    until: dict  # room used for now -> the reason
    anything: bool = False
    used: set = field(default_factory=set)
    reached: set = field(default_factory=set)
    files: list = field(default_factory=list)


@dataclass
class Include:
    line: int
    name: str
    file: object = None  # in the tree, or
    outside: object = None  # a name of [outside]; "standard" needs no permission


class Table:
    def __init__(self, text):
        try:
            read = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise BadTable(f"{TABLE}: not valid TOML: {error}") from None
        lines = {m[1]: text.count("\n", 0, m.start()) + 1
                 for m in re.finditer(r'^\[rooms\."([^"]+)"\]', text, re.MULTILINE)}
        self.outside = {name: (entry["headers"], entry["pure"])
                        for name, entry in read.get("outside", {}).items()}
        self.rooms = {}
        for name, entry in read["rooms"].items():
            line = lines.get(name, 1)
            unknown, missing = set(entry) - KEYS, {"is", "uses"} - set(entry)
            if unknown or missing:
                word = f"unknown keys {sorted(unknown)}" if unknown else f"no {sorted(missing)}"
                raise BadTable(f"{TABLE}:{line}: room {name}: {word}; the head of the table has the keys")
            anything = entry["uses"] == "*"
            self.rooms[name] = Room(
                name, line, entry["is"], entry.get("pure", False), entry.get("namespace", ""),
                [] if anything else entry["uses"], entry.get("with", []), entry.get("below", False),
                entry.get("until", {}), anything,
            )

    def room_of(self, path):
        """The room of a file: the file itself (without its extension), its folder, or a folder
        above that includes everything below it."""
        for name in (os.path.splitext(path)[0], folder := os.path.dirname(path)):
            if name in self.rooms:
                return self.rooms[name]
        while folder := os.path.dirname(folder):
            if folder in self.rooms and self.rooms[folder].below:
                return self.rooms[folder]
        return None

    def outside_of(self, header):
        best = max((prefix for prefixes, _ in self.outside.values() for prefix in prefixes
                    if header == prefix or prefix[-1] in "/_." and header.startswith(prefix)),
                   key=len, default=None)
        if best is not None:
            return next(name for name, (prefixes, _) in self.outside.items() if best in prefixes)
        return "standard" if re.fullmatch(r"[a-z0-9_]+|std\w+\.h", header) else None

    def below_of(self, room):
        """All rooms that a room may use, directly or not."""
        seen, ahead = set(), [room.name]
        while ahead:
            for name in [*self.rooms[(at := ahead.pop())].uses, *self.rooms[at].until]:
                if name in self.rooms and name not in seen:
                    seen.add(name)
                    ahead.append(name)
        return seen

    def levels(self):
        """The level of each room: 0 uses none, every other is one above the highest that it
        uses."""
        height = {}

        def of(name, above=()):
            if name in above or name not in self.rooms:
                return -1
            if name not in height:
                height[name] = 1 + max((of(u, (*above, name)) for u in self.rooms[name].uses), default=-1)
            return height[name]

        for name in self.rooms:
            of(name)
        return height


class Tree:
    """The sources of a tree, read once."""

    def __init__(self, root, names):
        self.root = Path(root)
        self.names = {n for n in names if n.endswith(SOURCES)}
        # The build's output for a template counts as beside it.
        self.made = {n.removesuffix(".in") for n in names if n.endswith(".in") and n[:-3].endswith(SOURCES)}
        self.folders = {os.path.dirname(n) for n in self.names}
        self.builds = sorted(n for n in names if os.path.basename(n) == "meson.build")
        self.texts = {}

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_text(errors="replace")
        return self.texts[name]

    def bare(self, name):
        """The text without comments and literals, with line numbers kept."""
        return COMMENT_OR_TEXT.sub(lambda m: "\n" * m[0].count("\n"), self.text(name))

    def find(self, name, header):
        for place in (header, os.path.normpath(os.path.join(os.path.dirname(name), header)), "include/" + header):
            if place in self.names or place in self.made:
                return place
        return None

    def includes(self, name, table):
        text = self.text(name)
        for match in INCLUDE.finditer(text):
            header = match[1] or match[2]
            include = Include(text.count("\n", 0, match.start()) + 1, header, self.find(name, header))
            if include.file is None:
                include.outside = table.outside_of(header)
            yield include


class Check:
    def __init__(self, tree, table):
        self.tree, self.table, self.problems = tree, table, []
        self.includes = {n: list(tree.includes(n, table)) for n in sorted(tree.names)}
        self.impure = {}  # file -> why, as a chain, or None

    def say(self, place, what, rule, remedy):
        self.problems.append(f"{place}: {what}\n    rule: {rule}\n    do:   {remedy}")

    def at(self, room):
        return f"{TABLE}:{room.line}"

    def check_table(self):
        for room in self.table.rooms.values():
            home = [n for n in self.tree.names if self.table.room_of(n) is room]
            room.files = sorted(home)
            if not home:
                self.say(self.at(room), f"the room {room.name} is not there",
                         "every room of the table is a folder with sources, or one file without its extension",
                         "take it out of the table, or correct its name")
            for name in [*room.uses, *room.until, room.name]:
                if name not in self.table.rooms or name == room.name and name in room.uses:
                    self.say(self.at(room), f"{room.name} uses {name}, which is no other room of the table",
                             "rooms use rooms", "correct the name, or add the room")
            for name in room.outside:
                if name not in self.table.outside:
                    self.say(self.at(room), f"{room.name} is with {name}, which [outside] does not have",
                             "what is not ours has a name in [outside]", "correct the name, or add it there")
                elif room.pure and not self.table.outside[name][1]:
                    self.say(self.at(room), f"{room.name} is pure and is with {name}", "pure rooms use nothing impure",
                             "move what needs it to a room that is not pure")
            for name in room.uses:
                if room.pure and name in self.table.rooms and not self.table.rooms[name].pure:
                    self.say(self.at(room), f"{room.name} is pure and uses {name}, which is not",
                             "a pure room uses pure rooms only", "move what both need into a pure room below")
        self.check_circles()
        self.check_shared_namespaces()

    def check_shared_namespaces(self):
        """A namespace belongs to one room; a file that is a room of its own may keep its
        folder's."""
        first = {}
        for room in self.table.rooms.values():
            if not room.namespace:
                continue
            other = first.setdefault(room.namespace, room)
            if self.folder_of(other) != self.folder_of(room):
                self.say(self.at(room), f"{room.name} has the namespace of {other.name}, {room.namespace}",
                         "two rooms share a namespace only if they are one folder and files of it",
                         "give it a namespace that says the room")

    def folder_of(self, room):
        return room.name if room.name in self.tree.folders else os.path.dirname(room.name)

    def check_circles(self):
        done, reported = set(), set()

        def visit(name, way):
            if name in way:
                circle = way[way.index(name):]
                if frozenset(circle) not in reported:
                    reported.add(frozenset(circle))
                    self.say(self.at(self.table.rooms[name]), "a circle: " + " -> ".join([*circle, name]),
                             "arrows point down", "move what both need into a room of its own, below both")
                return
            if name in done or name not in self.table.rooms:
                return
            for used in self.table.rooms[name].uses:
                visit(used, [*way, name])
            done.add(name)

        for name in self.table.rooms:
            visit(name, [])

    def check_file(self, name):
        room = self.table.room_of(name)
        if room is None:
            folder = os.path.dirname(name) or "."
            self.say(f"{name}:1", "is in no room", "every source belongs to a room of the table",
                     f'move it into a room, or add [rooms."{folder}"] to {TABLE}')
            return
        for macro in MACRO_INCLUDE.finditer(self.tree.text(name)):
            self.say(f"{name}:{self.tree.text(name).count(chr(10), 0, macro.start()) + 1}",
                     f"includes what the macro {macro[1].strip()} says", "an include names a file",
                     "name the file; choose between files with #if")
        for include in self.includes[name]:
            if include.file is not None:
                self.check_edge(name, room, include)
            else:
                self.check_outside(name, room, include)
        if room.pure:
            self.check_purity(name, room)
        if room.namespace and name.endswith((".hpp", ".cpp")):
            self.check_namespace(name, room)

    def check_edge(self, name, room, include):
        other = self.table.room_of(include.file)
        if other is None or other is room or room.anything:
            return
        room.used.add(other.name)
        if other.name not in room.uses and other.name not in room.until:
            may = ", ".join(room.uses) or "no other room"
            upward = room.name in self.table.below_of(other)
            self.say(f"{name}:{include.line}", f'includes "{include.name}", which is in {other.name}',
                     f"{room.name} may use {may}",
                     f"{other.name} uses {room.name}: move what both need into a room below both" if upward
                     else f'do without it, move it down, or allow it: uses of [rooms."{room.name}"], {TABLE}:{room.line}')

    def check_outside(self, name, room, include):
        place = f"{name}:{include.line}"
        if include.outside is None:
            if include.name.startswith(tuple(f + "/" for f in self.tree.folders if f and "/" not in f)):
                self.say(place, f"includes {include.name}, which is not in the tree",
                         "includes name files from the root, or from include/", "correct the path")
            elif not room.anything:
                self.say(place, f"includes <{include.name}>, which is not in the table", "what is not ours is in [outside]",
                         f"add it to a line of [outside] in {TABLE}")
            return
        room.reached.add(include.outside)
        if include.outside != "standard" and not room.anything and include.outside not in room.outside:
            pure = room.pure and not self.table.outside[include.outside][1]
            self.say(place, f"includes <{include.name}>, that is {include.outside}",
                     f"{room.name} is pure" if pure
                     else f"{room.name} is with {', '.join(room.outside) or 'nothing from outside'}",
                     "move what needs it to a room that is not pure" if pure
                     else f'do without it, or allow it: with of [rooms."{room.name}"], {TABLE}:{room.line}')

    def why_impure(self, name, above=()):
        """What makes a file impure, as a chain of includes; None when nothing does."""
        if name in self.impure or name in above or name not in self.includes:
            return self.impure.get(name)
        why = None
        bare = self.tree.bare(name)
        for pattern, word in IMPURE_CALLS.items():
            if found := re.search(pattern, bare):
                why = why or f"{name}:{bare.count(chr(10), 0, found.start()) + 1} {word} ({found[0].strip('(')})"
        if not name.endswith(".h") and (found := EXTERN.search(bare)):
            line = bare.count(chr(10), 0, found.start()) + 1
            why = why or f"{name}:{line} declares what is elsewhere, such as a system call (extern)"
        for include in self.includes[name]:
            if why:
                break
            if include.file is not None:
                further = self.why_impure(include.file, (*above, name))
                why = further and f"{name}:{include.line} -> {further}"
            elif include.outside in self.table.outside and not self.table.outside[include.outside][1]:
                why = f"{name}:{include.line} <{include.name}> ({include.outside})"
        self.impure[name] = why
        return why

    def check_purity(self, name, room):
        why = self.why_impure(name)
        if not why:
            return
        # Reported once: where the chain leaves the pure rooms, and not again as a forbidden
        # include.
        first, _, rest = why.partition(" -> ")
        if rest and (inner := self.table.room_of(rest.split(":")[0])) and inner.pure:
            return
        if not rest and "<" in first and not any(f"({name})" in first for name in room.outside):
            return
        place = first.split(" ")[0]
        self.say(place, f"is not pure: {why}",
                 f"{room.name} is pure: no socket, thread, clock, file, environment, also through headers",
                 "hand it in from outside, or move it to a room that is not pure")

    def check_namespace(self, name, room):
        bare = self.tree.bare(name)
        all_spaces = {r.namespace for r in self.table.rooms.values() if r.namespace}
        for match in NAMESPACE.finditer(bare):
            space = match[1]
            if not space.startswith("tributary"):
                continue
            # Within the room's namespace, and not within another room's nested one.
            around = [s for s in all_spaces if space == s or space.startswith(s + "::")]
            if max(around, key=len, default="") == room.namespace:
                continue
            theirs = {self.table.rooms[u].namespace for u in self.table.below_of(room)}
            if room.anything or space in theirs and ONLY_DECLARED.match(bare, match.end()):
                continue
            line = bare.count("\n", 0, match.start()) + 1
            self.say(f"{name}:{line}", f"opens namespace {space}", f"{room.name} is namespace {room.namespace}",
                     "use the room's namespace; of rooms that it uses, classes may be declared and nothing else")

    def check_spare(self):
        for room in self.table.rooms.values():
            if not room.files:
                continue
            for name in [*room.uses, *room.until]:
                if name in self.table.rooms and name not in room.used:
                    self.say(self.at(room), f"{room.name} does not use {name}", "the table says what is, and no more",
                             "take it out of the room's " + ("uses" if name in room.uses else "until"))
            for name in room.outside:
                if name in self.table.outside and name not in room.reached:
                    self.say(self.at(room), f"{room.name} is not with {name}", "the table says what is, and no more",
                             "take it out of the room's with")

    def check_builds(self):
        """A room may use what it links, directly or through others."""
        home = {}
        texts = {name: re.sub(r"#[^\n]*", "", self.tree.text(name)) for name in self.tree.builds}
        for name, text in texts.items():
            for variable in re.findall(r"^\s*(\w+_(?:dep|lib)) = ", text, re.MULTILINE):
                home[variable] = os.path.dirname(name)
        for name, text in texts.items():
            room = self.table.rooms.get(os.path.dirname(name))
            if room is None or room.anything:
                continue
            near = {room.name, *(n for n in self.table.rooms if n.startswith(room.name + "/"))}
            may = near.union(*(self.table.below_of(self.table.rooms[n]) for n in near))
            for number, line in enumerate(text.splitlines(), 1):
                for source in FOREIGN_SOURCE.findall(line):
                    path = os.path.normpath(os.path.join(os.path.dirname(name), source))
                    theirs = self.table.room_of(path) if path in self.tree.names else None
                    if theirs is not None and theirs.name not in near:
                        self.say(f"{name}:{number}", f"compiles {path} of {theirs.name}",
                                 "a source is compiled by its room", f"link what {theirs.name} makes of it")
                for variable in re.findall(r"\b\w+_(?:dep|lib)\b", line):
                    other = home.get(variable)
                    inside = [n for n in self.table.rooms if n == other or n.startswith(f"{other}/")]
                    if inside and not may.intersection(inside):
                        self.say(f"{name}:{number}", f"links {variable} of {other}",
                                 f"nothing that {room.name} uses is there", "take it out of the dependencies")

    def check_picture(self):
        page = self.tree.root / PAGE
        if not page.exists():
            return
        found = PICTURE.search(page.read_text())
        if found is None or found[2] != picture(self.table):
            self.say(f"{PAGE}:1", "the picture of the house is not the table's", "the picture is drawn from the table",
                     "scripts/runner/layering.py --picture")

    def run(self):
        self.check_table()
        for name in sorted(self.tree.names):
            self.check_file(name)
        self.check_spare()
        self.check_builds()
        self.check_picture()
        return self.problems


COLUMNS = ("dataplane", "controlplane", "endpoint", "pktgen", "tools")


def picture(table):
    """The rooms by height, the highest first; a column for each part of the house, and one for the
    shared parts. Pure rooms carry a star; tests and benchmarks, which may use everything, are left
    out."""
    levels = table.levels()
    rows = []
    for level in range(max(levels.values()), -1, -1):
        cells = {column: [] for column in (*COLUMNS, "")}
        for name, room in table.rooms.items():
            if levels[name] == level and not room.anything:
                part, _, short = name.partition("/")
                part = part if part in COLUMNS else ""
                cells[part].append(((short or name) if part else name) + ("*" if room.pure else ""))
        for i in range(max(map(len, cells.values()))):
            rows.append([cell[i] if i < len(cell) else "" for cell in cells.values()])
        rows.append(None)
    rows.pop()
    heads = [*COLUMNS, "for all"]
    widths = [max(len(row[c]) for row in [heads, *filter(None, rows)]) + 2 for c in range(len(heads))]
    lines = ["".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() if row else ""
             for row in [heads, None, *rows]]
    return "\n".join(lines) + "\n"


def problems(root, names):
    """The violations in a tree, a text each. `names`: all its files, relative to the root."""
    try:
        table = Table((Path(root) / TABLE).read_text())
    except BadTable as error:
        return [str(error)]
    return Check(Tree(root, names), table).run()


def listed(root):
    from style import project_files

    return [path.relative_to(root).as_posix() for path in project_files(root)]


def stamp(file, root, names):
    """Records for ninja that the tree is in order, and the files whose change requires another
    check."""
    read = [str(root / name) for name in names if name.endswith((*SOURCES, "meson.build")) or name in (TABLE, PAGE)]
    Path(f"{file}.d").write_text(f"{file}: {' '.join(name.replace(' ', chr(92) + ' ') for name in read)}\n")
    file.touch()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--picture", action="store_true", help=f"draw the house in {PAGE}")
    parser.add_argument("--stamp", type=Path, metavar="F", help="the file that says so to the build")
    options = parser.parse_args()
    if options.picture:
        page = options.root / PAGE
        drawn = picture(Table((options.root / TABLE).read_text()))
        page.write_text(PICTURE.sub(lambda m: m[1] + drawn + m[3], page.read_text()))
        return 0
    names = listed(options.root)
    found = problems(options.root, names)
    if options.stamp and not found:
        stamp(options.stamp, options.root, names)
        return 0
    print("\n".join(found) or "every include is allowed, and every arrow of the table is used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
