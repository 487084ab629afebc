"""Evaluates the turns of bench/mpi for one point: the speed of the preloaded program relative to
plain MPI, and whether plain MPI differs from itself by as much.

Each turn has a run of plain MPI, one of the preloaded program and, as a control, another one of plain MPI, in an order
that rotates. If preloading changed nothing, any of the three could as well have been called the preloaded one. So the
chance of a ratio is the share of all 3^turns ways to choose one run of each turn whose mean ratio is at most the true
choice's: an exact permutation test, which assumes nothing about the distribution of times. One turn
has at best a chance of 1/3, three have 1/27, five 1/243, seven 1/2187: fewer than five cannot
distinguish a slower program from chance.
"""

import itertools
import math
import random
import statistics
from typing import NamedTuple

FLOOR = 0.95  # the goal: nowhere less
CHANCE = 0.01  # a lower ratio with at most this chance is attributed to the preloaded program:
               # points are many
MOST_ENUMERATED = 9  # turns; with more turns, as many choices are drawn as nine have


class Turn(NamedTuple):
    """Microseconds of each run; `control` is None without a control run."""

    plain: float
    preloaded: float
    control: float | None = None


def plain_us(turn):
    """Time of plain MPI: the geometric mean if there are two runs."""
    return turn.plain if turn.control is None else math.sqrt(turn.plain * turn.control)


def ratio(turn):
    """Plain over preloaded: above 1 where the preloaded program is faster."""
    return plain_us(turn) / turn.preloaded


def chance(turns, seed=1):
    """Probability, 0 to 1, of a mean ratio as low as that of these turns if preloading changes
    nothing. None without controls."""
    if any(turn.control is None for turn in turns):
        return None
    logs = [[math.log(ratio(Turn(*runs))) for runs in ((p, t, c), (t, p, c), (p, c, t))] for p, t, c in turns]
    limit = sum(of_turn[0] for of_turn in logs) + 1e-9
    if len(turns) <= MOST_ENUMERATED:
        choices = itertools.product(*logs)
        count = 3 ** len(turns)
    else:
        draw, count = random.Random(seed), 3**MOST_ENUMERATED
        choices = ([draw.choice(of_turn) for of_turn in logs] for _ in range(count))
    return sum(sum(choice) <= limit for choice in choices) / count


def compared(turns):
    """Medians over the turns, and their significance."""
    ratios = [ratio(turn) for turn in turns]
    found = {
        "plain_us": statistics.median(map(plain_us, turns)),
        "tributary_us": statistics.median(turn.preloaded for turn in turns),
        "ratio": statistics.median(ratios),
        "least_ratio": min(ratios),
        "turns": len(turns),
    }
    if turns[0].control is not None:
        controls = [turn.plain / turn.control for turn in turns]
        found |= {
            "control_ratio": statistics.median(controls),
            "least_control_ratio": min(controls),
            "greatest_control_ratio": max(controls),
        }
    found["chance"] = chance(turns)
    found["is_below"] = found["ratio"] < FLOOR
    found["is_slower"] = found["is_below"] and (found["chance"] is None or found["chance"] <= CHANCE)
    return found


def order(turn):
    """The order of the runs in the turn with this number: each kind is first, second and last
    equally often."""
    runs = Turn._fields
    return runs[turn % 3 :] + runs[: turn % 3]


def said(point):
    """For a point below the floor: whether the preloaded program causes it."""
    if point["chance"] is None:
        return "no control"
    likely = f"by chance in {100 * point['chance']:.2g} of 100 such measurements"
    if point["is_slower"]:
        return f"slower than plain MPI differs from itself: {likely}"
    return f"within what plain MPI differs from itself here: {likely}"
