"""A switch dies, or a link is cut, under unicast traffic, and is restored. Started by
scripts/demo-faults, which sets the machine up first. Outside and inside as in __main__.py.
"""

import argparse
import json
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from flows import GRACE_SECONDS, Flows  # noqa: E402
from grid import LEAVES, ROOTS, SIZE, VICTIMS, Grid  # noqa: E402
from outside import begin, fail, say  # noqa: E402
from timeline import Episode, Line, timeline  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.network import CommandFailed, wait_until  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PROGRAMS = (
    "controlplane/process/tributary-fabricd",
    "dataplane/tributary-switch",
    "tools/tributaryctl/tributaryctl",
)
BEFORE, DEAD, AFTER = 3, 4, 4  # seconds
MOST_EXTRA_SECONDS = 30  # more seconds, on a machine too busy for that
MOST_WATCHED = 4

EXAMPLES = """\
examples:
  scripts/demo-faults                        the whole demo: a quarter of a minute, and before it, the
                                             first time, minutes to install and build
  scripts/demo-faults --output result.json   its figures as JSON, too
  scripts/demo-faults --victim row1          a root in place of a leaf
  scripts/demo-faults --victim leaf0.1-row0  a cable is cut in the middle, and mended: no carrier tells
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo-faults",
        description=f"Lays a fabric of {SIZE} x {SIZE} leaf switches with a root for each row and column, lets"
        " the fabric manager find it and install routes, sends unicast frames between the hosts, kills a switch,"
        " starts it again, shows the throughput meanwhile and the timeline of both faults, and leaves nothing"
        " behind.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    parser.add_argument(
        "--victim", default="leaf1.1", metavar="NAME",
        help="what dies: a switch, as leaf0.2 or column1, or a cable, as leaf0.2-row0 (default: %(default)s)",
    )
    parser.add_argument(
        "--rate", type=int, default=4_000, metavar="FRAMES", help="per second, over all hosts (default: %(default)s)"
    )
    parser.add_argument(
        "--hello-interval", type=int, default=10, metavar="MS", help="of the links (default: %(default)s ms)"
    )
    parser.add_argument(
        "--down-after", type=int, default=3, metavar="N",
        help="link hellos missed in a row, after which a link is down (default: %(default)s)",
    )
    parser.add_argument(
        "--kind", choices=("af_xdp", "af_packet"), default="af_xdp",
        help="how the switches drive their interfaces (default: %(default)s)",
    )
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    options = parser.parse_args()
    if not 100 <= options.rate <= 20_000:
        parser.error("--rate: from 100 to 20000; this is not a benchmark, bench/ has those")
    if not 1 <= options.hello_interval <= 10_000:
        parser.error("--hello-interval: from 1 to 10000 ms")
    if not 2 <= options.down_after <= 1000:
        parser.error("--down-after: from 2 to 1000")
    if options.victim not in VICTIMS:
        parser.error(f"--victim {options.victim}: there are {', '.join(VICTIMS)}")
    return options


def outside(options):
    return begin(
        Path(__file__), PROGRAMS, options,
        ["--kind", options.kind, "--victim", options.victim, "--rate", str(options.rate),
         "--hello-interval", str(options.hello_interval), "--down-after", str(options.down_after)],
    )  # fmt: skip


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    grid = Grid(Binaries(options.build), place, options.kind)
    try:
        return show(options, grid)
    except (StartFailed, CommandFailed, TimeoutError, RuntimeError) as failure:
        return fail(str(failure))
    finally:
        grid.stop()


def show(options, grid):
    say(f"{len(LEAVES)} hosts, {len(LEAVES)} leaf switches and {len(ROOTS)} roots, a process each, {options.kind} on veth")
    grid.lay_cables(options.victim)
    say("starting the fabric manager and the switches; no file says what is cabled to what")
    grid.start_manager(routes={"enabled": True})
    grid.start_switches(link_hello_interval_ms=options.hello_interval, link_down_after=options.down_after)
    connected, links = grid.discovered()
    say(f"the manager has found {connected} switches and {links} links between them")
    routes = grid.routes_in_force()
    say(f"unicast routes are in force: {routes['algorithm']} on {routes['shape']}, {routes['vcs']} virtual channels")
    through = grid.pairs_through(options.victim)
    hosts = dict(grid.hosts)
    if options.victim in LEAVES:
        own = f"h{LEAVES.index(options.victim)}"
        del hosts[own]
        through = [pair for pair in through if own not in pair]
    if not through:
        return fail(f"no frame between other hosts goes through {options.victim}")
    return run(options, grid, hosts, through)


def run(options, grid, hosts, through):
    watched = through[:MOST_WATCHED]
    say(f"{len(hosts)} hosts send to each other; {len(through)} pairs through {options.victim}, of which are watched: "
        + ", ".join(f"{a} to {b}" for a, b in watched))  # fmt: skip
    faults_before = grid.faults()
    flows = Flows(hosts, watched, options.rate)
    try:
        wait_until(lambda: flows.share(time.time() - 0.5, time.time() - 0.3) == 1, "frames arrive", 20)
        line = Line(options.victim)
        start = time.time()

        def watch(seconds, what):
            """Waits this long, and then until frames arrive."""
            began = time.time()
            while (now := time.time()) < began + seconds + MOST_EXTRA_SECONDS:
                seen = now - GRACE_SECONDS
                if now >= began + seconds and flows.share(seen - 0.3, seen) == 1:
                    return
                line.show(now - start, flows.rate(now), flows.share(seen - 0.1, seen), what)
                time.sleep(0.1)

        watch(BEFORE, "all run")
        died = time.time()
        death = grid.kill(options.victim)
        watch(DEAD, death)
        returned = time.time()
        revival = grid.revive(options.victim)
        watch(AFTER, revival)
        ended = time.time()
        line.done()
    finally:
        flows.stop()
    grid.discovered()
    grid.routes_in_force()
    faults = [fault for fault in grid.faults() if fault["fault"] > max((f["fault"] for f in faults_before), default=0)]
    episodes = [
        Episode(death, died, *flows.outage(died - 0.1, returned), faults, returned),
        Episode(revival, returned, *flows.outage(returned, ended), faults, ended + 60),
    ]
    return summarise(options, grid, flows, episodes, faults)


def summarise(options, grid, flows, episodes, faults):
    drops = grid.drops()
    for episode in episodes:
        say("\n" + timeline(episode))
    say(f"\n  frames sent    {flows.sent():,}, of which {flows.lost():,} were lost")
    say("  drops          " + (", ".join(f"{n:,} {reason}" for reason, n in sorted(drops.items())) or "none")
        + ", in the switches that run")  # fmt: skip
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            json.dump(
                {
                    "victim": options.victim, "hello_interval_ms": options.hello_interval,
                    "down_after": options.down_after, "sent": flows.sent(), "lost": flows.lost(), "drops": drops,
                    "died": episodes[0].figures(), "came_back": episodes[1].figures(), "faults": faults,
                },
                out, indent=2,
            )  # fmt: skip
    restored = all(episode.is_restored for episode in episodes)
    return 0 if restored else fail("frames of the watched pairs did not arrive again")


def main():
    options = arguments()
    return inside(options) if options.inside else outside(options)


sys.exit(main())
