"""Builds, runs every tier of tests, counts. Started by scripts/test, which sets the machine up first.

Tiers: style    formatting
       headers  every public header compiles alone
       unit     one room at a time
       fabric   whole fabrics on virtual time, seeded
       hosts    real namespaces, real kernel interfaces; needs root
       docs     commands, links and options of the documentation; needs root
       fuzz     libFuzzer targets, a bounded number of runs each, in the address sanitizer's build
       machines emulated NICs in a guest, with DPDK's drivers for them; needs root. Runs only on
       request, by --tier or by TRIBUTARY_MACHINES, which names kinds of NICs
A build is `release` or a set of sanitizers, on this system or in the root of another release of Debian
(SET@PLATFORM); each has a build directory of its own. While the tests of one
run, the next is compiled in the remaining processor time.
"""

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

import processes  # noqa: E402
from ahead import Ahead  # noqa: E402
from building import ADDRESS, RELEASE, Build, BuildFailed  # noqa: E402
from campaign import Campaign  # noqa: E402
from fuzzing import Fuzzing  # noqa: E402
from jobs import TIERS, Fuzz, Style, Tests, chosen_tiers  # noqa: E402
from outcome import FAILED, Case, Outcome  # noqa: E402
from platforms import names, options as platform_options, root  # noqa: E402
from roots import Roots  # noqa: E402
from screen import Screen  # noqa: E402

COMPILED_TIERS = ("headers", "unit", "fabric", "hosts", "docs", "machines")
# For a second release build in one run, on another release of Debian.
AGAIN_TIERS = ("hosts",)
# The tiers in which a sanitizer can find errors.
SANITIZED_TIERS = ("unit", "fabric", "hosts")

EXAMPLES = """\
examples:
  scripts/test                                     everything, as a release
  scripts/test --tier unit --filter 'Engine*'      some unit tests
  scripts/test --sanitize address,undefined        with sanitizers, in build-address-undefined/
  scripts/test --sanitize thread                   the programs with threads, in build-thread/
  scripts/test --sanitize none --sanitize thread   both, one sum
  scripts/test --platform debian13                 everything, on Debian 13
  scripts/test --sanitize none --sanitize address,undefined@debian13
                                                   the sanitizers with Debian 13's compiler and libraries
  scripts/test --sanitize none --sanitize none@debian13
                                                   and of Debian 13 what MPI, PMIx and Python programs do
  scripts/test --tier fabric --seed 7              a seed seen in an earlier run
  scripts/test --tier machines --filter 'igb.*'    a switch on emulated NICs of one kind
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
        help="address,undefined or thread or none; may be repeated (default: none). SET@PLATFORM is made and run in the "
             "root of another release, as of --platform",
    )
    platform_options.add(parser)
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
        self.outcome = Outcome()
        self.screen = Screen(self.outcome, options.verbose)
        lists = ["--machines"] if "machines" in (options.tier or ()) else []
        self.roots = Roots(ROOT, None if options.no_setup else lists, self.screen.say)
        self.builds = [self.build_of(text) for text in dict.fromkeys(options.sanitize or ["none"])]

    def build_of(self, text):
        """The build that an argument of --sanitize names. Raises PlatformError."""
        kind, _, name = text.partition("@")
        platform = names.named(name) if name else None
        if platform and names.release_in("/")[0] == platform.name:
            platform = None
        if platform:
            root.check(platform)
        return Build(ROOT, RELEASE if kind == "none" else kind, self.options.lean, platform, roots=self.roots)

    def jobs(self):
        """In the order in which they run: style, the tiers of each build, the fuzz targets."""
        options = self.options
        chosen = chosen_tiers(options.tier)

        def campaign(build, **settings):
            return Campaign(build, self.outcome, self.screen, self.seed, options.filter, settings)

        release = next((build for build in self.builds if build.is_release), None)
        address = next((build for build in self.builds if build.what == ADDRESS), None)
        kinds = [build.kind for build in self.builds]
        found = []
        if "style" in chosen and release:
            found.append(Style(release, campaign(release)))
        for build in self.builds:
            possible = COMPILED_TIERS if build.is_release else SANITIZED_TIERS
            # The same code with other libraries: tests of programs that have their own libraries.
            again = build.is_release and build is not release
            tiers = [tier for tier in (AGAIN_TIERS if again else possible) if tier in chosen]
            if tiers:
                beside = ",".join(other.sanitizers for other in self.builds if not other.is_release)
                settings = {"TRIBUTARY_GUESTS_ONLY": "1"} if again else {"TRIBUTARY_BESIDE": beside}
                found.append(Tests(build, tiers, campaign(build, **settings), kinds, not options.tier and not again))
        if "fuzz" in chosen and (release or address):
            build = address or Build(ROOT, ADDRESS, options.lean)
            found.append(Fuzz(build, Fuzzing(campaign(build), options.fuzz_runs, options.fuzz_seconds)))
        return found

    def run(self):
        self.screen.say(f"seed {self.seed}")
        for build in self.builds:
            if build.platform:
                self.roots.begin(build.platform)
        ahead = None
        jobs = self.jobs()
        for job, following in zip(jobs, [*jobs[1:], None]):
            ready = self.ready(job, ahead)
            ahead = Ahead(following, self.build_progress(following)) if following else None
            if job.what:
                self.roots.settle()
            for tier, work in job.parts() if ready else ():
                self.timed(job.build, tier, work)

    def build_progress(self, job):
        return lambda line: self.screen.progress(f"building {job.build.name}/", line)

    def ready(self, job, ahead):
        """Builds the job's programs; returns whether that succeeded. `ahead` has begun with it, or
        is None."""
        build = job.build
        if job.what:
            self.screen.say(f"building {job.what} in {build.name}/ ({build.kind})")
        started = time.monotonic()
        try:
            ahead.finish() if ahead else job.prepare(on_line=self.build_progress(job))
        except BuildFailed as failure:
            case = Case(build.kind, job.tier, "build", build.name, FAILED, str(failure))
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
    try:
        runner = Runner(arguments())
    except names.PlatformError as problem:
        print(f"scripts/test: {problem}", file=sys.stderr)
        return 2 if isinstance(problem, names.UsageError) else 1
    except KeyboardInterrupt as interruption:
        print(f"interrupted by {interruption}, while a platform was made; nothing stays mounted", file=sys.stderr)
        return 130
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
