#!/usr/bin/env python3
"""Installs a release build into a folder as a package has it, under /usr, whatever prefix it was made for.

    stage.py BUILD-FOLDER DESTINATION

What has the prefix in its text (units, tributary.pc) is written again; programs do not have it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

PREFIX = Path("/usr")
TEXTS = ("*.service", "*.pc")


def prefix_of(build):
    output = subprocess.run(["meson", "introspect", "--buildoptions", str(build)],
                          capture_output=True, text=True, check=True).stdout
    return Path(next(one["value"] for one in json.loads(output) if one["name"] == "prefix"))


def within(destination, path):
    return destination / path.relative_to("/")


def move(source, target):
    """Merges the folder `source` into `target`."""
    for path in sorted(source.rglob("*")):
        to = target / path.relative_to(source)
        if path.is_dir() and not path.is_symlink():
            to.mkdir(parents=True, exist_ok=True)
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)
    shutil.rmtree(source)


def stage(build, destination):
    prefix = prefix_of(build)
    subprocess.run(["meson", "install", "-C", str(build), "--no-rebuild", "--quiet",
                    "--destdir", str(destination.resolve())], check=True)
    if prefix == PREFIX:
        return
    move(within(destination, prefix), within(destination, PREFIX))
    for pattern in TEXTS:
        for path in within(destination, PREFIX).rglob(pattern):
            path.write_text(path.read_text(encoding="utf-8").replace(str(prefix), str(PREFIX)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    stage(Path(sys.argv[1]), Path(sys.argv[2]))
