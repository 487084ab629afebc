"""Makes a root of another release ready, a program of its own:

    ready.py PLATFORM [LIST...]       with packages of these lists of scripts/setup, which are its options
    ready.py PLATFORM --no-setup      as it is
"""

import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "scripts")]

from platforms import names, root  # noqa: E402


def main():
    name, *lists = sys.argv[1:]
    try:
        root.ready(TREE, names.named(name), None if lists == ["--no-setup"] else lists)
    except names.PlatformError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
