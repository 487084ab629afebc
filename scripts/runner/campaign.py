"""Runs the test programs of one build and turns their reports into cases."""

import dataclasses
import os
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import allowed_skips
import processes
from googletest import Reader, names_in_list
from outcome import FAILED, PASSED, SKIPPED, WHOLE_PROGRAM, Case
from pool import finish

HANG_SECONDS = 1500  # no test takes that long; one that does is stuck
MESON_SKIP = 77


def without_filter(command):
    """A program's share of an executable's cases is replaced by a requested filter."""
    return [word for word in command if not word.startswith("--gtest_filter=")]


def finding_in(ended):
    """The output from a sanitizer's first word on; without one, the end of the output."""
    for at, line in enumerate(ended.lines):
        if re.search(r"(WARNING|ERROR): \w+Sanitizer|runtime error:", line):
            return "\n".join(ended.lines[at : at + 60])
    return ended.tail


class Campaign:
    def __init__(self, build, outcome, screen, seed, pattern, settings=None):
        """`settings`: environment variables for the programs."""
        self.build = build
        self.outcome = outcome
        self.screen = screen
        self.seed = seed
        self.pattern = pattern
        self.settings = settings or {}

    def run(self, programs):
        """Programs of one tier: side by side where they allow it, then the others one by one."""
        if self.pattern:
            programs = [dataclasses.replace(p, command=without_filter(p.command)) for p in programs]
            programs = list({tuple(p.command): p for p in programs}.values())
        together = [program for program in programs if not program.alone]
        with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            finish(pool, [pool.submit(self._run_one, program) for program in together])
        for program in programs:
            if program.alone:
                self._run_one(program)

    def add(self, program, cases, seconds):
        if not cases:
            return
        cases = allowed_skips.enforced(cases)
        with self.screen.lock:
            self.outcome.cases += cases
            self.screen.finished(self.build.kind, program, cases, seconds)
            for case in cases:
                if case.result == FAILED:
                    self.screen.failure(case)

    def case(self, tier, program, name, result, reason="", seconds=0.0):
        return Case(self.build.kind, tier, program, name, result, reason, seconds)

    def _run_one(self, program):
        started = time.monotonic()
        reader = Reader()

        def on_line(line):
            reader.line(line)
            if self.screen.verbose:
                self.screen.say(f"{program.name}: {line}")
            else:
                self.screen.progress(f"{self.build.kind}/{program.tier}", reader.running or program.name)

        command = list(program.command)
        if "thread" in self.build.sanitizers:
            # ThreadSanitizer's address layout does not survive strong address randomisation.
            command = ["setarch", "-R", *command]
        command = self.build.command(command, program.workdir)
        with tempfile.TemporaryDirectory(prefix="tributary-test-", dir=self.build.scratch) as place:
            report = Path(place) / "report.json"
            env = {
                **self.build.environment(),
                **program.env,
                **self.settings,
                "TRIBUTARY_SEED": str(self.seed),
                "GTEST_RANDOM_SEED": str(self.seed % 99999 + 1),
                "GTEST_OUTPUT": f"json:{report}",
                "GTEST_COLOR": "no",
            }
            if self.pattern:
                env["GTEST_FILTER"] = self.pattern
            limit = None if program.bounds_itself else HANG_SECONDS
            ended = processes.run(command, on_line, env, program.workdir, limit)
            complete = reader.take_json(report)
            if reader.seen_googletest and not complete:
                self._account_for_the_crash(program, reader, ended, env)
        cases = self._cases(program, reader, ended)
        self.add(program.name, cases, time.monotonic() - started)

    def _account_for_the_crash(self, program, reader, ended, env):
        """Without a report the program died: its unfinished cases failed."""
        how = "did not end, stopped" if ended.timed_out else processes.how_it_ended(ended.code)
        culprit = reader.running
        command = self.build.command([*program.command, "--gtest_list_tests"], program.workdir)
        listed = processes.run(command, None, env, program.workdir, 60)
        if culprit:
            reader.output[culprit] = [*reader.output[culprit], f"the program: {how}"]
            reader.results[culprit] = (FAILED, 0.0)
        for name in names_in_list(listed.lines):
            suite, _, short = name.partition(".")
            disabled = suite.startswith("DISABLED_") or short.startswith("DISABLED_")
            if name not in reader.results and not disabled:
                reader.output[name] = [f"not run: the program: {how}, in {culprit or 'no case'}"]
                reader.results[name] = (FAILED, 0.0)

    def _cases(self, program, reader, ended):
        tier, name = program.tier, program.name
        if not reader.seen_googletest:
            if ended.code == 0:
                return [self.case(tier, name, name, PASSED)]
            if ended.code == MESON_SKIP:
                reason = ended.lines[-1] if ended.lines else ""
                return [self.case(tier, name, name, SKIPPED, reason)]
            how = "did not end" if ended.timed_out else processes.how_it_ended(ended.code)
            return [self.case(tier, name, name, FAILED, f"{ended.tail}\n{how}")]
        cases = []
        for case, (result, seconds) in reader.results.items():
            reason = "" if result == PASSED else reader.reason(case)
            cases.append(self.case(tier, name, case, result, reason, seconds))
        if ended.code and not any(case.result == FAILED for case in cases):
            # A sanitizer's finding at exit, or a crash after the last case.
            reason = f"{finding_in(ended)}\nall cases passed, but: {processes.how_it_ended(ended.code)}"
            cases.append(self.case(tier, name, WHOLE_PROGRAM, FAILED, reason))
        return cases
