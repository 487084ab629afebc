"""Writes the measured parts of docs/benchmarks.md: for each comparison its table, figure and circumstances, and the
list of what peers do better. All else on the page is written by hand and stays."""

from pathlib import Path

from compare import places
from compare.program import progress
from compare.tables import PLOTS, TABLES
from tributary import marked

PAGE = places.ROOT / "docs" / "benchmarks.md"
FIGURES = places.ROOT / "docs" / "benchmarks"

QUIET_LOAD = 0.5  # of other programs, before allreduce begins


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


def losses(result):
    """The points at which a peer is better, in words."""
    name = result["comparison"]
    for p in result["points"]:
        if name == "replication" and p.get("ratio", {"median": 1})["median"] < 1:
            yield f"{p['bytes']} bytes to {p['copies']} ports: {p['ratio']['median']:.2f} of OVS-DPDK's frames"
        if name == "allreduce" and p.get("ratio", {"median": 1})["median"] < 1:
            yield f"{p['operation']} with {p['hosts']} hosts: {p['best_peer']} takes {p['ratio']['median']:.2f} of our time"
    gains = [p["armed_gain"] for p in result["points"] if "armed_gain" in p]
    undecided = [g for g in gains if g["min"] <= 1]
    if undecided:
        yield (f"in {len(undecided)} of {len(gains)} points armed engines do not reduce the latency in every turn; the "
               "lead over MPI there is the transport's, not theirs")


def circumstances(result):
    m = result["machine"]
    versions = "".join(f", {name} {version}" for name, version in result["versions"].items() if version)
    return (f"`{result['command']}`, {m['date']}, {m['cpu']}, {m['cpus']} CPUs, time stamp counter at "
            f"{m['tsc_mhz']:,} MHz, pages of {m['pages']}, Linux {m['kernel']}, {m['system']}{versions}; load average "
            f"{m['load']} at the start.")


def part(result):
    """The text of the page's part of a comparison."""
    name = result["comparison"]
    parts = [circumstances(result)]
    if name == "allreduce" and result["machine"]["load"] > QUIET_LOAD:
        parts.append(f"**The machine was busy (load average {result['machine']['load']}): ratios to MPI are too good, not "
                     "to be quoted.**")
    parts.append(TABLES[name](result["points"]))
    lost = [f"* Peers are better: {text}." for text in losses(result)]
    if lost:
        parts.append("\n".join(lost))
    return "\n\n".join(parts)


def write(results, page=PAGE, figures=FIGURES):
    """Replaces the parts of the comparisons that were measured, and their figures beside the page."""
    marked.write(page, {f"bench/compare/{result['comparison']}": part(result) for result in results})
    for result in results:
        try:
            PLOTS[result["comparison"]](result["points"], figures)
        except places.Missing as missing:
            progress(str(missing))
    return Path(page).relative_to(places.ROOT) if Path(page).is_relative_to(places.ROOT) else page
