"""--platform of a command line. The scripts check it before they start Python, in a root or not."""

import argparse

from platforms.names import PLATFORMS, UsageError, named

OPTION = "--platform"


class _OfTheScript(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        parser.error(f"{OPTION} is an option of {parser.prog}; start that")


def add(parser):
    """For --help. Scripts with this option start through scripts/platforms."""
    parser.add_argument(OPTION, action=_OfTheScript, metavar="NAME",
                        help=f"do this on another release of Debian, in a root that is made for it: {', '.join(PLATFORMS)}")


def taken_from(words):
    """(platform, the words without the option). Words after -- are not options. Raises
    UsageError."""
    found, rest = None, []
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            rest += [word, *remaining]
        elif word == OPTION:
            found = next(remaining, "")
        elif word.startswith(f"{OPTION}="):
            found = word.removeprefix(f"{OPTION}=")
        else:
            rest.append(word)
    if found is None:
        raise UsageError(f"{OPTION} is missing; there are: {', '.join(PLATFORMS)}")
    return named(found), rest
