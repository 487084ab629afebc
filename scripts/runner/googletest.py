"""Reads the output of a GoogleTest program and the JSON report it writes at its end.

The JSON is the truth about a program that ended. It lacks two things which the printed lines have:
why a case was skipped, and, after a crash (which leaves no JSON), how far the program got.
"""

import json
import re
from pathlib import Path

from outcome import FAILED, PASSED, SKIPPED

_RUN = re.compile(r"\[ RUN      \] (\S+)")
_END = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] (\S+?),?(?: \((\d+) ms\)| where .* \((\d+) ms\))")
_RESULT = {"       OK ": PASSED, "  FAILED  ": FAILED, "  SKIPPED ": SKIPPED}


class Reader:
    """Fed with every printed line; keeps the result and the output of every case."""

    def __init__(self):
        self.seen_googletest = False
        self.running = None
        self.results = {}  # name -> (result, seconds)
        self.output = {}  # name -> printed lines

    def line(self, text):
        if started := _RUN.search(text):
            self.seen_googletest = True
            self.running = started[1]
            self.output[self.running] = []
        elif ended := _END.search(text):
            if ended[2] == self.running:
                milliseconds = int(ended[3] or ended[4] or 0)
                self.results[self.running] = (_RESULT[ended[1]], milliseconds / 1000)
                self.running = None
        elif self.running:
            self.output[self.running].append(text)
        elif text.startswith("[==========]"):
            self.seen_googletest = True

    def reason(self, name):
        """The output of the case, without the frame that GoogleTest puts around a skip's
        message."""
        lines = self.output.get(name, [])
        for index, text in enumerate(lines):
            if text.endswith("Skipped"):
                return " ".join(part.strip() for part in lines[index + 1 :] if part.strip())
        return "\n".join(lines[-60:])

    def take_json(self, path):
        """Overrides the results read from the lines; False if the program left no report."""
        try:
            report = json.loads(Path(path).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return False
        self.seen_googletest = True
        results = {}
        for suite in report["testsuites"]:
            for case in suite["testsuite"]:
                if case.get("status") == "NOTRUN" or case["result"] == "SUPPRESSED":
                    continue
                name = f"{suite['name']}.{case['name']}"
                if case.get("failures"):
                    result = FAILED
                    printed = [failure["failure"] for failure in case["failures"]]
                    self.output.setdefault(name, printed)
                else:
                    result = SKIPPED if case["result"] == "SKIPPED" else PASSED
                results[name] = (result, float(case["time"].rstrip("s")))
        self.results = results
        return True


def names_in_list(lines):
    """The full names in the output of --gtest_list_tests."""
    suite, names = "", []
    for line in lines:
        text = line.split("#")[0].rstrip()
        if text.startswith("  "):
            names.append(suite + text.strip())
        elif text.endswith("."):
            suite = text
    return names
