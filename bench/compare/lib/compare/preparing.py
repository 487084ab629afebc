"""Prepares a measurement: packages, peers, and a build of this tree."""

import subprocess
import sys

from compare import places

sys.path.append(str(places.ROOT / "scripts" / "runner"))

from building import RELEASE, Build, BuildFailed  # noqa: E402

PROGRAMS = ("dataplane/tributary-switch", "tools/tributaryctl/tributaryctl", "bench/allreduce-tributary")


def install(peers):
    """A peer that cannot be installed is left out of the comparison, which reports that."""
    subprocess.call([places.ROOT / "scripts" / "setup", "--quiet", *["--bench"] * peers],
                    stdout=sys.stderr)


def build(programs=PROGRAMS):
    """Brings these targets of build/ up to date. Raises RuntimeError with the compiler's output."""
    print("building build/ (a few minutes the first time)", file=sys.stderr, flush=True)
    release = Build(places.ROOT, RELEASE)
    try:
        release.configure()
        release.compile(programs)
    except BuildFailed as failure:
        raise RuntimeError(f"the build failed: {failure}") from None
