"""Where the repository, what was built of it, and the peers are."""

import os
import shutil
from pathlib import Path

from tributary.switch import Binaries

ROOT = Path(__file__).resolve().parents[4]
# Packages that scripts/setup --bench only unpacks, so that none of their services is installed.
UNPACKED = ROOT / "build-peers"


class Missing(Exception):
    """Something the measurement needs is not there; the text says what to run."""


def build_folder(asked=None):
    """The build directory: as asked for, or named by TRIBUTARY_BUILD, or build."""
    return Path(asked or os.environ.get("TRIBUTARY_BUILD") or ROOT / "build").resolve()


def binaries(build):
    found = Binaries(build)
    for program in (found.switch, found.ctl):
        if not program.exists():
            raise Missing(f"{program} is not built: run 'scripts/setup && meson setup build && ninja -C build'")
    return found


def peer(name, *unpacked):
    """A peer's program: from PATH, or one of these paths, as installed or below UNPACKED."""
    if found := shutil.which(name):
        return found
    for path in unpacked:
        for candidate in (Path("/") / path, UNPACKED / path):
            if os.access(candidate, os.X_OK):
                return str(candidate)
    raise Missing(f"{name} is not installed: run 'scripts/setup --bench'")
