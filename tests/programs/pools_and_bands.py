#!/usr/bin/env python3
"""A program with pools, bands and a grid on stand-in nodes: plain, and with its reductions in the network.

It divides its ranks as plane-wave codes do, with 42 communicators of a rank on several nodes, and uses most kinds of calls
and datatypes that the network has (pools_and_bands.c). With libtributary_mpi preloaded the results that are exact must have the
same bits at every rank, energies must be equal to 1e-12 and a sum of floats to 1e-6, for their sums are made in another
order; and 95 of 100 calls that frames carry must go through the switch. Of .ci/nightly; not of scripts/test.

examples:
  tests/programs/pools_and_bands.py --build build
  tests/programs/pools_and_bands.py --build build --nodes 8 --ranks 16 --steps 50
exit codes:
  0  the results are those of the plain run
  1  they are not, or something failed
  2  usage error
"""

import math
import re
import sys
from pathlib import Path

import both_ways
from both_ways import Failure, OPENMPI

SOURCE = Path(__file__).resolve().with_suffix(".c")
COMMUNICATORS, SETS, SHARE = 40, 6, 0.95
TOLERANCES = 1e-12, 1e-12, 1e-6  # of a step's figures: energies are sums of doubles, the charge of floats


def results(cluster, options, preloaded):
    """(lines of the program's output as words, output)."""
    program = cluster.folder / "pools_and_bands"
    if not program.exists():
        OPENMPI.compile(SOURCE, program)
    _, out, err = both_ways.run(cluster, options, preloaded, f"{program} {options.steps}", {})
    lines = [line.split() for line in out.splitlines()]
    if [len([line for line in lines if line[0] == word]) for word in ("step", "exact")] != [options.steps, options.ranks]:
        raise Failure(f"not all results are there\n{out}\n{err}")
    return lines, err


def same(plain, network):
    if plain == network:
        return True
    if plain[:2] != network[:2] or plain[0] != "step" or len(plain) != len(network):
        return False
    figures = zip(plain[2:], network[2:], TOLERANCES, strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=tolerance) for a, b, tolerance in figures)


def judge(plain, network):
    several, sets = (int(plain[0][word]) for word in (1, 3))
    print(f"{several} communicators of a rank on several nodes, {sets} sets of nodes; at the end:")
    print(*(" ".join(line) for line in (plain[-1], [line for line in network if line[0] == "step"][-1])), sep="\n")
    if several < COMMUNICATORS or sets < SETS:
        raise Failure(f"the program has fewer than {COMMUNICATORS} communicators on several nodes, or {SETS} sets of nodes")
    different = [f"{' '.join(a)}\n{' '.join(b)}" for a, b in zip(plain, network, strict=True) if not same(a, b)]
    if different:
        raise Failure("these differ, plain and in the network:\n" + "\n".join(different))


def main():
    parser = both_ways.parser(__doc__)
    parser.set_defaults(nodes=4, ranks=8)
    parser.add_argument("--steps", type=int, default=30, help="of the iteration (default: %(default)s)")
    options = parser.parse_args()
    if options.nodes < 4 or options.ranks % 4 or not options.nodes < options.ranks <= 64 or options.steps < 1:
        parser.error("--nodes: at least 4; --ranks: more, a multiple of 4, at most 64; --steps: at least 1")
    return both_ways.main(options, OPENMPI.compiler or "mpicc.openmpi", "scripts/setup", results, judge, share=SHARE)


if __name__ == "__main__":
    sys.exit(main())
