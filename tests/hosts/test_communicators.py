"""MPI programs with many communicators, with libtributary_mpi preloaded: how they get their groups, share them one after
the other and give them back, and what happens when one of them cannot have one."""

import re
import time
from pathlib import Path

from test_mpi import Cluster, fabric_held, summary
from tributary.cases import Skip
from tributary.mpi_library import MPICH, OPENMPI, Missing
from tributary.network import shell, wait_until

ALONE = True  # eight ranks use the whole machine
HERE = Path(__file__).resolve().parent
SOURCE, OTHER_VERSION = HERE / "mpi_many.c", HERE / "mpi_other_version.c"


def program(lab, library=OPENMPI):
    try:
        return library.compile(SOURCE, lab.place / f"mpi_many-{library.suffix}")
    except Missing as why:
        raise Skip(str(why)) from None


def lines(err, about):
    return [line for line in err.splitlines() if line.startswith("Tributary MPI: ") and about in line]


def run(cluster, words, ranks=8, library=OPENMPI, **variables):
    """Standard output and error; it must have ended successfully, with all its calls in the network."""
    code, out, err = cluster.run(library, ranks, [program(cluster.lab, library), *words], **variables)
    assert code == 0, f"{words}: exit code {code}\n{out}\n{err}"
    print(err)
    fabric_held(cluster, err)
    return out, err


def test_communicators_that_are_made_and_freed_in_a_row_share_one_group(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    code, out, err = cluster.run(OPENMPI, 8, [program(lab), "dup", 200], preloaded=False)
    assert code == 0, f"{out}\n{err}"
    _, err = run(cluster, ["dup", 200])
    here, calls = summary(err)
    assert here == calls == 8 * 200, err
    # MPI_COMM_WORLD makes no call, so this is the group of all duplicates.
    made = set(re.findall(r"group '?(mpi-\w+)", lab.managers[0].log_text()))
    assert len(made) == 1, made
    cluster.nothing_left()


def test_ranks_that_run_ahead_get_and_give_all_results(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    _, err = run(cluster, ["ahead", 300])
    assert summary(err) == (8 * 300, 8 * 300), err
    cluster.nothing_left()


def groups_made(lab):
    return set(re.findall(r"group '?(mpi-\w+)", lab.managers[0].log_text()))


def test_many_communicators_live_at_the_same_time_on_a_few_trees(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64)
    count = 100  # more than there are numbers of teams
    # A program that requires the network waits for the next tree.
    _, err = run(cluster, ["live", count], TRIBUTARY_MPI_REQUIRE=1)
    assert summary(err) == (8 * 2 * count, 8 * 2 * count), err
    # A tree of 128 serves nine, and up to four are asked for at once.
    assert len(groups_made(lab)) <= count / 9 + 5, groups_made(lab)
    cluster.nothing_left()


def test_a_node_has_a_copy_of_each_frame_for_each_process_and_none_for_each_tree(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64)
    node = cluster.nodes.hosts.names[0]  # with two ranks, of which rank 0 leads
    program_of_many = [program(lab), "live", 100]
    with (lab.place / "said").open("w") as said:
        child = cluster.start(OPENMPI, 8, program_of_many, stderr=said, TRIBUTARY_MPI_REQUIRE=1)
    wait_until(lambda: sum(group["state"] == "ready" for group in cluster.manager.list("groups")) >= 6, "there are trees", 60)
    sockets = shell(f"ip netns exec {node} cat /proc/net/packet")
    hearing = [line for line in sockets.splitlines() if line.split()[3].lower() == "88b5"]
    assert 1 <= len(hearing) <= 2, sockets
    assert child.wait(60) == 0, (lab.place / "said").read_text()
    cluster.nothing_left()


def test_communicators_that_find_no_ids_are_counted_and_have_right_results(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=1)
    count = 20
    _, err = run(cluster, ["live", count])
    here, calls = summary(err)
    # Nine have ids in both of their calls.
    assert calls == 8 * 2 * count and 8 * 2 * 9 <= here < calls, err
    assert "no tree of its nodes had room" in err, err
    assert len(groups_made(lab)) == 1, groups_made(lab)
    cluster.nothing_left()


def test_leaders_in_different_processes_share_the_trees_of_their_nodes(lab):
    # Two ranks on each of four nodes: even and odd ranks have other leaders on the same nodes.
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=1)
    _, err = run(cluster, ["sides", 20])
    assert summary(err) == (8 * 20, 8 * 20), err
    assert len(groups_made(lab)) == 1, groups_made(lab)
    cluster.nothing_left()


def test_forty_communicators_of_several_sets_of_nodes_have_the_results_of_plain_mpi(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=256)
    code, plain, err = cluster.run(OPENMPI, 8, [program(lab), "grid", 10], preloaded=False)
    assert code == 0, f"{plain}\n{err}"
    out, err = run(cluster, ["grid", 10])
    assert out == plain
    here, calls = summary(err)
    assert not lines(err, "nothing is reduced") and here >= 0.95 * calls, err
    cluster.nothing_left()


def test_idle_groups_make_room_where_the_job_may_have_few(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=5)  # four rows, then two columns, ...
    _, err = run(cluster, ["turns", 5])
    here, calls = summary(err)
    # Ten of the twelve communicators of a turn need room that others' idle groups take; it lacks where these are of
    # processes that have no part in the communicator.
    assert here >= 0.9 * calls, err
    cluster.nothing_left()


def test_threads_make_and_free_communicators_at_the_same_time(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64)
    code, out, err = cluster.run(OPENMPI, 8, [program(lab), "threads", 20])
    if code == 2 and "cannot be done" in err:
        raise Skip(f"{OPENMPI.name} has no MPI_THREAD_MULTIPLE")
    assert code == 0, f"{out}\n{err}"
    fabric_held(cluster, err)
    assert summary(err)[1] == 8 * 4 * 20, err
    cluster.nothing_left()


def test_long_calls_get_long_parts_and_right_results(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64)
    _, err = run(cluster, ["long"])
    here, calls = summary(err)
    assert here == calls == 8 * (1 + 20 + 20 + 3), err
    cluster.nothing_left()


def test_mpich_makes_and_frees_communicators_in_a_row(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    lab.need(cluster.preload(MPICH))
    _, err = run(cluster, ["dup", 100], ranks=2, library=MPICH)
    assert summary(err) == (2 * 100, 2 * 100), err
    cluster.nothing_left()


def test_a_rank_that_dies_during_the_set_up_ends_the_program_and_leaves_nothing(lab):
    cluster = Cluster(lab, OPENMPI, 4, lease_ms=3000)
    began = time.monotonic()
    code, _, err = cluster.run(OPENMPI, 8, [program(lab), "dies"], TRIBUTARY_MPI_TIMEOUT=4)
    assert code not in (0, None) and time.monotonic() - began < 60, f"exit code {code}\n{err}"
    wait_until(lambda: not cluster.manager.list("groups"), "all groups are gone", 60)


def test_a_node_without_shared_memory_is_named_and_later_communicators_have_groups(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    _, err = run(cluster, ["full"])
    said = lines(err, "nothing is reduced in the network")
    assert len(said) == 1 and re.search(r"rank 1 says: /dev/shm has no room", said[0]), err
    assert summary(err)[0] == 8 * 10, err
    cluster.nothing_left()


def test_another_version_or_other_settings_on_a_node_are_named_once_and_nothing_is_wrong(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    shim = lab.place / "mpi_other_version.so"
    lab.sh(f"{OPENMPI.compiler} -O2 -shared -fPIC -o {shim} {OTHER_VERSION} -ldl")
    node = "node-" + cluster.nodes.hosts.names[2].replace(".", "-")
    preload = f"LD_PRELOAD={shim}:{cluster.preload(OPENMPI)}"
    code, out, err = cluster.run(OPENMPI, 8, ["env", preload, f"MPI_OTHER_VERSION={node}", program(lab), "grid", 2])
    assert code == 0, f"{out}\n{err}"
    said = lines(err, "of libtributary_mpi, rank 0 has")
    assert re.search(r"rank 2 has version \d+ of libtributary_mpi, rank 0 has \d+; nothing", said[0]), err
    assert not lines(err, "further communicators"), "more than one line"
    assert summary(err)[0] == 0, err
    # Settings: the communicators of ranks that do not differ are in the network.
    own = f'case $(hostname) in {node}) export TRIBUTARY_MPI_TIMEOUT=77 ;; esac; exec "$@"'
    code, out, err = cluster.run(OPENMPI, 8, ["sh", "-c", own, "sh", program(lab), "grid", 2])
    assert code == 0, f"{out}\n{err}"
    assert len(lines(err, "rank 2 and rank 0 have different settings")) >= 1, err
    here, calls = summary(err)
    assert 0 < here < calls, err
    cluster.nothing_left()


def test_a_switch_that_dies_between_communicators_leaves_later_ones_to_the_mpi_library(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    with (lab.place / "said").open("w") as log:
        child = cluster.start(OPENMPI, 4, [program(lab), "dup", 4000], stderr=log, TRIBUTARY_MPI_TIMEOUT=1,
                              TRIBUTARY_MPI_JOIN_TIMEOUT=1)
    wait_until(lambda: [one for one in cluster.manager.list("groups") if one["state"] == "ready"], "there is a group", 60)
    time.sleep(0.3)
    cluster.switch.kill()
    said = lab.place / "said"
    for line in ("the fabric has failed", "nothing is reduced in the network"):
        try:
            wait_until(lambda line=line: line in said.read_text(), f"the library says that {line}", 60)
        except TimeoutError as late:
            raise AssertionError(f"{late}\n{said.read_text()}") from None
    child.kill()
    child.wait()
    assert "cannot continue" not in said.read_text(), said.read_text()
