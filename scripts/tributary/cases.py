"""Reports test cases the way GoogleTest does: the same lines on standard output, the same JSON in
the file named by GTEST_OUTPUT, the same GTEST_FILTER. So one reader, scripts/runner, counts them all.

    report = Cases("hosts")
    with report.case("steering", "ping_still_passes"):
        ...                       # an exception fails the case, Skip("why") skips it
    sys.exit(report.finish())
"""

import fnmatch
import json
import os
import threading
import time
import traceback
from contextlib import contextmanager


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


class Failed(Exception):
    """Raised by a case whose text is complete: no traceback is printed."""


def wanted(name):
    """Whether GTEST_FILTER selects `name`: patterns joined by ':', those after '-' exclude."""
    positive, _, negative = os.environ.get("GTEST_FILTER", "*").partition("-")

    def matches(patterns):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split(":") if pattern)

    return matches(positive or "*") and not matches(negative)


class Cases:
    """With `side_by_side` cases may overlap: the output of a case is printed when it ends. A case
    adds to the list that `case` yields."""

    def __init__(self, program, side_by_side=False):
        self.program = program
        self.side_by_side = side_by_side
        self.lock = threading.Lock()
        self.suites = {}

    @contextmanager
    def case(self, suite, name):
        full = f"{suite}.{name}"
        said = [f"[ RUN      ] {full}"]
        if not self.side_by_side:
            print(said.pop(), flush=True)
        result, failures, started = "COMPLETED", [], time.monotonic()
        try:
            yield said
        except Skip as reason:
            result = "SKIPPED"
            said.append(f"Skipped\n{reason}")
        except Failed as failure:
            failures.append({"failure": str(failure)})
            said.append(str(failure))
        except Exception:
            failures.append({"failure": traceback.format_exc()})
            said.append(failures[-1]["failure"])
        seconds = time.monotonic() - started
        label = "[  FAILED  ]" if failures else "[  SKIPPED ]" if result == "SKIPPED" else "[       OK ]"
        said.append(f"{label} {full} ({seconds * 1000:.0f} ms)")
        entry = {"name": name, "classname": suite, "result": result, "time": f"{seconds:.3f}s"}
        if failures:
            entry["failures"] = failures
        with self.lock:
            print(*said, sep="\n", flush=True)
            self.suites.setdefault(suite, []).append(entry)

    def failed(self, suite):
        """How many cases of the suite failed so far."""
        return sum("failures" in case for case in self.suites.get(suite, []))

    def finish(self):
        """Writes the JSON if asked for; the exit code."""
        kind, _, path = os.environ.get("GTEST_OUTPUT", "").partition(":")
        if kind == "json" and path:
            suites = [{"name": name, "testsuite": cases} for name, cases in self.suites.items()]
            with open(path, "w", encoding="utf-8") as out:
                json.dump({"name": self.program, "testsuites": suites}, out)
        return 1 if any("failures" in c for cases in self.suites.values() for c in cases) else 0
