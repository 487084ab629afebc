"""Work on the processor time that the running tests leave, until it is waited for.

The scheduler's idle class gives way to whatever else can run. Where the kernel also shares the
processor evenly between sessions (autogroup), a session of the idle class would still have its share;
so that session is given the least weight.
"""

import os
import threading
from pathlib import Path

AUTOGROUP_LEAST, AUTOGROUP_USUAL = 19, 0


class Background:
    """One command at a time; `hurry` makes it, and what it has started, a process like any other."""

    def __init__(self):
        self._lock = threading.Lock()
        self._session = None
        self.hurried = False

    def command(self, command):
        with self._lock:
            return list(command) if self.hurried else ["chrt", "--idle", "0", *command]

    def started(self, session):
        with self._lock:
            self._session = session
            if not self.hurried:
                _weigh(session, AUTOGROUP_LEAST)
            else:
                _hurry(session)

    def hurry(self):
        with self._lock:
            self.hurried = True
            if self._session is not None:
                _hurry(self._session)


def _hurry(session):
    _weigh(session, AUTOGROUP_USUAL)
    # What was started by a process of the idle class while we looked is found by looking again.
    while idle := [pid for pid in members(session) if _is_idle(pid)]:
        for pid in idle:
            try:
                os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
            except ProcessLookupError:
                pass
            except PermissionError:
                return  # it ends all the same, only later


def members(session):
    """The processes of a session."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if os.getsid(int(place.name)) == session:
                    found.append(int(place.name))
            except ProcessLookupError:
                pass
    return found


def _is_idle(pid):
    try:
        return os.sched_getscheduler(pid) == os.SCHED_IDLE
    except ProcessLookupError:
        return False


def _weigh(session, nice):
    try:
        Path(f"/proc/{session}/autogroup").write_text(str(nice))
    except OSError:
        pass  # a kernel without it, a session that has ended, or one that may not be made heavier
