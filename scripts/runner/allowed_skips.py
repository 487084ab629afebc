"""In continuous integration (CI=true), a skip that is not in tests/allowed_skips is a failure."""

import dataclasses
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from outcome import FAILED, SKIPPED

LIST = Path(__file__).resolve().parents[2] / "tests" / "allowed_skips"


@dataclass(frozen=True)
class Allowed:
    build: str
    program: str
    name: str
    why: str

    def covers(self, case):
        return (
            fnmatchcase(case.build, self.build)
            and fnmatchcase(case.program, self.program)
            and fnmatchcase(case.name, self.name)
        )


def read(text):
    """The entries of the list; ValueError names an invalid line."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            words = line.split(None, 3)
            if len(words) < 4:
                raise ValueError(f"{LIST.name}, line {number}: build, program, case and a reason are needed: {line!r}")
            entries.append(Allowed(*words))
    return entries


def enforced(cases, environment=os.environ, text=None):
    """The cases, with those that were skipped without permission marked as failed."""
    if environment.get("CI") != "true" or not any(case.result == SKIPPED for case in cases):
        return cases
    allowed = read(LIST.read_text() if text is None else text)
    return [
        case
        if case.result != SKIPPED or any(entry.covers(case) for entry in allowed)
        else dataclasses.replace(
            case, result=FAILED, reason=f"skipped, and not on tests/allowed_skips: {case.reason}"
        )
        for case in cases
    ]
