"""tributaryctl host job run: a job at the host agent for as long as a command runs, as a container starts it."""

import os
import shutil
import signal
import subprocess
import time

from test_host_agent import ALICE, EVERYBODY, VNI_A, node
from tributary.network import wait_until


class Held:
    """The command line as an ordinary user, with an agent that lets every user declare jobs."""

    def __init__(self, lab):
        lab.need(lab.binaries.ctl)
        self.agent, _, _ = node(lab, services=EVERYBODY)
        self.program = lab.place / "tributaryctl"
        shutil.copy(lab.binaries.ctl, self.program)

    def start(self, *words, name="held", vni=VNI_A, **options):
        return subprocess.Popen(
            ["setpriv", "--reuid", str(ALICE), "--regid", str(ALICE), "--clear-groups", "--inh-caps=-all", str(self.program), "host",
             "job", "run", name, "--vni", str(vni), *words],
            env=self.agent.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
        )  # fmt: skip

    def jobs(self):
        return {job["job"]: job for job in self.agent.ask(request="show")["jobs"]}

    def is_held(self, name="held"):
        """Until the end of its life, which is days; a job that no process holds ends within seconds."""
        return self.jobs()[name]["ends_in_s"] > 3600

    def is_there(self, name="held"):
        wait_until(lambda: name in self.jobs(), "the job is declared", 10)


def test_a_job_is_there_for_as_long_as_its_command(lab):
    held = Held(lab)
    child = held.start("--", "sh", "-c", "echo $TRIBUTARY_JOB_ID; sleep 2; exit 7")
    held.is_there()
    job = held.jobs()["held"]
    assert job["attached"] and job["uid"] == ALICE and job["vni"] == VNI_A and held.is_held(), job
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (7, "held\n", ""), (child.returncode, out, err)
    wait_until(lambda: not held.jobs(), "the job has ended", 20)


def test_it_is_declared_again_when_the_agent_restarts(lab):
    held = Held(lab)
    child = held.start("--", "sleep", "60")
    held.is_there()
    mark = held.jobs()["held"]["mark"]
    for number in (signal.SIGTERM, signal.SIGKILL):
        held.agent.stop(number)
        time.sleep(2.5)
        held.agent.start()
        wait_until(held.is_held, "it is attached again", 8)
    assert held.jobs()["held"]["mark"] == mark
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 128 + signal.SIGTERM and err.count("no host agent") <= 2, err


def test_a_signal_reaches_the_command_and_a_killed_one_leaves_no_job(lab):
    held = Held(lab)
    child = held.start("--", "sh", "-c", "trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.1; done")
    assert child.stdout.readline() == "ready\n"
    held.is_there()
    child.send_signal(signal.SIGUSR1)
    out, _ = child.communicate(timeout=30)
    assert (child.returncode, out) == (3, "got it\n")
    killed = held.start("--", "sleep", "60", name="killed", start_new_session=True)
    held.is_there("killed")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=30)
    wait_until(lambda: not held.jobs(), "the jobs have ended", 20)


def test_two_hold_a_job_and_the_last_ends_it(lab):
    held = Held(lab)
    first, last = (held.start("--", "sleep", "60", start_new_session=True) for _ in range(2))
    held.is_there()
    time.sleep(1)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=30)
    time.sleep(12)  # ten seconds' grace, and the limit of a connection that holds nothing
    assert held.is_held(), held.jobs()
    os.killpg(last.pid, signal.SIGKILL)
    last.communicate(timeout=30)
    wait_until(lambda: not held.jobs(), "the job has ended", 20)


def test_what_cannot_be_is_refused_and_nothing_is_started(lab):
    held = Held(lab)
    marker = lab.place / "started"
    marker.parent.chmod(0o777)
    foreign = held.start("--", "touch", str(marker), vni=3000)  # no service gives it
    _, err = foreign.communicate(timeout=30)
    assert foreign.returncode == 1 and "3000" in err, err
    held.agent.ask(request="add_job", job="roots", vni=VNI_A, uid=0)
    taken = held.start("--", "touch", str(marker))
    _, err = taken.communicate(timeout=30)
    assert taken.returncode == 1 and "VNI" in err, err
    held.agent.ask(request="end_job", job="roots")
    absent = held.start("--", "/no/such/program")
    _, err = absent.communicate(timeout=30)
    assert absent.returncode == 127 and "/no/such/program cannot be started" in err, err
    nothing = held.start()
    _, err = nothing.communicate(timeout=30)
    assert nothing.returncode == 2, err
    held.agent.stop()
    lab.agents.clear()
    alone = held.start("--", "touch", str(marker))
    _, err = alone.communicate(timeout=30)
    assert alone.returncode == 1 and "no host agent" in err, err
    assert not marker.exists()
