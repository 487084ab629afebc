"""Recognises a root of another release, creates it with debootstrap, and installs the lists'
packages in it.

A root is a folder with the file MARKER, which says for which platform it is, and whether debootstrap has ended:

    absent or empty          made
    marked, not complete     what an interrupted run left: removed, and created again
    marked, complete         used, if it is of the release that it is marked for
    not marked not ours: refused, and not touched

A process that creates a root or installs in it holds a lock beside it; a lock ends with its holder,
however that ends.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from platforms import archive, inside, names
from platforms.names import PlatformError, release_in

MARKER = ".tributary-platform"
VARIABLE = "TRIBUTARY_ROOTS"  # a folder of roots, instead of one in each tree
NEEDED_BYTES = 8 << 30  # a root with all packages, and builds beside it
PROGRAMS = ("debootstrap", "unshare", "mount", "pivot_root")

ABSENT, HALF, COMPLETE = "absent", "half", "complete"


def say(text):
    print(text, flush=True)


def place_of(tree, platform, environment=os.environ):
    """The folder of the platform's root for this tree."""
    if shared := environment.get(VARIABLE):
        return Path(shared).resolve() / platform.name
    return tree / f"build-{platform.name}" / "root"


def state_of(place, platform):
    """ABSENT, HALF or COMPLETE. Raises PlatformError for a folder that may not be used."""
    if not place.is_dir() or not any(place.iterdir()):
        if place.exists() and not place.is_dir():
            raise PlatformError(f"{place} is not a folder; remove it, or set {VARIABLE} to another place")
        return ABSENT
    try:
        marked = json.loads((place / MARKER).read_text(encoding="utf-8"))
        made_for, complete = marked["platform"], marked["complete"]
    except FileNotFoundError:
        raise PlatformError(f"{place} is not empty, and no root that scripts/platforms has made; remove it, or set "
                            f"{VARIABLE} to another place") from None
    except (OSError, ValueError, KeyError, TypeError):
        made_for, complete = platform.name, False  # the run ended while it was written
    if not complete:
        return HALF
    release, pretty = release_in(place)
    if made_for != platform.name or release != platform.name:
        raise PlatformError(f"{place} is a root of {pretty}, made for {made_for}, and not of {platform.name}; remove it")
    return COMPLETE


def mark(place, platform, complete):
    text = json.dumps({"platform": platform.name, "complete": complete}) + "\n"
    (place / MARKER).write_text(text, encoding="utf-8")


def mounted_below(place, mountinfo=None):
    """Where something is mounted at or below `place`."""
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
    points = [line.split()[4].encode().decode("unicode_escape") for line in text.splitlines()]
    return [point for point in points if point == str(place) or point.startswith(f"{place}/")]


@contextlib.contextmanager
def locked(place):
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{place.name}.lock").open("w", encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{place} is being made or filled by another run; waiting for it")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def check_possible(place):
    """Raises PlatformError unless a root can be created there."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=inside.PATH) is None]
    if missing:
        raise PlatformError(f"{', '.join(missing)} is not installed; scripts/setup --platform installs it")
    above = next(folder for folder in (place, *place.parents) if folder.exists())
    status = os.statvfs(above)
    free = status.f_bavail * status.f_frsize
    if free < NEEDED_BYTES:
        raise PlatformError(f"{above} has {free / 2**30:.1f} GiB left, and a root with its builds needs "
                            f"{NEEDED_BYTES >> 30} GiB; set {VARIABLE} to a place that has them")


def remove(place):
    if mounts := mounted_below(place):
        raise PlatformError(f"something is mounted in {place}, which an interrupted run has left half made: "
                            f"{', '.join(mounts)}. Unmount it, for its files would be removed: umount -R {place}")
    shutil.rmtree(place)


def _ends_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def run_bounded(command):
    """(exit code, output). The command and everything it starts and mounts end with this program,
    even if that is killed."""
    child = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", *map(str, command)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        preexec_fn=_ends_with_us, env={**os.environ, "PATH": inside.PATH},
    )
    try:
        said, _ = child.communicate()
    except BaseException:
        child.kill()
        child.wait()
        raise
    return child.returncode, said


def make(place, platform):
    """An empty Debian of the release. Raises PlatformError."""
    check_possible(place)
    found = archive.of_release(archive.sources(), platform.codename)
    say(f"{platform.name}: making {place}: debootstrap of {platform.codename} from {found[0].address}")
    started = time.monotonic()
    place.mkdir(parents=True, exist_ok=True)
    mark(place, platform, complete=False)
    code, said = run_bounded(["debootstrap", "--variant=minbase", "--include=ca-certificates,git", platform.codename, place,
                              found[0].address])
    if code != 0:
        last = "\n".join(said.splitlines()[-5:])
        raise PlatformError(f"{last}\ndebootstrap ended with {code} (its last words are above); is {found[0].address} "
                            f"reachable, and has it {platform.codename}? {place}/debootstrap has its log")
    fetched = sum(path.stat().st_size for path in (place / "var/cache/apt/archives").glob("*.deb"))
    (place / "etc/apt/sources.list").write_text(archive.sources_list(found), encoding="utf-8")
    # A root that a crash left incomplete is created again, so packages need not be synced to disk
    # one by one.
    (place / "etc/dpkg/dpkg.cfg.d/tributary").write_text("force-unsafe-io\n", encoding="utf-8")
    # No service is started in the root.
    policy = place / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    policy.chmod(0o755)
    mark(place, platform, complete=True)
    say(f"{platform.name}: the base system is made: {fetched / 1e6:.0f} MB fetched, {time.monotonic() - started:.0f} s")


def install(tree, place, platform, lists):
    """The missing packages of scripts/setup's lists, which are its options."""
    archive.copy_settings(place)
    in_root = inside.Inside(tree, place, platform)
    setup = ["scripts/setup", "--quiet", *lists]
    started = time.monotonic()
    if subprocess.run(in_root.command([*setup, "--check"]), stdout=subprocess.DEVNULL, check=False).returncode == 0:
        return
    with locked(place):
        # Configures what an interrupted run has only unpacked.
        subprocess.run(in_root.command(["dpkg", "--configure", "-a"]), stdout=subprocess.DEVNULL, check=False)
        if subprocess.run(in_root.command(setup), check=False).returncode != 0:
            raise PlatformError(f"packages could not be installed in {place} (the reason is above)")
    say(f"{platform.name}: packages are installed, {time.monotonic() - started:.0f} s")


def check(platform):
    """Raises PlatformError where no root can be entered, whatever it holds."""
    if inside_of := os.environ.get(names.VARIABLE):
        raise PlatformError(f"this runs in the root of {inside_of}, and makes none of {platform.name} in it")
    if os.geteuid() != 0:
        raise PlatformError(f"{platform.name} is another release than this machine's, and a root needs root: start it with sudo")


def ready(tree, platform, lists):
    """The root of the platform, with packages of these lists; None: as it is. Raises PlatformError."""
    check(platform)
    place = place_of(tree, platform)
    state = state_of(place, platform)
    if state != COMPLETE:
        with locked(place):
            state = state_of(place, platform)  # from the process that created it meanwhile
            if state == HALF:
                say(f"{platform.name}: {place} is half made, by a run that was interrupted; it is made again")
                remove(place)
            if state != COMPLETE:
                make(place, platform)
    if lists is not None:
        install(tree, place, platform, lists)
    return place
