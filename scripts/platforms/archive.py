"""The archives from which this machine's apt gets Debian, and its settings for reaching them."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from platforms.names import PLATFORMS, PlatformError

SOURCES = ("etc/apt/sources.list", "etc/apt/sources.list.d", "etc/apt/trusted.gpg.d", "usr/share/keyrings")
REACHED = ("etc/apt/auth.conf", "etc/apt/auth.conf.d", "etc/apt/apt.conf", "etc/apt/apt.conf.d", "etc/resolv.conf",
           "etc/hosts", "etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Source:
    address: str
    suite: str  # "bookworm", "bookworm-security"


def sources_of(listed):
    """Debian's own archives in the output of `apt-get indextargets`, the whole release first;
    `listed`: lines of address and code name."""
    pairs = [line.split() for line in listed.splitlines()]
    known = {platform.codename for platform in PLATFORMS.values()}
    found = dict.fromkeys(
        Source(*pair) for pair in pairs if len(pair) == 2 and pair[1] in {
            name + suffix for name in known for suffix in ("", "-updates", "-security")})
    return sorted(found, key=lambda source: "-" in source.suite)


def sources():
    """Raises PlatformError when apt knows no release."""
    if shutil.which("apt-get") is None:
        raise PlatformError("this system has no apt, which says where Debian is got from")
    output = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"],
        capture_output=True, text=True, check=False,
    )
    found = sources_of(output.stdout)
    if not found or "-" in found[0].suite:
        raise PlatformError("apt knows no archive of a whole release of Debian; look into /etc/apt, and run apt-get update")
    return found


def of_release(found, codename):
    """The same archives' sources of another release."""
    return [Source(each.address, codename + each.suite[len(each.suite.split("-")[0]):]) for each in found]


def sources_list(found):
    return "".join(f"deb {each.address} {each.suite} main\n" for each in found)


def of_packages(folder):
    """Names of files that packages installed there. In another root they would conflict with the
    same packages."""
    output = subprocess.run(["dpkg-query", "--search", f"{folder}/*"], capture_output=True, text=True, check=False)
    return {Path(line.rpartition(": ")[2]).name for line in output.stdout.splitlines()}


def copy_settings(root, names=REACHED):
    """Proxies, credentials and certificates of this machine, so that apt in `root` reaches the same
    servers."""
    for name in names:
        source, target = Path("/") / name, Path(root) / name
        if source.is_dir():
            own = of_packages(source) if name.endswith("apt.conf.d") else set()
            shutil.copytree(source, target, dirs_exist_ok=True, ignore=lambda _, found, own=own: own & set(found))
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_symlink():
                target.unlink()
            shutil.copy(source, target, follow_symlinks=True)
