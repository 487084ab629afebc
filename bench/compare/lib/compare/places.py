"""The locations of the repository, its builds, and the peers."""

import os
import shutil
from pathlib import Path

from tributary.switch import Binaries

ROOT = Path(__file__).resolve().parents[4]
# Packages that scripts/setup --bench only unpacks, so that none of their services is installed.
UNPACKED = ROOT / "build-peers"


class Missing(Exception):
    """A requirement of the measurement is missing; the text names the command to run."""


def _given_build(asked):
    return asked or os.environ.get("TRIBUTARY_BUILD")


def is_given(asked):
    """Whether an option or TRIBUTARY_BUILD names the build to measure."""
    return bool(_given_build(asked))


def build_folder(asked=None):
    return Path(_given_build(asked) or ROOT / "build").resolve()


def binaries(build):
    found = Binaries(build)
    for program in (found.switch, found.ctl):
        if not program.exists():
            raise Missing(f"{program} is not built: run 'ninja -C {build}'")
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
