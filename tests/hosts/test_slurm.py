"""A Slurm of three nodes with two ordinary users, set up by typing the pages (slurm_cluster.py): users reduce without a
privilege, and every job of the fabric ends with Slurm's, whatever happens in between."""

import json
import os
import signal
from contextlib import contextmanager, suppress

from launching import processes
from slurm_cluster import USERS, SlurmCluster, finish
from test_mpi import compiled, summary
from tributary.mpi_library import OPENMPI
from tributary.network import wait_until

ALONE = True
# What a user's program needs to know is in its environment, or known to the host agent.
REDUCE = ('tributary-host --interface eth1 --group g --rank "$SLURM_PROCID" --size "$SLURM_NTASKS"'
          " --operations 50 --timeout 60s --json")  # fmt: skip


@contextmanager
def slurm_of(lab):
    slurm = SlurmCluster(lab, nodes=3)
    try:
        yield slurm
    except Exception:
        slurm.print_logs()
        raise


def until(path):
    return f"until [ -e {path} ]; do sleep 0.1; done"


def reports(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def job_of(slurm, user):
    """The one job of a user that all nodes have: its name and VNI."""
    found = {(job["job"], job["vni"]) for node in slurm.nodes for job in node.jobs().values() if job["uid"] == USERS[user]}
    assert len(found) == 1, found
    return found.pop()


def test_two_users_reduce_on_the_same_nodes_without_a_privilege_or_a_secret(lab):
    with slurm_of(lab) as slurm:
        go = lab.place / "go"
        script = f"{REDUCE} && {until(go)} && {REDUCE}; env | grep ^TRIBUTARY_ | sort >&2; grep CapEff /proc/self/status >&2"
        running = {user: slurm.start(user, "srun", "-N3", "-n3", "sh", "-c", script) for user in USERS}
        wait_until(lambda: all(len(node.jobs()) == 2 for node in slurm.nodes), "both jobs are on all nodes", 60)
        jobs = {user: job_of(slurm, user) for user in USERS}
        assert len({vni for _, vni in jobs.values()}) == 2, jobs
        known = slurm.jobs()
        assert {known[name]["vni"] for name, _ in jobs.values()} == {vni for _, vni in jobs.values()}, known
        for name, _ in jobs.values():
            hosts = slurm.manager.get(f"/fabric/collectives/jobs/{name}")[1]["hosts"]
            assert hosts is not None and len(hosts) == 3, "each is limited to its nodes"
        wait_until(lambda: slurm.permissions() == 6, "two jobs are permitted at three ports")
        go.touch()
        for user, child in running.items():
            code, out, err = finish(child)
            assert code == 0 and len(reports(out)) == 6 and all(each["wrong"] == 0 for each in reports(out)), out + err
            name, vni = jobs[user]
            for line in (f"TRIBUTARY_JOB_ID={name}", f"TRIBUTARY_VNI={vni}", "TRIBUTARY_MPI_INTERFACE=eth1"):
                assert err.count(f"{line}\n") == 3, (line, err)
            assert err.count("CapEff:\t0000000000000000\n") == 3, err
        slurm.wait_until_nothing_is_left()
        for node in slurm.nodes:
            counted = node.guard()
            assert counted["passed"] > 0 and sum(counted.values()) == counted["passed"], counted
            # No secret is there but the node's own key, and that is root's.
            written = [file for file in node.place.rglob("*") if file.is_file()]
            assert not [file for file in written if slurm.administrator in file.read_text(errors="replace")]
            assert (node.etc / "tributary/node.key").stat().st_mode & 0o777 == 0o600
            code, _, err = node.run("curl", "--silent", "--fail", "--cacert", "/etc/tributary/fabric-ca.pem", "--cert",
                                    "/etc/tributary/node.pem", "--key", "/etc/tributary/node.key",
                                    "https://manager.example:7580/fabric/collectives/jobs")  # fmt: skip
            assert code == 22, f"{node.name} may list jobs: {err}"
        # No user reads what another one's programs know.
        code, out, _ = slurm.run("bob", "srun", "-w", "h0", "sh", "-c", "ls /run/tributary-slurm; cat /etc/tributary/node.key")
        assert code != 0 and out == "", out


def test_an_mpi_program_of_a_user_reduces_under_srun(lab):
    program = compiled(lab, OPENMPI)
    with slurm_of(lab) as slurm:
        code, out, err = slurm.run(
            "alice", "env", "TRIBUTARY_MPI_REQUIRE=1", "TRIBUTARY_MPI_VERBOSE=1", "TRIBUTARY_MPI_TUNING=always",
            "OMPI_MCA_btl=tcp,self", "OMPI_MCA_btl_tcp_if_include=eth0", "OMPI_MCA_mpi_yield_when_idle=1", "srun", "--mpi=pmix", "-N3", "-n3",
            "--export=ALL,LD_PRELOAD=libtributary_mpi_ompi.so", program, "sums", "1",
        )  # fmt: skip
        assert code == 0, out + err
        here, calls = summary(err)
        assert here > calls / 2, err
        slurm.wait_until_nothing_is_left()


def test_jobs_that_are_requeued_shrink_or_have_components_leave_nothing(lab):
    with slurm_of(lab) as slurm:
        nodes = {node.name: node for node in slurm.nodes}
        # Requeued: the same number, a job of its own.
        job = slurm.batch("alice", "env | grep TRIBUTARY_VNI; sleep 600", "-N2", "--requeue", "--open-mode=append",
                          "--error=/dev/null")  # fmt: skip
        name = f"slurm-{job}"
        wait_until(lambda: sum(name in node.jobs() for node in slurm.nodes) == 2, "it runs", 60)
        first = slurm.jobs()[name]["vni"]
        wait_until(lambda: slurm.printed("alice", job), "its program has begun")
        slurm.controller.type(f"scontrol requeue {job}")
        wait_until(lambda: vnis_of(slurm.jobs(), name) - {first}, "it runs again", 120)
        (again,) = vnis_of(slurm.jobs(), name)
        wait_until(lambda: sum(vnis_of(node.jobs(), name) == {again} for node in slurm.nodes) == 2,
                   "its nodes have its new VNI")  # fmt: skip
        wait_until(lambda: slurm.printed("alice", job).split() == [f"TRIBUTARY_VNI={vni}" for vni in (first, again)],
                   f"the program had the VNI of its run: {slurm.printed('alice', job)}")  # fmt: skip
        slurm.controller.type(f"scancel {job}")
        slurm.wait_until_nothing_is_left()

        # A job that gives a node up continues at the others.
        job = slurm.batch("alice", f"{until(lab.place / 'go')}; srun -N2 -n2 sh -c '{REDUCE}'", "-N3", "-n3")
        name = f"slurm-{job}"
        wait_until(lambda: all(name in node.jobs() for node in slurm.nodes), "it runs", 60)
        slurm.controller.type(f"scontrol update JobId={job} NumNodes=2")
        shown = slurm.controller.type(f"squeue --noheader --jobs={job} --format=%N | xargs scontrol show hostnames")
        kept = set(shown.split())
        (given_up,) = nodes.keys() - kept
        nodes[given_up].type(sweep_of(nodes[given_up]))
        assert name not in nodes[given_up].jobs() and all(name in nodes[node].jobs() for node in kept)
        (lab.place / "go").touch()
        wait_until(lambda: len(reports(slurm.printed("alice", job))) == 2, "it reduces on the others", 60)
        slurm.wait_until_nothing_is_left()

        # Components of a heterogeneous job are jobs of their own.
        task = "echo job $TRIBUTARY_JOB_ID"
        code, out, err = slurm.run("bob", "srun", "-N1", "-n1", "sh", "-c", task, ":", "-N2", "-n2", "sh", "-c", task)
        named = [line.split()[1] for line in out.splitlines() if line.startswith("job ")]
        assert code == 0 and sorted(named.count(each) for each in set(named)) == [1, 2], out + err
        slurm.wait_until_nothing_is_left()


def vnis_of(jobs, name):
    return {job["vni"] for job in jobs.values() if job["job"] == name}


def sweep_of(machine):
    """The command of the machine's timer."""
    return (machine.etc / "cron.d/tributary-slurm").read_text().split(maxsplit=6)[6]


def test_what_is_away_when_a_job_begins_or_ends_is_said_and_made_up_for(lab):
    with slurm_of(lab) as slurm:
        manager = slurm.manager
        # Away when a job begins: the user reads why, on each node, and the job runs.
        manager.stop()
        code, out, err = slurm.run("alice", "srun", "-N2", "-n4", "sh", "-c", "env | grep -c ^TRIBUTARY_VNI")
        lines = [line for line in out.splitlines() if line.startswith("tributary: node ")]
        assert code != 0 and out.split().count("0") == 4, out + err
        assert len(lines) == 2 and all("without reductions in the network: https://manager.example:7580 does not answer" in line
                                       for line in lines), out  # fmt: skip
        for machine in ("controller", "h0", "h1"):
            assert any(line.startswith(f"{machine}: -t tributary-slurm") for line in slurm.system_log().splitlines()), machine
        slurm.wait_until_idle()
        manager.start()
        slurm.fabric.wait_until_found()
        wait_until(lambda: len(manager.list("hosts")) >= 3, "the manager knows the nodes again")

        # Away when it ends: the nodes end it at once, and the controller's next script at the manager.
        job = slurm.batch("alice", "sleep 600", "-N3", "-n3")
        wait_until(lambda: all(f"slurm-{job}" in node.jobs() for node in slurm.nodes), "it runs", 60)
        manager.stop()
        slurm.controller.type(f"scancel {job}")
        wait_until(lambda: not any(node.jobs() for node in slurm.nodes), "no host agent has a job", 60)
        slurm.wait_until_idle()
        late = f"job slurm-{job} stays with the fabric manager for now"
        wait_until(lambda: late in slurm.system_log(), "the system's log has it")
        manager.start()
        slurm.fabric.wait_until_found()
        assert f"slurm-{job}" in slurm.jobs(), "the manager's store has it"
        code, out, err = slurm.run("bob", "srun", "-N3", "-n3", "sh", "-c", REDUCE)
        assert code == 0 and len(reports(out)) == 3, out + err
        slurm.wait_until_nothing_is_left()

        # A host agent that is away when it ends: the node's timer.
        job = slurm.batch("alice", "sleep 600", "-N1", "-n1", "-w", "h2")
        wait_until(lambda: slurm.nodes[2].jobs(), "it runs", 60)
        slurm.nodes[2].type("systemctl stop tributary-hostd")
        slurm.controller.type(f"scancel {job}")
        slurm.wait_until_idle()
        slurm.nodes[2].type("systemctl enable --now tributary-hostd")
        assert set(slurm.nodes[2].jobs()) == {f"slurm-{job}"}, "its record has it"
        slurm.nodes[2].type(sweep_of(slurm.nodes[2]))
        slurm.wait_until_nothing_is_left()

        # Jobs that Slurm does not know any more, as after a controller that lost its state.
        running = slurm.batch("bob", "sleep 600", "-N1", "-n1")
        wait_until(lambda: f"slurm-{running}" in slurm.jobs(), "it runs", 60)
        manager.create_job("slurm-999999")
        manager.create_job("not-slurms")
        for controller in processes("^slurmctld"):
            with suppress(ProcessLookupError):  # its helper, which ends with it
                os.kill(controller, signal.SIGTERM)  # it saves its state
        wait_until(lambda: not processes("^slurmctld"), "the controller has ended", 30)
        code, _, err = slurm.controller.run("sh", "-c", sweep_of(slurm.controller), user="slurm")
        assert code == 1 and "squeue failed; nothing is deleted" in err, err
        assert {f"slurm-{running}", "slurm-999999"} <= set(slurm.jobs())
        slurm.start_controller()
        wait_until(lambda: slurm.words("squeue", "--noheader", "--format=%A") == [str(running)], "the controller is back", 60)
        slurm.controller.run("sh", "-c", sweep_of(slurm.controller), user="slurm")
        assert set(slurm.jobs()) == {f"slurm-{running}"}
        assert "not-slurms" in {job["job"] for job in manager.list("jobs")}
        slurm.controller.type(f"scancel {running}")
        slurm.wait_until_nothing_is_left()
