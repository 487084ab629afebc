"""scripts/demo-failover: three managers take the lead from each other while sixteen hosts reduce."""

import json
import subprocess
from pathlib import Path

from tributary.cases import Skip
from tributary.site import etcd_binary

ALONE = True

DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo-failover"


def test_each_fault_ends_with_another_leader_and_the_group_reduces_on(lab):
    for binary in (lab.binaries.switch, lab.binaries.ctl, lab.binaries.fabricd, lab.binaries.host):
        lab.need(binary)
    if not etcd_binary():
        raise Skip("etcd is not installed: scripts/setup")
    file = lab.file("failover.json")
    demo = subprocess.run(
        [str(DEMO), "--no-setup", "--build", str(lab.binaries.switch.parents[1]), "--kind", "af_packet",
         "--output", str(file)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert demo.returncode == 0, demo.stdout
    result = json.loads(file.read_text())
    assert len(result["faults"]) == 4 and result["kept_its_tree"] and result["all_hosts_ran"], demo.stdout
    for fault in result["faults"]:
        assert fault["leads_ms"] <= fault["ready_ms"] < 30_000, demo.stdout
        assert fault["reductions_a_second"] > 0, f"the hosts have waited for a manager:\n{demo.stdout}"
