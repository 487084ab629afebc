"""The releases of Debian that Tributary is built and tested on."""

from dataclasses import dataclass
from pathlib import Path

VARIABLE = "TRIBUTARY_PLATFORM"  # set in a root: the name of its release


@dataclass(frozen=True)
class Platform:
    name: str
    version: str  # VERSION_ID of os-release
    codename: str  # its name in an archive


PLATFORMS = {
    each.name: each
    for each in (Platform("debian12", "12", "bookworm"), Platform("debian13", "13", "trixie"))
}


class PlatformError(Exception):
    """The text describes the error and the remedy."""


class UsageError(PlatformError):
    """A wrong command line."""


def named(name):
    if name not in PLATFORMS:
        raise UsageError(f"unknown platform {name!r}; there are: {', '.join(PLATFORMS)}")
    return PLATFORMS[name]


def release_in(root):
    """(name as in PLATFORMS, name for people) of the system in `root`; the name of any other system
    is formed in the same way."""
    try:
        text = (Path(root) / "etc" / "os-release").read_text(encoding="utf-8")
    except OSError:
        return "", "no system"
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    fields = {key: value.strip("\"'") for key, value in fields.items()}
    return fields.get("ID", "") + fields.get("VERSION_ID", ""), fields.get("PRETTY_NAME", "an unknown system")
