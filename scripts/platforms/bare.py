"""An empty Debian of this machine's release in a folder: what packages are tried in, and images are made of.

    bootstrap(root)                        needs root, debootstrap and a mirror: the one of this machine's apt
    in_root(root, "apt-get", "update")     a subprocess.CompletedProcess
    with reached(root): ...                apt in there reaches the mirror; afterwards no setting of this machine is left
"""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

from platforms import archive
from platforms.root import run_bounded

MOST_SECONDS = 3600  # of one command in a root
SETTINGS = archive.SOURCES + archive.REACHED


def mirror():
    """(where apt gets the base system from, its code name)"""
    found = archive.sources()[0]
    return found.address, found.suite


def copy_settings(root):
    archive.copy_settings(root, SETTINGS)


def bootstrap(path, include=()):
    """A Debian of the minimal variant, and packages `include`. Returns what debootstrap said in the end, "" if it is made."""
    where, release = mirror()
    more = [f"--include={','.join(include)}"] if include else []
    code, said = run_bounded(["debootstrap", "--variant=minbase", *more, release, path, where])
    return said[-600:] or f"it ended with {code}" if code != 0 else ""


def in_root(root, *command):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    # With a process namespace of its own, all that it starts ends with it.
    bounded = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={root}/proc"]
    return subprocess.run([*bounded, "chroot", str(root), *command], env=environment, capture_output=True, text=True,
                          check=False, timeout=MOST_SECONDS)


def start_nothing(root):
    """Packages start no daemon in there. Returns the file that says so."""
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    return policy


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def reached(root):
    """What packages install at a place of these settings meanwhile is lost."""
    aside = Path(f"{root}.own-settings")
    own = [name for name in SETTINGS if os.path.lexists(root / name)]
    for name in own:
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", root / name, aside / name], check=True)
    try:
        copy_settings(root)
        yield
    finally:
        for name in SETTINGS:
            remove(root / name)
        for name in own:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(aside / name, root / name)
        shutil.rmtree(aside, ignore_errors=True)
