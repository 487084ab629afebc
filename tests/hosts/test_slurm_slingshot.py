"""The requests of Slurm's plug-in switch/hpe_slingshot, byte by byte as libcurl sends them, and the tasks of its job
steps, which know the fabric by FI_CXI variables alone."""

import base64
import json
import os
import socket
import subprocess

from test_fabric_manager import Fabric
from tributary.network import wait_until

ADDRESS = ("127.0.0.1", 7580)
TOKEN = "administrators-secret"
JOBS = "/fabric/collectives/jobs"
CLUSTER = "cluster"


class Plugin:
    """What slurmctld asks, each request on a connection of its own."""

    def __init__(self):
        login = base64.b64encode(f"cxi:{TOKEN}".encode()).decode()
        self.head = (f"Host: {ADDRESS[0]}:{ADDRESS[1]}\r\nAuthorization: Basic {login}\r\nAccept: */*\r\n")

    def ask(self, method, path, body=None):
        """(status, the answer's JSON). The plug-in takes an answer without a body for a failure, except of DELETE."""
        head = f"{method} {path} HTTP/1.1\r\n{self.head}"
        # CURLOPT_POSTFIELDS without data makes a DELETE with a body of unknown length, which is then empty.
        waits = method == "DELETE"
        if waits:
            head += "Transfer-Encoding: chunked\r\n"
        head += "Content-Type: application/json\r\n"
        if waits:
            head += "Expect: 100-continue\r\n"
        elif body is not None:
            head += f"Content-Length: {len(body)}\r\n"
        with socket.create_connection(ADDRESS, timeout=10) as asked:
            asked.sendall(f"{head}\r\n{body or ''}".encode())
            with asked.makefile("rb") as lines:
                status, length = self.answer(lines)
                if status == 100:
                    asked.sendall(b"0\r\n\r\n")
                    status, length = self.answer(lines)
                text = lines.read(length)
        assert text or method == "DELETE", f"{method} {path}: {status}, and no body"
        return status, json.loads(text) if text else None

    @staticmethod
    def answer(lines):
        status, length = int(lines.readline().split()[1]), 0
        while (line := lines.readline().strip()) != b"":
            name, value = line.split(b":", 1)
            if name.lower() == b"content-length":
                length = int(value)
        return status, length

    def set_up(self, job, limit):
        """The job's token, as a step's start gets it."""
        path = f"{JOBS}/{CLUSTER}-{job}"
        status, answer = self.ask("GET", path)
        if status == 404:
            assert "detail" in answer, answer
            status, answer = self.ask("POST", JOBS, f'{{ "jobID": "{CLUSTER}-{job}", "mcastLimit": {limit} }}')
        assert 200 <= status < 300, answer
        return answer["sessionToken"]

    def step_ends(self, job, step):
        return self.ask("PATCH", f"{JOBS}/{CLUSTER}-{job}", f'{{ "jobSteps": {{ "{step}": null }} }}')

    def job_ends(self, job):
        return self.ask("DELETE", f"{JOBS}/{CLUSTER}-{job}")[0]

    def jobs(self):
        """As its sweep reads them every 30 s: it takes what follows the length of this path for the name."""
        path = f"{JOBS}/"
        return [link[len(path):] for link in self.ask("GET", path)[1]["documentLinks"]]


def fabric_of(lab):
    lab.file("token", f"{TOKEN}\n")
    return Fabric(lab, rest={
        "listen": [f"unix:{lab.place}/fabricd.sock", f"{ADDRESS[0]}:{ADDRESS[1]}"],
        "administrator_token_file": str(lab.place / "token"),
    })  # fmt: skip


def tasks(lab, fabric, token, job, step, operations):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TRIBUTARY_", "FI_CXI_"))}
    # The address alone is ours: namespaces reach the manager's Unix socket, and not its loopback.
    environment = {**clean, "TRIBUTARY_FABRIC_MANAGER_URL": fabric.manager.url, "FI_CXI_COLL_MCAST_TOKEN": token,
                   "FI_CXI_COLL_JOB_ID": f"{CLUSTER}-{job}", "FI_CXI_COLL_JOB_STEP_ID": str(step)}  # fmt: skip
    return [
        subprocess.Popen(
            ["ip", "netns", "exec", f"h{rank}", str(lab.binaries.host), "--interface", "eth0", "--group", "g",
             "--rank", str(rank), "--size", "3", "--operations", str(operations), "--json"],
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(3)
    ]  # fmt: skip


def test_a_jobs_steps_and_their_groups_come_and_go_with_the_plugins_requests(lab):
    fabric = fabric_of(lab)
    manager, plugin = fabric.manager, Plugin()

    def groups():
        return {group["name"]: group["state"] for group in manager.list("groups") if group["job"] == f"{CLUSTER}-17"}

    token = plugin.set_up(17, 4)
    assert plugin.set_up(17, 4) == token, "the next step's"
    # The tasks of a step that is killed leave a group behind, until the step ends; not until their leases do.
    killed = tasks(lab, fabric, token, 17, 0, 10**8)
    wait_until(lambda: groups() == {"g": "ready"}, "they reduce", 60)
    (steps,) = plugin.ask("GET", f"{JOBS}/{CLUSTER}-17")[1]["jobSteps"].items()
    assert steps[0] == "0" and len(steps[1]["mcasts"]) == 1, steps
    for task in killed:
        task.kill()
        task.communicate()
    assert plugin.step_ends(17, 5) == (200, {"jobID": f"{CLUSTER}-17", "ended": 0, "mcastLimit": 4})
    assert groups() == {"g": "ready"}
    assert plugin.step_ends(17, 0)[1]["ended"] == 1
    wait_until(lambda: groups() == {}, "its group ends with it", 10)
    # The next one has a group of the same name.
    fabric.finish(tasks(lab, fabric, token, 17, 1, 50))
    assert plugin.step_ends(17, 1)[0] == 200
    # What slurmctld forgot is deleted by its sweep, and what is not this cluster's stays.
    plugin.set_up(18, 4)
    manager.create_job("slurm-19")
    assert {f"{CLUSTER}-17", f"{CLUSTER}-18", "slurm-19"} <= set(plugin.jobs())
    assert plugin.job_ends(17) == plugin.job_ends(18) == 200
    assert plugin.job_ends(17) == 404
    assert plugin.step_ends(17, 1)[0] == 404, "Slurm's end of a job may come before that of its last step"
    left = set(plugin.jobs())
    assert "slurm-19" in left and not any(job.startswith(f"{CLUSTER}-") for job in left), left


def test_a_wrong_login_is_refused_with_a_reason_that_slurm_logs(lab):
    lab.file("token", f"{TOKEN}\n")
    lab.start_manager(rest={
        "listen": [f"unix:{lab.place}/fabricd.sock", f"{ADDRESS[0]}:{ADDRESS[1]}"],
        "administrator_token_file": str(lab.place / "token"),
    })  # fmt: skip
    stranger = Plugin()
    stranger.head = stranger.head.replace(base64.b64encode(f"cxi:{TOKEN}".encode()).decode(), "Y3hpOndyb25n")
    status, answer = stranger.ask("GET", f"{JOBS}/")
    assert status == 401 and "unknown" in answer["detail"], (status, answer)
    # As with fm_auth=OAUTH, whose token is not the manager's.
    stranger.head = stranger.head.replace("Basic Y3hpOndyb25n", "Bearer of-another-service")
    status, answer = stranger.ask("POST", JOBS, '{ "jobID": "cluster-1", "mcastLimit": 4 }')
    assert status == 401 and answer["detail"], (status, answer)
