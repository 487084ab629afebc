"""Runs work in the processor time that the running tests leave, until a caller waits for it.

The scheduler's idle class yields to everything else that can run. Where the kernel also shares the
processor evenly between sessions (autogroup), a session of the idle class would still have its
share; so that session is given the least weight.
"""

import os
import threading
from pathlib import Path

AUTOGROUP_LEAST, AUTOGROUP_USUAL = 19, 0


class Background:
    """One session at a time. `hurry` gives everything in it, and everything started later, normal
    priority."""

    def __init__(self):
        self._lock = threading.Lock()
        self._session = None
        self.hurried = False

    def started(self, session):
        """Call it with each session that is to yield."""
        with self._lock:
            self._session = session
            if not self.hurried:
                _weigh(session, AUTOGROUP_LEAST)
                _schedule(session, os.SCHED_IDLE)

    def hurry(self):
        with self._lock:
            self.hurried = True
            if self._session is not None:
                _weigh(self._session, AUTOGROUP_USUAL)
                _schedule(self._session, os.SCHED_OTHER)


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


def _schedule(session, policy):
    # A second pass finds processes that a process started before it was changed itself.
    while others := [pid for pid in members(session) if _policy(pid) not in (policy, None)]:
        for pid in others:
            try:
                os.sched_setscheduler(pid, policy, os.sched_param(0))
            except ProcessLookupError:
                pass
            except PermissionError:
                return  # a user other than root can lower priority, but not raise it again: the
                        # work still finishes


def _policy(pid):
    try:
        return os.sched_getscheduler(pid)
    except ProcessLookupError:
        return None


def _weigh(session, nice):
    try:
        Path(f"/proc/{session}/autogroup").write_text(str(nice))
    except OSError:
        pass  # a kernel without it, a session that has ended, or one that may not be made heavier
