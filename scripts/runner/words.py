"""Looks for phrases of docs/develop/words.txt in messages, comments and pages."""

import re
from pathlib import Path

LIST = Path("docs", "develop", "words.txt")
SOURCES = (".hpp", ".cpp", ".h", ".c")
SCRIPTS = (".py",)
# What describes the past, and what is quoted there, keeps its words.
UNCHECKED = ("docs/changelog.md", "tests/unit/scripts/words_test.py")

WHERE = re.compile(r"\{(message|comment|page)\}")
STRING = re.compile(r'"((?:\\.|[^"\\])*)"')


class Phrase:
    def __init__(self, line):
        pattern, _, self.advice = line.rpartition(" => ")
        where = WHERE.match(pattern)
        self.where = where[1] if where else None
        self.pattern = re.compile(pattern[where.end():] if where else pattern)

    def found(self, where, text):
        return self.pattern.search(text) if self.where in (None, where) else None


def phrases(root):
    lines = (root / LIST).read_text(encoding="utf-8").splitlines()
    return [Phrase(line) for line in lines if line and not line.startswith("#")]


def of_source(line, is_product):
    """The comment of a line of C or C++, and its string literals."""
    comment = re.search(r"//.*$", STRING.sub(lambda quoted: "_" * len(quoted[0]), line))
    code = line[:comment.start()] if comment else line
    if comment:
        yield "comment", line[comment.start():]
    if is_product and "#include" not in code:
        for literal in STRING.findall(code):
            yield "message", literal


def of_script(line, is_product):
    """The comment of a line of Python; of a product's also all else, docstrings and messages."""
    code = STRING.sub(lambda quoted: "_" * len(quoted[0]), line)
    comment = re.search(r"(?:^|\s)#.*$", code)
    if comment:
        yield "comment", line[comment.start():]
    if is_product:
        yield "message", line[:comment.start()] if comment else line


def texts(path, line):
    is_product = not path.startswith(("tests/", "bench/"))
    if path.endswith(SOURCES):
        return of_source(line, is_product)
    if path.endswith(SCRIPTS):
        return of_script(line, is_product)
    return [("page", line)]


def problems(root, files):
    """One line for each place: file, line, the phrase, and what to write instead."""
    listed = phrases(root)
    # Few lines have any of the phrases: they are found first, wherever on the line they stand.
    any_of_them = re.compile("|".join(phrase.pattern.pattern.replace("^", "") for phrase in listed))
    found = []
    for path in files:
        is_text = path.endswith((*SOURCES, *SCRIPTS, ".md", ".lua", "openapi.json"))
        if not is_text or path in UNCHECKED:
            continue
        for number, line in enumerate((root / path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if not any_of_them.search(line):
                continue
            for where, text in texts(path, line):
                for phrase in listed:
                    match = phrase.found(where, text)
                    if match:
                        found.append(f"{path}:{number}: \"{match[0].strip()}\" in a {where}; write: {phrase.advice}")
    return found
