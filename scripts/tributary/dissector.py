"""tshark with our dissector, as a test starts it."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "packaging/wireshark/tributary.lua"


def command(capture):
    """The first words of a command that reads the file `capture`. Wireshark 4.4 runs no script for
    root, so tshark runs as the user nobody: the file, its folder and a copy of the script in it are
    world-readable."""
    capture = Path(capture)
    script = Path(shutil.copyfile(SCRIPT, capture.parent / SCRIPT.name))
    for path, mode in ((capture.parent, 0o755), (capture, 0o644), (script, 0o644)):
        path.chmod(mode)
    other = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    return [*other, "tshark", "-n", "-X", f"lua_script:{script}", "-r", str(capture)]


@cache
def field(*names):
    """The first of these names of a field that this tshark has: releases call some of their own differently. Without
    tshark the first."""
    if shutil.which("tshark") is None:
        return names[0]
    listed = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True, check=True).stdout
    known = {line.split("\t")[2] for line in listed.splitlines() if line.startswith(("F\t", "P\t"))}
    return next(name for name in names if name in known)
