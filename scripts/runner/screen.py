"""The output for people: a progress line on a terminal, a line per finished program, the
summary."""

import os
import sys
import threading

from outcome import FAILED, SKIPPED, WHOLE_PROGRAM


class Screen:
    def __init__(self, outcome, verbose):
        self.outcome = outcome
        self.verbose = verbose
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colours = self.live and "NO_COLOR" not in os.environ
        self.lock = threading.RLock()

    def paint(self, colour, text):
        code = {"red": 31, "green": 32, "yellow": 33}[colour]
        return f"\033[{code}m{text}\033[0m" if self.colours else text

    def say(self, text=""):
        with self.lock:
            if self.live:
                sys.stdout.write("\r\033[K")
            print(text, flush=True)

    def progress(self, where, now):
        """Overwrites one line; silent without a terminal."""
        if not self.live:
            return
        with self.lock:
            width = os.get_terminal_size().columns - 1
            text = f"{where}  {self.outcome.line()}  {now}"[:width]
            sys.stdout.write(f"\r\033[K{text}")
            sys.stdout.flush()

    def finished(self, build, program, cases, seconds):
        counts = {}
        for case in cases:
            counts[case.result] = counts.get(case.result, 0) + 1
        said = ", ".join(f"{number} {result}" for result, number in sorted(counts.items())) or "no case"
        if FAILED in counts:
            said = self.paint("red", said)
        self.say(f"{build:<18} {program:<26} {said}  {seconds:.1f} s")

    def failure(self, case):
        self.say(self.paint("red", f"FAILED {case.program} {case.name} ({case.build})"))
        for line in case.reason.splitlines():
            self.say(f"    {line}")

    def summary(self, seed):
        """Everything failed or skipped, with reasons; a line per tier; the last line is the sum."""
        outcome = self.outcome
        failed = [case for case in outcome.cases if case.result == FAILED]
        if failed:
            self.say(f"\nFailed, with seed {seed}:")
            for case in failed:
                kind = case.build.replace("release", "none")
                sanitize = f" --sanitize {kind}" if kind != "none" else ""
                self.say(f"  {case.program} {case.name}")
                only = f" --filter '{case.name}'" if case.name != WHOLE_PROGRAM else ""
                self.say(f"      scripts/test --tier {case.tier}{sanitize} --seed {seed}{only}")
        reasons = {}
        for case in outcome.cases:
            if case.result == SKIPPED:
                reasons.setdefault(case.reason or "no reason given", []).append(case)
        if reasons:
            self.say("\nSkipped:")
            for reason, cases in reasons.items():
                self.say(f"  {reason}")
                for case in cases:
                    self.say(f"      {case.program} {case.name} ({case.build})")
        self.say()
        for build, (wall, processor) in outcome.builds.items():
            self.say(
                f"{build:<18} {'build':<8} waited for {wall:.0f} s; {processor:.0f} s of processor time"
            )
        for build, tier in outcome.groups():
            seconds = outcome.seconds.get((build, tier), 0.0)
            self.say(f"{build:<18} {tier:<8} {outcome.line(build, tier)}  {seconds:.0f} s")
        self.say(outcome.line())
