#!/usr/bin/env python3
"""Installs the lists in an empty Debian, and looks for every program that is named.

    tests/packages/empty_root.py [--keep FOLDER]

Takes ten minutes and 5 GB; needs root, debootstrap, and a mirror: the one that this machine's apt
is set to, release and keys included. Exits with 1 when a program is missing, 77 when it cannot run
here. Nothing outside a temporary folder changes.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).resolve().parent)]

import programs  # noqa: E402
from platforms.bare import bootstrap, copy_settings, in_root, start_nothing  # noqa: E402

SKIPPED = 77


def must(done):
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, done.args))} failed:\n{(done.stdout + done.stderr)[-4000:]}")


def missing_in(root):
    wrong = []
    for program, places in sorted(programs.named(ROOT).items()):
        found = in_root(root, "sh", "-c", f"command -v {program}").returncode == 0
        # What is only unpacked on a user's machine may lie outside of PATH.
        found = found or any(path.name == program and os.access(path, os.X_OK)
                             for folder in ("usr/lib/openvswitch-switch-dpdk",) for path in (root / folder).glob("*"))
        if not found:
            wrong.append(f"{program} ({min(places)})")
    return wrong


def has(root, package):
    """Whether the release in `root` has it."""
    output = in_root(root, "apt-cache", "policy", package).stdout
    return bool(output) and "Candidate: (none)" not in output


def install(root):
    print(f"an empty Debian in {root}", flush=True)
    if said := bootstrap(root):
        raise SystemExit(f"debootstrap failed:\n{said}")
    copy_settings(root)
    start_nothing(root)
    must(in_root(root, "apt-get", "-q", "-y", "update"))
    lists = [name for unpacked in (False, True)
             for name in programs.listed(ROOT, (*programs.DEVELOPMENT, "packages-bench", "packages-night", "packages-torch", "packages-machines"), unpacked,
                                         programs.release_of(root), lambda name: has(root, name))]
    print(f"installing {len(lists)} packages and what they need", flush=True)
    must(in_root(root, "apt-get", "-q", "-y", "install", "--no-install-recommends", *lists))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a folder that the Debian is made in, and stays in")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("skipped: this needs root and debootstrap")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="tributary-empty-root-") as place:
        root = chosen.keep or Path(place) / "root"
        install(root)
        wrong = missing_in(root)
    for program in wrong:
        print(f"missing: {program}: no package of the lists scripts/packages* brings it")
    print(f"{len(programs.named(ROOT)) - len(wrong)} programs found, {len(wrong)} missing")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
