"""Faults of managers that share an etcd, while clients make, read and delete groups, with every answer checked. Started
by scripts/soak --failover.

The managers, etcd's members and the scripted switches are those of bench/failover. Each client has names of its own,
and compares every answer with what its name may hold (tributary.register). After each fault, once all is there again:

  no acknowledged group is missing, no deleted one is back, and no other has its place
  no tree is in two groups
  no switch has accepted an older epoch
  a new group is ready within `--limit`
"""

import argparse
import importlib.util
import json
import random
import signal
import sys
import tempfile
import threading
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from building import RELEASE, Build, BuildFailed  # noqa: E402
from tributary.manager import StartFailed  # noqa: E402
from tributary.register import Lost, Register  # noqa: E402
from tributary.site import etcd_binary  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

CLIENTS, NAMES_EACH, SWITCHES = 4, 4, 6
EXAMPLES = """\
examples:
  scripts/soak --failover                          1,000 faults, a new seed, printed
  scripts/soak --failover --faults 50 --seed 17    the same faults in the same order
exit codes:
  0  nothing was lost
  1  something was, or what it needs is missing
  2  usage error
"""


def _bench():
    loader = SourceFileLoader("bench_failover", str(ROOT / "bench" / "failover"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_failover", loader))
    loader.exec_module(module)
    return module


bench_module = _bench()


class Client(threading.Thread):
    """Asks one thing after the other about its own names, at whichever manager answers."""

    def __init__(self, bench, number, seed):
        super().__init__(daemon=True)
        self.bench, self.random = bench, random.Random(seed)
        self.registers = [Register(f"c{number}x{n}") for n in range(NAMES_EACH)]
        hosts = range(1, bench.count * bench_module.scripted.HOSTS + 1)
        self.nids = {register.name: self.random.sample(hosts, 2) for register in self.registers}
        self.may_ask, self.is_still = threading.Event(), threading.Event()
        self.problem, self.answers, self.ended = None, 0, False

    def run(self):
        try:
            while not self.ended:
                if not self.may_ask.is_set():
                    self.is_still.set()
                    self.may_ask.wait(0.1)
                    continue
                self.is_still.clear()
                register = self.random.choice(self.registers)
                self.random.choice((self.join, self.join, self.read, self.delete))(register)
        except Lost as problem:
            self.problem = str(problem)
            self.is_still.set()

    def ask(self, method, path, body=None):
        """(status, body) of the first manager that says more than that another leads."""
        for name in self.random.sample(self.bench.site.names, len(self.bench.site.names)):
            status, answer = self.bench.ask(name, method, path, body)
            if status != 421:
                self.answers += status != 0
                return status, answer
        return 421, None

    def join(self, register):
        nids = self.nids[register.name]
        for rank, nid in enumerate(nids):
            last = rank + 1 == len(nids)
            status, answer = self.ask(
                "POST", f"/api/v1/groups/{register.name}/members?wait={500 if last else 0}",
                {"rank": rank, "size": len(nids), "mac": bench_module.scripted.mac(nid)},
            )  # fmt: skip
            if status == 200 and answer.get("cookie") is not None and answer.get("state", "ready") == "ready":
                return register.joined(answer["cookie"])
            if status in (0, 202, 503):
                register.unanswered("join")
            if status not in (200, 202):
                return None
        return None

    def read(self, register):
        status, answer = self.ask("GET", f"/api/v1/groups/bench/{register.name}")
        if status in (404, 409, 410):
            register.got(None)
        elif status == 200 and answer.get("state") == "ready" and answer.get("cookie") is not None:
            register.got(answer["cookie"])

    def delete(self, register):
        status, _ = self.ask("DELETE", f"/api/v1/groups/bench/{register.name}")
        if status in (200, 202, 204):
            register.deleted()
        elif status in (0, 503):
            register.unanswered("delete")

    def pause(self):
        self.may_ask.clear()
        self.is_still.wait(60)

    def check(self):
        """All is there again, and nothing that was asked before can happen any more."""
        for register in self.registers:
            register.settled()
            self.read(register)


class FailoverSoak:
    def __init__(self, options, seed):
        self.options, self.seed = options, seed
        self.random = random.Random(seed)
        self.seconds, self.kinds, self.problems = [], {}, []

    def run(self, binaries):
        with tempfile.TemporaryDirectory() as place, bench_module.Bench(binaries, place, SWITCHES) as bench:
            clients = [Client(bench, n, self.random.random()) for n in range(CLIENTS)]
            for client in clients:
                client.start()
                client.may_ask.set()
            try:
                for number in range(self.options.faults):
                    self._one(bench, clients, number)
                    if self.problems:
                        self._keep_logs(bench)
                        break
            finally:
                for client in clients:
                    client.ended = True
                for client in clients:
                    client.join(60)
            self.answers = sum(client.answers for client in clients)

    def _one(self, bench, clients, number):
        time.sleep(self.random.uniform(0, 0.5))
        kind = self.random.choice(bench_module.FAULTS)
        result = bench.measure(kind)
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.seconds.append(result["seconds"])
        for client in clients:
            client.pause()
        time.sleep(1.2)  # a request without an answer was given up after a second
        found = [client.problem for client in clients if client.problem]
        for client in clients:
            try:
                client.check()
            except Lost as lost:
                found.append(str(lost))
        if result["lost_groups"]:
            found.append(f"{result['lost_groups']} groups that were kept have another tree, or none")
        if bench.switches.fallen:
            found.append(f"{bench.switches.fallen} times a switch accepted an older epoch")
        if result["seconds"] > self.options.limit:
            found.append(f"the first new group was ready after {result['seconds']} s")
        trees = [tree for trees in bench.trees().values() for tree in trees]
        if len(trees) != len(set(trees)):
            found.append("a tree is in two groups")
        self.problems += [f"fault {number}, {kind}: {problem}" for problem in found]
        for client in clients:
            client.may_ask.set()
        if not self.options.json and (number + 1) % 10 == 0:
            print(f"{number + 1} faults, {len(self.problems)} problems", file=sys.stderr, flush=True)

    def _keep_logs(self, bench):
        print("\n".join(bench.site.log_text().splitlines()[-200:]), file=sys.stderr)

    def figures(self):
        ordered = sorted(self.seconds) or [0]
        return {"seed": self.seed, "faults": len(self.seconds), "kinds": self.kinds, "answers": self.answers,
                "median_seconds": ordered[len(ordered) // 2], "longest_seconds": ordered[-1],
                "problems": self.problems}  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/soak --failover", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--failover", action="store_true", help="this one, and not the transfers of RDMA")
    parser.add_argument("--faults", type=int, default=1000, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, help="of the faults and requests (default: a new one, printed)")
    parser.add_argument("--limit", type=float, default=10, metavar="SECONDS",
                        help="longest time without a new group (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the program from there as it is")
    options = parser.parse_args()
    if options.faults < 1:
        parser.error("--faults: at least 1")
    return options


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seed {seed}", file=sys.stderr, flush=True)
    try:
        if not etcd_binary():
            raise BuildFailed("etcd is not installed: scripts/setup")
        build = Build(ROOT, RELEASE)
        if not options.build:
            build.configure()
            build.compile(["controlplane/process/tributary-fabricd"])
        soak = FailoverSoak(options, seed)
        soak.run(Binaries((options.build or build.directory).resolve()))
    except (BuildFailed, StartFailed, RuntimeError, TimeoutError, OSError) as failure:
        print(f"scripts/soak: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    figures = soak.figures()
    if options.json:
        print(json.dumps(figures))
    else:
        print(f"seed {seed}: {figures['faults']} faults, {figures['answers']:,} answers, a new group after "
              f"{figures['median_seconds']} s, at most {figures['longest_seconds']} s, "
              f"{len(figures['problems'])} problems")
        print(*figures["problems"], sep="\n")
    return 1 if figures["problems"] else 0
