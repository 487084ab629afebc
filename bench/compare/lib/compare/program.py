"""The common parts of every comparison program: its options, its private world, its result.

    main = Comparison(__doc__, measure, pages)     in bench/compare/<name>
    main.parser.add_argument(...)
    sys.exit(main.run())

The program runs twice, like scripts/demo: outside it borrows hugepages and opens the file for the
result, and starts itself again in namespaces of its own (scripts/tributary/isolation.py), where
everything runs. `measure(options, setting, folder)` runs inside and gives the result, a
dictionary with "points", each with its "ratio" and the parts of it.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compare import hugepages, machine, places, preparing
from tributary import isolation
from tributary.daemon import StartFailed

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_MISSED = 0, 1, 2, 3


@dataclass(frozen=True)
class Setting:
    """The same for all contenders."""

    core: int
    control_core: int
    huge: bool
    burst: int = 32


def progress(text):
    print(text, file=sys.stderr, flush=True)


class Comparison:
    def __init__(self, manual, measure, pages, peers=True, against=False):
        """`pages(options)`: how many hugepages of 2 MiB all contenders need together. `peers`: whether
        any of them is in scripts/packages-bench. `against`: whether another build can take part."""
        self.measure, self.pages, self.peers = measure, pages, peers
        self.programs = preparing.PROGRAMS  # what has to be built
        self.parser = argparse.ArgumentParser(
            description=manual, formatter_class=argparse.RawDescriptionHelpFormatter)
        add = self.parser.add_argument
        add("--quick", action="store_true", help="fewer points and shorter runs")
        add("--json", nargs="?", const="-", metavar="FILE", help="the result as JSON (default: -)")
        add("--runs", type=positive, help="turns of every contender (default: 9, quick: 3)")
        add("--seconds", type=float, help="each turn takes (default: 1, quick: 0.4)")
        add("--core", type=int, default=max(os.sched_getaffinity(0)),
            help="the CPU under test (default: %(default)s)")
        add("--control-core", type=int, default=min(os.sched_getaffinity(0)),
            help="the CPU for everything else (default: %(default)s)")
        add("--build", metavar="DIR",
            help="measure this build as it is (default: build, brought up to date first)")
        if against:
            add("--against", metavar="DIR",
                help="the switch of this build takes its turns, too: what a change costs or brings")
        add("--no-setup", action="store_true", help="do not install what is missing")
        add("--inside", action="store_true", help=argparse.SUPPRESS)
        add("--folder", type=Path, help=argparse.SUPPRESS)  # removed by its creator, outside
        add("--huge", action="store_true", help=argparse.SUPPRESS)
        add("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --json's file

    def run(self):
        options = self.parser.parse_args()
        options.runs = options.runs or (3 if options.quick else 9)
        options.seconds = options.seconds or (0.4 if options.quick else 1.0)
        try:
            return self.inside(options) if options.inside else self.outside(options)
        except (places.Missing, isolation.NotPossible, StartFailed, RuntimeError, OSError,
                TimeoutError) as problem:
            progress(f"{Path(sys.argv[0]).name}: {problem}")
            return EXIT_FAILED
        except KeyboardInterrupt:
            return 130

    def outside(self, options):
        isolation.check()
        # Everything it started ends with it: a build, the private world, borrowed pages.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
        if not options.no_setup:
            preparing.install(self.peers)
        if not places.is_given(options.build):
            preparing.build(self.programs)
        places.binaries(places.build_folder(options.build))
        with hugepages.borrowed(self.pages(options)) as huge, result_file(options.json) as result, \
                tempfile.TemporaryDirectory(prefix="tributary-bench-") as folder:
            if not huge:
                progress("no hugepages available: all contenders use ordinary pages, and are slower")
            command = [sys.executable, *sys.argv, "--inside", "--folder", folder, "--result", str(result)]
            return subprocess.call(isolation.command(command + ["--huge"] * huge), pass_fds=[result])

    def inside(self, options):
        isolation.prepare()
        os.sched_setaffinity(0, [options.control_core])
        setting = Setting(options.core, options.control_core, options.huge)
        found = machine.facts(options.huge)  # now, before this program adds load
        result = self.measure(options, setting, options.folder)
        result = {"comparison": Path(sys.argv[0]).name, "quick": options.quick,
                  "command": machine.command_line(), "machine": found, **result}
        with os.fdopen(options.result, "w") as out:
            json.dump(result, out, indent=2)
            out.write("\n")
        return EXIT_MISSED if result.get("missed") else EXIT_OK


@contextmanager
def result_file(path):
    """A descriptor to write the result to."""
    if path == "-":
        yield sys.stdout.fileno()
        return
    with open(path or os.devnull, "w", encoding="utf-8") as out:
        yield out.fileno()


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def numbers(text):
    return [positive(word) for word in text.split(",")]


def say(options, text):
    """A line of the result for a person, on the stream that --json does not use."""
    print(text, file=sys.stderr if options.json == "-" else sys.stdout, flush=True)


def against_before(point):
    """What --against adds to a line of the result."""
    before = point.get("ratio_to_before")
    if not before:
        return ""
    return f"; to the build before {before['median']:.3f} ({before['min']:.2f} to {before['max']:.2f})"
