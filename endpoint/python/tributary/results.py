"""Results of tributary-pktgen (docs/guide/pktgen-results.md) as data frames and plots.

    result = tributary.results.run("reduce", leaves=64, in_process=True, duration="1s", repeats=3)
    result = tributary.results.load("result.json")
    result.repeats()                     a row for each repeat: rates, counts, drops
    result.latencies()                   a row for each latency: count, min_ns, p50_ns ... of all repeats together
    result.histogram("operation_at_root")
    result.plot().savefig("result.svg")

Data frames need pandas, plots matplotlib; the rest needs neither.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

FORMAT, VERSION = "tributary-pktgen-result", 1
PROGRAM = "TRIBUTARY_PKTGEN"


class ResultError(Exception):
    """Not a result, or one that this version cannot read."""


@dataclasses.dataclass(frozen=True)
class Result:
    """`document` is the generator's JSON as it is."""

    document: dict[str, Any]

    @property
    def problems(self) -> list[str]:
        """Why the result is not valid; empty when it is."""
        failure = self.document.get("failure")
        return [*([failure] if failure else []), *self.document.get("problems", [])]

    @property
    def summary(self) -> dict[str, Any]:
        return dict(self.document["summary"])

    def repeats(self) -> pandas.DataFrame:
        """A row for each measurement; nested members become columns with dots."""
        import pandas

        rows = [{key: value for key, value in one.items() if key not in ("latencies", "ports", "remarks")}
                for one in self.document["repeats"]]
        return pandas.json_normalize(rows)

    def latencies(self) -> pandas.DataFrame:
        import pandas

        rows = {name: {key: value for key, value in one.items() if key != "buckets"}
                for name, one in self.document["summary"]["latencies"].items()}
        return pandas.DataFrame.from_dict(rows, orient="index")

    def histogram(self, latency: str) -> pandas.DataFrame:
        """Columns lowest_ns, highest_ns, count. KeyError for an unknown name lists the available ones."""
        import pandas

        known = self.document["summary"]["latencies"]
        if latency not in known:
            raise KeyError(f"{latency!r}; there are {', '.join(known)}")
        return pandas.DataFrame(known[latency]["buckets"], columns=["lowest_ns", "highest_ns", "count"])

    def plot(self) -> matplotlib.figure.Figure:
        """Rates of the repeats, and the distribution of latencies."""
        import matplotlib.figure

        figure = matplotlib.figure.Figure(figsize=(10, 4), layout="constrained")
        rates, latencies = figure.subplots(1, 2)
        repeats = self.repeats()
        rates.bar(range(len(repeats)), repeats["operations_per_second"])
        rates.set(xlabel="repeat", ylabel="operations per second", title=self.document["scenario"])
        for name in self.document["summary"]["latencies"]:
            buckets = self.histogram(name)
            if len(buckets):
                share = buckets["count"].cumsum() / buckets["count"].sum()
                latencies.step(buckets["highest_ns"] / 1000, share, where="post", label=name)
        latencies.set(xlabel="microseconds", ylabel="share", xscale="log", title="latency")
        latencies.legend()
        return figure


def read(document: dict[str, Any]) -> Result:
    if document.get("format") != FORMAT:
        raise ResultError(f"this is not a result of tributary-pktgen: its format is {document.get('format')!r}")
    if document.get("format_version") != VERSION:
        raise ResultError(f"the result has format version {document.get('format_version')}, and this reads {VERSION}")
    return Result(document)


def load(file: str | os.PathLike[str]) -> Result:
    """Reads the output of `tributary-pktgen --json --output FILE`."""
    try:
        return read(json.loads(Path(file).read_text(encoding="utf-8")))
    except json.JSONDecodeError as problem:
        raise ResultError(f"{file} is not JSON: {problem}") from problem


def run(kind: str, **options: Any) -> Result:
    """Runs the generator; options are those of `tributary-pktgen KIND --help`, with underscores. True is a
    flag, a list a value with commas. TRIBUTARY_PKTGEN names another program than the installed one."""
    program = os.environ.get(PROGRAM) or shutil.which("tributary-pktgen")
    if program is None:
        raise ResultError("tributary-pktgen is not in PATH; install tributary-tools, or name it in TRIBUTARY_PKTGEN")
    words = [program, kind, "--json", "--quiet"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            words += [option, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    try:
        return read(json.loads(done.stdout))
    except json.JSONDecodeError:
        raise ResultError(f"tributary-pktgen ended with {done.returncode}: {done.stderr.strip()}") from None
