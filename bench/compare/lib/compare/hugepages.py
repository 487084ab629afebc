"""2 MiB pages, borrowed while a benchmark runs and given back at its end."""

import os
from contextlib import contextmanager
from pathlib import Path

KNOB = Path("/proc/sys/vm/nr_hugepages")


@contextmanager
def borrowed(wanted):
    """Whether that many exist; requests missing ones from the kernel, if permitted."""
    before = int(KNOB.read_text())
    got = before
    if before < wanted and os.access(KNOB, os.W_OK):
        KNOB.write_text(str(wanted))
        got = int(KNOB.read_text())
    try:
        yield got >= wanted
    finally:
        if got != before:
            KNOB.write_text(str(before))
