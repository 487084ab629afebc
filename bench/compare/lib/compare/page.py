"""Writes docs/benchmarks.md from the results of the comparisons."""

import ast
import datetime
from pathlib import Path

from compare import places, plot
from compare.program import progress
from compare.tables import PLOTS, TABLES

PAGE = places.ROOT / "docs" / "benchmarks.md"
FIGURES = places.ROOT / "docs" / "benchmarks"

QUIET_LOAD = 0.5  # of other programs, before allreduce begins

# The marker that tests/docs reads.
NOT_RUN = "<!-- not run: takes minutes to hours, and measures -->"

INTRODUCTION = """\
# Side by side

This page compares Tributary with other software that does the same work on the same machine, for those who decide
whether its performance suits them. One command measures everything and writes the page:

<!-- not run: takes minutes to hours, and measures -->
```sh
bench/compare/all
```

Every comparison is a command of its own, with `--help`, `--quick` and `--json`. The programs are started once and take
turns, A B C A B C. A ratio is formed between successive turns; the tables show the median of the ratios with the least
and the greatest. Rates of polling programs are divided by the time their threads were on a CPU, so that other load on
the machine has little effect. Where a peer is better, the ratio is below 1. Peers come from Debian;
`scripts/setup --bench` installs or unpacks them.

Other measurements have their own pages:

* [multicast trees](benchmarks/multicast.md), a comparison of algorithms;
* [unicast routes](benchmarks/routing.md), their tables, virtual channels and link loads;
* [RDMA](benchmarks/rdma.md) against TCP, UCX and other retransmit schemes;
* [vectors in wide frames](benchmarks/vectors.md) against MPI;
* [MPI programs](benchmarks/mpi.md) with their reductions in the network;
* [what an allreduce costs a host](benchmarks/hosts.md);
* [what a large fabric costs the manager](benchmarks/manager.md);
* [the simulator](benchmarks/simulator.md), and [allreduces with up to 4,096 hosts](benchmarks/scale.md), simulated.
"""


def manual(name):
    """The program's description, without its title and examples."""
    text = ast.get_docstring(ast.parse((places.ROOT / "bench" / "compare" / name).read_text()))
    title, _, rest = text.partition("\n")
    return title.rstrip("."), rest.partition("\nexamples:")[0].strip()


def reached(goal):
    """None when it could not be measured."""
    if goal["reached"] is None:
        return None
    return goal["reached"] <= goal["aim"] if goal.get("at_most") else goal["reached"] >= goal["aim"]


def goal_line(goal):
    if goal["reached"] is None:
        return f"{goal['goal']}: not measured (goal {goal['aim']:g})"
    word = "reached" if reached(goal) else "**missed**"
    return f"{goal['goal']}: {goal['reached']:.2f}, goal {goal['aim']:g}, {word}"


def losses(results):
    """A description of the points we lose."""
    for result in results:
        name = result["comparison"]
        for p in result["points"]:
            if name == "replication" and p.get("ratio", {"median": 1})["median"] < 1:
                yield f"replication: {p['bytes']} bytes to {p['copies']} ports, {p['ratio']['median']:.2f} of OVS-DPDK"
            if name == "allreduce" and p.get("ratio", {"median": 1})["median"] < 1:
                yield (f"allreduce: {p['operation']} with {p['hosts']} hosts, {p['best_peer']} takes "
                       f"{p['ratio']['median']:.2f} of our time")
        gains = [p["armed_gain"] for p in result["points"] if "armed_gain" in p]
        undecided = [g for g in gains if g["min"] <= 1]
        if undecided:
            yield (f"{name}: in {len(undecided)} of {len(gains)} points armed engines do not reduce the latency "
                   "in every turn; the lead over MPI there is the transport's, not theirs")
        for goal in result["goals"]:
            if reached(goal) is False:
                yield f"{name}: {goal_line(goal)}"


def section(result):
    name = result["comparison"]
    title, text = manual(name)
    versions = ", ".join(f"{k} {v}" for k, v in result["versions"].items() if v)
    load = result["machine"]["load"]
    parts = [f"## {title}", text, f"{NOT_RUN}\n```sh\n{result['command']}\n```",
             f"Versions: {versions}. Load average at the start: {load}."]
    if name == "allreduce" and load > QUIET_LOAD:
        parts.append(f"**The machine was busy (load average {load}): ratios to MPI are too good, not to be quoted.**")
    parts += [TABLES[name](result["points"])]
    try:
        PLOTS[name](result["points"], FIGURES)
        parts.append(f"![{title}](benchmarks/compare-{name}.svg)")
    except places.Missing as missing:
        progress(str(missing))
    parts.append("\n".join(f"* {goal_line(goal)}" for goal in result["goals"]))
    return "\n\n".join(parts)


def machine_line(result):
    m = result["machine"]
    return (f"Measured {datetime.date.today()} on {m['cpu']}, {m['cpus']} CPUs, time stamp counter at "
            f"{m['tsc_mhz']:,} MHz, {m['memory_gib']} GiB, pages of {m['pages']}, Linux {m['kernel']}, "
            f"{m['system']}; load average {m['load']} when it began.")


def write(results):
    FIGURES.mkdir(exist_ok=True)
    lost = list(losses(results))
    parts = [INTRODUCTION.strip(), machine_line(results[0]), "## Where we lose",
             "\n".join(f"* {what}" for what in lost) or "Nowhere in what was measured here.",
             *(section(result) for result in results)]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return PAGE.relative_to(Path(places.ROOT))
