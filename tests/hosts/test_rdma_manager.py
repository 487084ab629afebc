"""RDMA and the fabric manager: a dead peer is quarantined and returns, a policy takes effect, and
no transfer waits for the manager."""

import json
import os
import signal
import subprocess

from test_fabric_manager import Fabric
from tributary.network import wait_until

VNI = 0x0400
# Hosts give up soon, so that the manager is notified soon.
HASTY = ("request_retries=4", "query_retries=4", "sink_timeouts=4", "most_timeout_ns=20ms")


class Site:
    """h0 to h3 at two leaves, their RDMA on VNI 0x0400; h3 serves memory."""

    def __init__(self, lab, **rdma):
        settings = {"quarantine_window_ms": 60000, "probe_first_ms": 200, **rdma}
        self.fabric = Fabric(lab, guards=True, vnis=[VNI], routes={"enabled": True, "vcs": 1}, rdma=settings)
        self.lab, self.manager = lab, self.fabric.manager
        self.region = lab.file("region")

    def ctl(self, *arguments):
        done = subprocess.run(
            [str(self.lab.binaries.ctl), "rdma", *arguments, "--manager", self.manager.url, "--json"],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout) if done.stdout.strip() else None

    def start(self, host, *arguments):
        environment = {**os.environ, "TRIBUTARY_FABRIC_MANAGER_URL": self.manager.url}
        return subprocess.Popen(
            ["ip", "netns", "exec", f"h{host}", str(self.lab.binaries.host), "rdma", arguments[0], "--interface", "eth0",
             "--nid", str(host + 1), "--json", *map(str, arguments[1:])],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    def serve(self):
        self.region.unlink(missing_ok=True)
        served = self.start(3, "serve", "--length", 4096, "--vni", VNI, "--region-file", self.region)
        wait_until(self.region.exists, "h3 serves its memory")
        return served

    def write(self, host, *arguments):
        return self.start(host, "write", "--region", f"@{self.region}", "--length", 4096, *arguments)

    def peer(self):
        """The manager's entry for h3."""
        return next((peer for peer in self.ctl("show", "peers")["peers"] if peer["nid"] == 4), None)

    def finish(self, program):
        """Returns its output; it must have succeeded."""
        out, error = program.communicate(timeout=90)
        assert program.returncode == 0, f"{program.args}\n{out}{error}\n{self.manager.log_text()}"
        return json.loads(out.splitlines()[-1])

    def end(self, served):
        served.send_signal(signal.SIGTERM)
        return self.finish(served)


def test_a_peer_that_died_is_quarantined_for_all_and_written_to_again_once_it_is_back(lab):
    site = Site(lab)
    site.ctl("set", "policy", *HASTY, "--vni", str(VNI))
    served = site.serve()
    for host in (0, 2):  # routes follow a moment after hosts are known
        site.finish(site.write(host, "--retry-for", "30s"))
    served.kill()
    served.communicate()
    # Reporters are asked to probe, so they have to be running.
    writers = [site.write(host, "--retry-for", "80s", "--operations", 10**9) for host in (0, 2)]
    wait_until(lambda: (site.peer() or {}).get("for_all"), "h3 is quarantined for all", 60)
    assert site.peer()["state"] in ("quarantined", "probing")
    causes = {each["cause"]: each["total"] for each in site.ctl("show", "exceptions")["causes"]}
    assert causes["unreachable_peer"] >= 2, causes
    served = site.serve()
    wait_until(lambda: not (site.peer() or {}).get("for_all"), "h3 is released", 60)
    for host in (0, 2):
        site.finish(site.write(host, "--retry-for", "30s"))
    for writer in writers:
        assert writer.poll() is None, writer.communicate()
        writer.kill()
        writer.communicate()
    assert site.end(served)["counters"]["placed"] >= 2


def test_a_policy_outlives_the_manager_and_transfers_do_not_wait_for_it(lab):
    site = Site(lab)
    site.ctl("set", "policy", "window=256", "--vni", str(VNI))
    served = site.serve()
    site.finish(site.write(0, "--retry-for", "30s"))
    site.manager.stop()
    site.finish(site.write(2))
    site.manager.start()
    policies = site.ctl("show", "policy")["policies"]
    of_vni = next(policy for policy in policies if policy.get("vni") == VNI)
    assert of_vni["policy"]["window"] == 256, policies
    site.end(served)
