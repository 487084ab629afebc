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
_ended = False


class Refused(Exception):
    """No further process may be started."""


@dataclass
class Ended:
    code: int  # negative: the signal that ended it
    lines: list
    timed_out: bool = False
    processor_seconds: float = 0.0  # its own and that of the children it waited for

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


def _has_ended(child, timeout_seconds):
    """Whether the leader ended. It is not reaped, so that its group's id is not reused."""
    end = time.monotonic() + timeout_seconds
    while True:
        try:
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
                return True
        except ChildProcessError:
            return True
        if time.monotonic() > end:
            return False
        time.sleep(0.02)


def _signal_group(child, number):
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass


def _end_group(child):
    _signal_group(child, signal.SIGTERM)
    _has_ended(child, 5)
    _signal_group(child, signal.SIGKILL)


def _follow(child):
    """When the leader has ended, its descendants end too, and with them the pipe that is read."""
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    _signal_group(child, signal.SIGTERM)
    time.sleep(0.05)
    _signal_group(child, signal.SIGKILL)


def run(command, on_line=None, env=None, cwd=None, limit_seconds=None, on_start=None):
    """Runs to the end, or to the limit, which guards against a hang and is not a measurement.

    `on_start` receives the id of the session that the child leads.
    """
    with _lock:
        if _ended:
            raise Refused(" ".join(command))
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
    if on_start:
        on_start(child.pid)
    expired = threading.Event()

    def expire():
        expired.set()
        _end_group(child)

    guard = threading.Timer(limit_seconds, expire) if limit_seconds else None
    if guard:
        guard.daemon = True
        guard.start()
    follower = threading.Thread(target=_follow, args=(child,), daemon=True)
    follower.start()
    lines = []
    try:
        for line in child.stdout:
            line = line.rstrip("\n")
            lines.append(line)
            if on_line:
                on_line(line)
    except BaseException:
        _end_group(child)
        raise
    finally:
        if guard:
            guard.cancel()
        follower.join()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        with _lock:
            _live.pop(child.pid, None)
    return Ended(child.returncode, lines, expired.is_set(), used.ru_utime + used.ru_stime)


def stop_all():
    with _lock:
        children = list(_live.values())
    for child in children:
        _end_group(child)


def end():
    """Stops everything that was started, and prevents further starts from any thread."""
    global _ended
    with _lock:
        _ended = True
    stop_all()
