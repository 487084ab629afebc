"""Third-party programs on nodes with host agents: MPI programs of an ordinary user, as demo-mpi shows them, jobs that
tributary-run launches, and Python."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from launching import Nodes, finish, start
from test_host_agent import ALICE, NID, VNI_A, need, node
from test_mpi import Cluster, Loop, fabric_held, summary
from test_python import python
from tributary.mpi_library import MPICH, OPENMPI
from tributary.network import wait_until

ALONE = True
ROOT = Path(__file__).resolve().parents[2]


def ranks_of_a_user_reduce(lab, library):
    """No variable names the manager, the job or the interface, and no rank has a capability."""
    need(lab)
    cluster = Cluster(lab, library, 2, user=ALICE)
    code, out, err = cluster.run(library, 2, [cluster.program, "sums", "1"], TRIBUTARY_MPI_REQUIRE=1)
    assert code == 0, f"{code}\n{out}\n{err}"
    here, calls = summary(err)
    assert here > calls / 2, err
    for agent in cluster.agents:
        counted = agent.guard()
        assert counted["passed"] > 0 and sum(counted.values()) == counted["passed"], counted
        (job,) = agent.ask(request="show")["jobs"]
        assert job["sockets"] == 0 and job["uid"] == ALICE, job
    cluster.nothing_left()
    return cluster


def test_ranks_of_a_user_reduce_by_the_agents_and_end_or_go_on_without_them(lab):
    cluster = ranks_of_a_user_reduce(lab, OPENMPI)
    for agent in cluster.agents:
        agent.ask(request="end_job", job="mpi")
    words = [cluster.program, "sums", "1"]
    code, out, err = cluster.run(OPENMPI, 2, words)
    assert code == 0 and "nothing is reduced in the network" in err and "no job of user 1000" in err, f"{code}\n{out}\n{err}"
    cluster.declare()
    for agent in cluster.agents:
        agent.stop()
    lab.agents.clear()
    code, out, err = cluster.run(OPENMPI, 2, words)
    assert code == 0 and "no host agent at /run/tributary/host.sock" in err, f"{code}\n{out}\n{err}"
    code, out, err = cluster.run(OPENMPI, 2, words, TRIBUTARY_MPI_REQUIRE=1)
    assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{code}\n{out}\n{err}"


def test_ranks_of_a_user_reduce_by_the_agents_with_mpich(lab):
    ranks_of_a_user_reduce(lab, MPICH)


def test_communicators_of_a_users_ranks_go_on_by_what_they_have_while_an_agent_restarts(lab):
    """Each process has a socket of its own, and one for each tree that it keeps."""
    need(lab)
    cluster = Cluster(lab, OPENMPI, 2, user=ALICE)
    loop = Loop(cluster, 4)
    held = [agent.ask(request="show")["jobs"][0]["sockets"] for agent in cluster.agents]
    assert sum(held) >= 4, held
    for agent in cluster.agents:
        agent.stop(signal.SIGKILL)
        agent.start()
    assert [agent.ask(request="show")["jobs"][0]["sockets"] for agent in cluster.agents] == held
    err = loop.end()
    fabric_held(cluster, err)
    here, calls = summary(err)
    assert here > calls / 2, err
    cluster.nothing_left()


def test_a_launched_job_is_known_as_long_as_it_runs_whatever_the_agent_does(lab):
    need(lab)
    nodes = Nodes(lab, 1)
    manager = lab.start_manager()
    agent = lab.start_agent("n0", interface="eth0")
    child = start(lab, "--manager", manager.url, *nodes.option(1), "sleep", "8", env={"TRIBUTARY_HOST_AGENT": str(agent.socket)})

    def jobs():
        return agent.ask(request="show")["jobs"]

    wait_until(jobs, "the job is declared")
    (job,) = jobs()
    assert job["attached"] and job["vni"] >= 1024 and job["uid"] == 0 and job["ends_in_s"] is None, job
    agent.stop(signal.SIGKILL)
    agent.start()
    assert [(one["job"], one["mark"]) for one in jobs()] == [(job["job"], job["mark"])], jobs()
    wait_until(lambda: jobs()[0]["ends_in_s"] is None, "it is attached again", 8)
    ended = finish(lab, child)
    assert ended.code == 0, ended.err
    assert jobs() == []


def test_python_gets_its_socket_from_the_agent(lab):
    agent, _, _ = node(lab)
    lab.need(lab.binaries.library)
    package = lab.place / "python"
    shutil.copytree(ROOT / "endpoint" / "python" / "tributary", package / "tributary")
    for header in ("tributary.h", "rdma.h"):
        shutil.copy(ROOT / "include" / "tributary" / header, package / "tributary")
    shutil.copy(lab.binaries.library, package / "libtributary.so.0")

    def run():
        return subprocess.run(
            ["ip", "netns", "exec", "h1", "setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups",
             "--inh-caps=-all", python(), "-c", "import tributary; print(tributary.Host().nid)"],
            env={**agent.environment, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1",
                 "TRIBUTARY_LIBRARY": str(package / "libtributary.so.0")},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    refused = run()
    assert refused.returncode and "TributaryError" in refused.stderr and "no job of user 1000" in refused.stderr, refused
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    opened = run()
    assert opened.returncode == 0 and int(opened.stdout) == NID, opened
