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
import time
import traceback
from contextlib import contextmanager


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


class Failed(Exception):
    """Raised by a case whose text already says all there is to say: no traceback is printed."""


def wanted(name):
    """Whether GTEST_FILTER selects `name`: patterns joined by ':', those after '-' exclude."""
    positive, _, negative = os.environ.get("GTEST_FILTER", "*").partition("-")

    def matches(patterns):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split(":") if pattern)

    return matches(positive or "*") and not matches(negative)


class Cases:
    def __init__(self, program):
        self.program = program
        self.suites = {}

    @contextmanager
    def case(self, suite, name):
        full = f"{suite}.{name}"
        print(f"[ RUN      ] {full}", flush=True)
        result, failures, started = "COMPLETED", [], time.monotonic()
        try:
            yield
        except Skip as reason:
            result = "SKIPPED"
            print(f"Skipped\n{reason}")
        except Failed as failure:
            failures.append({"failure": str(failure)})
            print(failure)
        except Exception:
            failures.append({"failure": traceback.format_exc()})
            print(failures[-1]["failure"])
        seconds = time.monotonic() - started
        label = "[  FAILED  ]" if failures else "[  SKIPPED ]" if result == "SKIPPED" else "[       OK ]"
        print(f"{label} {full} ({seconds * 1000:.0f} ms)", flush=True)
        entry = {"name": name, "classname": suite, "result": result, "time": f"{seconds:.3f}s"}
        if failures:
            entry["failures"] = failures
        self.suites.setdefault(suite, []).append(entry)

    def finish(self):
        """Writes the JSON if asked for; the exit code."""
        kind, _, path = os.environ.get("GTEST_OUTPUT", "").partition(":")
        if kind == "json" and path:
            suites = [{"name": name, "testsuite": cases} for name, cases in self.suites.items()]
            with open(path, "w", encoding="utf-8") as out:
                json.dump({"name": self.program, "testsuites": suites}, out)
        return 1 if any("failures" in c for cases in self.suites.values() for c in cases) else 0
