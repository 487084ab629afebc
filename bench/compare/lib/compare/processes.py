"""Programs under test: started, stopped and continued by their id, and their CPU time.

All contenders of a comparison are started once. A contender that does not have its turn is stopped
by a signal, so that it takes no time of the core, and the next slice can follow immediately.
"""

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def running(command, **options):
    """The program as a child; it is terminated at the end, and killed if it does not exit."""
    child = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield child
    finally:
        end(child)


def end(child, timeout_seconds=10):
    if child.poll() is None:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGTERM)
        try:
            child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def preferred(command):
    """The command at the highest ordinary priority, if this user may: other load then takes little
    of the core under test. All contenders get the same."""
    return ["nice", "-n", "-20", *command] if os.geteuid() == 0 else list(command)


def on_cpu_ns(pid):
    """Nanoseconds on a CPU, by thread of the process."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            times[task.name] = int((task / "schedstat").read_text().split()[0])
    return times


def busiest_ns(before, after, threads):
    """Total CPU time of the threads that ran most between two samples."""
    had = sorted((after[task] - before.get(task, 0) for task in after), reverse=True)
    return sum(had[:threads])
