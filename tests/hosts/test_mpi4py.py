"""MPI behind an interpreter: programs of mpi4py under tributary-run and mpirun, the MPI library that tributary-run finds
behind a command's first word, and jobs in which nothing calls MPI."""

import json
import re
from pathlib import Path

import launching
from test_mpi import Cluster, fabric_held, summary
from tributary.cases import Skip
from tributary.mpi_library import MPICH, OPENMPI, ROOT

ALONE = True  # as test_mpi
PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).resolve().parent / "mpi_mpi4py.py"
ALWAYS = ["--env", "TRIBUTARY_MPI_TUNING=always", "--env", "TRIBUTARY_MPI_VERBOSE=1"]


def with_mpi4py(lab):
    if ROOT:
        raise Skip("mpi4py is this Debian's")
    code, _, _ = lab.run(PYTHON, "-c", "import mpi4py")
    if code != 0:
        raise Skip("python3-mpi4py is not installed: run 'scripts/setup'")


def job(lab, cluster, *words, ranks=2):
    lab.need(lab.binaries.run)
    nodes = ",".join(f"{name}:{ranks}" for name in cluster.nodes.hosts.names)
    return launching.run(lab, "--manager", cluster.manager.url, "--namespaces", nodes, *ALWAYS, *words)


def test_a_program_of_mpi4py_reduces_in_the_network_by_the_launcher_alone(lab):
    with_mpi4py(lab)
    cluster = Cluster(lab, OPENMPI, 2)
    for end in ([], ["finalize"]):
        ended = job(lab, cluster, "--require-offload", PYTHON, PROGRAM, *end)
        assert ended.code == 0, ended.err
        assert ended.out.count("all is right") == 4, ended.out
        fabric_held(cluster, ended.err)
        here, calls = summary(ended.err)
        # Sums of eight types by three counts, in and out of place, and those of three threads; pickles are not.
        assert here > calls * 0.8 and here >= 4 * 2 * 8 * 3, ended.err
        cluster.nothing_left()


def test_a_program_of_mpi4py_reduces_in_the_network_under_mpirun(lab):
    with_mpi4py(lab)
    cluster = Cluster(lab, OPENMPI, 2)
    code, out, err = cluster.run(OPENMPI, 4, [PYTHON, PROGRAM])
    assert code == 0 and out.count("all is right") == 4, f"exit code {code}\n{out}\n{err}"
    here, calls = summary(err)
    assert here > calls * 0.8, err


def test_the_launcher_finds_the_mpi_library_behind_wrappers_and_shells(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    program = cluster.program
    script = lab.file("job.sh", '#!/bin/sh\nexec "$@"\n')
    script.chmod(0o755)
    for words in (["env", "A=b", program, "sums", 1], ["sh", "-c", f"cd / && {program} sums 1"], [script, program, "sums", 1]):
        ended = job(lab, cluster, "--require-offload", *words)
        assert ended.code == 0, f"{words}: {ended.err}"
        here, calls = summary(ended.err)
        assert here == calls == 4 * 9, f"{words}: {ended.err}"
    # An MPI library that no word shows, and the one that --mpi names.
    lab.file("hidden", f"{program} sums 1")
    hidden = ["sh", "-c", f"$(cat {lab.place / 'hidden'})"]
    ended = job(lab, cluster, *hidden)
    assert ended.code == 0, ended.err
    assert len(re.findall(r"rank \d on \S+ has begun MPI, and nothing is reduced in the network", ended.err)) == 1, ended.err
    assert "--mpi ompi or --mpi mpich" in ended.err and "calls of 4 ranks" not in ended.err, ended.err
    ended = job(lab, cluster, "--mpi", "none", *hidden)
    assert ended.code == 0 and "has begun MPI" not in ended.err, ended.err
    ended = job(lab, cluster, "--require-offload", *hidden)
    assert ended.code == 1 and "which MPI library sh uses is not found; --mpi ompi" in ended.err and not ended.out, ended.err
    ended = job(lab, cluster, "--require-offload", "--mpi", "ompi", *hidden)
    assert ended.code == 0 and summary(ended.err) == (4 * 9, 4 * 9), ended.err
    cluster.nothing_left()


def test_a_required_offload_fails_where_no_rank_calls_mpi(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for mpi in ("ompi", "mpich"):
        lab.need(cluster.preload(OPENMPI if mpi == "ompi" else MPICH))
        ended = job(lab, cluster, "--require-offload", "--mpi", mpi, "sh", "-c", "echo ran")
        assert ended.code == 1 and ended.out == "ran\n" * 4, (ended.code, ended.out, ended.err)
        assert "no rank has called MPI_Init" in ended.err and "(--require-offload)" in ended.err, ended.err
        ended = job(lab, cluster, "--mpi", mpi, "sh", "-c", "echo ran")
        assert ended.code == 0 and "MPI_Init" not in ended.err, ended.err
    ended = job(lab, cluster, "--require-offload", "--mpi", "none", "true")
    assert ended.code == 0 and not ended.err, ended.err
    cluster.nothing_left()


SHOW = """import json, os, socket, time
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
found = {name: os.environ.get(name) for name in names}
if found["RANK"] == "0":
    with socket.create_server((found["MASTER_ADDR"], int(found["MASTER_PORT"]))) as server:
        for _ in range(int(found["WORLD_SIZE"]) - 1):
            server.accept()[0].close()
else:
    while True:
        try:
            socket.create_connection((found["MASTER_ADDR"], int(found["MASTER_PORT"])), timeout=20).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
print(json.dumps({"rank": int(found["RANK"]), **found}))
"""


def test_ranks_have_the_variables_of_torchrun_and_reach_the_first_one(lab):
    nodes = launching.Nodes(lab, 2)
    show = lab.file("show.py", SHOW)
    for where, on_a_node, ranks in ((nodes.option(2), 2, 4), (["-n", "3"], 3, 3)):
        ended = launching.run(lab, "--no-offload", *where, PYTHON, show, env={"RANK": "77", "TORCHELASTIC_RUN_ID": "other"})
        assert ended.code == 0, ended.err
        lines = [json.loads(line) for line in ended.out.splitlines()]
        assert sorted(line["rank"] for line in lines) == list(range(ranks)), lines
        for line in lines:
            assert line["WORLD_SIZE"] == str(ranks) and line["LOCAL_WORLD_SIZE"] == str(on_a_node), line
            assert line["LOCAL_RANK"] == str(line["rank"] % on_a_node), line
            assert line["MASTER_ADDR"] == ("10.0.0.1" if ranks == 4 else "127.0.0.1"), line
    ended = launching.run(lab, "--no-offload", "--env", "MASTER_ADDR=other", "sh", "-c", "echo $MASTER_ADDR")
    assert ended.out == "other\n", "the user's value takes precedence"
