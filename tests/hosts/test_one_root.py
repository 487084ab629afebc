"""Many groups with their root at one host: of one process and of several, through real switches; and MPI programs
whose communicators are more than there are nodes, or than the job may have groups."""

import json
import re
from pathlib import Path

from test_fabric_manager import JOB, Fabric
from test_members import LEASE, reports
from test_mpi import Cluster, fabric_held, summary
from test_python import SIZE, ranks
from test_in_switch_groups import stop
from tributary.cases import Skip
from tributary.mpi_library import OPENMPI, Missing
from tributary.network import wait_until

ALONE = True  # tens of processes on the whole machine
HERE = Path(__file__).resolve().parent


def nothing_is_left(fabric):
    wait_until(lambda: not fabric.manager.list("groups"), "the groups are gone", 60)
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree", 60)


def test_groups_of_several_processes_of_a_host_all_have_their_root_there(lab):
    fabric = Fabric(lab)
    hosts = [fabric.start_hosts(f"g{n}", 300, "--root-rank", "0", timeout=120) for n in range(6)]
    for group in hosts:
        for rank, report in enumerate(fabric.finish(group)):
            assert report["root"] == (rank == 0) and report["iterations"] == 300, report
    nothing_is_left(fabric)


def test_a_member_of_one_that_dies_ends_that_one_alone(lab):
    fabric = Fabric(lab, groups={"lease_ms": int(1000 * LEASE), "leave_limit_ms": 3000})
    lasting = fabric.start_hosts("lasting", 1_000_000, "--root-rank", "0", "--progress")
    ending = fabric.start_hosts("ending", 1_000_000, "--root-rank", "0", "--progress")
    for hosts in (lasting, ending):
        next(line for line in hosts[0].stderr if int(line.split()[1]) > 0)
    ending[2].kill()
    ending[2].wait()
    said = reports(ending, 2)
    assert "rank 2 (host h2" in said[0], said
    for text in said.values():  # a leaf may have it from the root's notice first, which has no names of hosts
        assert "rank 2" in text and "is gone" in text, said
    assert all(host.poll() is None for host in lasting), "the other group has ended as well"
    at_end = int(lasting[0].stderr.readline().split()[1])
    next(line for line in lasting[0].stderr if int(line.split()[1]) > at_end)
    stop(lasting)
    nothing_is_left(fabric)


def one_process(lab, transport):
    groups = 40
    fabric = Fabric(lab, groups={"multicast_limit": groups})
    said = ranks(lab, HERE / "python_many_groups.py", "eth0", "{rank}", SIZE, groups, transport,
                 TRIBUTARY_FABRIC_MANAGER_URL=fabric.manager.url, TRIBUTARY_JOB_ID=JOB,
                 TRIBUTARY_FABRIC_MANAGER_TOKEN=fabric.token)
    for line in said:
        assert json.loads(line) == {"roots": [0], "groups": groups}, line
    nothing_is_left(fabric)


def test_forty_groups_of_one_process_are_in_flight_at_the_same_time(lab):
    one_process(lab, "raw")


def test_forty_groups_share_the_af_xdp_sockets_of_a_process(lab):
    one_process(lab, "af_xdp")


# MPI


def program(lab):
    try:
        return OPENMPI.compile(HERE / "mpi_communicators.c", lab.place / "mpi_communicators")
    except Missing as why:
        raise Skip(str(why)) from None


def lines(err, about):
    return [line for line in err.splitlines() if line.startswith("Tributary MPI: ") and about in line]


def test_more_communicators_than_nodes_are_all_reduced_in_the_network(lab):
    cluster = Cluster(lab, OPENMPI, 2, multicast_limit=64)
    code, _, err = cluster.run(OPENMPI, 4, [program(lab), 12])
    assert code == 0, err
    fabric_held(cluster, err)
    here, _ = summary(err)
    # MPI_COMM_WORLD and its 12 copies; of rows and columns with two copies at least those that cross nodes.
    assert here >= 5 * 4 * (13 + 2), err
    assert not lines(err, "nothing is reduced") and not lines(err, "no group of the fabric"), err
    cluster.nothing_left()


def test_communicators_without_a_group_have_one_line_at_the_first_and_one_at_the_end(lab):
    cluster = Cluster(lab, OPENMPI, 2, multicast_limit=1)
    # They look for ids in their 4th, 8th, ... calls again, when the refusal of a second tree has arrived.
    code, _, err = cluster.run(OPENMPI, 4, [program(lab), 30, 40])
    assert code == 0, err
    first = lines(err, "nothing is reduced in the network")
    assert len(first) == 1 and "01: job" in first[0] and "counted at the end" in first[0], err
    last = lines(err, "communicators of several nodes got no group of the fabric")
    assert len(last) == 1, err
    counted = re.search(r"(\d+) of (\d+) communicators of several nodes got no group of the fabric: (\d+) because the fabric "
                        r"manager refused; for example .*no further tree: .*01: job", last[0])
    assert counted, err
    refused, of, because = (int(word) for word in counted.groups())
    # Nine of the at least 33 of two nodes have the ids of the only tree.
    assert refused == because and of == refused + 9 and refused >= 24, err
    here, calls = summary(err)
    assert 0 < here < calls and "because no tree of its nodes had room for the communicator" in err, err
    cluster.nothing_left()
