"""A real MPI program on stand-in nodes, run twice: plain, and with its reductions in the network; with --transport ofi
its messages go over the fabric, too, by libfabric. Common parts of the programs of this folder."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "scripts")]

from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.mpi_cluster import ROUTES, MpiCluster, Stand  # noqa: E402
from tributary.mpi_library import OPENMPI, Missing  # noqa: E402
from tributary.network import CommandFailed  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

USER = 61841  # whose ranks send by libfabric: their sockets come from the host agents
CALLS = re.compile(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network(.*)")
REASON = re.compile(r"(\d+) because ([^,;]+)")
# Reasons of endpoint/mpi/model/vocabulary.cpp for calls that no fabric can have.
NOT_ELIGIBLE = {
    "the communicator has one rank", "all ranks of the communicator are on one node", "it is an inter-communicator",
    "no elements", "no frame carries the operator", "no frame carries the datatype with this operator",
}  # fmt: skip


class Failure(Exception):
    """The text describes the unexpected result."""


def parser(description):
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--build", type=Path, required=True, metavar="DIR", help="where the programs are built")
    add("--nodes", type=int, default=2, help="default: %(default)s")
    add("--ranks", type=int, default=4, help="in all (default: %(default)s)")
    add("--seconds", type=int, default=900, help="that each run may take (default: %(default)s)")
    add("--transport", choices=("tcp", "ofi"), default="tcp",
        help="how the second run sends: by TCP beside the fabric, or by libfabric over it (default: %(default)s)")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    return made


def run(cluster, options, preloaded, program, files, **variables):
    """(folder, standard output, standard error) of `program`, a line of words, in a folder with these files."""
    place = cluster.folder / ("network" if preloaded else "plain")
    place.mkdir()
    if cluster.user is not None:
        os.chown(place, cluster.user, cluster.user)
    for name, text in files.items():
        (place / name).write_text(text, encoding="ascii")
    words = ["sh", "-c", f"cd {place} && exec {program}"]
    # Open MPI has no other way to send then: without the provider it ends.
    sending = cluster.ofi() if preloaded and options.transport == "ofi" else {}
    code, out, err = cluster.run(OPENMPI, options.ranks, words, preloaded, options.seconds,
                                 TRIBUTARY_MPI_TUNING="always", **sending, **variables)
    if code != 0:
        raise Failure(f"{place.name}: exit code {code}\n{out}\n{err}")
    return place, out, err


def in_network(said):
    """(calls that were reduced in the network, calls that are eligible) by the library's summary."""
    calls = CALLS.search(said)
    if not calls:
        return 0, 0
    others = sum(int(number) for number, reason in REASON.findall(calls[3]) if reason.strip() in NOT_ELIGIBLE)
    return int(calls[1]), int(calls[2]) - others


def compare(options, name, results, judge, share):
    """`results(cluster, options, preloaded)` returns (results, output); `judge(plain, network)`
    prints both and raises Failure. `share` of the eligible calls has to be in the network."""
    isolation.prepare()
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir="/run") as folder:
        Path(folder).chmod(0o755)
        sends = {"user": USER, "routes": ROUTES} if options.transport == "ofi" else {}
        cluster = MpiCluster(Stand(Binaries(options.build), Path(folder)), options.nodes, **sends)
        try:
            plain, _ = results(cluster, options, False)
            network, said = results(cluster, options, True)
        finally:
            cluster.close()
    judge(plain, network)
    print(said.strip())
    here, eligible = in_network(said)
    if here == 0:
        raise Failure("nothing was reduced in the network")
    print(f"the same results; {here} of {eligible} eligible calls in the network ({here / eligible:.4f})")
    if here < share * eligible:
        raise Failure(f"fewer than {share:g} of the eligible calls were reduced in the network")


def main(options, program, package_from, results, judge, share=0.0):
    """The exit code. `package_from` is the command that provides `program`; the others as for compare()."""
    name = Path(sys.argv[0]).name
    options.build = options.build.resolve()
    try:
        if options.inside:
            compare(options, Path(program).name, results, judge, share)
            return 0
        if not shutil.which(program):
            raise Failure(f"{program} is not installed: run '{package_from}'")
        isolation.check()
    except (Failure, Missing, CommandFailed, StartFailed, TimeoutError, isolation.NotPossible) as why:
        print(f"{name}: {why}", file=sys.stderr)
        return 1
    return subprocess.call(isolation.command([sys.executable, *sys.argv, "--inside"]))
