"""Groups of PMIx under tributary-run, over two stand-in nodes: what members get, and what fails
immediately."""

from pathlib import Path

from launching import Nodes, run
from tributary.cases import Skip
from tributary.mpi_library import OPENMPI, ROOT

SESSIONS = Path(__file__).resolve().with_name("mpi_newer.c")
TIMEOUT, NOT_FOUND, ENDED = -24, -46, -200  # of PMIx


def ranks_of(lab, nodes, *words, each=2, code=0):
    ended = run(lab, "--no-offload", "--grace", "10s", *nodes.option(each), lab.binaries.group_rank, *words)
    assert ended.code == code, f"{words}: exit code {ended.code}\n{ended.out}\n{ended.err}"
    print(ended.out, ended.err)
    return ended.lines(), ended.report["groups"]


def fails_at_once(answer, status=ENDED):
    return answer["status"] == status and answer["after"] < 1500


def test_members_of_a_group_get_its_context_id_and_what_the_others_put(lab):
    ranks, groups = ranks_of(lab, Nodes(lab, 2), "make")
    assert all(rank[name]["status"] == 0 for rank in ranks for name in ("all", "half", "here", "plain", "again"))
    assert [rank["card"] for rank in ranks] == [f"card of {(rank + 1) % 4}" for rank in range(4)]
    ids = {name: [rank[name]["id"] for rank in ranks if name in rank] for name in ("all", "half", "even", "again")}
    assert all(len(set(ids[name])) == 1 for name in ("all", "even", "again")), ids
    assert ids["half"][0] == ids["half"][1] and ids["half"][2] == ids["half"][3], ids
    different = {ids["all"][0], ids["half"][0], ids["half"][2], ids["even"][0], ids["again"][0]}
    assert len(different) == 5 and 0 not in different, ids
    assert {rank["plain"]["id"] for rank in ranks} == {0}, "none was asked for"
    assert groups in (6, 8), "libpmix 4.2 does not hand on those of one node that need no ID"


def test_thousands_of_groups_one_after_the_other_have_ids_of_their_own(lab):
    ranks, groups = ranks_of(lab, Nodes(lab, 2), "many", "2000")
    assert {rank["ids"] for rank in ranks} == {2000} and len({rank["lowest"] for rank in ranks}) == 1 and groups == 2000


def test_a_group_with_a_rank_that_does_not_exist_fails_and_the_next_one_does_not(lab):
    ranks, _ = ranks_of(lab, Nodes(lab, 2), "odd")
    assert all(fails_at_once(rank["nobody"], NOT_FOUND) and rank["after"]["status"] == 0 for rank in ranks)


def test_no_rank_waits_in_a_group_for_a_rank_that_dies(lab):
    (other,), _ = ranks_of(lab, Nodes(lab, 2), "die", "1", each=1, code=137)
    assert fails_at_once(other["failed"]) and fails_at_once(other["later"]) and other["rest"]["status"] == 0, other


def test_no_rank_waits_in_a_group_or_fence_for_a_rank_that_has_ended(lab):
    nodes = Nodes(lab, 2)
    ranks, _ = ranks_of(lab, nodes, "leave", "3")
    for rank in ranks[:3]:
        assert fails_at_once(rank["failed"]) and fails_at_once(rank["later"]) and rank["rest"]["status"] == 0, rank
    ranks, _ = ranks_of(lab, nodes, "fence", "3")
    # libpmix 5.0 gives the status to one rank of a node, and success to the others.
    assert any(fails_at_once(rank["failed"]) for rank in ranks[:2]) and fails_at_once(ranks[2]["failed"]), ranks
    assert all(rank["failed"]["after"] < 1500 for rank in ranks[:3]), ranks


def test_members_wait_for_as_long_as_they_say(lab):
    ranks, _ = ranks_of(lab, Nodes(lab, 2), "late", "1", each=1)
    assert [rank["late"]["status"] for rank in ranks] == [TIMEOUT, TIMEOUT], ranks
    assert 700 <= ranks[0]["late"]["after"] < 1900 and ranks[1]["late"]["after"] < 700, ranks
    assert [rank["again"]["status"] for rank in ranks] == [0, 0], ranks


def test_what_a_rank_put_outlives_it(lab):
    ranks, _ = ranks_of(lab, Nodes(lab, 2), "fetch", "3")
    assert {rank["card"] for rank in ranks[:3]} == {"card of 3"}, ranks


def test_a_rank_that_begins_again_is_warned_of_and_has_to_end_again(lab):
    nodes = Nodes(lab, 1)
    # The shared memory of libpmix 4.2 may keep a lock of a rank that has ended PMIx.
    ended = run(lab, "--no-offload", *nodes.option(2), lab.binaries.group_rank, "begin", env={"PMIX_MCA_gds": "hash"})
    assert ended.code == 1 and ended.err.count("has ended PMIx and begins again") == 1, f"{ended.code} {ended.err}"
    assert "without MPI_Finalize" in ended.err, ended.err


def test_open_mpi_programs_of_sessions_run_as_they_are(lab):
    if ROOT or not OPENMPI.has_sessions:
        raise Skip("Open MPI 4.1 has no sessions")
    nodes = Nodes(lab, 2)
    program = OPENMPI.compile(SESSIONS, lab.place / "mpi-ompi")
    for words, made in (("session", 1), ("left", 1), ("sessions", 2)):
        for where in (["-n", 2], nodes.option(2)):
            ended = run(lab, "--no-offload", *where, program, words)
            assert ended.code == 0, f"{words} {where}: exit code {ended.code}\n{ended.out}\n{ended.err}"
            assert ended.report["groups"] == made, f"{words} {where}: {ended.report}"
