"""Builds, runs every tier of tests, counts. Started by scripts/test, which sets the machine up first.

Tiers: style    formatting
       headers  every public header compiles alone
       unit     one room at a time
       fabric   whole fabrics on virtual time, seeded
       hosts    real namespaces, real kernel interfaces; needs root
       docs     commands, links and options of the documentation; needs root
       fuzz     libFuzzer targets, a bounded number of runs each, in the address sanitizer's build
A build is `release` or a set of sanitizers; each has a build directory of its own. While the tests of one
run, the next is compiled on the processor time that they leave.
"""

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path

import processes
from ahead import Ahead
from building import ADDRESS, RELEASE, Build, BuildFailed
from campaign import Campaign
from fuzzing import Fuzzing
from jobs import Fuzz, Style, Tests
from outcome import FAILED, Case, Outcome
from screen import Screen

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("style", "headers", "unit", "fabric", "hosts", "docs", "fuzz")
COMPILED_TIERS = ("headers", "unit", "fabric", "hosts", "docs")
# What a sanitizer can find something in.
SANITIZED_TIERS = ("unit", "fabric", "hosts")

EXAMPLES = """\
examples:
  scripts/test                                     everything, as a release
  scripts/test --tier unit --filter 'Engine*'      some unit tests
  scripts/test --sanitize address,undefined        with sanitizers, in build-address-undefined/
  scripts/test --sanitize thread                   the programs with threads, in build-thread/
  scripts/test --sanitize none --sanitize thread   both, one sum
  scripts/test --tier fabric --seed 7              a seed seen in an earlier run
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Builds Tributary and runs its tests.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tier", action="append", choices=TIERS, help="only this tier; may be repeated")
    parser.add_argument(
        "--sanitize", action="append", metavar="SET",
        help="address,undefined or thread or none; may be repeated (default: none)",
    )
    parser.add_argument("--filter", metavar="PATTERN", help="only cases that match, as in --gtest_filter")
    parser.add_argument("--seed", type=int, help="for all that is random (default: a new one, printed)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcome of every case")
    parser.add_argument("--fuzz-runs", type=int, default=20_000, help="per target (default: %(default)s)")
    parser.add_argument("--fuzz-seconds", type=int, default=20, help="per target (default: %(default)s)")
    parser.add_argument("--lean", action="store_true",
                        help="sanitizers in build-...-lean/: a quarter less to compile; findings name functions, not lines")
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    parser.add_argument("--verbose", action="store_true", help="show all that the tests print")
    return parser.parse_args()


class Runner:
    def __init__(self, options):
        self.options = options
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
        self.kinds = [RELEASE if kind == "none" else kind for kind in options.sanitize or ["none"]]
        self.outcome = Outcome()
        self.screen = Screen(self.outcome, options.verbose)

    def jobs(self):
        """In the order in which they run: style, the tiers of each build, the fuzz targets."""
        options = self.options
        chosen = options.tier or TIERS
        builds = {kind: Build(ROOT, kind, options.lean) for kind in [*self.kinds, ADDRESS]}
        campaigns = {
            kind: Campaign(build, self.outcome, self.screen, self.seed, options.filter)
            for kind, build in builds.items()
        }
        found = []
        if "style" in chosen and RELEASE in self.kinds:
            found.append(Style(builds[RELEASE], campaigns[RELEASE]))
        for kind in dict.fromkeys(self.kinds):
            possible = COMPILED_TIERS if kind == RELEASE else SANITIZED_TIERS
            tiers = [tier for tier in possible if tier in chosen]
            if tiers:
                found.append(Tests(builds[kind], tiers, campaigns[kind], self.kinds, not options.tier))
        if "fuzz" in chosen and {RELEASE, ADDRESS} & set(self.kinds):
            fuzzing = Fuzzing(campaigns[ADDRESS], options.fuzz_runs, options.fuzz_seconds)
            found.append(Fuzz(builds[ADDRESS], fuzzing))
        return found

    def run(self):
        self.screen.say(f"seed {self.seed}")
        ahead = None
        jobs = self.jobs()
        for job, following in zip(jobs, [*jobs[1:], None]):
            ready = self.ready(job, ahead)
            ahead = Ahead(following, self.build_progress(following)) if following else None
            for tier, work in job.parts() if ready else ():
                self.timed(job.build, tier, work)

    def build_progress(self, job):
        return lambda line: self.screen.progress(f"building {job.build.directory.name}/", line)

    def ready(self, job, ahead):
        """Whether what the job runs is built; `ahead` has begun with it, or is None."""
        build = job.build
        if job.what:
            self.screen.say(f"building {job.what} in {build.directory.name}/ ({build.kind})")
        started = time.monotonic()
        try:
            ahead.finish() if ahead else job.prepare(on_line=self.build_progress(job))
        except BuildFailed as failure:
            case = Case(build.kind, job.tier, "build", build.directory.name, FAILED, str(failure))
            self.outcome.cases.append(case)
            self.screen.failure(case)
            return False
        finally:
            if job.what:
                self.outcome.add_build(build.kind, time.monotonic() - started, build.processor_seconds)
        return True

    def timed(self, build, tier, work):
        started = time.monotonic()
        work()
        key = (build.kind, tier)
        self.outcome.seconds[key] = self.outcome.seconds.get(key, 0) + time.monotonic() - started

    def finish(self):
        if self.options.json:
            self.options.json.write_text(json.dumps(self.outcome.as_json(self.seed), indent=1) + "\n")
        self.screen.summary(self.seed)
        if not self.outcome.cases and self.options.filter:
            print(f"no case matches '{self.options.filter}'", file=sys.stderr)
        return 1 if self.outcome.count(FAILED) or not self.outcome.cases else 0


def interrupted(number, frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    runner = Runner(arguments())
    try:
        runner.run()
    except KeyboardInterrupt as interruption:
        processes.end()
        runner.screen.say(f"interrupted by {interruption}; everything that was started is stopped")
        runner.finish()
        return 130
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())
