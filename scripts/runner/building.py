"""Build directories: one for each kind of build, configured when missing, and their contents."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import processes  # noqa: E402
from platforms.inside import Inside  # noqa: E402
from platforms.names import VARIABLE  # noqa: E402
from platforms.root import place_of  # noqa: E402

RELEASE = "release"
ADDRESS = "address,undefined"
PACKAGES = "var/lib/dpkg/status"  # changes when one is installed
NINJA_STEP = re.compile(r"\[\d+/\d+\] ")


class BuildFailed(Exception):
    """The text is the end of meson's or ninja's output."""


@dataclass
class Program:
    """A test program as defined in meson."""

    name: str
    suites: list
    command: list
    env: dict
    workdir: str
    alone: bool
    bounds_itself: bool  # no external limit: it has one for each of its cases
    targets: list  # files that must be built before it can run

    @property
    def tier(self):
        return self.suites[0] if self.suites else "unit"


class Build:
    def __init__(self, root, kind, lean=False, platform=None, environment=os.environ, roots=None):
        """`kind`: release, or sanitizers joined by commas; `lean`: the sanitizer settings that take
        least time. `platform`: the Platform in whose root it is built and run; None: this system.
        `roots`: the Roots, where that root has been begun; without them it is ready."""
        self.root = root
        self.what = kind
        self.lean = lean
        name = platform.name if platform else environment.get(VARIABLE)
        self.kind = f"{kind}@{name}" if name else kind
        instrumented = kind.replace(",", "-") + ("-lean" if lean else "")
        # A platform's root shares the machine's tree, so its builds are beside the machine's.
        if name:
            self.directory = root / f"build-{name}" / (RELEASE if kind == RELEASE else instrumented)
        else:
            self.directory = root / ("build" if kind == RELEASE else f"build-{instrumented}")
        self.platform = platform
        self._roots = roots
        self._inside = Inside(root, place_of(root, platform), platform) if platform else None
        self._place = self._inside.place if self._inside else Path("/")
        self._packages = self._place / PACKAGES
        self.processor_seconds = 0.0  # of building so far

    @property
    def is_release(self):
        return self.what == RELEASE

    @property
    def sanitizers(self):
        return "" if self.is_release else self.what

    @property
    def name(self):
        """Its directory, relative to the root of the tree."""
        return str(self.directory.relative_to(self.root))

    @property
    def scratch(self):
        """A folder for temporary files that both its programs and the runner see; None: the default
        folder."""
        return self.directory if self._inside else None

    def command(self, words, stand=None):
        """The command that runs `words` where the build belongs; `stand`: their working directory
        there."""
        return self._inside.command(words, stand) if self._inside else words

    def configure(self, tests=True):
        """Creates the directory, or updates an existing one for changed meson.build files and newly
        installed libraries. `tests`: with tests and benchmarks; an existing directory keeps
        them."""
        if self.platform and self._roots:
            self._roots.wait(self.platform)
        made = self.directory / "build.ninja"
        if made.exists():
            lacks_tests = tests and not self._option("tests")
            if lacks_tests or (self._packages.exists() and self._packages.stat().st_mtime > made.stat().st_mtime):
                command = ["meson", "setup", "--reconfigure", str(self.directory)]
                self._run([*command, *(["-Dtests=true"] if lacks_tests else [])], {})
            else:
                self._run(["ninja", "-C", str(self.directory), "build.ninja"], {})
            return
        command = ["meson", "setup", str(self.directory), str(self.root), f"-Dtests={str(tests).lower()}"]
        # Most of the compile time is the standard library's and Asio's headers, so a target is one unit.
        # .ci/nightly compiles each file separately, as a plain "meson setup" does.
        command.append("-Dunity=on")
        if self.is_release:
            self._run([*command, "--buildtype=release"], {})
            return
        # The instrumented builds keep the assertions. clang needs less time than gcc,
        # and brings libFuzzer. Optimization costs more compile time than it saves in the tests,
        # except for the rooms that they keep busy (hot_options in meson.build).
        with_address = "address" in self.what
        command += [
            f"-Dsanitize={self.what}", f"-Dfuzz={str(with_address).lower()}",
            "-Doptimization=0", "-Db_ndebug=false", "-Ddebug=false",
        ]
        if self.lean:
            command.append("-Dlean=true")  # see meson.build
        else:
            command += ["-Dc_args=-g1", "-Dcpp_args=-g1"]  # findings name lines
        # As meson does by itself for a compiler that it chooses.
        cache = "ccache " if (self._place / "usr/bin/ccache").exists() else ""
        self._run(command, {"CC": f"{cache}clang", "CXX": f"{cache}clang++"})

    def compile(self, targets, behind=None, on_line=None):
        """`behind`: the Background to build in; `on_line`: receives ninja's progress."""
        command = ["ninja", "-C", str(self.directory), "-k", "0", *targets]  # reports everything
                                                                             # that does not compile
        self._run(command, {}, on_line, behind.started if behind else None)

    def everything_but(self, programs):
        """The targets of a plain `ninja`, without the executables of `programs`."""
        left_out = {os.path.relpath(program.command[0], self.directory) for program in programs}
        return [
            os.path.relpath(name, self.directory)
            for target in self._introspect("--targets")
            if target["build_by_default"]
            for name in target["filename"]
            if os.path.relpath(name, self.directory) not in left_out
        ]

    def programs(self):
        files = {t["id"]: t["filename"] for t in self._introspect("--targets")}
        found = []
        for test in self._introspect("--tests"):
            targets = [name for identity in test["depends"] for name in files.get(identity, [])]
            found.append(
                Program(
                    test["name"],
                    [suite.split(":", 1)[-1] for suite in test["suite"]],
                    test["cmd"],
                    test["env"],
                    test["workdir"],
                    not test["is_parallel"],
                    test["timeout"] == 0,
                    [os.path.relpath(name, self.directory) for name in targets],
                )
            )
        return found

    def fuzz_targets(self):
        """(name, path) of the executables that tests/fuzz defines."""
        place = self.root / "tests" / "fuzz" / "meson.build"
        return sorted(
            (target["name"], Path(target["filename"][0]))
            for target in self._introspect("--targets")
            if target["type"] == "executable" and Path(target["defined_in"]) == place
        )

    def environment(self):
        """The options of the sanitizers; suppressions name only third-party code."""
        place = self.root / "tests" / "sanitizers"
        return {
            "ASAN_OPTIONS": "detect_stack_use_after_return=1",
            "LSAN_OPTIONS": f"suppressions={place}/leak.txt:print_suppressions=0",
            # By default every process waits a second at its end for threads that were not joined.
            "TSAN_OPTIONS": f"suppressions={place}/thread.txt:second_deadlock_stack=1:atexit_sleep_ms=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }

    def _option(self, name):
        return next(option["value"] for option in self._introspect("--buildoptions") if option["name"] == name)

    def _introspect(self, what):
        printed = subprocess.run(
            self.command(["meson", "introspect", what, str(self.directory)]),
            check=True, capture_output=True, text=True,
        )
        return json.loads(printed.stdout)

    def _run(self, command, env, on_line=None, on_start=None):
        ended = processes.run(self.command(command), on_line, env, self.root, on_start=on_start)
        self.processor_seconds += ended.processor_seconds
        if ended.code:
            said = "\n".join([line for line in ended.lines if not NINJA_STEP.match(line)][-60:])
            raise BuildFailed(f"{' '.join(command)}: {processes.how_it_ended(ended.code)}\n{said}")
