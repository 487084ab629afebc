"""Programs under test: started, stopped and continued by their id, and the CPU time they had.

All contenders of a comparison are started once. A contender whose turn it is not is stopped by
signal, so that it takes no time of the core, and the next slice can follow at once.
"""

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def running(command, **options):
    """The program as a child; at the end it is told to go, and made to if it does not."""
    child = subprocess.Popen([str(word) for word in command], **options)
    try:
        yield child
    finally:
        end(child)


def end(child, patience_seconds=10):
    if child.poll() is None:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGCONT)
            child.send_signal(signal.SIGTERM)
        try:
            child.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def preferred(command):
    """The command at the highest ordinary priority, if this user may: what else runs on the machine
    then takes little of the core under test. All contenders get the same."""
    return ["nice", "-n", "-20", *command] if os.geteuid() == 0 else list(command)


def on_cpu_ns(pid):
    """By thread of the process: nanoseconds it was on a CPU."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            times[task.name] = int((task / "schedstat").read_text().split()[0])
    return times


def busiest_ns(before, after, threads):
    """What the threads that ran most had of their CPUs between two looks, together."""
    had = sorted((after[task] - before.get(task, 0) for task in after), reverse=True)
    return sum(had[:threads])
