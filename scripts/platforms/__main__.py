"""Runs a script of the tree on another release of Debian: python3 scripts/platforms SCRIPT ARGUMENT..., of which one is
--platform NAME. Started by those scripts themselves."""

import os
import signal
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scripts")]

from platforms import options, root  # noqa: E402
from platforms.inside import Inside  # noqa: E402
from platforms.names import PlatformError, UsageError, release_in  # noqa: E402

# The lists of scripts/setup that a script needs.
LISTS = {
    "test": [], "package": [], "soak": [], "fuzz": [],
    "platforms/enter": [],
    "demo": ["--build"], "demo-faults": ["--build"], "demo-rdma": ["--build"], "demo-mpi": ["--build", "--mpi"],
    "demo-torch": ["--build", "--torch"],
}


def check_files(own):
    """Raises UsageError: a script sees only the tree of this machine's folders."""
    for word in own:
        name = word.split("=", 1)[-1] if word.startswith("-") else word
        if name.startswith("/") and not Path(name).is_relative_to(TREE):
            raise UsageError(f"{name} is outside of the tree, which is all that another release sees of this machine; "
                             "name a file in the tree")


def asks_for_machines(words):
    """As scripts/test decides."""
    return bool({"machines", "--tier=machines"} & set(words) or os.environ.get("TRIBUTARY_MACHINES"))


def run(script, arguments):
    platform, rest = options.taken_from(arguments)
    own = rest[: rest.index("--")] if "--" in rest else rest
    words = rest[len(own) + 1 :] if script == "platforms/enter" else [str(TREE / "scripts" / script), *rest]
    if release_in("/")[0] == platform.name or {"-h", "--help"} & set(own):
        os.execvp(words[0], words)
    if script != "platforms/enter":
        check_files(own)
    without = "--no-setup" in own
    lists = LISTS[script] + (["--machines"] if script == "test" and asks_for_machines(own) else [])
    place = root.ready(TREE, platform, None if without else lists)
    if script not in ("package", "platforms/enter") and not without:
        words.insert(1, "--no-setup")
    # Relative file names have the same meaning in the root; of this machine's folders only the tree
    # is there.
    here = Path.cwd()
    stand = here if here.is_relative_to(TREE) else TREE
    # Replaces this process, so signals reach the program in the root.
    command = Inside(TREE, place, platform).command(words, stand)
    os.execvp(command[0], command)


def main():
    def interrupted(number, frame):
        raise KeyboardInterrupt(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    script, *arguments = sys.argv[1:]
    try:
        run(script, arguments)
    except PlatformError as problem:
        print(f"scripts/{script}: {problem}", file=sys.stderr)
        return 2 if isinstance(problem, UsageError) else 1
    except KeyboardInterrupt:
        print(f"scripts/{script}: interrupted; nothing stays mounted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
