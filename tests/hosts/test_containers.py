"""Programs of ordinary users in containers, on nodes with host agents: what they need is the agent's socket alone, what
they may is what they may outside, and what they had ends with them."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from containers import Root
from test_host_agent import ALICE, BOB, EVERYBODY, TREE, VNI_A, VNI_B, Program, cookies, need, node, right, tries_everything
from test_mpi import summary
from tributary.cases import Skip
from tributary.host_agent import Refused
from tributary.mpi_cluster import MpiCluster
from tributary.mpi_library import OPENMPI, PROGRAMS, ROOT as ANOTHER_DEBIAN, Missing
from tributary.network import RawPort, wait_until

ALONE = True
PI = PROGRAMS / "pi.c"
ROUNDS, SEED = 200, 7
LIMITED = ("setpriv", "--clear-groups", "--inh-caps=-all")


def cluster_of(lab, nodes):
    """A cluster of a user's, a root for containers with the program of scripts/demo-mpi, and the program's words in there."""
    need(lab)
    if ANOTHER_DEBIAN:
        raise Skip("the root of another Debian has its own launchers")
    cluster = MpiCluster(lab, nodes, user=ALICE)
    root = Root(lab)
    try:
        program = OPENMPI.compile(PI, lab.place / "pi")
    except Missing as why:
        raise Skip(str(why)) from None
    return cluster, root, [*root.preloading(cluster, OPENMPI), root.add(program), ROUNDS, SEED]


def checked(outcome):
    """(the program's output, its standard error) of a run that must have succeeded."""
    code, out, err = outcome
    assert code == 0, f"exit code {code}\n{out}\n{err}"
    return json.loads(next(line for line in out.splitlines() if line.startswith("{"))), err


def reduces(cluster, ranks, words, nodes=None):
    """The results are those without the network, and all frames are the job's."""
    plain, _ = checked(cluster.run(OPENMPI, ranks, [cluster.folder / "pi", ROUNDS, SEED], preloaded=False, nodes=nodes))
    ours, err = checked(cluster.run(OPENMPI, ranks, words, preloaded=False, nodes=nodes, TRIBUTARY_MPI_VERBOSE=1,
                                    TRIBUTARY_MPI_TUNING="always", TRIBUTARY_MPI_REQUIRE=1))
    assert ours["check_sum"] == plain["check_sum"], (ours, plain)
    here, calls = summary(err)
    assert here == calls > 0, err
    for agent in cluster.agents:
        counted = agent.guard()
        assert counted["passed"] > 0 and sum(counted.values()) == counted["passed"], counted
        (job,) = agent.ask(request="show")["jobs"]
        assert job["sockets"] == 0 and job["uid"] == ALICE, job
    wait_until(lambda: not cluster.manager.list("groups"), "all groups are gone")


def test_a_program_in_a_users_containers_reduces_on_four_nodes(lab):
    cluster, root, program = cluster_of(lab, 4)
    reduces(cluster, 4, [*root.charliecloud(), *program])


def test_several_containers_of_a_job_on_a_node_reduce(lab):
    """Each rank is in a container of its own; those of a node share what the MPI library shares, /dev/shm."""
    cluster, root, program = cluster_of(lab, 2)
    reduces(cluster, 6, [*root.charliecloud(), *program])


def test_a_container_without_the_agents_socket_continues_without_the_network_and_says_why(lab):
    cluster, root, program = cluster_of(lab, 2)
    words = [*root.charliecloud(shown=()), *program]
    _, err = checked(cluster.run(OPENMPI, 2, words, preloaded=False))
    assert "no host agent at /run/tributary/host.sock" in err, err
    code, _, err = cluster.run(OPENMPI, 2, words, preloaded=False, TRIBUTARY_MPI_REQUIRE=1)
    assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{code}\n{err}"


def in_charliecloud(lab, root):
    return root.charliecloud("--uid=0", "--gid=0", shown=(lab.place,))


def in_crun(lab, root, name, uid):
    """(words for Program, the command that kills it). Program adds a command, and the bundle has it already."""
    run, kill = root.crun(name, uid, ["python3", "-I", str(lab.place / "host_program.py")], str(lab.place))
    script = lab.file(f"run-{name}", f"#!/bin/sh\nexec {' '.join(run)}\n")
    script.chmod(0o755)
    return (str(script),), (*LIMITED, "--reuid", str(uid), "--regid", str(uid), *kill)


def two_jobs(agent):
    agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
    agent.ask(request="add_job", job="b", vni=VNI_B, uid=BOB)


def test_a_hostile_container_of_charliecloud_sends_only_what_is_its_own(lab):
    agent, fabric, outside = node(lab)
    two_jobs(agent)
    program = Program(lab, ALICE, inside=in_charliecloud(lab, Root(lab)))
    tries_everything(agent, program, fabric, outside, RawPort("h1", "lo"))


def test_a_hostile_container_of_crun_sends_only_what_is_its_own(lab):
    """It has no network, no capability and no cgroup."""
    agent, fabric, outside = node(lab)
    two_jobs(agent)
    inside, _ = in_crun(lab, Root(lab), "hostile", ALICE)
    program = Program(lab, ALICE, inside=inside)
    assert program.do("try", what="own_socket") == "EPERM"
    tries_everything(agent, program, fabric, outside, RawPort("h1", "lo"))


def sockets(agent):
    return {job["job"]: job["sockets"] for job in agent.ask(request="show")["jobs"]}


def two_containers(lab, start):
    """Two users' jobs in two containers: each has its own, and what one had ends when it is stopped or killed, while the other
    continues. `start(uid, number)`: (a program in a container, a function that ends it)."""
    agent, fabric, _ = node(lab)
    two_jobs(agent)
    alice, _ = start(ALICE, 0)
    assert alice.open(agent)["vni"] == VNI_A
    with contextlib.suppress(Refused):
        alice.open(agent, job="b")
        raise AssertionError("it got a socket of another user's job")
    for number in (signal.SIGTERM, signal.SIGKILL):
        bob, end = start(BOB, number)
        assert bob.open(agent)["vni"] == VNI_B and bob.open(agent)["vni"] == VNI_B
        assert alice.send(right(1)) == "done" and bob.send(right(2, vni=VNI_B)) == "done"
        assert alice.send(right(3, vni=VNI_B)) == "ENOBUFS" and bob.send(right(4)) == "ENOBUFS"
        assert sockets(agent) == {"a": 1, "b": 2}, sockets(agent)
        end(number)
        wait_until(lambda: sockets(agent) == {"a": 1, "b": 0}, "its sockets are gone", 10)
        assert alice.send(right(5)) == "done"
        assert cookies(fabric) == [1, 2, 5]
    alice.end()


def test_two_users_jobs_in_two_containers_of_charliecloud(lab):
    need(lab)
    words = in_charliecloud(lab, Root(lab))

    def start(uid, _):
        program = Program(lab, uid, inside=words)

        def end(number):
            program.child.send_signal(number)
            assert program.child.wait(30) == -number

        return program, end

    two_containers(lab, start)


def test_two_users_jobs_in_two_containers_of_crun(lab):
    need(lab)
    root = Root(lab)

    def start(uid, number):
        inside, kill = in_crun(lab, root, f"of-{uid}-{number}", uid)
        program = Program(lab, uid, inside=inside)

        def end(sent):
            # The first process of a process namespace gets no signal that it does not handle, but SIGKILL.
            subprocess.run([*kill, "TERM" if sent == signal.SIGTERM else "KILL"], check=True, timeout=30)
            if sent == signal.SIGTERM:
                subprocess.run([*kill, "KILL"], check=True, timeout=30)
            program.child.wait(30)

        return program, end

    two_containers(lab, start)


def test_a_job_that_a_container_declared_ends_with_it(lab):
    agent, fabric, _ = node(lab, services=EVERYBODY)
    program = Program(lab, ALICE, inside=in_charliecloud(lab, Root(lab)))
    declared = program.do("declare", path=str(agent.socket),
                          request={"request": "add_job", "job": "own", "vni": VNI_A, "attached": True})
    assert declared["ok"], declared
    assert program.open(agent)["vni"] == VNI_A and program.send(right(1)) == "done"
    program.child.kill()
    program.child.wait(30)
    wait_until(lambda: not agent.ask(request="show")["jobs"], "its job is gone", 20)
    assert cookies(fabric) == [1]


def test_a_job_that_several_containers_hold_ends_with_the_last(lab):
    agent, fabric, _ = node(lab, services=EVERYBODY)
    words = in_charliecloud(lab, Root(lab))
    request = {"request": "add_job", "job": "own", "vni": VNI_A, "attached": True}
    programs = [Program(lab, ALICE, inside=words) for _ in range(2)]
    for program in programs:
        assert program.do("declare", path=str(agent.socket), request=request)["ok"]
        program.open(agent)
    first, last = programs
    last.child.kill()
    last.child.wait(30)
    time.sleep(12)  # ten seconds' grace, and the limit of a connection that holds nothing
    assert first.send(right(1)) == "done" and sockets(agent) == {"own": 1}, sockets(agent)
    first.child.kill()
    first.child.wait(30)
    wait_until(lambda: not sockets(agent), "the job is gone", 20)
    assert cookies(fabric) == [1]


def test_a_container_outside_of_its_jobs_cgroup_gets_no_socket(lab):
    agent, _, _ = node(lab)
    name = f"tributary-test-{os.urandom(4).hex()}"
    mounted = Path("/run/cgroup")
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "cgroup2", "none", mounted], capture_output=True, check=False).returncode != 0:
        raise Skip("this machine has no second version of cgroups")
    own = Path(next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")))
    folder = mounted / own.relative_to("/") / name
    try:
        folder.mkdir()
    except OSError as error:
        raise Skip(f"no cgroup can be made here: {error}") from None
    program = Program(lab, ALICE, inside=in_charliecloud(lab, Root(lab)))
    try:
        agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE, cgroup=str(own / name))
        try:
            program.open(agent)
            raise AssertionError("it got a socket outside of its job's cgroup")
        except Refused as refused:
            assert refused.reason == "no_job", refused
        (folder / "cgroup.procs").write_text(str(program.child.pid))
        assert program.open(agent)["job"] == "a"
    finally:
        program.end()
        wait_until(lambda: not (folder / "cgroup.procs").read_text(), "the cgroup is empty", 10)
        folder.rmdir()


def test_a_container_of_crun_without_a_network_reduces(lab):
    """tributary-host in a bundle: the fabric's frames leave by the node's interface."""
    lab.star(2)
    need(lab)
    lab.start()
    lab.need(lab.binaries.host)
    root = Root(lab)
    program = root.add(lab.binaries.host)
    agents = [lab.start_agent(f"h{n}", interface="eth0", services=EVERYBODY) for n in range(3)]
    members = []
    for rank, agent in enumerate(agents):
        agent.ask(request="add_job", job="a", vni=VNI_A, uid=ALICE)
        words = ["env", f"TRIBUTARY_HOST_AGENT={agent.socket}", program, "--interface", "eth0", "--tree", str(TREE), "--vni",
                 str(VNI_A), "--cookie", "5", "--rank", str(rank), "--size", "3", "--operations", "50", "--json"]
        run, _ = root.crun(f"rank{rank}", ALICE, words, str(lab.place))
        members.append(subprocess.Popen(
            ["nsenter", f"--net=/run/netns/h{rank}", *LIMITED, "--reuid", str(ALICE), "--regid", str(ALICE), *run],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))  # fmt: skip
    for member in members:
        out, err = member.communicate(timeout=200)
        assert member.returncode == 0, out + err
        assert json.loads(out)["wrong"] == 0
    for agent in agents:
        counted = agent.guard()
        assert counted["passed"] > 50 and sum(counted.values()) == counted["passed"], counted
