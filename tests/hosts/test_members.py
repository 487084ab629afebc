"""Members that die, or whose group is ended: the others are notified which one and why. The virtual
fabric tests the times, and the demonstration shows them."""

from tributary.network import wait_until

from test_fabric_manager import JOB, Fabric

LEASE = 5.0


def running(lab, *extra):
    """A fabric of four hosts that reduce without end."""
    fabric = Fabric(lab, groups={"lease_ms": int(1000 * LEASE), "leave_limit_ms": 3000})
    hosts = fabric.start_hosts("demo", 1_000_000, "--progress", *extra)
    for line in hosts[0].stderr:
        if int(line.split()[1]) > 0:
            return fabric, hosts
    raise AssertionError("the hosts did not begin")


def reports(hosts, killed=None):
    """The last output of each survivor, by rank."""
    said = {}
    for rank, host in enumerate(hosts):
        if rank != killed:
            _, err = host.communicate(timeout=60)
            assert host.returncode == 1, err
            said[rank] = err.splitlines()[-1]
    return said


def nothing_is_left(fabric):
    wait_until(lambda: fabric.group("demo") is None, "the group is gone", 60)
    wait_until(lambda: not fabric.trees_in_switches(), "no switch holds a tree")


def one_is_killed(lab, rank):
    fabric, hosts = running(lab)
    hosts[rank].kill()
    hosts[rank].wait()
    said = reports(hosts, rank)
    assert len(said) == 3
    for text in said.values():
        assert f"rank {rank} (host h{rank}" in text and "is gone" in text, said
    nothing_is_left(fabric)


def test_a_leaf_that_is_killed_is_named_by_all_others(lab):
    one_is_killed(lab, 2)


def test_a_root_that_is_killed_is_named_by_all_others(lab):
    one_is_killed(lab, 0)


def test_the_member_time_out_names_who_is_missing_before_the_lease_does(lab):
    fabric = Fabric(lab, groups={"lease_ms": 60_000, "leave_limit_ms": 3000})
    hosts = fabric.start_hosts("demo", 1_000_000, "--progress", "--member-timeout", "3s")
    next(line for line in hosts[0].stderr if int(line.split()[1]) > 0)
    hosts[3].kill()
    hosts[3].wait()
    said = reports(hosts, 3)
    for text in said.values():
        assert "rank 3" in text and "did not contribute within the member time-out of 3.0 s" in text, said


def test_a_group_that_is_destroyed_ends_the_calls_of_its_members_with_the_reason(lab):
    fabric, hosts = running(lab)
    status, _ = fabric.manager.request("DELETE", f"/api/v1/groups/{JOB}/demo")
    assert status == 202
    said = reports(hosts)
    assert len(said) == 4
    for text in said.values():
        assert "destroyed on request" in text or "the fabric manager reported it to the root" in text, said
    nothing_is_left(fabric)
