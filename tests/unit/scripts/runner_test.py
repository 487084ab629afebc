"""The test runner: what it reads from test programs, above all from those that die."""

import contextlib
import io
import json
import os
import sys
import tempfile
import threading
import time
import tomllib
import types
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "runner"), str(ROOT / "tests" / "hosts")]

import allowed_skips  # noqa: E402
import builds  # noqa: E402
import campaign as campaigns  # noqa: E402
import jobs  # noqa: E402
import processes  # noqa: E402
from ahead import Ahead  # noqa: E402
from background import Background, members  # noqa: E402
from building import Build, BuildFailed, Program  # noqa: E402
from fuzzing import Fuzzing  # noqa: E402
from googletest import Reader, names_in_list  # noqa: E402
from outcome import FAILED, PASSED, SKIPPED, WHOLE_PROGRAM, Case, Outcome  # noqa: E402
from screen import Screen  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402
from tributary.switch import Config  # noqa: E402


# A build whose programs run on this system.
HERE = {"scratch": None, "command": lambda words, stand=None: words}


def outcome_of(source):
    """Runs `source` as a test program; {case: (result, reason)}."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "program.py"
        script.write_text(f"import os, sys\nsys.path.insert(0, {str(ROOT / 'scripts')!r})\n{source}")
        build = types.SimpleNamespace(kind="release", sanitizers="", environment=dict, **HERE)
        outcome = Outcome()
        program = Program("unit/sample", ["unit"], [sys.executable, str(script)], {}, None, False, False, [])
        runner = campaigns.Campaign(build, outcome, Screen(outcome, False), 1, None)
        proved = os.environ.pop("CI", None)  # a skip of the sample is not a skip of ours
        try:
            with redirect_stdout(io.StringIO()):
                runner.run([program])
        finally:
            if proved is not None:
                os.environ["CI"] = proved
    return {case.name: (case.result, case.reason) for case in outcome.cases}


def fuzzed(source):
    """Runs `source` as a libFuzzer target; (result, lines of the reason)."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "fuzz-sample"
        target.write_text(f"#!{sys.executable}\nimport os, sys\n{source}")
        target.chmod(0o755)
        build = types.SimpleNamespace(root=Path(place), directory=Path(place), environment=dict, **HERE)
        screen = types.SimpleNamespace(verbose=False, progress=lambda *_: None)
        campaign = types.SimpleNamespace(build=build, seed=1, screen=screen)
        result, reason, _ = Fuzzing(campaign, 10, 1).fuzz("fuzz-sample", target, Path(place) / "new")
    return result, reason.splitlines()


FINDING = """
print("INFO: Seed: 1")
for run in range(200):
    print(f"#{run}\\tNEW    cov: 100 ft: 200 corp: 7/300b lim: 4096 exec/s: 1000 rss: 50Mb")
print("sample.cpp:51: invariant broken: again == text")
print("==7== ERROR: libFuzzer: deadly signal")
for frame in range(100):
    print(f"    #{frame} 0x5555 in frame{frame} sample.cpp")
print("SUMMARY: libFuzzer: deadly signal")
print("MS: 2 EraseBytes-InsertByte-; base unit: adc83b19e793491b1c6ea0fd8b46cd9f32e592fc")
print("artifact_prefix='./'; Test unit written to ./crash-1")
print("Base64: MFtb")
print("#200\\tDONE   cov: 100")
sys.exit(77)
"""


def test_a_finding_says_why_and_with_which_unit_before_anything_else():
    result, reason = fuzzed(FINDING)
    assert result == FAILED
    assert reason[0] == "exit code 77" and reason[1].endswith("fuzz-sample ./crash-1")
    assert reason[2:6] == [
        "sample.cpp:51: invariant broken: again == text",
        "==7== ERROR: libFuzzer: deadly signal",
        "SUMMARY: libFuzzer: deadly signal",
        "Base64: MFtb",
    ]
    assert "    #0 0x5555 in frame0 sample.cpp" in reason
    assert not any("exec/s" in line or "DONE" in line for line in reason), "progress hides the cause"
    assert len(reason) < 80


def test_a_target_that_crashes_without_a_word_fails_with_its_signal():
    assert fuzzed("os.kill(os.getpid(), 11)") == (FAILED, ["killed by SIGSEGV"])
    assert fuzzed("sys.exit(0)")[0] == FAILED, "it has not said how many runs it did"
    assert fuzzed("print('stat::number_of_executed_units: 10')")[0] == PASSED


SAMPLE = """
from tributary.cases import Cases, Failed, Skip
report = Cases("sample")
if "--gtest_list_tests" in sys.argv:
    print("s.\\n  one\\n  two\\n  three")
    sys.exit(0)
"""


def test_a_skip_that_is_not_on_the_list_fails_where_every_change_is_proved():
    listed = Case("release", "unit", "unit/port", "Port.one", SKIPPED, "no such hardware")
    unlisted = Case("release", "unit", "unit/port", "Port.two", SKIPPED, "no such hardware")
    text = "# why\n\n*  unit/port  Port.o*  the hardware is rare\n"
    proved = allowed_skips.enforced([listed, unlisted], {"CI": "true"}, text)
    assert [case.result for case in proved] == [SKIPPED, FAILED]
    assert "no such hardware" in proved[1].reason and "allowed_skips" in proved[1].reason
    assert allowed_skips.enforced([unlisted], {}, text) == [unlisted]
    try:
        allowed_skips.read("*  unit/port  Port.one\n")
    except ValueError as error:
        assert "line 1" in str(error)
    else:
        raise AssertionError("an entry without a reason was taken")


def test_every_entry_of_the_list_of_skips_has_a_reason():
    assert all(len(entry.why) > 10 for entry in allowed_skips.read(allowed_skips.LIST.read_text()))


def test_passed_failed_and_skipped_cases_are_counted_each():
    got = outcome_of(
        SAMPLE
        + """
with report.case("s", "one"): pass
with report.case("s", "two"): raise Failed("two is not three")
with report.case("s", "three"): raise Skip("no such hardware")
sys.exit(report.finish())
"""
    )
    assert got["s.one"] == (PASSED, "")
    assert got["s.two"][0] == FAILED and "two is not three" in got["s.two"][1]
    assert got["s.three"] == (SKIPPED, "no such hardware")


def test_a_crash_fails_the_running_case_and_all_that_did_not_run():
    got = outcome_of(
        SAMPLE
        + """
with report.case("s", "one"): pass
with report.case("s", "two"): os.abort()
"""
    )
    assert got["s.one"][0] == PASSED
    assert got["s.two"][0] == FAILED and "SIGABRT" in got["s.two"][1]
    assert got["s.three"][0] == FAILED and "not run" in got["s.three"][1]


def test_a_finding_after_the_last_case_is_a_failure():
    got = outcome_of(
        SAMPLE
        + """
with report.case("s", "one"): pass
report.finish()
print("leak found")
sys.exit(23)
"""
    )
    assert got["s.one"][0] == PASSED
    assert got[WHOLE_PROGRAM][0] == FAILED and "leak found" in got[WHOLE_PROGRAM][1]


def test_a_plain_program_is_one_case_by_its_exit_code():
    assert outcome_of("sys.exit(0)") == {"unit/sample": (PASSED, "")}
    assert outcome_of("print('no root'); sys.exit(77)") == {"unit/sample": (SKIPPED, "no root")}
    assert outcome_of("sys.exit(3)")["unit/sample"][0] == FAILED


def test_a_program_that_hangs_is_ended_and_fails():
    ended = processes.run([sys.executable, "-c", "import time; time.sleep(600)"], limit_seconds=0.5)
    assert ended.timed_out and ended.code < 0


def test_what_a_program_started_does_not_outlive_it():
    source = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],"
        " stdout=subprocess.DEVNULL)\n"
        "print(child.pid)"
    )
    ended = processes.run([sys.executable, "-c", source])
    status = Path(f"/proc/{ended.lines[0]}/stat")
    assert not status.exists() or status.read_text().split(")")[1].split()[0] == "Z"


def test_what_runs_in_the_background_gives_way_with_all_it_starts_until_it_is_waited_for():
    with tempfile.TemporaryDirectory() as place:
        first, later, go = Path(place) / "first", Path(place) / "later", Path(place) / "go"
        os.mkfifo(go)
        # No process is started during the check: one that is about to start is not counted.
        inner = f"echo inner > {first}; read line < {go}; (echo later > {later}; read line < {go})"
        background = Background()
        sessions = []

        def started(session):
            until(first.exists)
            background.started(session)
            sessions.append(session)

        def policies():
            found = set()
            for pid in members(sessions[0]):
                with contextlib.suppress(ProcessLookupError):
                    found.add(os.sched_getscheduler(pid))
            return found

        def until(is_so):
            while not is_so():
                time.sleep(0.01)

        def run():
            processes.run(["sh", "-c", f"({inner}) & wait"], on_start=started)

        waiter = threading.Thread(target=run)
        waiter.start()
        try:
            until(lambda: sessions)
            assert policies() == {os.SCHED_IDLE}, policies()
            go.write_text("on\n")
            until(later.exists)
            assert policies() == {os.SCHED_IDLE}, policies()
            background.hurry()
            if os.geteuid() == 0:  # others may lower priority, but not raise it again
                assert policies() == {os.SCHED_OTHER}, policies()
        finally:
            until(lambda: first.exists() and sessions)
            while waiter.is_alive():
                with contextlib.suppress(OSError):  # no reader yet, or any more
                    fd = os.open(go, os.O_WRONLY | os.O_NONBLOCK)
                    os.write(fd, b"on\n")
                    os.close(fd)
                time.sleep(0.01)


def test_a_preparation_that_failed_says_so_to_who_waits_for_it():
    class Job:
        def prepare(self, behind, on_line):
            raise BuildFailed("does not compile")

    try:
        Ahead(Job(), print).finish()
    except BuildFailed as failure:
        assert str(failure) == "does not compile"
    else:
        raise AssertionError("nothing was said")


def test_what_does_not_compile_is_reported_without_the_steps_that_did():
    with tempfile.TemporaryDirectory() as place:
        build = Build(Path(place), "release")
        printed = "[1/3] Compiling a\\nb.cpp:7: error: no\\n[2/3] Compiling c\\n"
        seen = []
        try:
            build._run(["sh", "-c", f"printf '{printed}'; exit 1"], {}, seen.append)
        except BuildFailed as failure:
            assert str(failure).splitlines()[1:] == ["b.cpp:7: error: no"], str(failure)
        assert seen[0] == "[1/3] Compiling a"
        assert build.processor_seconds > 0


def test_googletests_own_lines_are_understood():
    reader = Reader()
    for line in (
        "[==========] Running 3 tests from 1 test suite.",
        "[ RUN      ] Engine.absorbs",
        "[       OK ] Engine.absorbs (12 ms)",
        "[ RUN      ] All/Engine.skips/1",
        "../x.cpp:7: Skipped",
        "no hugepages",
        "",
        "[  SKIPPED ] All/Engine.skips/1 (0 ms)",
        "[ RUN      ] Engine.dies",
    ):
        reader.line(line)
    assert reader.results == {"Engine.absorbs": (PASSED, 0.012), "All/Engine.skips/1": (SKIPPED, 0.0)}
    assert reader.reason("All/Engine.skips/1") == "no hugepages"
    assert reader.running == "Engine.dies"


def test_the_list_of_a_googletest_program_is_understood():
    printed = ["Running main() from gtest_main.cc", "A.", "  one", "P/B.  # TypeParam = int", "  two/0  # 3"]
    assert names_in_list(printed) == ["A.one", "P/B.two/0"]


def test_a_filter_selects_and_excludes():
    before = os.environ.get("GTEST_FILTER")
    try:
        os.environ["GTEST_FILTER"] = "a.*:b.x-a.no*"
        assert [wanted(name) for name in ("a.yes", "a.not", "b.x", "b.y")] == [True, False, True, False]
        os.environ["GTEST_FILTER"] = "-a.*"
        assert [wanted(name) for name in ("a.yes", "b.y")] == [False, True]
    finally:
        os.environ.pop("GTEST_FILTER")
        if before is not None:
            os.environ["GTEST_FILTER"] = before


def test_the_outcome_adds_up():
    outcome = Outcome()
    screen = Screen(outcome, False)
    build = types.SimpleNamespace(kind="release")
    campaign = campaigns.Campaign(build, outcome, screen, 1, None)
    outcome.cases += [
        campaign.case("unit", "p", "a", PASSED),
        campaign.case("unit", "p", "b", FAILED),
        campaign.case("hosts", "q", "c", SKIPPED, "why"),
    ]
    assert outcome.line() == "1 passed, 1 failed, 1 skipped"
    assert outcome.line("release", "hosts") == "0 passed, 0 failed, 1 skipped"
    report = outcome.as_json(seed=1)
    assert json.loads(json.dumps(report))["tiers"][0]["failed"] == 1


def test_a_written_switch_config_is_toml_with_what_was_said():
    config = Config("/run/a.sock", poll="busy")
    section = config.switch("leaf0", timers_us=[1, 2, 3, 4])
    section.port("host0", impairment={"loss": 0.5}, interface="eth0", nid=1, vnis=[1024])
    section.tree(7, 4, "host0", ["host1", "host2"])
    section.route(3, "host2")
    read = tomllib.loads(config.text())
    assert read["process"] == {"control_socket": "/run/a.sock", "poll": "busy"}
    (switch,) = read["switch"]
    assert switch["timers_us"] == [1, 2, 3, 4]
    assert switch["port"][0] == {
        "name": "host0", "interface": "eth0", "nid": 1, "vnis": [1024], "impairment": {"loss": 0.5},
    }
    assert switch["tree"][0]["children"] == ["host1", "host2"]
    assert switch["route"] == [{"nid": 3, "port": "host2"}]


def test_a_second_release_runs_what_no_sanitizer_runs_and_a_filter_asks_for_anything():
    kept = dict(os.environ)
    try:
        for name in ("TRIBUTARY_EVERY_BUILD", "GTEST_FILTER", "TRIBUTARY_GUESTS_ONLY", "TRIBUTARY_BESIDE"):
            os.environ.pop(name, None)
        assert all(builds.runs_under(module, "") for module in ("mpi", "wide", "in_switch"))
        assert not builds.runs_under("mpi", "address,undefined") and builds.runs_under("wide", "address,undefined")
        os.environ["TRIBUTARY_BESIDE"] = "address,undefined"
        assert [builds.runs_under(module, "") for module in ("mpi", "queues", "wide", "in_switch")] == [True, True, False, True]
        os.environ["TRIBUTARY_BESIDE"] = "address,undefined,thread"
        assert [builds.runs_under(module, "") for module in ("mpi", "queues", "wide", "in_switch")] == [True, False, False, True]
        os.environ["TRIBUTARY_EVERY_BUILD"] = "1"
        assert builds.runs_under("wide", "") and builds.runs_under("wide", "thread")
        del os.environ["TRIBUTARY_EVERY_BUILD"]
        os.environ["TRIBUTARY_GUESTS_ONLY"] = "1"
        assert [builds.runs_under(module, "") for module in ("mpi", "launch_groups", "wide", "in_switch")] == [True, True, False, False]
        os.environ["GTEST_FILTER"] = "wide.*"
        assert builds.runs_under("wide", "")
    finally:
        os.environ.clear()
        os.environ.update(kept)


def test_the_tier_that_needs_a_guest_runs_when_it_is_asked_for():
    assert "machines" not in jobs.chosen_tiers(None, {}) and "hosts" in jobs.chosen_tiers(None, {})
    assert "machines" in jobs.chosen_tiers(None, {"TRIBUTARY_MACHINES": "virtio_2"})
    assert jobs.chosen_tiers(["machines"], {}) == ["machines"]
    assert jobs.chosen_tiers(["unit"], {"TRIBUTARY_MACHINES": "virtio_2"}) == ["unit"]


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("runner.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("runner")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"runner.{short}"):
            with report.case("runner", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
