#!/usr/bin/env python3
"""LAMMPS of Debian, a real MPI program, on stand-in nodes: plain, and with its reductions in the network.

A melt of Lennard-Jones atoms whose box is under a barostat, so that pressure and temperature are sums over all ranks
in every step. Both runs have to print the same thermo output; with libtributary_mpi preloaded something has to go through the
switch. Of .ci/nightly; not of scripts/test.

examples:
  tests/programs/lammps.py --build build
  tests/programs/lammps.py --build build --nodes 4 --ranks 8 --cells 10 --steps 1000
exit codes:
  0  the thermo output is that of the plain run
  1  it is not, or something failed
  2  usage error
"""

import argparse
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

# The atoms' start is by `seed`. Printed to five digits: sums in another order differ in their last bits, and a melt
# doubles a difference every few hundred steps.
INPUT = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 {seed} loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 5 delay 0 check yes
fix 1 all npt temp 1.0 1.0 0.5 iso 1.0 1.0 2.0
thermo_style custom step temp pe ke press vol
thermo_modify format float %.5g
thermo {every}
run {steps}
"""
HEAD = re.compile(r"^ *Step +Temp\b.*$", re.MULTILINE)
CALLS = re.compile(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network")


class Failure(Exception):
    pass


def thermo(text):
    """The lines of numbers behind the table's head."""
    head = HEAD.search(text)
    lines = []
    for line in text[head.end():].splitlines()[1:] if head else ():
        if not re.fullmatch(r"[\d\s.e+-]+", line) or not line.strip():
            break
        lines.append(line.split())
    return lines


def run(cluster, options, preloaded):
    """(thermo output, what was said)."""
    place = cluster.folder / ("network" if preloaded else "plain")
    place.mkdir()
    (place / "in.melt").write_text(
        INPUT.format(cells=options.cells, seed=options.seed, steps=options.steps, every=max(1, options.steps // 10)),
        encoding="ascii")
    words = ["sh", "-c", f"cd {place} && exec {shutil.which('lmp')} -in in.melt -log none -nocite"]
    code, out, err = cluster.run(OPENMPI, options.ranks, words, preloaded, options.seconds,
                                 TRIBUTARY_MPI_TUNING="always", OMP_NUM_THREADS="1", TRIBUTARY_MPI_VERBOSE="1")
    lines = thermo(out)
    if code != 0 or len(lines) < 2 or int(lines[-1][0]) != options.steps:
        raise Failure(f"{place.name}: exit code {code}\n{out}\n{err}")
    return lines, err


def inside(options):
    isolation.prepare()
    with tempfile.TemporaryDirectory(prefix="lammps-", dir="/run") as folder:
        cluster = MpiCluster(Stand(Binaries(options.build), Path(folder)), options.nodes)
        try:
            plain, _ = run(cluster, options, False)
            network, said = run(cluster, options, True)
        finally:
            cluster.close()
    print(f"seed {options.seed}")
    for a, b in zip(plain, network):
        print("  ".join(f"{value:>11}" for value in a), "" if a == b else "   plain, and in the network")
        if a != b:
            print("  ".join(f"{value:>11}" for value in b))
    print(said.strip())
    if plain != network:
        raise Failure("the thermo output differs")
    calls = CALLS.search(said)
    if not calls or int(calls[1]) == 0:
        raise Failure("nothing was reduced in the network")
    print("the same thermo output")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--build", type=Path, required=True, metavar="DIR", help="where the programs are built")
    add("--nodes", type=int, default=2, help="default: %(default)s")
    add("--ranks", type=int, default=4, help="in all (default: %(default)s)")
    add("--cells", type=int, default=6, help="of four atoms, along each edge (default: %(default)s)")
    add("--steps", type=int, default=200, help="of time (default: %(default)s)")
    add("--seed", type=int, default=87287, help="of the atoms' velocities (default: %(default)s)")
    add("--seconds", type=int, default=900, help="that each run may take (default: %(default)s)")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.nodes < 2 or options.ranks < options.nodes or options.cells < 4 or options.steps < 1 or options.seed < 1:
        parser.error("--nodes: at least 2; --ranks: at least as many; --cells: at least 4; --steps, --seed: at least 1")
    options.build = options.build.resolve()
    try:
        if options.inside:
            inside(options)
            return 0
        if not shutil.which("lmp"):
            raise Failure("lmp is not installed: run 'scripts/setup --night'")
        isolation.check()
    except (Failure, CommandFailed, StartFailed, TimeoutError, isolation.NotPossible) as why:
        print(f"lammps.py: {why}", file=sys.stderr)
        return 1
    return subprocess.call(isolation.command([sys.executable, *sys.argv, "--inside"]))


if __name__ == "__main__":
    sys.exit(main())
