#!/usr/bin/env python3
"""HPC Challenge of Debian, a real MPI program, on stand-in nodes: plain, and with its reductions in the network.

Both runs have to pass all of the program's own checks, and to find the same residuals and errors; with
libtributary_mpi preloaded something has to go through the switch. Of .ci/nightly; not of scripts/test.

examples:
  tests/programs/hpcc.py --build build
  tests/programs/hpcc.py --build build --transport ofi         messages by libfabric, too
  tests/programs/hpcc.py --build build --nodes 4 --ranks 8 --size 1000
exit codes:
  0  the results are those of the plain run
  1  they are not, or something failed
  2  usage error
"""

import math
import re
import sys

import both_ways
from both_ways import Failure

# The results in the program's summary; all else there is times and settings. A sum in another order
# differs in its last bits, and a residual is made of those.
CHECKS = re.compile(r"^(Success|\w*_errors|\w*Errors|PTRANS_residual|\w*FFT_maxErr)=(\S+)$", re.MULTILINE)
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|.*=\s*(\S+) \.+ PASSED$", re.MULTILINE)
FACTOR = 16  # between residuals of rounding

INPUT = """\
HPLinpack benchmark input file
by tests/programs/hpcc.py
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{size}       Ns
1            # of NBs
32           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows}       Ps
{columns}    Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def results(cluster, options, preloaded):
    """({name: value} of the program's checks, output)."""
    rows = max(n for n in range(1, math.isqrt(options.ranks) + 1) if options.ranks % n == 0)
    text = INPUT.format(size=options.size, rows=rows, columns=options.ranks // rows)
    place, _, err = both_ways.run(cluster, options, preloaded, "hpcc", {"hpccinf.txt": text})
    text = (place / "hpccoutf.txt").read_text(encoding="utf-8")
    found = dict(CHECKS.findall(text))
    residual = RESIDUAL.search(text)
    if found.get("Success") != "1" or " FAILED" in text or not residual:
        raise Failure(f"{place.name}: the program's own checks failed\n{text}")
    return {**found, "HPL residual": residual[1]}, err


def same(plain, network):
    if plain == network:
        return True
    try:
        a, b = float(plain), float(network)
    except ValueError:
        return False
    return 0 < a < 1 and 0 < b < 1 and max(a, b) <= FACTOR * min(a, b)


def judge(plain, network):
    for name in sorted(plain | network):
        print(f"{name:32} {plain.get(name, '-'):>16} {network.get(name, '-'):>16}")
    different = [name for name in plain | network if not same(plain.get(name, ""), network.get(name, ""))]
    if different:
        raise Failure(f"these differ: {', '.join(different)}")


def main():
    parser = both_ways.parser(__doc__)
    parser.add_argument("--size", type=int, default=300, help="of the matrix of HPL (default: %(default)s)")
    options = parser.parse_args()
    if options.nodes < 2 or options.ranks < options.nodes or options.size < 64:
        parser.error("--nodes: at least 2; --ranks: at least as many; --size: at least 64")
    return both_ways.main(options, "hpcc", "scripts/setup", results, judge)


if __name__ == "__main__":
    sys.exit(main())
