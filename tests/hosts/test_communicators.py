"""MPI programs with many communicators, with libtributary_mpi preloaded: how they get their groups, share them one after
the other and give them back, and what happens when one of them cannot have one."""

import re
import time
from pathlib import Path

from test_fabric_manager import add_spines
from test_mpi import Cluster, fabric_held, summary
from tributary.cases import Skip
from tributary.mpi_library import MPICH, OPENMPI, Missing
from tributary.network import shell, wait_until

ALONE = True  # eight ranks use the whole machine
HERE = Path(__file__).resolve().parent
SOURCE, OTHER_VERSION = HERE / "mpi_many.c", HERE / "mpi_other_version.c"
DIES = HERE / "mpi_dies_at.c"
LEASE_MS = 3000  # of a member that is not renewed


def program(lab, library=OPENMPI):
    try:
        return library.compile(SOURCE, lab.place / f"mpi_many-{library.suffix}")
    except Missing as why:
        raise Skip(str(why)) from None


def lines(err, about):
    said = (line.lstrip("\0") for line in err.splitlines())  # Open MPI 5.0 puts a 0 before the first line of a rank
    return [line for line in said if line.startswith("Tributary MPI: ") and about in line]


def need_a_launcher_that_lets_ranks_die():
    if OPENMPI.release >= (5, 0):
        raise Skip("Open MPI 5.0 ends the program when a rank has died")


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
    _, err = run(cluster, ["long", 20])
    here, calls = summary(err)
    assert here == calls == 8 * (1 + 20 + 20 + 3), err
    cluster.nothing_left()


def test_a_communicator_with_long_calls_moves_to_the_half_of_a_tree(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64)
    rounds = 80
    _, err = run(cluster, ["long", rounds])
    assert summary(err) == (8 * (1 + 2 * rounds + 3), 8 * (1 + 2 * rounds + 3)), err
    # MPI_COMM_WORLD has the half of the first tree, of which most ids are free; so the second is the heavy one's.
    moved = re.findall(r"its calls are long: from now on in steps of 512 KiB with up to (\d+) frames in flight, before of (\d+) KiB with up to 8 ", err)
    assert moved[-1][0] == "64" and len(moved) <= 2, err
    assert len(groups_made(lab)) == 2, groups_made(lab)
    cluster.nothing_left()


def test_short_calls_leave_ids_to_other_communicators(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=1)
    calls = 8 * (70 + 1)
    # A tree of 128 serves 9 at a time, and 33 of which all have made 64 short calls.
    _, err = run(cluster, ["shrink", 36])
    assert summary(err) == (calls * 33, calls * 36), err
    cluster.nothing_left()
    # The same tree for leaders in different processes of the nodes, the root's among them, which keep what they gave up.
    _, err = run(cluster, ["shrinks", 15])
    assert summary(err) == (8 + calls * 15, 8 + calls * 15), err
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


class TwoSpines(Cluster):
    """Two leaves with half of the nodes each, and two spines, so that a tree can be led round a cable."""

    def wire(self, network, config, ports):
        half = len(ports) // 2
        leaves = [config.switch("leaf0"), config.switch("leaf1")]
        for leaf, of_it in zip(leaves, (ports[:half], ports[half:]), strict=True):
            for port in of_it:
                leaf.port(port, kind="af_packet", interface=port)
        add_spines(network, config, leaves)

    def is_found(self):
        return super().is_found() and len(self.manager.get("/api/v1/topology")[1]["links"]) == 4


# In front of a rank's program: what it prints goes to the file, and then which of its node's shared memory it has
# left. A rank that is killed lies there as if it still ran, for the launcher would end the others.
OBSERVED = """\
said=$1
shift
"$@" >>"$said"
code=$?
ls /dev/shm | sed -n 's/^tributary/left &/p' >>"$said"
echo ended >>"$said"
case $code in 137) sleep 600 ;; esac
exit $code
"""


class Observed:
    """A program in the background, by what its ranks print."""

    def __init__(self, cluster, ranks, words, preload=(), **variables):
        self.said, self.log = cluster.folder / "printed", cluster.folder / "log"
        self.said.touch()
        around = ["sh", "-c", OBSERVED, "sh", self.said, *(["env", *preload] if preload else [])]
        with self.log.open("w") as log:
            self.child = cluster.start(OPENMPI, ranks, [*around, program(cluster.lab), *words], stderr=log, **variables)

    def numbers(self, word):
        """Those of the lines `word NUMBER`."""
        return [int(number) for number in re.findall(rf"^{word} (\d+)$", self.said.read_text(), re.MULTILINE)]

    def wait_for(self, true, what, seconds=60):
        try:
            wait_until(lambda: true() or self.child.poll() is not None, what, seconds)
        except TimeoutError as late:
            raise AssertionError(f"{late}\n{self.text()}") from None
        assert true(), f"it ended before {what}\n{self.text()}"

    def goes_on(self, word, seconds=60):
        """Further lines of this kind come."""
        before = len(self.numbers(word))
        self.wait_for(lambda: len(self.numbers(word)) >= before + 2, f"further lines '{word}' come", seconds)

    def text(self):
        return f"{self.said.read_text()}\n{self.log.read_text()}"

    def nothing_left(self):
        """In the memory of its nodes."""
        assert "left " not in self.said.read_text(), self.text()


def communicators_go_on(cluster, fault):
    """A program with 20 live communicators of five sets of nodes: all its results are right and from the network, before
    the fault, during it and afterwards."""
    end = cluster.folder / "end"
    job = Observed(cluster, 8, ["loop", 5, end], TRIBUTARY_MPI_TIMEOUT=60)
    job.goes_on("round")
    fault()
    job.goes_on("round")
    end.touch()
    code = job.child.wait(60)
    err = job.log.read_text()
    assert code == 0, f"exit code {code}\n{job.text()}"
    print(err)
    fabric_held(cluster, err)
    here, calls = summary(err)
    assert here >= 0.95 * calls, err
    job.nothing_left()
    cluster.nothing_left()


def test_communicators_follow_their_trees_round_a_cable_that_is_cut(lab):
    cluster = TwoSpines(lab, OPENMPI, 4, multicast_limit=64, lease_ms=300_000)

    def spines(tree):
        return {part["switch"] for part in tree["parts"] if part["switch"].startswith("spine")}

    def cut():
        over = [spine for tree in cluster.manager.list("trees") for spine in spines(tree)]
        spine = max(over, key=over.count)
        shell(f"ip link set l1s{spine[-1]} down")
        wait_until(lambda: all(spine not in spines(tree) for tree in cluster.manager.list("trees")),
                   "no tree goes over the spine", 60)

    communicators_go_on(cluster, cut)


def test_communicators_go_on_when_their_switch_has_restarted(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=64, lease_ms=300_000)

    def restart():
        before = {tree["tree"] for tree in cluster.switch.ctl("show", "trees")}
        assert before
        cluster.switch.kill()
        cluster.switch = lab.start(cluster.switch.config)
        wait_until(lambda: before <= {tree["tree"] for tree in cluster.switch.ctl("show", "trees")}, "it has its trees again", 60)

    communicators_go_on(cluster, restart)


def contributions(cluster):
    counters = cluster.switch.ctl("show", "counters")
    return sum(value for name, value in counters.items() if name.endswith(".contributions"))


def test_another_process_of_the_node_keeps_the_tree_of_one_that_has_died(lab):
    need_a_launcher_that_lets_ranks_die()
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=1, lease_ms=LEASE_MS)
    end = cluster.folder / "end"
    job = Observed(cluster, 8, ["keeper", end], TRIBUTARY_MPI_TIMEOUT=20)
    job.wait_for(lambda: job.numbers("dies") == [2], "the keeper dies")
    (group,) = cluster.manager.list("groups")
    died = time.monotonic()
    job.goes_on("call")
    while time.monotonic() < died + 3 * LEASE_MS / 1000:
        before = contributions(cluster)
        job.goes_on("call")
        assert contributions(cluster) > before, f"the calls do not go through the switch\n{job.text()}"
    # A lease that is not renewed would have run out.
    (now,) = cluster.manager.list("groups")
    assert (now["name"], now["state"]) == (group["name"], "ready"), now
    assert "the fabric has failed" not in job.log.read_text(), job.text()
    end.touch()
    job.wait_for(lambda: len(job.numbers("right")) == 7, "all others had right results")
    job.wait_for(lambda: job.said.read_text().count("ended\n") == 8, "all have ended")
    wait_until(lambda: not cluster.manager.list("groups"), "the group is gone", 60)
    job.child.kill()
    job.child.wait()
    job.nothing_left()


def test_threads_make_and_free_communicators_where_ids_are_short(lab):
    cluster = Cluster(lab, OPENMPI, 4, multicast_limit=1)
    count = 8
    code, out, err = cluster.run(OPENMPI, 8, [program(lab), "short", count])
    if code == 2 and "cannot be done" in err:
        raise Skip(f"{OPENMPI.name} has no MPI_THREAD_MULTIPLE")
    assert code == 0, f"{out}\n{err}"
    print(err)
    fabric_held(cluster, err)
    here, calls = summary(err)
    # Eight have ids throughout, and those that come one by one afterwards; of the threads' only as many as fit.
    assert calls == 8 * (8 * 2 + 4 * count + 10) and 8 * (8 * 2 + 10) <= here < calls, err
    assert "no tree of its nodes had room" in err, err
    assert len(groups_made(lab)) == 1, groups_made(lab)
    cluster.nothing_left()


def test_a_communicator_may_be_freed_while_its_calls_are_under_way(lab):
    cluster = Cluster(lab, OPENMPI, 4)
    for library, ranks in ((OPENMPI, 8), (MPICH, 2)):
        lab.need(cluster.preload(library))
        _, err = run(cluster, ["flight", 60], ranks=ranks, library=library)
        assert summary(err) == (ranks * 3 * 60, ranks * 3 * 60), f"{library.name}: {err}"
        cluster.nothing_left()


class Dying:
    """A program of which rank 2 dies for its second communicator (mpi_dies_at.c)."""

    def __init__(self, lab, at, noticed):
        """`noticed`: by the launcher, which then ends the others."""
        self.cluster = Cluster(lab, OPENMPI, 4, lease_ms=LEASE_MS, leave_limit_ms=3000)
        shim = lab.place / "mpi_dies_at.so"
        lab.sh(f"cc -O2 -shared -fPIC -o {shim} {DIES} -ldl")
        self.node = "node-" + self.cluster.nodes.hosts.names[2].replace(".", "-")
        preload = [f"LD_PRELOAD={shim}:{self.cluster.preload(OPENMPI)}", f"MPI_DIES={self.node}", f"MPI_DIES_AT={at}",
                   *(["sh", "-c", '"$@" || exit 1', "sh"] if noticed else [])]  # fmt: skip
        began = time.monotonic()
        job = Observed(self.cluster, 8, ["child"], preload=preload, TRIBUTARY_MPI_TIMEOUT=4)
        code = job.child.wait(100)
        self.said = job.log.read_text()
        print(f"{at}: {time.monotonic() - began:.1f} s\n{self.said}")
        assert code != 0 and time.monotonic() - began < 60, f"exit code {code}\n{job.text()}"
        assert not re.search(r"rank \d of \d: ", self.said), f"a wrong sum\n{self.said}"
        wait_until(lambda: not self.cluster.manager.list("groups"), "all groups are gone", 60)
        job.nothing_left()


def test_a_member_that_dies_between_the_agreement_and_the_first_call_is_named(lab):
    need_a_launcher_that_lets_ranks_die()
    job = Dying(lab, "call", noticed=False)
    assert re.search(rf"rank 2 on {job.node}\S* is gone", job.said), job.said


def test_a_member_that_dies_during_the_agreement_ends_the_program_and_leaves_nothing(lab):
    Dying(lab, "ids", noticed=True)
