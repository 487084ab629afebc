"""Build directories: one for each way to build, configured when missing, and what is in them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import processes

RELEASE = "release"
FUZZ = "fuzz"


class BuildFailed(Exception):
    """The text is the end of what meson or ninja printed."""


@dataclass
class Program:
    """A test program as meson knows it."""

    name: str
    suites: list
    command: list
    env: dict
    workdir: str
    alone: bool
    targets: list  # files that must be built before it can run

    @property
    def tier(self):
        return self.suites[0] if self.suites else "unit"


class Build:
    def __init__(self, root, kind):
        """`kind`: release, fuzz, or sanitizers joined by commas."""
        self.root = root
        self.kind = kind
        suffix = "" if kind == RELEASE else "-" + kind.replace(",", "-")
        self.directory = root / f"build{suffix}"

    @property
    def sanitizers(self):
        return "" if self.kind in (RELEASE, FUZZ) else self.kind

    def configure(self):
        """Makes the directory, or has an existing one take notice of changed meson.build files."""
        if (self.directory / "build.ninja").exists():
            self._run(["ninja", "-C", str(self.directory), "build.ninja"], {})
            return
        command = ["meson", "setup", str(self.directory), str(self.root)]
        env = {}
        if self.kind == FUZZ:
            env = {"CC": "clang", "CXX": "clang++"}
            command += ["-Dfuzz=true", "-Dsanitize=address,undefined"]
        elif self.sanitizers:
            command += [f"-Dsanitize={self.sanitizers}"]
        # The instrumented builds keep the assertions and the line numbers. Optimization costs them more
        # compile time than it saves in the tests: the address sanitizer's has it in the rooms that the
        # virtual fabric keeps busy alone (hot_options in meson.build).
        command += (
            ["--buildtype=release"]
            if self.kind == RELEASE
            else [
                f"-Doptimization={0 if 'address' in (self.sanitizers or '') else 1}",
                "-Ddebug=false", "-Dc_args=-g1", "-Dcpp_args=-g1",
            ]
        )
        # Most of their compile time is the standard library's and Asio's headers: eight files share
        # them. The release compiles each file by itself, and so sees what one lacks.
        if self.kind != RELEASE:
            command += ["-Dunity=on", "-Dunity_size=8"]
        self._run(command, env)

    def compile(self, targets=()):
        command = ["ninja", "-C", str(self.directory), *targets]
        if sys.stdout.isatty():
            if subprocess.run(command, check=False).returncode:
                raise BuildFailed("see above")
        else:
            self._run(command, {})

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
        """What the sanitizers are told; suppressions name only other people's code."""
        place = self.root / "tests" / "sanitizers"
        return {
            "ASAN_OPTIONS": "detect_stack_use_after_return=1",
            "LSAN_OPTIONS": f"suppressions={place}/leak.txt:print_suppressions=0",
            "TSAN_OPTIONS": f"suppressions={place}/thread.txt:second_deadlock_stack=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }

    def _introspect(self, what):
        printed = subprocess.run(
            ["meson", "introspect", what, str(self.directory)],
            check=True, capture_output=True, text=True,
        )
        return json.loads(printed.stdout)

    def _run(self, command, env):
        ended = processes.run(command, env=env, cwd=self.root)
        if ended.code:
            raise BuildFailed(f"{' '.join(command)}: {processes.how_it_ended(ended.code)}\n{ended.tail}")
