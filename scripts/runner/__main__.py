"""Builds, runs every tier of tests, counts. Started by scripts/test, which sets the machine up first.

Tiers: style    formatting
       headers  every public header compiles alone
       unit     one room at a time
       fabric   whole fabrics on virtual time, seeded
       hosts    real namespaces, real kernel interfaces; needs root
       fuzz     libFuzzer targets, a bounded number of runs each, in the address sanitizer's build
A build is `release` or a set of sanitizers; each has a build directory of its own.
"""

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path

import processes
import style
from building import ADDRESS, RELEASE, Build, BuildFailed
from campaign import Campaign
from fuzzing import Fuzzing
from outcome import FAILED, Case, Outcome
from screen import Screen

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("style", "headers", "unit", "fabric", "hosts", "fuzz")
# What a sanitizer can find something in. ThreadSanitizer sees only the programs with threads, those
# that carry meson's suite `threads`: everything else is pure and single-threaded by construction.
SANITIZED_TIERS = ("unit", "fabric", "hosts")
THREADS_SUITE = "threads"
# Rooms whose object code is another one in a release: kernels, engines, hot loops. Where the address
# sanitizer's build runs every unit test as well, a release runs these.
OPTIMISED_SUITE = "optimised"

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
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    parser.add_argument("--verbose", action="store_true", help="show all that the tests print")
    return parser.parse_args()


class Runner:
    def __init__(self, options):
        self.options = options
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
        self.kinds = [RELEASE if kind == "none" else kind for kind in options.sanitize or ["none"]]
        self.builds = {}
        self.outcome = Outcome()
        self.screen = Screen(self.outcome, options.verbose)

    def campaign(self, build):
        return Campaign(build, self.outcome, self.screen, self.seed, self.options.filter)

    def build_failed(self, build, tier, failure):
        case = Case(build.kind, tier, "build", str(build.directory.name), FAILED, str(failure))
        self.outcome.cases.append(case)
        self.screen.failure(case)

    def timed(self, build, tier, work):
        started = time.monotonic()
        work()
        key = (build.kind, tier)
        self.outcome.seconds[key] = self.outcome.seconds.get(key, 0) + time.monotonic() - started

    def build(self, kind):
        return self.builds.setdefault(kind, Build(ROOT, kind))

    def compile(self, build, targets):
        try:
            build.compile(targets)
        finally:
            self.outcome.builds[build.kind] = (build.seconds, build.processor_seconds)

    def programs(self, build, tiers):
        """(those to run, those of these tiers that another build of this run has in their place)"""
        programs = [program for program in build.programs() if program.tier in tiers]
        if "thread" in build.kind:
            return [program for program in programs if THREADS_SUITE in program.suites], []
        if build.kind == RELEASE and any("address" in kind for kind in self.kinds):
            elsewhere = [p for p in programs if p.tier == "unit" and OPTIMISED_SUITE not in p.suites]
            return [program for program in programs if program not in elsewhere], elsewhere
        return programs, []

    def run_build(self, kind, tiers):
        build = self.build(kind)
        campaign = self.campaign(build)
        if "style" in tiers:
            self.timed(build, "style", lambda: style.run(campaign))
        tiers = [tier for tier in tiers if tier not in ("style", "fuzz")]
        if not tiers:
            return
        self.screen.say(f"building {build.directory.name}/ ({kind})")
        try:
            build.configure()
            programs, elsewhere = self.programs(build, tiers)
            if "thread" in kind:
                self.screen.say("programs with threads: " + ", ".join(p.name for p in programs))
            needed = sorted({target for program in programs for target in program.targets})
            if kind == RELEASE and not self.options.tier:
                needed = build.everything_but(elsewhere)
            if needed:
                self.compile(build, needed)
        except BuildFailed as failure:
            self.build_failed(build, tiers[0], failure)
            return
        for tier in tiers:
            some = [program for program in programs if program.tier == tier]
            self.timed(build, tier, lambda some=some: campaign.run(some))

    def run_fuzz(self):
        build = self.build(ADDRESS)
        self.screen.say(f"building the fuzz targets in {build.directory.name}/")
        try:
            build.configure()
            targets = build.fuzz_targets()
            self.compile(build, [str(path.relative_to(build.directory)) for _, path in targets])
        except BuildFailed as failure:
            self.build_failed(build, "fuzz", failure)
            return
        fuzzing = Fuzzing(self.campaign(build), self.options.fuzz_runs, self.options.fuzz_seconds)
        self.timed(build, "fuzz", lambda: fuzzing.run(targets))

    def run(self):
        chosen = self.options.tier or TIERS
        self.screen.say(f"seed {self.seed}")
        for kind in self.kinds:
            possible = TIERS if kind == RELEASE else SANITIZED_TIERS
            self.run_build(kind, [tier for tier in TIERS if tier in chosen and tier in possible])
        if "fuzz" in chosen and {RELEASE, ADDRESS} & set(self.kinds):
            self.run_fuzz()

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
        processes.stop_all()
        runner.screen.say(f"interrupted by {interruption}; everything that was started is stopped")
        runner.finish()
        return 130
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())
