"""The life of communicators, of plain MPI and of the preloaded program in turns: made, first used, freed
(communicators.c). Everything goes through the network (TRIBUTARY_MPI_TUNING=always), so that the time is that of the
set-up and not of a choice."""

import json
import re
import statistics
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from tributary.mpi_library import OPENMPI

PROGRAM = Path(__file__).resolve().parent / "communicators.c"
NODES, RANKS = 4, 8
GROUPS = 4096  # that the job may have at a time: the limits of the figures are not to be the quota's
CALLS = re.compile(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network")
RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB", re.MULTILINE)


class Case(NamedTuple):
    mode: str
    count: int
    what: str


class RunFailed(Exception):
    """The program failed; the text contains its output."""


def cases(dups, live):
    return [Case("dup", dups, f"{dups} times dup, allreduce, free"),
            Case("live", live, f"{live} live communicators"),
            Case("grid", max(1, dups // 4), f"{max(1, dups // 4)} times rows and columns of a grid")]  # fmt: skip


class Watch:
    """How many groups the manager has at most, and how much its memory grows, while a program runs."""

    def __init__(self, manager):
        self.manager, self.most_groups, self.over = manager, 0, threading.Event()
        self.before_kb = self.resident_kb()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def resident_kb(self):
        return int(RESIDENT.search(Path(f"/proc/{self.manager.child.pid}/status").read_text(encoding="ascii"))[1])

    def look(self):
        while not self.over.wait(0.2):
            self.most_groups = max(self.most_groups, len(self.manager.list("groups")))

    def end(self):
        self.over.set()
        self.thread.join()
        return {"most_groups": self.most_groups, "manager_growth_kb": self.resident_kb() - self.before_kb}


def run(cluster, program, case, preloaded):
    file = cluster.folder / "communicators.json"
    file.unlink(missing_ok=True)
    watch = Watch(cluster.manager) if preloaded else None
    try:
        code, out, err = cluster.run(OPENMPI, RANKS, [program, file, case.mode, case.count], preloaded, 900,
                                     TRIBUTARY_MPI_TUNING="always")
    finally:
        seen = watch.end() if watch else {}
    if code != 0:
        raise RunFailed(f"{case.what}: exit code {code}\n{out}\n{err}")
    if preloaded:
        counted = CALLS.search(err)
        seen |= {"in_network": int(counted[1]), "calls": int(counted[2])} if counted else {}
    return json.loads(file.read_text(encoding="ascii")) | seen


def line_of(found):
    return (f"{found['what']:40} plain {found['plain_us']:9.1f} us, preloaded {found['tributary_us']:9.1f} us each, "
            f"{found['times']:.2f} times (first call {found['first_us']:.1f} us, free {found['end_us']:.1f} us); "
            f"{found['in_network']} of {found['calls']} calls in the network, at most {found['most_groups']} groups, "
            f"manager {found['manager_growth_kb']:+} kB")  # fmt: skip


def measure(cluster, turns, dups, live):
    """A list of results, one for each case."""
    program = OPENMPI.compile(PROGRAM, cluster.folder / "communicators")
    all_found = []
    for case in cases(dups, live):
        runs = {False: [], True: []}
        for turn in range(turns):
            for preloaded in (False, True) if turn % 2 == 0 else (True, False):
                runs[preloaded].append(run(cluster, program, case, preloaded))
        ratios = [network["us"] / plain["us"] for plain, network in zip(runs[False], runs[True])]
        found = {"mode": case.mode, "count": case.count, "what": case.what, "turns": turns, "nodes": NODES, "ranks": RANKS,
                 "plain_us": statistics.median(one["us"] for one in runs[False]),
                 "tributary_us": statistics.median(one["us"] for one in runs[True]),
                 "times": statistics.median(ratios), "most_times": max(ratios),
                 **{key: statistics.median(one[key] for one in runs[True])
                    for key in ("make_us", "first_us", "use_us", "end_us")},
                 "plain_use_us": statistics.median(one["use_us"] for one in runs[False]),
                 **{key: max(one.get(key, 0) for one in runs[True]) for key in ("most_groups", "manager_growth_kb", "calls")},
                 "in_network": min(one.get("in_network", 0) for one in runs[True])}  # fmt: skip
        print(line_of(found), file=sys.stderr, flush=True)
        all_found.append(found)
    return all_found
