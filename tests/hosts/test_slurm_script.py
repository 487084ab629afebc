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


def test_the_host_agent_of_a_node_knows_a_job_as_long_as_it_runs(lab):
    agent, _, _ = node(lab)
    manager = lab.start_manager()
    tools = lab.place / "bin"
    tools.mkdir()
    (tools / "tributaryctl").symlink_to(lab.binaries.ctl)
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": manager.url, "HOST_AGENT": agent.socket, "PATH": f"{tools}:{os.environ['PATH']}"}
    assert run(lab, "prolog_slurmd", **where).returncode == 0
    (job,) = agent.ask(request="show")["jobs"]
    (known,) = [one for one in manager.list("jobs") if one["job"] == "slurm-17"]
    assert (job["job"], job["vni"], job["uid"], job["own"]) == ("slurm-17", known["vni"], 0, False), job
    # Nothing is left on the node, though the manager is away.
    manager.stop()
    lab.managers.clear()
    done = run(lab, "epilog_slurmd", **where)
    assert "does not answer" in done.stderr, done.stderr
    assert agent.ask(request="show")["jobs"] == []


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
    tools = lab.place / "bin"
    tools.mkdir()
    (tools / "tributaryctl").symlink_to(lab.binaries.ctl)
    for name, words in (("scontrol", "echo h1; echo h2"), ("squeue", "echo 19")):
        (tools / name).write_text(f"#!/bin/sh\n{words}\n")
        (tools / name).chmod(0o755)
    where = {"TRIBUTARY_FABRIC_MANAGER_URL": f"https://{address}", "CACERT": lab.place / "fabric-ca.pem",
             "PATH": f"{tools}:{os.environ['PATH']}"}  # fmt: skip
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
    told = run(lab, "prolog_task", **{**h1, "STATE": lab.place / "h2"}).stdout
    assert told.startswith("print tributary: without reductions in the network") and "h2" in told, told
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
