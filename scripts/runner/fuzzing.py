"""Runs libFuzzer targets, each for a bounded number of runs and seconds.

A target `fuzz-NAME` starts from tests/fuzz/corpus/NAME. An input that makes it fail is kept in the
build directory under findings/, with the command that runs it again.
"""

import fnmatch
import os
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
from outcome import FAILED, PASSED
from pool import finish

# A unit that runs this long hangs; libFuzzer keeps it like one that crashes.
HANG_SECONDS = 60

PROGRESS = re.compile(r"#\d+\s|\s*NEW_(FUNC|PC)|INFO: ")
CAUSE = re.compile(
    r"ERROR: |SUMMARY: |runtime error: |invariant broken|terminate called|what\(\): |Assertion .* failed"
)
UNIT = re.compile(r"Base64: \S*")
MOST_CAUSES = 12
MOST_BEHIND = 60


def finding(lines):
    """The output of a failed target: the reason first, then the unit, then the rest without
    progress lines."""
    said = [line for line in lines if not PROGRESS.match(line)]
    why = list(dict.fromkeys(line.strip() for line in said if CAUSE.search(line)))[:MOST_CAUSES]
    unit = [line.strip() for line in said if UNIT.match(line.strip())]
    rest = [line for line in said if line.strip() not in (*why, *unit)]
    return [*why, *unit, *rest[:MOST_BEHIND]]


class Fuzzing:
    def __init__(self, campaign, runs, seconds):
        self.campaign = campaign
        self.build = campaign.build
        self.runs = runs
        self.seconds = seconds

    def corpus(self, target):
        return self.build.root / "tests" / "fuzz" / "corpus" / target.removeprefix("fuzz-")

    def run(self, targets):
        """In parallel, one target per processor."""
        pattern = self.campaign.pattern
        chosen = [t for t in targets if not pattern or fnmatch.fnmatchcase(t[0], pattern)]
        with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            finish(pool, [pool.submit(self._run_one, name, path) for name, path in chosen])

    def _run_one(self, name, path):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="tributary-fuzz-", dir=self.build.scratch) as scratch:
            result, reason, _ = self.fuzz(name, path, Path(scratch))
        seconds = time.monotonic() - started
        case = self.campaign.case("fuzz", f"fuzz/{name}", name, result, reason, seconds)
        self.campaign.add(f"fuzz/{name}", [case], seconds)

    def fuzz(self, name, path, new_inputs):
        """New inputs that reach new code go to `new_inputs`. (result, reason, runs done)"""
        findings = self.build.directory / "findings" / name
        findings.mkdir(parents=True, exist_ok=True)
        corpus = self.corpus(name)
        command = [
            str(path),
            f"-runs={self.runs}",
            f"-max_total_time={self.seconds}",
            f"-timeout={HANG_SECONDS}",
            f"-seed={self.campaign.seed % 2**31 or 1}",
            "-print_final_stats=1",
            f"-artifact_prefix={findings}/",
            str(new_inputs),
            *([str(corpus)] if corpus.is_dir() else []),
        ]
        screen = self.campaign.screen

        def on_line(line):
            if screen.verbose:
                screen.say(f"{name}: {line}")
            else:
                screen.progress("fuzz", f"{name} {line}")

        # libFuzzer limits its own time; this ends one that fails to.
        limit = self.seconds * 2 + 2 * HANG_SECONDS
        ended = processes.run(self.build.command(command), on_line, self.build.environment(), None, limit)
        done = re.search(r"number_of_executed_units: (\d+)", "\n".join(ended.lines))
        if ended.code == 0 and done:
            return PASSED, "", int(done[1])
        how = "did not end" if ended.timed_out else processes.how_it_ended(ended.code)
        again = ""
        if artefact := re.search(r"Test unit written to (\S+)", "\n".join(ended.lines)):
            again = f"\nrun it again: {path} {artefact[1]}"
        said = "\n".join(finding(ended.lines))
        return FAILED, f"{how}{again}\n{said}", int(done[1]) if done else 0
