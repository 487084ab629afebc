#!/usr/bin/env python3
"""HPC Challenge of Debian, a real MPI program, on stand-in nodes: plain, and with its reductions in the network.

Both runs have to pass all of the program's own checks, and to find the same residuals and errors; with
libtributary_mpi preloaded something has to go through the switch. Of .ci/nightly; not of scripts/test.

examples:
  tests/programs/hpcc.py --build build
  tests/programs/hpcc.py --build build --nodes 4 --ranks 8 --size 1000
exit codes:
  0  the results are those of the plain run
  1  they are not, or something failed
  2  usage error
"""

import argparse
import math
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

from tributary import isolation  # noqa: E402
from tributary.mpi_cluster import MpiCluster, Stand  # noqa: E402
from tributary.mpi_library import OPENMPI  # noqa: E402
from tributary.network import CommandFailed  # noqa: E402
from tributary.switch import Binaries, StartFailed  # noqa: E402

# What the program's summary says of its results; all else there are times and settings. A sum in another order
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


class Failure(Exception):
    pass


def run(cluster, options, preloaded):
    """({name: value} of the program's checks, what was said)."""
    place = cluster.folder / ("network" if preloaded else "plain")
    place.mkdir()
    rows = max(n for n in range(1, math.isqrt(options.ranks) + 1) if options.ranks % n == 0)
    (place / "hpccinf.txt").write_text(
        INPUT.format(size=options.size, rows=rows, columns=options.ranks // rows), encoding="ascii")
    words = ["sh", "-c", f"cd {place} && exec {shutil.which('hpcc')}"]
    code, out, err = cluster.run(OPENMPI, options.ranks, words, preloaded, options.seconds,
                                 TRIBUTARY_MPI_TUNING="always")
    if code != 0:
        raise Failure(f"{place.name}: exit code {code}\n{out}\n{err}")
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


def inside(options):
    isolation.prepare()
    with tempfile.TemporaryDirectory(prefix="hpcc-", dir="/run") as folder:
        cluster = MpiCluster(Stand(Binaries(options.build), Path(folder)), options.nodes)
        try:
            plain, _ = run(cluster, options, False)
            network, said = run(cluster, options, True)
        finally:
            cluster.close()
    for name in sorted(plain | network):
        print(f"{name:32} {plain.get(name, '-'):>16} {network.get(name, '-'):>16}")
    print(said.strip())
    different = [name for name in plain | network if not same(plain.get(name, ""), network.get(name, ""))]
    if different:
        raise Failure(f"these differ: {', '.join(different)}")
    reduced = re.search(r"(\d+) of \d+ calls of \d+ ranks were reduced in the network", said)
    if not reduced or int(reduced[1]) == 0:
        raise Failure("nothing was reduced in the network")
    print("the same results")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--build", type=Path, required=True, metavar="DIR", help="where the programs are built")
    add("--nodes", type=int, default=2, help="default: %(default)s")
    add("--ranks", type=int, default=4, help="in all (default: %(default)s)")
    add("--size", type=int, default=300, help="of the matrix of HPL (default: %(default)s)")
    add("--seconds", type=int, default=900, help="that each run may take (default: %(default)s)")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nodes < 2 or options.ranks < options.nodes or options.size < 64:
        parser.error("--nodes: at least 2; --ranks: at least as many; --size: at least 64")
    options.build = options.build.resolve()
    try:
        if options.inside:
            inside(options)
            return 0
        if not shutil.which("hpcc"):
            raise Failure("hpcc is not installed: run 'scripts/setup'")
        isolation.check()
    except (Failure, CommandFailed, StartFailed, TimeoutError, isolation.NotPossible) as why:
        print(f"hpcc.py: {why}", file=sys.stderr)
        return 1
    return subprocess.call(isolation.command([sys.executable, *sys.argv, "--inside"]))


if __name__ == "__main__":
    sys.exit(main())
