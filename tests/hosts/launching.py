"""tributary-run in tests: stand-in nodes, and the output and reports of a job."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from tributary.network import inside, wait_until

LIMIT = 120


class Nodes:
    """Stand-in nodes n0, n1, ..., each with a fabric address and an IP address, on one bridge."""

    def __init__(self, lab, count):
        lab.need(lab.binaries.run)
        lab.need(lab.binaries.pmix_rank)
        lab.need(lab.binaries.group_rank)
        self.lab = lab
        self.names = [lab.network.host(f"n{number}") for number in range(count)]
        lab.sh("ip link add name bridge type bridge; ip link set bridge up")
        for number, name in enumerate(self.names):
            lab.network.cable(name, "eth0", None, f"to{number}", f"02:00:00:00:00:{number + 1:02x}")
            lab.sh(f"ip link set to{number} master bridge; ip -n {name} address add 10.0.0.{number + 1}/24 dev eth0")

    def option(self, ranks):
        return ["--namespaces", ",".join(f"{name}:{ranks}" for name in self.names)]


class Ended:
    def __init__(self, code, out, err, report):
        self.code, self.out, self.err, self.report = code, out, err, report

    def lines(self):
        """The JSON output of ranks, by rank."""
        found = [json.loads(line) for line in self.out.splitlines()]
        return sorted(found, key=lambda line: line["rank"])

    def steps(self):
        return [(step["phase"], step["what"]) for step in self.report["steps"]]


def start(lab, *arguments, **options):
    """tributary-run as a child; its streams are pipes."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TRIBUTARY_", "OMPI_", "PMI", "SLURM"))}
    files(lab).mkdir(exist_ok=True)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [str(word) for word in (lab.binaries.run, "--report", lab.place / "report", *arguments)],
        env={**environment, "TMPDIR": str(files(lab)), **options.pop("env", {})}, **{**pipes, **options},
    )  # fmt: skip


def finish(lab, child, text=None):
    """Waits for its end: no process and no file of a job may be left."""
    try:
        out, err = child.communicate(text, timeout=LIMIT)
    finally:
        child.kill()
    report = lab.place / "report"
    ended = Ended(child.returncode, out, err, json.loads(report.read_text()) if report.exists() else None)
    report.unlink(missing_ok=True)
    nothing_is_left(lab)
    return ended


def run(lab, *arguments, text=None, **options):
    if text is not None:
        options["stdin"] = subprocess.PIPE
    return finish(lab, start(lab, *arguments, **options), text)


def processes(pattern):
    """Ids of processes in this world whose command line matches."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if state != "Z" and re.search(pattern, line):
                found.append(int(entry.name))
    return sorted(found)


RANKS = r"tributary-run|(pmix|group)-rank|^sleep |mpi-(ompi|mpich)|torch_check"


def files(lab):
    return lab.place / "files"


def nothing_is_left(lab):
    wait_until(lambda: not processes(RANKS), f"no process is left: {processes(RANKS)}", 15)
    left = [str(path) for path in files(lab).glob("tributary-run.*")]
    assert not left, left


def kill(number, signal_number=signal.SIGKILL):
    os.kill(number, signal_number)


MPI = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
  if (argc > 1) MPI_Barrier(MPI_COMM_WORLD);
  printf("{\"rank\": %d, \"size\": %d, \"sum\": %d}\n", rank, size, sum);
  MPI_Finalize();
  return 0;
}
"""


def mpi_program(lab, library):
    """A program of "ompi" or "mpich"; both are in scripts/packages."""
    source, program = lab.file("mpi.c", MPI), lab.place / f"mpi-{library}"
    lab.sh(f"mpicc.{'openmpi' if library == 'ompi' else 'mpich'} -o {program} {source}")
    return program


__all__ = ["Nodes", "inside", "kill", "mpi_program", "nothing_is_left", "processes", "run", "start", "finish"]
