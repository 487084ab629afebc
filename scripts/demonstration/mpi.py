"""An unmodified MPI program on stand-in nodes, first plain, then with its reductions in the network. Started by
scripts/demo-mpi, which sets the machine up first. Outside and inside as in __main__.py.
"""

import argparse
import json
import os
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from outside import begin, fail, say  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.mpi_cluster import PROVIDER, ROUTES, MpiCluster, Stand  # noqa: E402
from tributary.mpi_library import OPENMPI, PROGRAMS as MPI_PROGRAMS, Missing  # noqa: E402
from tributary.network import CommandFailed  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PI = MPI_PROGRAMS / "pi.c"
USER = 1000  # whose ranks they are: an ordinary user's, who need not be known to this machine
PROGRAMS = (
    "controlplane/process/tributary-fabricd",
    "dataplane/tributary-switch",
    "endpoint/hostd/tributary-hostd",
    "tools/tributaryctl/tributaryctl",
    "pktgen/tributary-pktgen",
)

EXAMPLES = """\
examples:
  scripts/demo-mpi                      8 ranks of Open MPI on 8 nodes: some seconds, and before it, the first
                                        time, minutes to install and build
  scripts/demo-mpi --nodes 4 --ranks 8  two ranks a node, which add up in shared memory first
  scripts/demo-mpi --transport ofi      messages of Open MPI go over the fabric, too, by libfabric
  scripts/demo-mpi --seed 7 --output result.json
exit codes:
  0  all runs have the same results, and the network reduced
  1  they have not, or something else failed
  2  usage error
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo-mpi",
        description="Lays a switch, a fabric manager and stand-in nodes with their host agents, runs an MPI program of an"
        " ordinary user on them that knows nothing of Tributary, runs it again with the library that lets its reductions"
        " go through the switch, shows results and times side by side, and leaves nothing behind.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--nodes", type=int, default=8, help="2 to 16 (default: %(default)s)")
    add("--ranks", type=int, help="in all, at most 64 (default: one a node)")
    add("--rounds", type=int, default=2000, help="of the program (default: %(default)s)")
    add("--tuning", choices=("always", "measure"), default="always",
        help="what may go through the network does; or what was measured to be faster there (default: %(default)s)")
    add("--transport", choices=("tcp", "ofi"), default="tcp",
        help="how Open MPI sends: by TCP beside the fabric, or by libfabric over it, which is then run without"
        " reductions in the network, too (default: %(default)s)")
    add("--seed", type=int, help="of the program (default: a new one, printed)")
    add("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    add("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    add("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    add("--inside", action="store_true", help=argparse.SUPPRESS)
    add("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    options = parser.parse_args()
    options.ranks = options.ranks or options.nodes
    if not 2 <= options.nodes <= 16:
        parser.error("--nodes: from 2 to 16")
    if not options.nodes <= options.ranks <= 64:
        parser.error("--ranks: from the number of nodes to 64")
    if not 1 <= options.rounds <= 10**6:
        parser.error("--rounds: from 1 to a million")
    return options


def outside(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 1 << 31)
    provider = [f"endpoint/ofi/{PROVIDER}"] if options.transport == "ofi" else []
    return begin(
        Path(__file__), [*PROGRAMS, f"endpoint/mpi/{OPENMPI.preload}", *provider], options,
        ["--seed", str(seed), "--nodes", str(options.nodes), "--ranks", str(options.ranks), "--rounds",
         str(options.rounds), "--tuning", options.tuning, "--transport", options.transport],
    )  # fmt: skip


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    cluster = None
    try:
        program = OPENMPI.compile(PI, place / "pi")
        routes = {"routes": ROUTES} if options.transport == "ofi" else {}
        cluster = MpiCluster(Stand(Binaries(options.build), place), options.nodes, user=USER, **routes)
        return show(options, cluster, program)
    except (StartFailed, CommandFailed, Missing, TimeoutError, RuntimeError) as failure:
        return fail(str(failure))
    finally:
        if cluster:
            cluster.close()


def run(options, cluster, program, preloaded, sending):
    """(the program's output, a description of it). `sending`: variables that say how it sends."""
    tuning = {"TRIBUTARY_MPI_TUNING": "always"} if options.tuning == "always" else {}
    code, out, err = cluster.run(
        OPENMPI, options.ranks, [program, options.rounds, options.seed], preloaded,
        seconds=60 + options.rounds // 20, TRIBUTARY_MPI_VERBOSE=1, **tuning, **sending,
    )
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if code != 0 or not lines:
        which = "with its reductions in the network" if preloaded else "by libfabric" if sending else "plain"
        raise RuntimeError(f"the program, {which}, ended with exit code {code}\n{out}\n{err}")
    return json.loads(lines[0]), [line for line in err.splitlines() if "tributary" in line.lower()]


def show(options, cluster, program):
    say(f"{options.ranks} ranks of Open MPI on {options.nodes} nodes, one switch; seed {options.seed}")
    say(f"they are user {USER}'s, without a privilege; the host agent of each node gives them their sockets")
    say(f"the program: pi by counting points, {options.rounds} rounds of MPI_Allreduce (4 doubles), MPI_Barrier and"
        " MPI_Allreduce (1)")  # fmt: skip
    sending = cluster.ofi() if options.transport == "ofi" else {}
    plain, _ = run(options, cluster, program, False, {})
    columns = {"plain Open MPI": plain}
    if sending:
        columns["by libfabric"], _ = run(options, cluster, program, False, sending)
    ours, said = run(options, cluster, program, True, sending)
    columns["in the network"] = ours
    say("")
    say(f"{'':22}" + "".join(f"{name:>18}" for name in columns))
    for name, key, form in (
        ("pi", "pi", "{:.9f}"), ("check sum of results", "check_sum", "{}"),
        ("MPI_Allreduce, us", "allreduce_us", "{:.1f}"), ("MPI_Barrier, us", "barrier_us", "{:.1f}"),
    ):  # fmt: skip
        say(f"{name:22}" + "".join(f"{form.format(column[key]):>18}" for column in columns.values()))
    say("")
    for line in said:
        say(line)
    guards = [agent.guard() for agent in cluster.agents]
    passed, sent = sum(guard["passed"] for guard in guards), sum(sum(guard.values()) for guard in guards)
    say(f"frames of the ranks that the host agents' guards let pass: {passed}, and that they dropped: {sent - passed}")
    same = len({column["check_sum"] for column in columns.values()}) == 1
    counts = [int(found[1]) for line in said if (found := re.search(r"(\d+) of \d+ calls .* reduced in the network", line))]
    if options.result is not None:
        figures = {"seed": options.seed, "nodes": options.nodes, "transport": options.transport, "plain": plain,
                   **({"libfabric": columns["by libfabric"]} if sending else {}), "network": ours,
                   "same_results": same, "summary": said, "user": USER, "passed": passed, "dropped": sent - passed}  # fmt: skip
        with os.fdopen(options.result, "w") as file:
            file.write(json.dumps(figures, indent=1) + "\n")
    if not same:
        return fail("the results differ")
    if not any(counts):
        return fail("nothing was reduced in the network; the lines above say why")
    if not passed or sent > passed:
        return fail("the ranks' frames did not all go by the host agents; their logs say more")
    say("the same results, bit for bit")
    return 0


if __name__ == "__main__":
    options = arguments()
    sys.exit(inside(options) if options.inside else outside(options))
