"""Child processes that never outlive the runner.

Each child leads a process group of its own; `stop_all` ends what is left of every group, so that an
interrupted run leaves nothing behind.
"""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

_live = {}
_lock = threading.Lock()


@dataclass
class Ended:
    code: int  # negative: the signal that ended it
    lines: list
    timed_out: bool = False

    @property
    def tail(self):
        return "\n".join(self.lines[-60:])


def how_it_ended(code):
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}"


def _end_group(child, grace_seconds):
    for number, patience in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 5)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        try:
            child.wait(patience)
            if number == signal.SIGTERM:
                time.sleep(0.05)  # what the leader started follows it
        except subprocess.TimeoutExpired:
            pass


def run(command, on_line=None, env=None, cwd=None, limit_seconds=None):
    """Runs to the end, or to the limit, which is a guard against a hang and no measurement."""
    with _lock:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        _live[child.pid] = child
    expired = threading.Event()

    def expire():
        expired.set()
        _end_group(child, 5)

    guard = threading.Timer(limit_seconds, expire) if limit_seconds else None
    if guard:
        guard.daemon = True
        guard.start()
    lines = []
    try:
        for line in child.stdout:
            line = line.rstrip("\n")
            lines.append(line)
            if on_line:
                on_line(line)
        child.wait()
    finally:
        if guard:
            guard.cancel()
        _end_group(child, 0.2)
        with _lock:
            _live.pop(child.pid, None)
    return Ended(child.returncode, lines, expired.is_set())


def stop_all():
    with _lock:
        children = list(_live.values())
    for child in children:
        _end_group(child, 5)
