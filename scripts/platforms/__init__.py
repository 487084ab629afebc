"""Tributary on another release of Debian than this machine's: the same tree, in a root of that
release.

    names.py      the releases, and which of them this machine is
    options.py    --platform of a command line
    archive.py    where this machine's apt gets Debian from
    root.py       a root: recognised, made, its packages installed
    ready.py      the same as a program of its own
    inside.py     the command that runs something in a root, with mounts that no other process sees
    __main__.py   what scripts/test --platform and similar options start
"""
