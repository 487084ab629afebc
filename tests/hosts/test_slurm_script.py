"""endpoint/launcher/slurm/tributary-slurm as Slurm runs it: on two nodes before a job, for its
tasks, and after it."""

import os
import subprocess
from pathlib import Path

from test_fabric_manager import Fabric
from test_host_agent import node
from tributary.network import wait_until

SCRIPT = Path(__file__).resolve().parents[2] / "endpoint" / "launcher" / "slurm" / "tributary-slurm"


def run(lab, context, job="17", inside=(), **settings):
    state = lab.place / "state"
    lines = {"TRIBUTARY_FABRIC_MANAGER_URL": "unix:/nowhere", "STATE": state, **settings}
    lab.file("slurm.conf", "".join(f"{name}={value}\n" for name, value in lines.items()))
    environment = {**os.environ, "TRIBUTARY_SLURM_CONF": str(lab.place / "slurm.conf"), "SLURM_JOB_ID": job,
                   "SLURM_JOB_UID": "0", "SLURM_SCRIPT_CONTEXT": context}  # fmt: skip
    done = subprocess.run([*inside, "sh", str(SCRIPT)], env=environment, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr)
    return done


def test_a_job_of_slurm_has_a_job_of_the_manager_as_long_as_it_runs(lab):
    manager = lab.start_manager()
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": manager.url}
    for _ in range(2):  # two nodes, in any order
        assert run(lab, "prolog_slurmd", **where).returncode == 0
    (job,) = [job for job in manager.list("jobs") if job["job"] == "slurm-17"]
    assert job["mcast_limit"] == 16 and job["vni"] >= 1024
    variables = dict(line.removeprefix("export ").split("=", 1) for line in run(lab, "prolog_task").stdout.splitlines())
    assert variables["TRIBUTARY_JOB_ID"] == "slurm-17" and variables["TRIBUTARY_VNI"] == str(job["vni"]), variables
    assert variables["TRIBUTARY_FABRIC_MANAGER_URL"] == manager.url
    token = variables["TRIBUTARY_FABRIC_MANAGER_TOKEN"]
    assert manager.get("/fabric/collectives/jobs/slurm-17", token=token)[0] == 200, "with the environment of the tasks"
    assert (lab.place / "state" / "17").stat().st_mode & 0o777 == 0o600, "the token is the user's alone"
    for _ in range(2):
        assert run(lab, "epilog_slurmd", **where).returncode == 0
    assert not [job for job in manager.list("jobs") if job["job"] == "slurm-17"]
    assert run(lab, "prolog_task").stdout == ""


def test_root_writes_into_no_folder_of_another_user(lab):
    """Through a link in there it would write, and chown, any file of the machine."""
    planted, state = lab.place / "planted", lab.place / "state"
    planted.mkdir()
    victim = lab.file("victim", "untouched")
    for name in ("17.new", "17.reason"):
        (planted / name).symlink_to(victim)
    os.chown(planted, 1000, 1000)
    state.symlink_to(planted)
    for script in ("prolog_slurmd", "epilog_slurmd", "prolog_slurmd"):
        done = run(lab, script)
        assert done.returncode == 0, done
        assert script == "epilog_slurmd" or "another user's" in done.stderr, done.stderr
        assert victim.read_text() == "untouched" and not (planted / "ended").exists()
        if state.is_symlink():
            state.unlink()
            planted.rename(state)
            planted = state


def tools_of(lab, **scripts):
    """The PATH of a machine with tributaryctl and these programs, each given by the lines of its script."""
    tools = lab.place / "bin"
    tools.mkdir(exist_ok=True)
    if not (tools / "tributaryctl").exists():
        (tools / "tributaryctl").symlink_to(lab.binaries.ctl)
    for name, lines in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tools / name).chmod(0o755)
    return f"{tools}:{os.environ['PATH']}"


def names(agent):
    return [job["job"] for job in agent.ask(request="show")["jobs"]]


def test_the_host_agent_of_a_node_knows_a_job_as_long_as_it_runs(lab):
    agent, _, _ = node(lab)
    manager = lab.start_manager()
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": manager.url, "HOST_AGENT": agent.socket, "PATH": tools_of(lab)}
    assert run(lab, "prolog_slurmd", **where).returncode == 0
    (job,) = agent.ask(request="show")["jobs"]
    (known,) = [one for one in manager.list("jobs") if one["job"] == "slurm-17"]
    assert (job["job"], job["vni"], job["uid"], job["own"]) == ("slurm-17", known["vni"], 0, False), job
    # Nothing is left on the node, though the manager is away.
    manager.stop()
    lab.managers.clear()
    done = run(lab, "epilog_slurmd", **where)
    assert "does not answer" in done.stderr, done.stderr
    assert names(agent) == []


def test_a_job_that_ended_while_the_host_agent_was_away_is_ended_later(lab):
    agent, _, _ = node(lab)
    manager = lab.start_manager()
    log = lab.place / "system.log"
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": manager.url, "HOST_AGENT": agent.socket,
             "PATH": tools_of(lab, squeue='echo "$*" >&2; echo 19', logger=f'echo "$*" >>{log}')}  # fmt: skip
    assert run(lab, "prolog_slurmd", **where).returncode == 0
    agent.stop()
    done = run(lab, "epilog_slurmd", **where)
    assert done.returncode == 0 and "stays with the host agent for now" in done.stderr, done.stderr
    assert "-t tributary-slurm" in log.read_text() and "job slurm-17 stays" in log.read_text(), log.read_text()
    agent.start()
    assert names(agent) == ["slurm-17"], "its record has it"
    assert run(lab, "prolog_slurmd", job="18", **where).returncode == 0
    assert names(agent) == ["slurm-18"]
    # A job that never came to the agent leaves nothing to be said, and the log is quiet.
    assert run(lab, "epilog_slurmd", job="21", **where).stderr == ""
    # The next run of a requeued job has another VNI, though no epilog came.
    before = agent.ask(request="show")["jobs"][0]["vni"]
    manager.request("DELETE", "/fabric/collectives/jobs/slurm-18")
    assert run(lab, "prolog_slurmd", job="18", **where).returncode == 0
    (job,) = agent.ask(request="show")["jobs"]
    assert job["job"] == "slurm-18" and job["vni"] != before, job
    # Jobs that Slurm does not have here any more: one that was given up, and none of another cluster's or a user's.
    for name, vni in (("slurm-19", 4019), ("slurm-20", 4020), ("other-21", 4021), ("mine", 4022)):
        agent.ask(request="add_job", job=name, vni=vni, uid=1000)
    done = run(lab, "sweep", SLURMD_NODENAME="h1", **where)
    assert done.returncode == 0 and "--nodelist=h1" in done.stderr, done
    assert "slurm-18 is ended" in done.stdout and "slurm-20 is ended" in done.stdout, done.stdout
    assert sorted(names(agent)) == ["mine", "other-21", "slurm-19"]
    # Slurm that does not answer ends none.
    where["PATH"] = tools_of(lab, squeue="exit 1")
    done = run(lab, "sweep", **where)
    assert done.returncode == 1 and "squeue failed" in done.stderr and len(names(agent)) == 3, done


def test_clusters_that_share_a_manager_have_names_of_their_own(lab):
    manager = lab.start_manager()
    here = {"TRIBUTARY_FABRIC_MANAGER_URL": manager.url, "PREFIX": "east", "PATH": tools_of(lab, squeue="true")}
    manager.create_job("slurm-17")
    assert run(lab, "prolog_slurmd", **here).returncode == 0
    assert "export TRIBUTARY_JOB_ID=east-17\n" in run(lab, "prolog_task", **here).stdout
    done = run(lab, "sweep", **here)
    assert [job["job"] for job in manager.list("jobs")] == ["slurm-17"], done
    done = run(lab, "prolog_slurmd", **{**here, "PREFIX": "a-b"})
    assert done.returncode == 2 and "PREFIX in" in done.stderr, done


def certificates(lab):
    """A CA of the manager, which has its own name; another of nodes, and a certificate of h1."""
    def sign(ca, name, alternative):
        ca, own = lab.place / ca, lab.place / name
        key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        lab.file(f"{name}.ext", f"subjectAltName={alternative}\n")
        lab.sh(f"openssl req -x509 {key} -subj /CN={ca.name} -keyout {ca}.key -out {ca}.pem")
        lab.sh(f"openssl req {key} -subj /CN={name} -keyout {own}.key -out {own}.csr")
        lab.sh(f"openssl x509 -req -in {own}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -extfile {own}.ext -out {own}.pem")

    sign("fabric-ca", "fabricd", "IP:127.0.0.1")
    sign("nodes-ca", "h1", "DNS:h1")


def test_nodes_need_their_certificates_alone_and_the_controller_forgets_no_job(lab):
    agent, _, _ = node(lab)
    certificates(lab)
    lab.file("token", "secret\n")
    address = "127.0.0.1:7580"
    manager = lab.start_manager(rest={
        "listen": [f"unix:{lab.place}/fabricd.sock", address], "administrator_token_file": str(lab.place / "token"),
        "tls_certificate": str(lab.place / "fabricd.pem"), "tls_key": str(lab.place / "fabricd.key"),
        "tls_ca": str(lab.place / "nodes-ca.pem"),
    })  # fmt: skip
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": f"https://{address}", "CACERT": lab.place / "fabric-ca.pem",
             "PATH": tools_of(lab, scontrol="echo h1; echo h2", squeue="echo 19")}  # fmt: skip
    controller = {**where, "ADMINISTRATOR_TOKEN_FILE": lab.place / "token", "STATE": lab.place / "controller"}
    h1 = {**where, "NODE_CERTIFICATE": lab.place / "h1.pem", "NODE_KEY": lab.place / "h1.key", "HOST_AGENT": agent.socket,
          "STATE": lab.place / "h1"}  # fmt: skip

    def known():
        return {job["job"] for job in manager.list("jobs")}

    assert run(lab, "prolog_slurmctld", **controller).returncode == 0 and known() == {"slurm-17"}
    assert run(lab, "prolog_slurmd", SLURMD_NODENAME="h1", **h1).returncode == 0
    (job,) = agent.ask(request="show")["jobs"]
    (made,) = manager.list("jobs")
    assert (job["job"], job["vni"], job["uid"]) == ("slurm-17", made["vni"], 0), job
    out = run(lab, "prolog_task", **h1).stdout
    token = out.split("TOKEN=")[1].split()[0]
    assert manager.get("/fabric/collectives/jobs/slurm-17", token=token)[0] == 200, out
    # A certificate is for its own node, and the user of another one hears it.
    done = run(lab, "prolog_slurmd", SLURMD_NODENAME="h2", **{**h1, "STATE": lab.place / "h2"})
    assert done.returncode == 0 and 'cannot speak for node "h2"' in done.stderr, done.stderr
    told = run(lab, "prolog_task", SLURMD_NODENAME="h2", **{**h1, "STATE": lab.place / "h2"}).stdout
    assert told.startswith("print tributary: node h2: without reductions in the network"), told
    assert run(lab, "epilog_slurmd", **h1).returncode == 0
    assert agent.ask(request="show")["jobs"] == [] and known() == {"slurm-17"}, "it is the controller's"
    assert run(lab, "epilog_slurmctld", **controller).returncode == 0 and known() == set()

    # A manager that is away learns it later; a job with the same number that has begun meanwhile stays.
    for number in ("18", "19"):
        assert run(lab, "prolog_slurmctld", job=number, **controller).returncode == 0
    manager.stop()
    for number in ("18", "19"):
        assert "for now" in run(lab, "epilog_slurmctld", job=number, **controller).stderr
    manager.start()
    manager.request("DELETE", "/fabric/collectives/jobs/slurm-19")
    manager.create_job("slurm-19")
    assert known() == {"slurm-18", "slurm-19"}
    assert run(lab, "prolog_slurmctld", job="20", **controller).returncode == 0
    assert known() == {"slurm-19", "slurm-20"}
    done = run(lab, "sweep", **controller)
    assert done.returncode == 0 and "slurm-20 is deleted" in done.stdout and known() == {"slurm-19"}, done


def test_ports_of_a_jobs_nodes_are_set_up_before_its_tasks_begin(lab):
    fabric = Fabric(lab, guards=True, vnis=None)
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": fabric.manager.url}

    def permissions():
        return sum(one["permissions"] for one in fabric.switch.ctl("show", "manager"))

    for number, node in enumerate(("h0", "h2"), 1):
        inside = ("ip", "netns", "exec", node, "unshare", "--uts", "sh", "-c", f'hostname {node}; exec "$@"', "sh")
        assert run(lab, "prolog_slurmd", inside=inside, **where).returncode == 0
        assert permissions() == number
    assert "export TRIBUTARY_MPI_INTERFACE=eth0\n" in run(lab, "prolog_task").stdout
    assert run(lab, "epilog_slurmd", **where).returncode == 0
    wait_until(lambda: permissions() == 0, "the ports are as before")
    # One that cannot be set up is a reason not to start.
    fabric.switch.stop()
    wait_until(lambda: not any(switch["connected"] for switch in fabric.manager.get("/api/v1/topology")[1]["switches"]),
               "the switches are gone")  # fmt: skip
    done = run(lab, "prolog_slurmd", inside=inside, REQUIRED="yes", **where)
    assert done.returncode == 1 and "cannot be launched" in done.stderr, done.stderr


def test_without_a_manager_jobs_run_as_they_would(lab):
    done = run(lab, "prolog_slurmd")
    assert done.returncode == 0 and "without reductions in the network: unix:/nowhere does not answer" in done.stderr
    assert run(lab, "prolog_slurmd", REQUIRED="yes").returncode == 1
    assert run(lab, "prolog_task").returncode == 0
    assert run(lab, "epilog_slurmd").returncode == 0
    assert "no number of a job" in run(lab, "prolog_slurmd", job="../x").stderr
    assert "has not said which script" in run(lab, "something").stderr
