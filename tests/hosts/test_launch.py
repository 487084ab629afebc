"""tributary-run on one machine and on stand-in nodes: phases, streams, signals, deaths, bad input."""

import signal
import time

from altered_manager import AlteredManager
from launching import Nodes, finish, kill, mpi_program, nothing_is_left, processes, run, start
from tributary.mpi_library import MPICH
from tributary.network import wait_until

PLAIN = "--no-offload"


def test_a_job_of_sixteen_ranks_knows_all_without_an_exchange(lab):
    nodes = Nodes(lab, 2)
    manager = lab.start_manager()
    ended = run(lab, "--manager", manager.url, "--require-offload", *nodes.option(8), "--timing",
                lab.binaries.pmix_rank, "instant")  # fmt: skip
    assert ended.code == 0, ended.err
    ranks = ended.lines()
    assert [rank["rank"] for rank in ranks] == list(range(16)) and {rank["size"] for rank in ranks} == {16}
    points = [f"02:00:00:00:00:{rank // 8 + 1:02x} eth0 02:00:00:00:00:{rank // 8 + 1:02x}:{rank % 8}"
              for rank in range(16)]  # fmt: skip
    for rank in ranks:
        assert rank["end_points"] == points, rank
        assert rank["TRIBUTARY_JOB_ID"] == rank["fm.job"] and rank["TRIBUTARY_FABRIC_MANAGER_URL"] == manager.url
        assert rank["fm.vni"] == rank["TRIBUTARY_VNI"] and int(rank["fm.vni"]) >= 1024, rank
        assert rank["fm.mcast"] == "16" and rank["TRIBUTARY_MPI_INTERFACE"] == "eth0"
    (cookie,) = {rank["fm.cookie"] for rank in ranks}
    assert len(cookie) == 32, cookie
    assert [step for step in ended.steps() if step != (4, "ranks connected")][:7] == [
        (0, "begun"), (0, "nodes greeted"), (2, "allocated"), (3, "nodes ready"), (4, "ranks started"),
        (4, "first message possible"), (4, "ranks finalized"),
    ] or (4, "first message possible") in ended.steps(), ended.steps()  # fmt: skip
    before_start = [what for phase, what in ended.steps() if phase < 4]
    assert before_start == ["begun", "nodes greeted", "allocated", "nodes ready"], "in this order"
    assert ended.report["fences"] == 0 and ended.report["exchanges"] == 0, ended.report
    assert ended.report["offload"] and "first message possible" in ended.err
    wait_until(lambda: not [job for job in manager.list("jobs") if job["job"].startswith("tributary-run")],
               "the job is given back")  # fmt: skip


def test_what_ranks_read_of_the_job_is_what_the_manager_gave(lab):
    nodes = Nodes(lab, 2)
    manager = lab.start_manager()
    given = {}

    def add_all_kinds(path, answer):
        """In addition to the local answer, that of a larger fabric with known host locations."""
        if path != "/api/v1/allocations":
            return
        answer["values"] += [
            {"name": "fm.routetime", "use": "job", "reals": [0, 1.5, 2.5, 0]},
            {"name": "fm.routetime.class", "use": "job", "numbers": [7, 4294967295]},
            {"name": "fm.routetime.between", "use": "job", "reals": [0.25, 3]},
            {"name": "fm.routetime.error", "use": "job", "reals": [0.125]},
        ]
        for value in answer["values"]:
            if value["use"] == "job":
                (what,) = [value[kind] for kind in ("text", "number", "hex", "reals", "numbers") if kind in value]
                given[value["name"]] = ",".join(map(str, what)) if isinstance(what, list) else str(what)
        for number, node in enumerate(answer["nodes"]):
            (address,) = [value["text"] for value in node["values"] if value["name"] == "fm.address"]
            given[f"fm.address@{number}"] = address

    # In this order, so that the keys of some ranks are not asked for in the order in which they were registered.
    names = ["fm.routetime.error", "fm.vni", "fm.routetime", "fm.cookie", "fm.address@1", "fm.mcast", "fm.job",
             "fm.routetime.between", "fm.address@0", "fm.routetime.class"]  # fmt: skip
    with AlteredManager(lab, manager, add_all_kinds) as altered:
        ended = run(lab, "--manager", altered.url, "--require-offload", *nodes.option(2), lab.binaries.pmix_rank,
                    "given", *names)  # fmt: skip
    assert ended.code == 0, ended.err
    assert sorted(given) == sorted(names), f"the manager gives other keys: {given}"
    for rank in ended.lines():
        assert rank["values"] == given, f"is {rank}, given {given}"


def test_addresses_of_peers_travel_between_nodes_when_they_are_asked_for(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, *nodes.option(2), lab.binaries.pmix_rank, "direct")
    assert ended.code == 0, ended.err
    assert [rank["card"] for rank in ended.lines()] == [f"card of {(rank + 1) % 4}" for rank in range(4)]
    assert ended.report["exchanges"] == 2, "of neighbours on the other node only"
    assert ended.report["fences_with_data"] == 0
    ended = run(lab, PLAIN, *nodes.option(2), lab.binaries.pmix_rank, "fence")
    assert [rank["card"] for rank in ended.lines()] == [f"card of {(rank + 1) % 4}" for rank in range(4)]
    assert ended.report["fences_with_data"] == 1 and ended.report["exchanges"] == 0, ended.report


def test_programs_of_both_mpi_libraries_run_as_they_are(lab):
    nodes = Nodes(lab, 2)
    for library in ("ompi", "mpich"):
        program = mpi_program(lab, library)
        # MPICH does not yield: more ranks than processors take seconds for a barrier. And on its
        # own it may hang in MPI_Finalize (bench/compare/programs/end_together.c).
        each = 2 if library == "ompi" else 1
        cures = ["--env", f"LD_PRELOAD={MPICH.cures(lab.place)}"] if library == "mpich" else []
        for where in (["-n", 2 * each], nodes.option(each)):
            ended = run(lab, PLAIN, *cures, *where, program)
            assert ended.code == 0, f"{library} {where}: {ended.err}"
            size = 2 * each
            assert [(r["rank"], r["size"], r["sum"]) for r in ended.lines()] == [
                (rank, size, size * (size - 1) // 2) for rank in range(size)
            ]
            # Open MPI fetches addresses when it needs them; PMI-1 only has a barrier with data.
            assert ended.report["fences_with_data"] == 0 or library == "mpich", ended.report
        ended = run(lab, PLAIN, *cures, *nodes.option(each), program, "abort")
        where = "n0" if each > 1 else "n1"
        assert ended.code == 7 and f"rank 1 on {where} has aborted the job with exit code 7" in ended.err, ended.err


def test_a_rank_that_is_killed_is_named_and_the_others_hear_of_it(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, *nodes.option(2), "--grace", "5s", lab.binaries.pmix_rank, "die", "2")
    assert ended.code == 137, ended.err
    assert "rank 2 on n1 (process" in ended.err and "was killed by signal 9 (Killed)" in ended.err, ended.err
    assert [(rank["rank"], rank["heard"]) for rank in ended.lines()] == [(0, 2), (1, 2), (3, 2)]


def test_ranks_that_do_not_care_are_ended_after_the_grace_period(lab):
    child = start(lab, PLAIN, "-n", 3, "--grace", "200ms", "sh", "-c",
                  "trap '' TERM; if [ $PMI_RANK = 1 ]; then exit 5; fi; sleep 100 & sleep 100")  # fmt: skip
    begun = time.monotonic()
    ended = finish(lab, child)
    assert ended.code == 5 and "rank 1 on" in ended.err and "ended with exit code 5" in ended.err, ended.err
    assert time.monotonic() - begun < 30


def test_events_of_ranks_reach_other_nodes(lab):
    nodes = Nodes(lab, 2)
    ended = run(lab, PLAIN, *nodes.option(2), lab.binaries.pmix_rank, "event")
    assert ended.code == 0, ended.err
    assert [rank["heard"] for rank in ended.lines()][1:] == [0, 0, 0]


def test_a_node_daemon_that_is_killed_ends_the_job(lab):
    nodes = Nodes(lab, 2)
    child = start(lab, PLAIN, *nodes.option(2), "--grace", "200ms", "sh", "-c", "sleep 100 & sleep 100")
    wait_until(lambda: len(processes("^sleep 100")) == 8, "ranks run")
    kill(processes("daemon --name n1")[1])  # the first is its keeper
    ended = finish(lab, child)
    assert ended.code == 1, ended.err
    assert "the node daemon of n1 is lost: it was killed by signal 9 (Killed); with it ranks 2, 3" in ended.err
    child = start(lab, PLAIN, *nodes.option(2), "--grace", "200ms", "sh", "-c", "sleep 100 & sleep 100")
    wait_until(lambda: len(processes("^sleep 100")) == 8, "ranks run")
    kill(processes("daemon --name n0")[0])
    ended = finish(lab, child)
    assert ended.code == 1 and "the node daemon of n0 is lost" in ended.err, ended.err


def test_nothing_outlives_a_launcher_that_is_killed(lab):
    nodes = Nodes(lab, 2)
    child = start(lab, PLAIN, *nodes.option(2), "sh", "-c", "sleep 100 & sleep 100")
    wait_until(lambda: len(processes("^sleep 100")) == 8, "ranks run")
    kill(child.pid)
    child.communicate(timeout=60)
    nothing_is_left(lab)


def test_a_fabric_manager_may_restart_while_a_job_runs(lab):
    nodes = Nodes(lab, 2)
    manager = lab.start_manager()
    child = start(lab, "--manager", manager.url, *nodes.option(1), "sh", "-c",
                  f"while [ ! -e {lab.place}/go ]; do sleep 0.1; done; exec {lab.binaries.pmix_rank} ask /api/v1/groups")  # fmt: skip
    wait_until(lambda: len(processes("^sh -c while")) == 2, "ranks run")
    assert [job for job in manager.list("jobs") if job["job"].startswith("tributary-run")], "the job is there"
    manager.kill()
    manager.start()
    lab.file("go", "")
    ended = finish(lab, child)
    assert ended.code == 0, ended.err
    for rank in ended.lines():
        assert "UNREACHABLE" not in rank["manager"], f"{rank} {ended.err}"
        assert rank["manager"]["fm.status"] == 200 and rank["manager"]["fm.body"] == '{"groups":[]}', rank
        assert '"node":"n1"' in rank["inventory"]["fm.inventory"] and '"name":"eth0"' in rank["inventory"]["fm.inventory"]
        assert "SUPPORTED" in rank["nothing"], rank


def test_standard_input_goes_to_rank_zero_and_output_comes_whole(lab):
    text = "".join(f"line {number}\n" for number in range(100_000))
    ended = run(lab, PLAIN, "-n", 3, "sh", "-c", "cat | tail -n 1; echo from $PMI_RANK >&2", text=text)
    assert ended.code == 0 and ended.out == "line 99999\n", ended.out + ended.err
    assert sorted(line for line in ended.err.splitlines()) == ["from 0", "from 1", "from 2"], ended.err
    ended = run(lab, PLAIN, "-n", 2, "--tag-output", "sh", "-c", "echo one; printf two; echo three >&2")
    assert sorted(ended.out.splitlines()) == ["[rank 0] one", "[rank 0] two", "[rank 1] one", "[rank 1] two"]
    assert sorted(ended.err.splitlines()) == ["[rank 0!] three", "[rank 1!] three"]
    ended = run(lab, PLAIN, "-n", 2, "head", "-c", "3000000", "/dev/zero")
    assert len(ended.out) == 6_000_000


def test_environment_and_signals_reach_ranks(lab):
    ended = run(lab, PLAIN, "-n", 2, "--env", "A=b c", "--env", "HOME", "--workdir", "/proc", "sh", "-c",
                "echo $A $HOME $PWD $OMPI_COMM_WORLD_RANK", env={"OMPI_COMM_WORLD_RANK": "9", "HOME": "/h"})  # fmt: skip
    assert ended.out == "b c /h /proc\n" * 2, ended.out
    child = start(lab, PLAIN, "-n", 2, "sh", "-c", "trap 'echo usr; exit 0' USR1; echo up; while :; do sleep 0.05; done")
    for _ in range(2):
        assert child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGUSR1)
    ended = finish(lab, child)
    assert ended.code == 0 and ended.out == "usr\nusr\n", ended.out + ended.err
    child = start(lab, PLAIN, "-n", 2, "sh", "-c", "echo up; sleep 100")
    for _ in range(2):
        assert child.stdout.readline() == "up\n"
    child.send_signal(signal.SIGTERM)
    ended = finish(lab, child)
    assert ended.code == 143 and not ended.err, ended.err


def test_bad_input_is_a_clear_line(lab):
    nodes = Nodes(lab, 1)
    true = ["sh", "-c", "echo ran"]
    for arguments, code, said in (
        ([], 2, "PROGRAM is missing"),
        (["--nonsense", *true], 2, "--nonsense"),
        (["-n", "0", *true], 2, "0"),
        (["--hostfile", "/nowhere", *true], 2, "/nowhere"),
        (["--namespaces", "n0:x", *true], 2, "'x' is not a number of ranks"),
        (["--namespaces", "n0:1", "-n", "2", *true], 2, "2 ranks do not fit"),
        (["--namespaces", "n0,n9", *true], 1, "no node daemon on n9: no network namespace n9"),
        (["--env", "NOT_SET_ANYWHERE", *true], 2, "NOT_SET_ANYWHERE is not set"),
        ([PLAIN, "/nowhere/app"], 127, "rank 0 cannot be started on"),
        ([PLAIN, "--workdir", "/nowhere", *true], 127, "/nowhere: No such file"),
        (["--manager", "unix:/nowhere", "--require-offload", *true], 1, "/nowhere"),
        (["--manager", "gopher://x", "--require-offload", *true], 2, "gopher"),
        (["--mpi", "openmpi", *true], 2, "--mpi"),
    ):
        ended = run(lab, *arguments)
        assert ended.code == code and said in ended.err and "ran" not in ended.out, f"{arguments} {ended.code} {ended.err}"
    ended = run(lab, "--manager", "unix:/nowhere", *true)
    assert ended.code == 0 and ended.out == "ran\n" and "ranks run without" in ended.err, ended.err
    manager = lab.start_manager()
    lab.file("token", "wrong\n")
    for more, code in ((["--require-offload"], 1), ([], 0)):
        ended = run(lab, "--manager", manager.url, "--token-file", lab.place / "token", *more, *true)
        assert ended.code == code and "token" in ended.err, ended.err
    lab.sh(f"ip -n {nodes.names[0]} link set lo down")
    ended = run(lab, PLAIN, "--namespaces", "n0", *true)
    assert ended.code == 1 and "its loopback interface is down" in ended.err, ended.err
