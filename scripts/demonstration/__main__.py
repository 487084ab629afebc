"""Sixteen hosts join a group by its name and reduce through six switches. Started by scripts/demo, which
sets the machine up first.

The program runs twice: outside it builds, and starts itself again inside a private world of namespaces
(scripts/tributary/isolation.py), where everything runs and which leaves nothing behind.
"""

import argparse
import random
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import keep  # noqa: E402
import kill_member  # noqa: E402
import report  # noqa: E402
import vector  # noqa: E402
import view  # noqa: E402
import workload  # noqa: E402
from fabric import Fabric, lay  # noqa: E402
from outside import begin, fail, say  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from repair import Repair  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.network import CommandFailed, wait_until  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PROGRAMS = (
    "controlplane/process/tributary-fabricd",
    "dataplane/tributary-switch",
    "tools/tributaryctl/tributaryctl",
    "tools/host/tributary-host",
)

EXAMPLES = """\
examples:
  scripts/demo                               the whole demo: half a minute, and before it, the
                                             first time, minutes to install and build
  scripts/demo --output result.json          its figures as JSON, too
  scripts/demo --reductions 1000 --processes 1
  scripts/demo --kill-member                 one host is killed; the others learn who is missing
  scripts/demo --keep                        the fabric stays, with a guided tour: what to type, what to see
  scripts/demo --enter                       a shell in there; --enter COMMAND runs one
  scripts/demo --view                        the manager's page of it, for a browser
  scripts/demo --stop                        ends it
  scripts/demo --vector                      vectors of a million floats, and 1 % of the frames lost for a while
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Lays sixteen host namespaces and six switches, lets the fabric manager find them, has all"
        " hosts join a group by its name and run allreduces, checks every result bit for bit, cuts a cable"
        " of the tree meanwhile, and leaves nothing behind.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    parser.add_argument(
        "--reductions", type=int, help=f"per host (default: 10000; with --vector {vector.VECTORS})"
    )
    parser.add_argument(
        "--processes", type=int, choices=(1, 6), default=6,
        help="one switch process for each switch, or one for all (default: %(default)s)",
    )
    parser.add_argument(
        "--kind", choices=("af_xdp", "af_packet"), default="af_xdp",
        help="how the switches drive their interfaces (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, help="of the operands (default: a new one, printed)")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument(
        "--vector", action="store_true",
        help="instead: allreduces of a million floats in wide frames, while ports lose frames for a while",
    )
    parts.add_argument(
        "--kill-member", action="store_true",
        help="instead: kill one host in mid-run, and see that the others name it and end within the documented"
        " time, and continue in a group without it",
    )
    parts.add_argument(
        "--keep", action="store_true", help="instead: leave the fabric running, and say what to do with it"
    )
    parts.add_argument(
        "--view", nargs="?", type=int, const=view.PORT, metavar="PORT",
        help="the kept fabric's page for a browser of this machine (default: port %(const)s)",
    )
    parts.add_argument("--stop", action="store_true", help="end the fabric that is kept")
    parts.add_argument(
        "--enter", nargs=argparse.REMAINDER, metavar="COMMAND", help="a shell, or a command, where the fabric is kept"
    )
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    options = parser.parse_args()
    if options.reductions is None:
        options.reductions = vector.VECTORS if options.vector else 10_000
    if options.reductions < 1:
        parser.error("--reductions: at least 1")
    if options.view is not None and not 0 <= options.view <= 65535:
        parser.error("--view: a port is 1 to 65535, or 0 for any that is free")
    return options


def outside(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    return begin(
        HERE, PROGRAMS, options,
        ["--seed", str(seed), "--kind", options.kind, "--reductions", str(options.reductions),
         "--processes", str(options.processes), *(["--kill-member"] if options.kill_member else []),
         *(["--vector"] if options.vector else []), *(["--keep"] if options.keep else [])],
        keep.start if options.keep else None,
    )  # fmt: skip


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    fabric = Fabric(Binaries(options.build), place, options.processes == 1, options.kind)
    progress = report.Progress()
    try:
        if options.keep:
            return keep.stay(fabric, lay, say)
        if options.kill_member:
            return kill_member.show(options, fabric, say)
        return vector.show(options, fabric, progress, say) if options.vector else show(options, fabric, progress)
    except (StartFailed, CommandFailed, workload.Failed) as failure:
        progress.done("")
        return fail(str(failure))
    finally:
        fabric.stop()


def show(options, fabric, progress):
    lay(options, fabric, say)
    say(f"allreduces of every operator on every host, each result checked; seed {options.seed}")

    def run(group, armed, iterations, on_progress):
        what = "armed" if armed else "disarmed"
        started = time.monotonic()

        def shown(done):
            on_progress(done)
            progress.show(what, done, iterations, started)

        outcome = workload.run(fabric, group, iterations, armed, options.seed, shown)
        progress.done(f"  {what:<9} {iterations:,} allreduces in {outcome.seconds:.1f} s")
        return outcome

    disarmed = run("incast", False, max(1, options.reductions // 10), lambda done: None)
    repair = Repair(fabric, "demo")
    drawn = []

    def at_work(done):
        if not drawn:
            tree = fabric.tree_of("demo")
            drawing = fabric.drawing_of(tree) if tree is not None else None
            if drawing is not None:  # else the run is over, or nearly
                drawn.append(drawing)
                repair.start()

    armed = run("demo", True, options.reductions, at_work)
    repair.finish()
    engines = fabric.engines()
    wait_until(lambda: not fabric.manager.list("groups"), "all groups are gone", 60)
    left = fabric.trees_left()
    if drawn:
        say(f"\nthe tree that the manager computed:\n\n{drawn[0].rstrip()}")
    say("")
    say(report.table(armed, disarmed, repair, engines, fabric.drops()))
    say(f"  {'left behind in the switches':<34} {'nothing' if not left else left}")
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            report.write_json(out, armed, disarmed, repair, engines)
    unrepaired = repair.link != "none" and not repair.repaired
    return 1 if armed.wrong + disarmed.wrong or left or unrepaired else 0


def main():
    options = arguments()
    if options.stop:
        return keep.stop()
    if options.view is not None:
        return keep.look(options.view)
    if options.enter is not None:
        return keep.enter(options.enter)
    return inside(options) if options.inside else outside(options)


sys.exit(main())
