#!/usr/bin/env python3
"""LAMMPS of Debian, a real MPI program, on stand-in nodes: plain, and with its reductions in the network.

A melt of Lennard-Jones atoms whose box is under a barostat, so that pressure and temperature are sums over all ranks
in every step. Both runs have to print the same thermo output; with libtributary_mpi preloaded something has to go through the
switch. Of .ci/nightly; not of scripts/test.

examples:
  tests/programs/lammps.py --build build
  tests/programs/lammps.py --build build --transport ofi         messages by libfabric, too
  tests/programs/lammps.py --build build --nodes 4 --ranks 8 --cells 10 --steps 1000
exit codes:
  0  the thermo output is that of the plain run
  1  it is not, or something failed
  2  usage error
"""

import re
import sys

import both_ways
from both_ways import Failure

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


def thermo(text):
    """The lines of numbers behind the table's head."""
    head = HEAD.search(text)
    lines = []
    for line in text[head.end():].splitlines()[1:] if head else ():
        if not re.fullmatch(r"[\d\s.e+-]+", line) or not line.strip():
            break
        lines.append(line.split())
    return lines


def results(cluster, options, preloaded):
    """(thermo output, output)."""
    text = INPUT.format(cells=options.cells, seed=options.seed, steps=options.steps, every=max(1, options.steps // 10))
    place, out, err = both_ways.run(cluster, options, preloaded, "lmp -in in.melt -log none -nocite", {"in.melt": text},
                                    OMP_NUM_THREADS="1", TRIBUTARY_MPI_VERBOSE="1")
    lines = thermo(out)
    if len(lines) < 2 or int(lines[-1][0]) != options.steps:
        raise Failure(f"{place.name}: not all steps are there\n{out}\n{err}")
    return lines, err


def judge(plain, network):
    for a, b in zip(plain, network):
        print("  ".join(f"{value:>11}" for value in a), "" if a == b else "   plain, and in the network")
        if a != b:
            print("  ".join(f"{value:>11}" for value in b))
    if plain != network:
        raise Failure("the thermo output differs")


def main():
    parser = both_ways.parser(__doc__)
    add = parser.add_argument
    add("--cells", type=int, default=6, help="of four atoms, along each edge (default: %(default)s)")
    add("--steps", type=int, default=200, help="of time (default: %(default)s)")
    add("--seed", type=int, default=87287, help="of the atoms' velocities (default: %(default)s)")
    options = parser.parse_args()
    if options.nodes < 2 or options.ranks < options.nodes or options.cells < 4 or options.steps < 1 or options.seed < 1:
        parser.error("--nodes: at least 2; --ranks: at least as many; --cells: at least 4; --steps, --seed: at least 1")
    if options.inside:
        print(f"seed {options.seed}")
    return both_ways.main(options, "lmp", "scripts/setup --night", results, judge)


if __name__ == "__main__":
    sys.exit(main())
