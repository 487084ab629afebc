"""Groups that are dups of others, on four hosts through real switches: they share trees, and cost the manager nothing."""

import json
import os
import subprocess
from pathlib import Path

from test_fabric_manager import JOB, Fabric
from test_members import LEASE
from test_one_root import nothing_is_left
from test_python import beside, python

ALONE = True  # many frames on the whole machine
HERE = Path(__file__).resolve().parent
SIZE = 4


def start(lab, fabric, program, *words):
    """It on all four hosts, as {rank}."""
    interpreter = python()
    environment = {**os.environ, "TRIBUTARY_FABRIC_MANAGER_URL": fabric.manager.url,
                   "TRIBUTARY_JOB_ID": JOB, "TRIBUTARY_FABRIC_MANAGER_TOKEN": fabric.token, **beside(lab)}
    return [subprocess.Popen(
        ["ip", "netns", "exec", f"h{rank}", "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', f"h{rank}",
         interpreter, *[str(word).format(rank=rank) for word in (program, *words)]],
        env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for rank in range(SIZE)]


def finish(running):
    said = []
    try:
        for rank, child in enumerate(running):
            out, err = child.communicate(timeout=200)
            assert child.returncode == 0, f"rank {rank} ended with {child.returncode}:\n{out}{err}"
            said.append(out)
    finally:
        for child in running:
            child.kill()
    return said


def test_dups_share_trees_and_are_reduced_in_the_network(lab):
    fabric = Fabric(lab, groups={"multicast_limit": 32})
    said = [json.loads(line) for line in
            finish(start(lab, fabric, HERE / "python_contexts.py", "eth0", "{rank}", SIZE, 40, 300))]
    # A tree of 128 serves nine.
    assert all(5 <= one["trees"] <= 7 for one in said), said
    assert said[0]["full"] > 0 and said[0]["unreduced"] == 0, said
    nothing_is_left(fabric)


def test_a_host_that_dies_is_named_in_every_group_of_its_trees(lab):
    fabric = Fabric(lab, groups={"lease_ms": int(1000 * LEASE), "leave_limit_ms": 3000})
    program = lab.file("dies.py")
    program.write_text("""
import os, sys, tributary
rank = int(sys.argv[1])
with tributary.Host("eth0") as host:
    group = host.join_named("demo", rank, 4, root_rank=0)
    groups = [group, group.dup(), group.dup()]
    for one in groups:
        one.barrier()
    groups.append(group.dup())  # no call of it is made while all live
    if rank == 2:
        os._exit(0)
    for one in groups:
        try:
            one.barrier()
        except tributary.TributaryError as error:
            assert error.name == "MEMBER_MISSING" and "rank 2 (host h2" in str(error), str(error)
        else:
            raise AssertionError("a barrier without rank 2")
    for one in reversed(groups):
        try:
            one.leave()
        except tributary.TributaryError as error:
            print(error)
""")
    finish(start(lab, fabric, program, "{rank}"))
    nothing_is_left(fabric)
