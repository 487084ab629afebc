"""The manager that leads is killed, stopped, cut off and changed while hosts reduce. Started by
scripts/demo-failover, which sets the machine up first. Outside and inside as in __main__.py.
"""

import argparse
import json
import random
import signal
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import workload  # noqa: E402
from fabric import JOB, Fabric, host_mac, lay  # noqa: E402
from outside import begin, fail, say  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.daemon import StartFailed  # noqa: E402
from tributary.network import CommandFailed, shell, wait_until  # noqa: E402
from tributary.site import Cluster, Site, etcd_binary  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

PROGRAMS = (
    "controlplane/process/tributary-fabricd",
    "dataplane/tributary-switch",
    "tools/host/tributary-host",
    "tools/tributaryctl/tributaryctl",
)
NAMES = ("a", "b", "c")
ENDLESS = 10_000_000
PROBE_PAUSE_SECONDS = 0.02

EXAMPLES = """\
examples:
  scripts/demo-failover                        half a minute, and before it, the first time, minutes to
                                               install and build
  scripts/demo-failover --output result.json   its figures as JSON, too
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/demo-failover",
        description="Lays the demo's fabric with three managers on an etcd of three members, has all hosts reduce, and"
        " kills, stops, cuts off and changes the manager that leads; shows when another leads and when a new"
        " group is ready in the switches, and what the reductions notice; leaves nothing behind.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="file for the figures, as JSON")
    parser.add_argument(
        "--kind", choices=("af_xdp", "af_packet"), default="af_xdp",
        help="how the switches drive their interfaces (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, help="of the operands (default: a new one, printed)")
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the programs from there as they are")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=int, help=argparse.SUPPRESS)  # the descriptor of --output's file
    return parser.parse_args()


def outside(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    return begin(Path(__file__), PROGRAMS, options, ["--kind", options.kind, "--seed", str(seed)])


class SharedFabric(Fabric):
    cluster = None

    def start_manager(self, **sections):
        if not etcd_binary():
            raise StartFailed("etcd is not installed: scripts/setup")
        shell("ip link set lo up")
        self.cluster = Cluster(self.place)
        self.manager = Site(self.binaries, self.place, self.cluster, NAMES, **sections)
        self.token_file.write_text(self.manager.create_job(JOB) + "\n", encoding="utf-8")

    def managers_of_switches(self):
        return [self.manager.switches_of(name) for name in NAMES]

    def stop(self):
        super().stop()
        if self.cluster:
            self.cluster.stop()


class Load(threading.Thread):
    """All hosts reduce without end; when each piece of progress was seen."""

    def __init__(self, fabric, seed):
        super().__init__(daemon=True)
        self.children = workload.start(fabric, fabric.hosts, "load", ENDLESS, True, seed, timeout=600)
        self.seen = []  # (time, reductions done)
        self.start()

    def run(self):
        for line in next(iter(self.children.values())).stderr:
            if line.startswith("progress "):
                self.seen.append((time.monotonic(), int(line.split()[1])))

    def rate(self, begin, end):
        inside = [one for one in self.seen if begin <= one[0] <= end]
        if len(inside) < 2:
            return 0.0
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])

    def all_run(self):
        return all(child.poll() is None for child in self.children.values())

    def stop(self):
        for child in self.children.values():
            child.kill()
            child.wait()


class Probe:
    """A new group of two hosts, asked for at every manager until one has it ready."""

    number = 0

    def __init__(self, fabric):
        self.fabric = fabric
        self.name = f"probe{Probe.number}"
        Probe.number += 1

    def is_ready(self):
        hosts = [self.fabric.hosts[0], self.fabric.hosts[-1]]
        self.fabric.manager.follow()
        try:
            for rank, host in enumerate(hosts):
                status, answer = self.fabric.manager.request(
                    "POST", f"/api/v1/groups/{self.name}/members?wait={500 if rank else 0}",
                    {"rank": rank, "size": len(hosts), "mac": host_mac(host.nid), "job": JOB},
                )  # fmt: skip
        except OSError:
            return False
        return status == 200 and answer.get("trees")


def inside(options):
    isolation.prepare()
    place = Path("/run/tributary-demo")
    place.mkdir()
    fabric = SharedFabric(Binaries(options.build), place, False, options.kind)
    try:
        return show(options, fabric)
    except (StartFailed, CommandFailed, TimeoutError, RuntimeError, workload.Failed) as failure:
        return fail(str(failure))
    finally:
        fabric.stop()


def show(options, fabric):
    lay(options, fabric, say)
    site = fabric.manager
    say(f"managers {', '.join(NAMES)} share an etcd of three members; {site.leader()} leads with epoch {site.epoch()}")
    say(f"allreduces of every operator on every host, each result checked; seed {options.seed}")
    load = Load(fabric, options.seed)
    results = []
    try:
        wait_until(lambda: len(load.seen) >= 3, "the hosts reduce", 60)
        tree = fabric.tree_of("load")["tree"]
        for what, fault in FAULTS.items():
            results.append(one_fault(fabric, load, what, fault))
        kept = (now := fabric.tree_of("load")) is not None and now["tree"] == tree
        running = load.all_run()
    finally:
        load.stop()
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            json.dump({"faults": results, "kept_its_tree": kept, "all_hosts_ran": running}, out, indent=2)
    say(f"\n  the group that reduced all the time {'has its tree' if kept else 'has LOST its tree'}; "
        + ("all its hosts ran on" if running else "some of its hosts have ENDED"))  # fmt: skip
    return 0 if kept and running else 1


def one_fault(fabric, load, what, fault):
    site = fabric.manager
    old, probe = site.leader(), Probe(fabric)
    begin = time.monotonic()
    mend = fault(site, old)
    leads = ready = None
    while ready is None and time.monotonic() < begin + 60:
        now = time.monotonic()
        leader = site.leader()
        if leads is None and leader not in (None, old):
            leads = (now - begin, leader, site.epoch())
        if leads and probe.is_ready():
            ready = time.monotonic() - begin
        time.sleep(PROBE_PAUSE_SECONDS)
    end = time.monotonic()
    if ready is None:
        raise RuntimeError(f"{what}: no new group within a minute\n{site.log_text()[-4000:]}")
    rate = load.rate(begin - 1, end + 0.5)
    say(f"\n  {0:8.1f} ms  {old} {what}")
    say(f"  {1e3 * leads[0]:8.1f} ms  {leads[1]} leads, with epoch {leads[2]}")
    say(f"  {1e3 * ready:8.1f} ms  a new group is ready in the switches")
    say(f"  {'':8}     meanwhile the hosts reduce {rate:,.0f} times a second")
    mend()
    wait_until(lambda: len(site.get("/api/v1/managers")[1]["managers"]) == len(NAMES), "all managers are there", 60)
    return {"fault": what, "leads_ms": 1e3 * leads[0], "ready_ms": 1e3 * ready, "reductions_a_second": rate}


def kill(site, name):
    site.signal(name, signal.SIGKILL)
    site.children[name].wait()
    return lambda: site.begin(name)


def stop(site, name):
    site.signal(name, signal.SIGSTOP)
    return lambda: site.signal(name, signal.SIGCONT)


def cut(site, name):
    site.cut_off(name)
    return site.join_again


def change(site, _name):
    site.ctl_text("failover")
    return lambda: None


FAULTS = {
    "is killed": kill,
    "is stopped": stop,
    "is cut off from etcd and the others": cut,
    "gives the lead up for another, as the operator asks": change,
}


def main():
    options = arguments()
    return inside(options) if options.inside else outside(options)


sys.exit(main())
