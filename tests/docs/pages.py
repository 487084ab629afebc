"""The contents of the documentation: blocks of commands with their marks, links, headings, options.

A block is fenced, and its language defines its kind:

    sh        commands, run unchanged, those of a page in order in one shell
    console   lines with "$ " are commands and run; the lines below each are what it prints (shown.py)
    text      not run; its options are checked

A comment above a block marks exceptions:

    <!-- needs a fabric -->      it runs where a manager and switches run (fabric.py)
    <!-- at night: REASON -->    it runs when .ci/nightly asks for it
    <!-- in a machine -->        the tier machines runs it in a guest with NICs (tests/machines)
    <!-- not run: REASON -->     it does not run, for this reason
    <!-- an example: REASON -->  another fabric printed what is shown: only headings of tables are compared
    <!-- printed above -->       before a block without a language: the commands of the block above print this
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(```+)(\S*)\s*$")
MARK = re.compile(r"^<!-- (needs a fabric|in a machine|at night|not run)(?:: (.+))? -->$")
EXAMPLE = re.compile(r"^<!-- an example(?:: (.+))? -->$")
PRINTED = "<!-- printed above -->"
COMMENT = re.compile(r"^<!--.*-->$")
LINK = re.compile(r"(?<!!)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$")
INLINE = re.compile(r"`([^`\n]+)`")
LANGUAGES = ("sh", "console")
# The beginning of a command of this project; such a line in a block without a language is an error.
OURS = re.compile(r"^(?:\$ )?(?:build/\S+/|bin/)?"
                  r"(tributary-(?:switch|fabricd|hostd|pktgen|run|sim|host)|tributaryctl|scripts/[a-z-]+"
                  r"|bench/[a-z/-]+|\.ci/[a-z]+)(?= |$)")


@dataclass
class Block:
    page: Path
    line: int  # of its first line
    language: str
    text: str
    mark: str  # "", or one of MARK's
    reason: str
    example: bool = False  # only headings of what is shown are compared
    printed: list = field(default_factory=list)  # lines that the block below shows

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def steps(self):
        """[(input of a shell, lines that it shows)]: each command of a console, otherwise the whole block."""
        if self.language != "console":
            return [(self.text, self.printed)]
        steps, taken = [], False
        for line in self.text.split("\n"):
            taken_before, taken = taken, line.startswith("$ ") or (taken and steps[-1][0].endswith("\\"))
            if taken and taken_before and not line.startswith("$ "):
                steps[-1] = (f"{steps[-1][0]}\n{line}", [])
            elif taken:
                steps.append((line.removeprefix("$ "), []))
            elif steps:
                steps[-1][1].append(line)
        return steps

    @property
    def commands(self):
        """The input of a shell."""
        return "\n".join(command for command, _ in self.steps)


class Page:
    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        self.lines = path.read_text(encoding="utf-8").split("\n")
        self.blocks, self.prose = [], []  # prose: (number, line) outside of blocks
        self.wrong = []
        self._read()

    def _read(self):
        opened, at, mark, example, printed = None, 0, ("", ""), False, False
        for number, line in enumerate(self.lines, 1):
            fence = FENCE.match(line)
            if opened is None and fence:
                opened, at = fence.group(2), number + 1
            elif opened is not None and fence and not fence.group(2):
                text = "\n".join(self.lines[at - 1 : number - 1])
                if printed and (opened or not self.blocks or self.blocks[-1].language != "sh"):
                    self.wrong.append(f"{self.name}:{at}: above what is printed there is no block of commands")
                elif printed:
                    self.blocks[-1].printed, self.blocks[-1].example = text.split("\n"), example
                self.blocks.append(Block(self.path, at, opened, text, *mark, example=example))
                opened, mark, example, printed = None, ("", ""), False, False
            elif opened is None:
                found, other = MARK.match(line), EXAMPLE.match(line)
                if line == PRINTED:
                    printed = True
                elif other:
                    example = True
                    if not other.group(1):
                        self.wrong.append(f"{self.name}:{number}: the mark gives no reason")
                elif found:
                    mark = (found.group(1), found.group(2) or "")
                    if found.group(1) not in ("needs a fabric", "in a machine") and not found.group(2):
                        self.wrong.append(f"{self.name}:{number}: the mark gives no reason")
                elif line.startswith("<!-- ") and re.match(r"<!-- (needs|in a|at night|not run|an example|printed)", line):
                    self.wrong.append(f"{self.name}:{number}: no such mark: {line}")
                elif line.strip() and (mark[0] or example or printed):
                    self.wrong.append(f"{self.name}:{number}: the mark above stands before no block")
                    mark, example, printed = ("", ""), False, False
                self.prose.append((number, line))
        if opened is not None:
            self.wrong.append(f"{self.name}:{at}: a block that does not end")

    def anchors(self):
        """Anchors as hosting sites derive them from headings."""
        seen, found = {}, set()
        for _, line in self.prose:
            heading = HEADING.match(line)
            if heading:
                text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(2)).replace("`", "")
                slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
                count = seen.get(slug, 0)
                seen[slug] = count + 1
                found.add(f"{slug}-{count}" if count else slug)
            found |= set(re.findall(r'<a (?:id|name)="([^"]+)"', line))
        return found

    def links(self):
        """(number of the line where the text of the link begins, target). A text may wrap."""
        for paragraph in self._paragraphs():
            text = "\n".join(line for _, line in paragraph)
            # Code is blanked, not removed: a position still tells its line.
            text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code.group()), text)
            for found in LINK.finditer(text):
                number = paragraph[text.count("\n", 0, found.start())][0]
                yield number, found.group(1) or found.group(2)

    def _paragraphs(self):
        """Lines of prose between blank lines and blocks, with their numbers."""
        paragraph = []
        for number, line in self.prose:
            if paragraph and (not line.strip() or number != paragraph[-1][0] + 1):
                yield paragraph
                paragraph = []
            if line.strip():
                paragraph.append((number, line))
        if paragraph:
            yield paragraph

    def unlabelled(self):
        """Our commands in blocks that are not run."""
        for block in self.blocks:
            if not block.language:
                for offset, line in enumerate(block.text.split("\n")):
                    if OURS.match(line):
                        yield f"{self.name}:{block.line + offset}: {line.strip()}"
        before = ""
        for number, line in self.prose:
            if line.startswith("    ") and not before.strip() and OURS.match(line.strip()):
                yield f"{self.name}:{number}: {line.strip()}"
            before = line

    def code(self):
        """(number, text) of everything written as code: commands of blocks, and code within
        lines."""
        for block in self.blocks:
            text = block.text.replace("\\\n", "  ") if block.language in ("sh", "console", "text", "") else ""
            for offset, line in enumerate(text.split("\n")):
                yield block.line + offset, line
        for number, line in self.prose:
            for found in INLINE.finditer(line):
                yield number, found.group(1)


def all_pages():
    tops = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [Page(path) for path in [*tops, *sorted((ROOT / "docs").rglob("*.md"))]]
