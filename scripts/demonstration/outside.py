"""The outside of a demonstration: builds, becomes root, and starts the program again inside a private world."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "runner")]

from building import RELEASE, Build, BuildFailed  # noqa: E402
from tributary import isolation  # noqa: E402

RELEASE_BUILD = Build(ROOT, RELEASE)
BUILD = RELEASE_BUILD.directory


def say(text):
    print(text, flush=True)


def fail(text):
    print(f"demo: {text}", file=sys.stderr)
    return 1


class Steps:
    """Takes ninja's lines; reports that a build runs once there is something to build, and its
    progress."""

    def __init__(self):
        self.tenths = None  # the step that was reported last

    def __call__(self, line):
        step = re.match(r"\[(\d+)/(\d+)\] ", line)
        if step is None:
            return
        done, total = (int(number) for number in step.groups())
        if self.tenths is None:
            self.tenths = 0
            say(f"building {RELEASE_BUILD.name}/: {total} steps" + (", a few minutes" if total > 20 else ""))
        if done * 10 // total > self.tenths and total > 20:
            self.tenths = done * 10 // total
            say(f"  {self.tenths}0 %")


def build(programs):
    RELEASE_BUILD.configure(tests=False)
    RELEASE_BUILD.compile(programs, on_line=Steps())


def begin(program, programs, options, arguments, run=None):
    """Runs `program` again with --inside and `arguments`; returns its exit code. `options` has
    build and output. `run` starts the inside, if not `run_isolated`."""
    if not options.build:
        try:
            build(programs)
        except BuildFailed as failure:
            return fail(f"the build failed: {failure}")
    if os.geteuid() != 0 and shutil.which("sudo"):
        say("namespaces and XDP need root: going on with sudo")
        os.execvp("sudo", ["sudo", sys.executable, str(program), *sys.argv[1:], "--build", str(BUILD)])
    try:
        isolation.check()
    except isolation.NotPossible as reason:
        return fail(str(reason))
    try:
        # Here, because the file system is different inside; and now, because an error can still be
        # reported.
        result = options.output.open("w", encoding="utf-8") if options.output else None
    except OSError as error:
        return fail(f"--output {options.output}: {error.strerror}")
    command = [
        sys.executable, str(program), "--inside", *arguments,
        "--build", str((options.build or BUILD).absolute()),
        *(["--result", str(result.fileno())] if result else []),
    ]  # fmt: skip
    return (run or run_isolated)(command, [result.fileno()] if result else [])


class Interrupted(Exception):
    pass


def run_isolated(command, descriptors):
    def interrupted(number, frame):
        raise Interrupted(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    child = subprocess.Popen(isolation.command(command), pass_fds=descriptors)
    try:
        code = child.wait()
        return code if code >= 0 else 128 - code
    except Interrupted as interruption:
        # Ctrl-C interrupts the inside too, which has a moment to stop in good order. After that, or
        # if it has no handler yet, the kernel ends it.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        try:
            child.wait(5 if interruption.args[0] == signal.SIGINT else 0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        say("demo: interrupted; everything it made is removed")
        return 128 + interruption.args[0]
