"""Fuzzes for a given time, keeps inputs that reached new code, prints findings. Started by
scripts/fuzz."""

import argparse
import random
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

import processes
from building import ADDRESS, Build, BuildFailed
from campaign import Campaign
from fuzzing import Fuzzing
from outcome import PASSED, Outcome
from platforms import options as platform_options
from screen import Screen

ROOT = Path(__file__).resolve().parents[2]

EXAMPLES = """\
examples:
  scripts/fuzz                              every target for ten minutes
  scripts/fuzz --seconds 3600 fuzz-core     one target for an hour
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz",
        description="Runs the libFuzzer targets for longer than scripts/test does. Inputs that reach"
        " new code are added to tests/fuzz/corpus/, ready to be committed.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=600, help="per target (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="default: a new one, printed")
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--verbose", action="store_true", help="show what libFuzzer prints")
    return parser.parse_args()


def merge(fuzzing, name, path, new_inputs):
    """Copies into the corpus only inputs that add coverage; returns the number of files."""
    corpus = fuzzing.corpus(name)
    corpus.mkdir(parents=True, exist_ok=True)
    before = len(list(corpus.iterdir()))
    processes.run(
        [str(path), "-merge=1", str(corpus), str(new_inputs)], env=fuzzing.build.environment()
    )
    return len(list(corpus.iterdir())) - before


def fuzz_one(fuzzing, screen, name, path):
    with tempfile.TemporaryDirectory(prefix="tributary-fuzz-") as scratch:
        result, reason, runs = fuzzing.fuzz(name, path, Path(scratch))
        added = merge(fuzzing, name, path, Path(scratch))
    screen.say(f"{name:<24} {runs} runs, {added} inputs added to {fuzzing.corpus(name).relative_to(ROOT)}")
    if result == PASSED:
        return True
    screen.say(f"FINDING in {name}")
    screen.say(reason)
    return False


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    build = Build(ROOT, ADDRESS)
    screen = Screen(Outcome(), options.verbose)
    try:
        build.configure()
        targets = [t for t in build.fuzz_targets() if not options.target or t[0] in options.target]
        known = {name for name, _ in build.fuzz_targets()}
        if unknown := set(options.target) - known:
            print(f"no such target: {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}",
                  file=sys.stderr)
            return 2
        build.compile([str(path.relative_to(build.directory)) for _, path in targets])
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    screen.say(f"seed {seed}, {options.seconds} s for each of: {', '.join(name for name, _ in targets)}")
    fuzzing = Fuzzing(Campaign(build, screen.outcome, screen, seed, None), -1, options.seconds)
    with ThreadPoolExecutor(cpu_count()) as pool:
        pending = [pool.submit(fuzz_one, fuzzing, screen, name, path) for name, path in targets]
        try:
            clean = [future.result() for future in pending]
        except KeyboardInterrupt:
            for future in pending:
                future.cancel()
            processes.stop_all()
            return 130
    return 0 if all(clean) else 1


sys.exit(main())
