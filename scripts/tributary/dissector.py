"""tshark with our dissector, as a test starts it."""

import os
import shutil
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "contrib/wireshark/tributary.lua"


def command(capture):
    """The words that a command which reads the file `capture` begins with. Wireshark 4.4 runs no script of a user who is
    root, so tshark runs as nobody: the file, its folder and a copy of the script in it are readable by everybody."""
    capture = Path(capture)
    script = Path(shutil.copyfile(SCRIPT, capture.parent / SCRIPT.name))
    for path, mode in ((capture.parent, 0o755), (capture, 0o644), (script, 0o644)):
        path.chmod(mode)
    other = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    return [*other, "tshark", "-n", "-X", f"lua_script:{script}", "-r", str(capture)]
