"""Runs libFuzzer targets, each for a bounded number of runs and seconds.

A target `fuzz-NAME` starts from tests/fuzz/corpus/NAME. What makes it fail is kept in the build
directory under findings/, with the command that runs it again.
"""

import fnmatch
import re
import tempfile
import time
from pathlib import Path

import processes
from outcome import FAILED, PASSED


class Fuzzing:
    def __init__(self, campaign, runs, seconds):
        self.campaign = campaign
        self.build = campaign.build
        self.runs = runs
        self.seconds = seconds

    def corpus(self, target):
        return self.build.root / "tests" / "fuzz" / "corpus" / target.removeprefix("fuzz-")

    def run(self, targets):
        for name, path in targets:
            pattern = self.campaign.pattern
            if pattern and not fnmatch.fnmatchcase(name, pattern):
                continue
            started = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="tributary-fuzz-") as scratch:
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

        # libFuzzer watches its own time; twice that and a minute means that it hangs.
        ended = processes.run(command, on_line, self.build.environment(), None, self.seconds * 2 + 60)
        done = re.search(r"number_of_executed_units: (\d+)", "\n".join(ended.lines))
        if ended.code == 0 and done:
            return PASSED, "", int(done[1])
        how = "did not end" if ended.timed_out else processes.how_it_ended(ended.code)
        again = ""
        if artefact := re.search(r"Test unit written to (\S+)", "\n".join(ended.lines)):
            again = f"\nrun it again: {path} {artefact[1]}"
        return FAILED, f"{ended.tail}\n{how}{again}", int(done[1]) if done else 0
