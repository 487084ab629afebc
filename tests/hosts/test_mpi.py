"""Unmodified MPI programs on stand-in nodes, with libtributary_mpi preloaded: every result against the MPI
library's own, and the behaviour without a fabric, or after losing it."""

import re
import time
from pathlib import Path

import launching
from tributary.cases import Skip
from tributary.mpi_cluster import MpiCluster
from tributary.mpi_library import MPICH, OPENMPI, ROOT, Missing, brought, there
from tributary.network import wait_until

ALONE = True  # sixteen ranks use the whole machine
# Rounds of the program after which its barriers and broadcasts, which were not measured before, are
# in their first experiment: eight calls of the MPI library, and three of the network.
BEFORE_AN_EXPERIMENT, PROBE = 1_040, 11
SOURCE = Path(__file__).resolve().parent / "mpi_check.c"
FORTRAN = SOURCE.with_name("mpi_fortran.f90")
WRONG_ARGUMENTS = SOURCE.with_name("mpi_wrong_arguments.c")
DIFFERING = SOURCE.with_name("mpi_differing.c")
F08 = SOURCE.with_name("mpi_f08.f90")
BY_NAME = SOURCE.with_name("mpi_by_name.c")
NEWER = SOURCE.with_name("mpi_newer.c")
TORCH = SOURCE.with_name("mpi_torch.py")


def compiled(lab, library):
    """The program of the tests."""
    lab.need(lab.binaries.switch.parents[1] / "endpoint" / "mpi" / library.preload)
    try:
        return library.compile(SOURCE, lab.place / "mpi_check")
    except Missing as why:
        raise Skip(str(why)) from None


class Cluster(MpiCluster):
    """With the program of the tests, whose calls all use the network where possible."""

    def __init__(self, lab, library, nodes, user=None, **groups):
        """`groups`: keys of the manager's [groups]."""
        self.lab, self.library, self.program = lab, library, compiled(lab, library)
        super().__init__(lab, nodes, user=user, groups={"payload": 8192, "slots": 128, **groups})

    def environment(self, **more):
        # coll/han of Open MPI 5.0 hangs in broadcasts in which ranks name the same bytes by different datatypes.
        return super().environment(**{"OMPI_MCA_coll": "^han", "TRIBUTARY_MPI_VERBOSE": 1, "TRIBUTARY_MPI_TUNING": "always",
                                      **more})

    def check(self, ranks, *arguments, **variables):
        """Standard output and error; it must have ended successfully."""
        code, out, err = self.run(self.library, ranks, [self.program, *arguments], **variables)
        assert code == 0, f"exit code {code}\n{out}\n{err}"
        print(err)
        return out, err

    def nothing_left(self):
        wait_until(lambda: not self.manager.list("groups"), "all groups are gone")


def summary(err):
    """(calls in the network, all calls)."""
    found = re.search(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network", err)
    assert found, err
    return int(found[1]), int(found[2])


def fabric_held(cluster, err):
    failures = [line for line in err.splitlines() if "the fabric has failed" in line]
    if failures:
        counters = cluster.switch.ctl("show", "counters")
        dropped = {name: n for name, n in counters.items() if n and re.search("drop|full|miss|refused", name)}
        raise AssertionError("\n".join([*failures, f"of the switch: {dropped}", "", err]))


def all_right(cluster, ranks, what):
    _, err = cluster.check(ranks, what)
    fabric_held(cluster, err)
    here, calls = summary(err)
    assert here > calls / 2, err
    cluster.nothing_left()


def test_every_operation_is_right_with_open_mpi_on_two_nodes_and_six_ranks_on_three(lab):
    cluster = Cluster(lab, OPENMPI, 3)
    all_right(cluster, 2, "all")
    all_right(cluster, 6, "some")


def test_every_operation_is_right_with_mpich_on_two_nodes(lab):
    # MPICH 4.0 over TCP may hang in MPI_Finalize on its own; bench/compare/programs/end_together.c,
    # which its ranks preload, explains and prevents that.
    all_right(Cluster(lab, MPICH, 2), 2, "all")


def test_sums_of_complex_numbers_and_of_datatypes_by_precision_are_reduced_in_the_network(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    _, err = cluster.check(2, "handles")
    fabric_held(cluster, err)
    here, calls = summary(err)
    # The library's calls of its own are not counted: allreduces in and out of place, and so on, for nine datatypes by three counts.
    assert here == calls == 2 * 8 * 9 * 3, err
    _, err = cluster.check(2, "handles", TRIBUTARY_MPI_TUNING="never")
    assert summary(err) == (0, 2 * 8 * 9 * 3), err
    cluster.nothing_left()


def test_scattered_sums_go_where_the_choice_for_their_kind_says(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for tuning, share in (("reduce_scatter", 2), ("reduce_scatter:8-64", None), ("reduce_scatter_block", 2)):
        _, err = cluster.check(2, "handles", TRIBUTARY_MPI_TUNING=tuning)
        here, calls = summary(err)
        assert here == calls * share / 8 if share else 0 < here < calls * 2 / 8, f"{tuning}: {err}"
    cluster.nothing_left()


def test_wrong_arguments_are_the_errors_that_they_are_without_the_library(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for library, words in ((OPENMPI, []), (MPICH, ["null"])):
        lab.need(cluster.preload(library))
        program = library.compile(WRONG_ARGUMENTS, lab.place / "mpi_wrong_arguments")
        code, plain, err = cluster.run(library, 2, [program, *words], preloaded=False)
        assert code == 0 and "afterwards all is well: 0" in plain, f"{library.name}: exit code {code}\n{plain}\n{err}"
        for variables in ({}, {"TRIBUTARY_SUM": "reproducible", "TRIBUTARY_MPI_TUNING": "never"}):
            code, out, err = cluster.run(library, 2, [program, *words], **variables)
            assert code == 0 and out == plain, f"{library.name}, {variables}: exit code {code}\n{err}\nis\n{out}\nwithout\n{plain}"


def test_a_nan_at_any_rank_is_everyones_whichever_way_a_call_goes(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for words in (["nan"], ["nan", "ignored"]):
        environment = {"TRIBUTARY_MPI_NAN": words[1]} if words[1:] else {}
        _, err = cluster.check(4, *words, **environment)
        assert summary(err)[0] == summary(err)[1] > 0, err
        _, err = cluster.check(4, *words, TRIBUTARY_MPI_TUNING="never", **environment)
        assert summary(err)[0] == 0, err


def test_subnormal_numbers_stay_where_a_rank_flushes_them_to_zero(lab):
    _, err = Cluster(lab, OPENMPI, 2).check(4, "subnormal")
    assert summary(err) == (8, 8), err


def test_ranks_that_make_different_calls_are_named_and_get_no_result(lab):
    cluster = Cluster(lab, OPENMPI, 2, lease_ms=3000)  # groups of programs that end so stay until then
    program = OPENMPI.compile(DIFFERING, lab.place / "mpi_differing")
    # Odd ranks are on the second node.
    causes = {
        "count": "rank 3 called MPI_Allreduce of 8 doubles with MPI_SUM, and rank 1 on the same node MPI_Allreduce of 4",
        "node": "rank 1 called (last: )?MPI_Allreduce of 8 doubles with MPI_SUM",
        "operator": "rank 1 called (last: )?MPI_Allreduce of 4 doubles with MPI_MAX",
        "type": "rank 1 called (last: )?MPI_Allreduce of 4 64-bit integers with MPI_SUM",
        "root": "rank 1 called (last: )?MPI_Bcast of 32 bytes from rank 1",
        "kind": "rank 1 called (last: )?MPI_Reduce of 4 doubles with MPI_SUM to rank 0",
        "barrier": "rank 1 called (last: )?MPI_Barrier",
        "counts": "rank 1 called (last: )?MPI_Reduce_scatter of 8 doubles with MPI_SUM, counts with the checksum [0-9a-f]{8}",
        "complex": "rank 1 called (last: )?MPI_Allreduce of 8 doubles with MPI_SUM",
    }
    for what, said in causes.items():
        began = time.monotonic()
        code, out, err = cluster.run(OPENMPI, 4, [program, what], TRIBUTARY_MPI_TIMEOUT=4)
        print(f"{what}: {time.monotonic() - began:.1f} s")
        assert code not in (0, None), f"{what}: {out}\n{err}"
        assert re.search(said, err), f"{what}: {err}"
        cluster.nothing_left()


def test_ranks_that_take_no_result_run_ahead_and_spoil_no_result(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    _, err = cluster.check(6, "ahead")
    fabric_held(cluster, err)
    assert summary(err) == (3600, 3600), err
    cluster.nothing_left()


def test_results_are_right_while_the_ways_are_measured(lab):
    cluster = Cluster(lab, OPENMPI, 3)
    _, err = cluster.check(6, "some", TRIBUTARY_MPI_TUNING="measure")
    fabric_held(cluster, err)
    here, calls = summary(err)
    # Unless the start found the network to be of no use, both paths have had calls of the program.
    assert "tuning, measured at the start" in err and here < calls, err
    cluster.nothing_left()
    _, err = cluster.check(6, "rounds", BEFORE_AN_EXPERIMENT + 100, TRIBUTARY_MPI_TUNING="run")
    fabric_held(cluster, err)
    here, calls = summary(err)
    assert 0 < here < calls and "the time of the MPI library was measured" in err, err
    cluster.nothing_left()
    _, err = cluster.check(6, "some", TRIBUTARY_MPI_TUNING="start")
    assert "the time of the MPI library was measured" not in err, err


def test_calls_that_are_left_to_the_mpi_library_are_all_counted(lab):
    cluster = Cluster(lab, OPENMPI, 3)
    for words in (["some"], ["rounds", 300]):
        counted = {way: summary(cluster.check(6, *words, TRIBUTARY_MPI_TUNING=way)[1]) for way in ("always", "never")}
        assert counted["never"] == (0, counted["always"][1]), counted


def choices(err, when):
    """Each rank's report of its choices, by rank."""
    return dict(re.findall(rf"MPI_COMM_WORLD: rank (\d+) of \d+; tuning, {when}: ([0-9a-f]{{16}})", err))


def test_all_ranks_come_to_the_same_choices(lab):
    cluster = Cluster(lab, OPENMPI, 3)
    # Kinds are in the middle of an experiment, before their first one, and behind it.
    for rounds in (BEFORE_AN_EXPERIMENT + 5, BEFORE_AN_EXPERIMENT + 100):
        _, err = cluster.check(6, "rounds", rounds, TRIBUTARY_MPI_TUNING="run", TRIBUTARY_MPI_VERBOSE=2)
        fabric_held(cluster, err)
        before, after = choices(err, "to be measured while it runs"), choices(err, "at the end")
        assert len(before) == len(after) == 6, err
        assert len(set(before.values())) == len(set(after.values())) == 1, err
        assert before["0"] != after["0"], "nothing was counted"
        cluster.nothing_left()


def test_all_ranks_have_the_same_choices_when_the_switch_dies_while_they_measure(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    # The next calls are the network's first ones: those of a barrier's and a broadcast's probe.
    loop = Loop(cluster, 4, held_after=BEFORE_AN_EXPERIMENT + PROBE - 3, TRIBUTARY_MPI_TUNING="run", TRIBUTARY_MPI_VERBOSE=2, TRIBUTARY_MPI_TIMEOUT=1)
    cluster.switch.kill()
    loop.go_on()
    wait_until(lambda: "the fabric has failed" in loop.said.read_text(), "the library reports that the fabric has failed", 60)
    err = loop.end()
    after = choices(err, "until the fabric failed")
    assert len(after) == 4 and len(set(after.values())) == 1, err
    here, calls = summary(err)
    assert 0 < here < calls and "because the fabric failed before" in err, err


def test_a_program_in_fortran_reduces_in_the_network_with_both_mpi_libraries(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for library in (OPENMPI, MPICH):
        lab.need(cluster.preload(library))
        for source, of_a_rank in ((FORTRAN, 11), (F08, 3)):
            try:
                program = library.compile_fortran(source, lab.place / source.stem)
            except Missing as why:
                raise Skip(str(why)) from None
            code, out, err = cluster.run(library, 2, [program])
            assert code == 0, f"{library.name}, {source.name}: exit code {code}\n{out}\n{err}"
            here, calls = summary(err)
            assert here == calls == 2 * of_a_rank, f"{library.name}, {source.name}: {err}"
            cluster.nothing_left()
        code, _, err = cluster.run(library, 2, [program], TRIBUTARY_FABRIC_MANAGER_URL="unix:/run/nobody.sock",
                                   TRIBUTARY_MPI_REQUIRE=1, TRIBUTARY_MPI_JOIN_TIMEOUT=1)
        assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{library.name}: exit code {code}\n{err}"


def newer(cluster, library, *words, ranks=4, **variables):
    """Runs mpi_newer, which must succeed; returns its standard error."""
    program = library.compile(NEWER, cluster.folder / f"mpi_newer-{library.suffix}")
    cluster.lab.need(cluster.preload(library))
    for _ in range(3):
        code, out, err = cluster.run(library, ranks, [program, *words], **variables)
        # MPICH 4.2 over UCX: a rank whose peer was first to close their connection may fail at the end of
        # MPI_Finalize, when all results are checked and this library has left its groups.
        if code == 0 or "MPIDI_UCX_mpi_finalize_hook" not in err:
            break
        print(f"{library.name} {words}: again, for MPICH failed in MPI_Finalize: {err}")
    assert code == 0, f"{library.name} {words}: exit code {code}\n{out}\n{err}"
    print(f"{library.name} {words}: {err}")
    fabric_held(cluster, err)
    cluster.nothing_left()
    return err


def all_summaries(err):
    """The same of a program that begins and ends several times."""
    found = re.findall(r"(\d+) of (\d+) calls of \d+ ranks were reduced in the network", err)
    assert found, err
    return sum(int(here) for here, _ in found), sum(int(calls) for _, calls in found)


def test_large_counts_are_reduced_in_the_network(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    if not MPICH.has_large_counts:
        raise Skip(f"{MPICH.name} has no functions with large counts")
    assert summary(newer(cluster, MPICH, "large", ranks=2)) == (2 * 21, 2 * 21)
    assert summary(newer(cluster, MPICH, "large", ranks=2, TRIBUTARY_MPI_TUNING="never"))[0] == 0


def test_persistent_operations_are_reduced_in_the_network_in_any_order(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    for library, ranks in ((OPENMPI, 4), (MPICH, 2)):
        for words, calls in (("persistent", 8 * 20), ("order", 60)):
            here = summary(newer(cluster, library, words, ranks=ranks))
            assert here == (ranks * calls, ranks * calls), f"{library.name} {words}: {here}"
    # Those that are more than it can agree about, and all where the MPI library is faster, are counted with the reason.
    err = newer(cluster, OPENMPI, "many")
    assert summary(err) == (4 * 64, 4 * 66) and "8 because its communicator has 64 persistent operations already" in err, err
    err = newer(cluster, OPENMPI, "persistent", TRIBUTARY_MPI_TUNING="never")
    assert summary(err) == (0, 4 * 8 * 20) and "because the MPI library is faster at this size" in err, err
    err = newer(cluster, OPENMPI, "persistent", TRIBUTARY_SUM="reproducible", TRIBUTARY_MPI_TUNING="barrier")
    assert summary(err) == (4 * 20, 4 * 8 * 20), err
    newer(cluster, OPENMPI, "persistent", TRIBUTARY_SUM="reproducible")


def test_persistent_operations_are_completed_when_the_switch_dies(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    program = OPENMPI.compile(NEWER, lab.place / "mpi_newer")
    held, ready, said = (lab.place / name for name in ("held", "ready", "said"))
    with said.open("w") as log:
        child = cluster.start(OPENMPI, 4, [program, "loop", held, ready], stderr=log, TRIBUTARY_MPI_TIMEOUT=1)
    wait_until(ready.exists, "half of them are done", 60)
    cluster.switch.kill()
    held.touch()
    code, err = child.wait(60), said.read_text()
    assert code == 0 and "the fabric has failed" in err, f"exit code {code}\n{err}"
    here, calls = summary(err)
    assert calls == 4 * 40 and 4 * 20 <= here < calls and "because the fabric failed before" in err, err


def test_communicators_of_sessions_are_reduced_in_the_network(lab):
    cluster = Cluster(lab, OPENMPI, 3)  # as many groups as there are at a time
    tried = 0
    for library in (OPENMPI, MPICH):
        if not library.has_sessions:
            continue
        tried += 1
        program = library.compile(NEWER, lab.place / f"mpi_newer-{library.suffix}")
        for words, calls in (("session", 3), ("left", 1), ("sessions", 10), ("again", 5))[: 4 if library.begins_again else 3]:
            here = all_summaries(newer(cluster, library, words, ranks=3, TRIBUTARY_MPI_REQUIRE=1))
            assert here == (3 * calls, 3 * calls), f"{library.name} {words}: {here}"
        for broken in ({"TRIBUTARY_MPI_INTERFACE": "fabric7"}, {"TRIBUTARY_MPI_TIMEOUT": "soon"}):
            code, _, err = cluster.run(library, 3, [program, "session"], TRIBUTARY_MPI_REQUIRE=1, **broken)
            assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{library.name}: exit code {code}\n{err}"
    if not tried:
        raise Skip("neither MPI library has sessions")


def test_the_launcher_gives_ranks_the_library_and_all_that_it_asks_for(lab):
    lab.need(lab.binaries.run)
    if ROOT:
        raise Skip("tributary-run of this build is for this Debian's MPI libraries and PMIx")
    cluster = Cluster(lab, OPENMPI, 2)
    nodes = ",".join(f"{name}:2" for name in cluster.nodes.hosts.names)
    ended = launching.run(lab, "--manager", cluster.manager.url, "--require-offload", "--namespaces", nodes,
                          "--env", "TRIBUTARY_MPI_TUNING=always", "--env", "TRIBUTARY_MPI_VERBOSE=1",
                          cluster.program, "sums", 1)  # fmt: skip
    assert ended.code == 0, ended.err
    here, calls = summary(ended.err)
    assert here == calls == 4 * 9, ended.err
    cluster.nothing_left()
    if OPENMPI.has_sessions:
        program = OPENMPI.compile(NEWER, lab.place / "mpi_newer")
        ended = launching.run(lab, "--manager", cluster.manager.url, "--require-offload", "--namespaces", nodes,
                              "--env", "TRIBUTARY_MPI_TUNING=always", "--env", "TRIBUTARY_MPI_REQUIRE=1", program, "session")  # fmt: skip
        assert ended.code == 0 and all_summaries(ended.err) == (4 * 3, 4 * 3), ended.err


def test_one_rank_and_one_node_work_without_the_network(lab):
    # On this machine: with one remote daemon alone Open MPI 4.1 sometimes hangs before it starts anything.
    program = compiled(lab, OPENMPI)
    preload = lab.binaries.switch.parents[1] / "endpoint" / "mpi" / OPENMPI.preload
    for ranks, why in ((1, "has one rank"), (2, "on one node")):
        variables = {"TRIBUTARY_MPI_TUNING": "always", "TRIBUTARY_MPI_VERBOSE": 1}
        code, out, err = lab.run(*OPENMPI.command_here(ranks, [program, "sums", 1], variables, preload))
        assert code == 0, f"{code}\n{out}\n{err}"
        assert summary(err)[0] == 0 and why in err, err


def test_a_program_that_initialises_mpi_past_the_library_is_warned(lab):
    compiled(lab, OPENMPI)
    preload = lab.binaries.switch.parents[1] / "endpoint" / "mpi" / OPENMPI.preload
    program = lab.place / "mpi_by_name"
    code, out, err = lab.run("cc", "-o", program, BY_NAME)
    assert code == 0, err
    for require, expected in ((0, True), (1, False)):
        code, out, err = lab.run(*OPENMPI.command_here(2, [program, "libmpi.so.40"], {"TRIBUTARY_MPI_REQUIRE": require}, preload))
        # Each rank that ends with 1 reports why; as soon as the first one has, mpirun kills the
        # other.
        lines = err.count("MPI was initialised past this library")
        assert (code == 0) == expected and lines in ((1, 2) if require else (1,)), f"{code}\n{out}\n{err}"


def test_torch_trains_over_mpi_in_the_network(lab):
    python = "/usr/bin/python3"
    has_mpi = ["-c", "import torch.distributed as d; print(d.is_available() and d.is_mpi_available())"]
    code, out, _ = lab.run(*there([python, *has_mpi]))
    if code != 0 or out.strip() != "True":
        raise Skip("python3-torch is not installed, or built without MPI, as in Debian 12")
    cluster = Cluster(lab, OPENMPI, 2)
    words = [python, brought(TORCH, "sources")]

    def learned(ranks, **options):
        code, out, err = cluster.run(OPENMPI, ranks, words, USE_LIBUV=0, OMP_NUM_THREADS=1, **options)
        assert code == 0, f"exit code {code}\n{out}\n{err}"
        found = re.findall(r"rank \d+ of \d+: learned ([0-9a-f]{16})", out)
        assert len(found) == ranks and len(set(found)) == 1, f"{out}\n{err}"
        return found[0], err

    for ranks in (2, 4):
        here, err = learned(ranks)
        print(err)
        fabric_held(cluster, err)
        assert summary(err)[0] == summary(err)[1] >= 8 * 2 * ranks, err
        cluster.nothing_left()
        if ranks == 2:  # a sum of two has the same bits in any order
            plain, _ = learned(ranks, preloaded=False)
            assert here == plain


def test_a_library_for_another_mpi_library_says_so(lab):
    compiled(lab, OPENMPI)
    program = MPICH.compile(SOURCE, lab.place / "mpi_check-mpich")
    preload = lab.binaries.switch.parents[1] / "endpoint" / "mpi" / OPENMPI.preload
    code, out, err = lab.run(*MPICH.command_here(1, [program, "sums", 1], {}, preload))
    assert code == 1 and "this is the library for Open MPI" in err and "another, MPICH Version" in err, f"{code}\n{out}\n{err}"


def test_reproducible_sums_have_the_same_bits_for_any_ranks_placement_and_way(lab):
    cluster = Cluster(lab, OPENMPI, 4)

    def digests(*seeds, **variables):
        out, err = cluster.check(16, "sums", *seeds, **variables)
        return set(re.findall(r"digest (\w+)", out)), summary(err)[0]

    here, reduced = digests(1, 2, TRIBUTARY_SUM="reproducible")
    there, not_reduced = digests(3, TRIBUTARY_SUM="reproducible", TRIBUTARY_MPI_TUNING="never")
    assert reduced > 0 and not_reduced == 0
    assert len(here | there) == 1, (here, there)
    # The values are such that an ordinary sum depends on who has which.
    ordinary, _ = digests(1, 2, 3, TRIBUTARY_MPI="off")
    assert len(ordinary) > 1, "the test has no force"


class Loop:
    """The program, reducing until it is stopped. With `held_after` it waits after that many rounds,
    until go_on()."""

    def __init__(self, cluster, ranks, held_after=None, **variables):
        self.stop, self.held, self.said = (cluster.folder / name for name in ("stop", "held", "said"))
        words = [cluster.program, "loop", self.stop, *([self.held, held_after] if held_after else [])]
        with self.said.open("w") as said:
            self.child = cluster.start(OPENMPI, ranks, words, stderr=said, **variables)
        assert self.child.stdout.readline() == "going\n", self.said.read_text()

    def go_on(self):
        self.held.touch()

    def end(self):
        """Returns its output; it must have succeeded."""
        self.stop.touch()
        code = self.child.wait(60)
        err = self.said.read_text()
        assert code == 0, f"{code}\n{self.child.stdout.read()}\n{err}"
        print(err)
        return err


def test_a_switch_killed_in_the_middle_leaves_the_job_to_the_mpi_library(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    loop = Loop(cluster, 4, TRIBUTARY_MPI_TIMEOUT=1)
    cluster.switch.kill()
    wait_until(lambda: "the fabric has failed" in loop.said.read_text(), "the library reports that the fabric has failed", 60)
    err = loop.end()
    assert "got no result within" in err, err
    here, calls = summary(err)
    assert 0 < here < calls and "because the fabric failed before" in err, err


def test_neither_a_restart_of_the_manager_nor_a_late_rank_is_a_fault_of_the_fabric(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    loop = Loop(cluster, 4, TRIBUTARY_MPI_TIMEOUT=2)
    cluster.manager.kill()
    time.sleep(1)
    cluster.manager.start()
    time.sleep(1)
    err = loop.end()
    fabric_held(cluster, err)
    here, calls = summary(err)
    assert here > calls / 2, err
    cluster.nothing_left()
    _, err = cluster.check(2, "late", TRIBUTARY_MPI_TIMEOUT=1)
    fabric_held(cluster, err)
    assert summary(err)[0] > 0
    assert "rank 1 on " in err and "has not made a call that others have waited in for 1 s" in err, err


def test_without_a_fabric_the_program_runs_and_says_why_or_ends_if_required(lab):
    cluster = Cluster(lab, OPENMPI, 2)
    causes = {
        "no fabric manager": ({"TRIBUTARY_FABRIC_MANAGER_URL": "unix:/run/nobody.sock"}, "TRIBUTARY_FABRIC_MANAGER_URL"),
        "a wrong token": ({"TRIBUTARY_FABRIC_MANAGER_TOKEN": "wrong"}, "TRIBUTARY_FABRIC_MANAGER_TOKEN"),
        "no such interface": ({"TRIBUTARY_MPI_INTERFACE": "fabric7"}, "fabric7"),
        "no interface": ({"TRIBUTARY_MPI_INTERFACE": ""}, "TRIBUTARY_MPI_INTERFACE is not set"),
    }
    for cause, (variables, said) in causes.items():
        _, err = cluster.check(2, "sums", 1, TRIBUTARY_MPI_JOIN_TIMEOUT=1, **variables)
        assert "nothing is reduced in the network" in err and said in err, f"{cause}: {err}"
        assert summary(err)[0] == 0, err
    code, _, err = cluster.run(OPENMPI, 2, [cluster.program, "sums", 1], TRIBUTARY_MPI_INTERFACE="", TRIBUTARY_MPI_REQUIRE=1)
    assert code not in (0, None) and "TRIBUTARY_MPI_REQUIRE" in err, f"{code}\n{err}"

    # A process without privilege gets a message on how to obtain it.
    drop = ["setpriv", "--bounding-set", "-net_raw,-net_admin", "--inh-caps", "-net_raw,-net_admin"]
    code, out, err = cluster.run(OPENMPI, 2, [*drop, cluster.program, "sums", 1])
    assert code == 0, f"{code}\n{out}\n{err}"
    assert "CAP_NET_RAW" in err and "tributary-hostd" in err and "setcap" not in err, err
