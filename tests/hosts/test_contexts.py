"""Groups that are dups of others, on four hosts through real switches: they share trees, and cost the manager nothing."""

import json
import os
import subprocess
from pathlib import Path

from test_fabric_manager import JOB, Fabric
from test_members import LEASE
from test_one_root import nothing_is_left
from test_python import beside, outputs_of, python
from tributary.network import shell, wait_until

ALONE = True  # many frames on the whole machine
HERE = Path(__file__).resolve().parent
SIZE, SECONDS = 4, 200


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


def test_dups_share_trees_and_are_reduced_in_the_network(lab):
    fabric = Fabric(lab, groups={"multicast_limit": 32})
    said = [json.loads(line) for line in
            outputs_of(start(lab, fabric, HERE / "python_contexts.py", "eth0", "{rank}", SIZE, 40, 300), SECONDS)]
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
    outputs_of(start(lab, fabric, program, "{rank}"), SECONDS)
    nothing_is_left(fabric)


LIVE = """
import pathlib, sys, numpy, tributary
rank, end, said = int(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
with tributary.Host("eth0") as host:
    groups = [host.join_named("demo", rank, 4, root_rank=0)]
    for _ in range(12):
        groups.append(groups[-1].dup())
    step, continues = 0, True
    while continues:
        step += 1
        requests = [one.allreduce_start(numpy.full(300, rank + step + number, dtype=numpy.int64))
                    for number, one in enumerate(groups)]
        for number, request in enumerate(requests):
            got = request.wait(60).value
            assert (got == 4 * (step + number) + 6).all(), (step, number, got[:4])
        continues = groups[0].allreduce(numpy.int64(rank == 0 and not end.exists())) == 1
        if rank == 0 and step % 20 == 0:
            with said.open("a") as file:
                print("step", step, file=file)
    for one in reversed(groups):
        one.leave()
"""


def test_dups_continue_when_their_trees_are_rerouted_and_when_switches_restart(lab):
    fabric = Fabric(lab, groups={"multicast_limit": 32, "lease_ms": 300_000})
    program, end, said = (lab.file(name) for name in ("live.py", "end", "said"))
    program.write_text(LIVE)
    said.touch()
    running = start(lab, fabric, program, "{rank}", end, said)

    def further_steps():
        before = said.read_text().count("step")
        wait_until(lambda: said.read_text().count("step") >= before + 2 or running[0].poll() is not None, "further steps", 60)
        if running[0].poll() is not None:
            outputs_of(running, SECONDS)  # fails with what they printed

    def spines():
        return [part["switch"] for tree in fabric.manager.list("trees") for part in tree["parts"]
                if part["switch"].startswith("spine")]  # fmt: skip

    further_steps()
    spine = spines()[0]
    shell(f"ip link set l1s{spine[-1]} down")
    wait_until(lambda: spines() and spine not in spines(), "no tree goes over the spine", 60)
    further_steps()
    shell(f"ip link set l1s{spine[-1]} up")
    fabric.wait_until_found()
    trees = fabric.tree_numbers()
    fabric.switch.kill()
    fabric.switch = lab.start(fabric.config)
    fabric.wait_until_found()
    wait_until(lambda: len(fabric.tree_numbers()) >= len(trees), "the switches have the trees again", 60)
    further_steps()
    end.touch()
    outputs_of(running, SECONDS)
    nothing_is_left(fabric)
