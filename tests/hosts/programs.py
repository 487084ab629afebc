"""Which of Tributary's programs run in a test's world."""

import os
from pathlib import Path


def programs():
    """Their names, a name for each process, nested worlds included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            name = os.path.basename(words[0].decode())
            if name.startswith("tributary"):
                found.append(name)
    return found
