"""Plants faults in the product, one at a time, and reports which of them the tests detect.

The tree itself is not touched: everything happens in a scratch copy of its files in git, which is
removed when the run ends, however it ends. Exit codes: 0 as many faults were noticed as
`--at-least` asks for, 1 fewer were, 2 a fault does not apply, does not compile, or the tests fail
without any.
"""

import argparse
import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
CAUGHT, SURVIVED = "caught", "survived"
SECONDS_FOR_TESTS = 600

# By tier: the build target, and the command. Every program ends at its first failure.
TIERS = {
    "fabric": [("tests/fabric/fabric-kernel", []), ("tests/fabric/fabric-scenarios", ["--gtest_filter=-*mixed*"]),
               ("tests/fabric/fabric-scenarios", ["--gtest_filter=*mixed*"])],
    "campaign": [("tests/fabric/fabric-scenarios", ["--gtest_filter=*mixed*"])],
    "unit": [("tests/unit/include/wire/unit-wire", []), ("tests/unit/include/reduce/unit-reduce", []),
             ("tests/unit/include/reduce/unit-reduce-wide", []),
             ("tests/unit/dataplane/core/unit-core", []), ("tests/unit/dataplane/placement/unit-placement", []),
             ("tests/unit/endpoint/collective/unit-collective", []),
             ("tests/unit/dataplane/forwarding_table/unit-routing", []), ("tests/unit/controlplane/unicast/unit-unicast", [])],
}


class CannotRun(Exception):
    """The text says why the run has no meaning."""


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/mutation", description=__doc__.split("\n\n")[0])
    parser.add_argument("--tier", choices=sorted(TIERS), default="fabric", help="which tests must notice (default: fabric)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only faults of this name; a pattern; may be given again")
    parser.add_argument("--at-least", type=int, metavar="N", default=0, help="exit with 1 when fewer faults are noticed")
    parser.add_argument("--seed-share", type=int, metavar="N", default=8, help="run one in N of the fabric's seeds (default: 8)")
    parser.add_argument("--jobs", type=int, metavar="N", default=os.cpu_count(), help="compilers at a time")
    parser.add_argument("--check", action="store_true", help="only say whether every fault still applies")
    parser.add_argument("--list", action="store_true", help="list the faults and why they are wrong")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def planted(fault, text):
    """The file's text with the fault in it."""
    times = text.count(fault.right)
    if times != 1:
        raise CannotRun(f"{fault.name}: its right text stands {times} times in {fault.file}, not once; "
                        "change tests/mutation/faults.py with the code")
    return text.replace(fault.right, fault.wrong)


class Screen:
    """A progress line, on a terminal."""

    def __init__(self):
        self.live = sys.stderr.isatty()

    def progress(self, text):
        if self.live:
            print(f"\r\033[K{text}"[: shutil.get_terminal_size().columns + 4], end="", file=sys.stderr, flush=True)

    def say(self, text):
        self.progress("")
        print(text, file=sys.stderr, flush=True)


class Scratch:
    """A copy of the tree, and its build."""

    def __init__(self, directory, tier, seed_share, jobs):
        self.source = Path(directory) / "source"
        self.build = Path(directory) / "build"
        self.programs = TIERS[tier]
        self.jobs = jobs
        self.environment = {**os.environ, "TRIBUTARY_SEED": "1", "TRIBUTARY_FABRIC_SEED_SHARE": str(seed_share)}
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True).stdout
        for name in listed.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (self.source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.source / name)

    def set_up(self):
        # Unused code due to a fault must not prevent its compilation.
        command = ["meson", "setup", self.build, self.source, "--unity=on", "--unity-size=1000", "-Doptimization=1",
                   "-Ddebug=false", "-Dwerror=false", "-Db_ndebug=false"]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode != 0:
            raise CannotRun(f"meson setup failed:\n{ended.stdout[-3000:]}{ended.stderr[-1000:]}")

    def compile(self):
        """Builds; returns nothing, or the compiler's output."""
        targets = sorted({program for program, _ in self.programs})
        ended = subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *targets], capture_output=True, text=True)
        return None if ended.returncode == 0 else ended.stdout[-3000:]

    def test(self):
        """Returns nothing, or the first failure of a test."""
        for program, options in self.programs:
            try:
                ended = subprocess.run([self.build / program, "--gtest_fail_fast", "--gtest_brief=1", *options],
                                       capture_output=True, text=True, errors="replace", env=self.environment,
                                       timeout=SECONDS_FOR_TESTS)
            except subprocess.TimeoutExpired:
                return f"{program} did not end"
            if ended.returncode != 0:
                lines = [line for line in ended.stdout.splitlines() if line.strip()]
                matching = [l for l in lines if " seed " in l] or [l for l in lines if l.startswith("[  FAILED")]
                return (matching or lines[-1:] or [f"{program} ended with {ended.returncode}"])[0].strip()
        return None


def run(chosen, options, screen):
    results = []
    with tempfile.TemporaryDirectory(prefix="tributary-mutation-") as directory:
        screen.progress("building without a fault")
        scratch = Scratch(directory, options.tier, options.seed_share, options.jobs)
        scratch.set_up()
        if trouble := scratch.compile():
            raise CannotRun(f"the tree does not compile:\n{trouble}")
        screen.progress("testing without a fault")
        if noticed := scratch.test():
            raise CannotRun(f"the tests fail without any fault: {noticed}")
        # Faults of one file in a row: each compiles the files that include it once.
        for number, fault in enumerate(sorted(chosen, key=lambda f: f.file), 1):
            screen.progress(f"{number} of {len(chosen)}: {fault.name}")
            file = scratch.source / fault.file
            right = file.read_text()
            started = time.monotonic()
            file.write_text(planted(fault, right))
            trouble = scratch.compile()
            noticed = None if trouble else scratch.test()
            file.write_text(right)
            if trouble:
                raise CannotRun(f"{fault.name} does not compile:\n{trouble}")
            outcome = CAUGHT if noticed else SURVIVED
            results.append({"name": fault.name, "file": fault.file, "why": fault.why, "outcome": outcome,
                            "noticed": noticed, "seconds": round(time.monotonic() - started, 1)})
            screen.say(f"{outcome:<9} {fault.name:<34} {(noticed or fault.why)[:150]}")
    return results


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = [f for f in FAULTS
              if not options.only or any(fnmatch.fnmatchcase(f.name, pattern) for pattern in options.only)]
    screen = Screen()
    try:
        if not chosen:
            raise CannotRun("no fault has this name; --list shows all")
        for fault in chosen:
            planted(fault, (ROOT / fault.file).read_text())
        if options.list or options.check:
            for fault in chosen:
                print(f"{fault.name:<34} {fault.file}: {fault.why}")
            return 0
        results = run(chosen, options, screen)
    except CannotRun as why:
        screen.say(f"scripts/mutation: {why}")
        return 2
    except KeyboardInterrupt:
        screen.say("interrupted; nothing is left behind")
        return 130
    counts = Counter(result["outcome"] for result in results)
    if options.json:
        print(json.dumps({"tier": options.tier, "faults": len(results), **{k: counts[k] for k in (CAUGHT, SURVIVED)},
                          "results": results}, indent=2))
    else:
        print(f"{options.tier}: {counts[CAUGHT]} of {len(results)} faults caught, {counts[SURVIVED]} survived")
    return 0 if counts[CAUGHT] >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
