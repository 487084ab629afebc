"""scripts/soak: the distribution of the transfers, and the handling of failing programs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "runner")]

import soak  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

CAMPAIGN = """#!/usr/bin/env python3
import json, sys, time
arguments = sys.argv[1:]
if "--list-scenes" in arguments:
    print("calm", "rough", sep="\\n")
    sys.exit(0)
def of(name):
    return arguments[arguments.index(name) + 1]
scene, seed = of("--scene"), int(of("--seed"))
if "--messages" in arguments:
    report = {{scene: {{"sent": int(of("--messages")), "long": 3}}}}
    print(json.dumps({{"seed": seed, "failed_runs": 0, "scenes": report}}, separators=(",", ":")))
    sys.exit(0)
transfers = int(of("--transfers"))
{trouble}
print(json.dumps({{"seed": seed, "transfers": transfers, "failed_runs": failed_runs, "scenes": {{scene: {{
    "begun": transfers, "done": transfers - 1, "failed": 1, "causes": {{"refused": 1}}, "hung": 0, "corrupt": 0,
    "twice": 0, "lost": 0, "contexts_left": 0, "frames": 9, "faults": {{"WR": {{"lost": 2}}, "DONE": {{"lost": 1}}}}}}}}}},
    separators=(",", ":")))
sys.exit(1 if failed_runs else 0)
"""


def run_with(trouble, *options, interrupt_when=None, campaign=soak.TRANSFERS):
    """(exit code, output, errors) of scripts/soak with a fake campaign."""
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / campaign.program
        program.parent.mkdir(parents=True)
        program.write_text(CAMPAIGN.format(trouble=trouble))
        program.chmod(0o755)
        child = subprocess.Popen(
            [sys.executable, ROOT / "scripts/runner/soak.py", "--build", place, "--seed", "100", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if interrupt_when:
            while not (Path(place) / interrupt_when).exists() and child.poll() is None:
                time.sleep(0.05)
            os.kill(child.pid, signal.SIGINT)
        out, error = child.communicate(timeout=60)
        return child.returncode, out, error


def test_batches_cover_all_transfers_with_a_seed_for_each_run():
    for transfers in (1, 2, 999, 30_001, 123_457):
        found = soak.batches(["a", "b", "c"], transfers, 7)
        assert sum(batch.count for batch in found) == transfers
        for scene in "abc":
            of_scene = [batch for batch in found if batch.scene == scene]
            seeds = [seed for batch in of_scene for seed in range(batch.seed, batch.seed + batch.runs)]
            assert seeds == list(range(7, 7 + len(seeds))), "runs of a scene have one seed after the other"


def test_sums_of_all_scenes_are_reported():
    code, out, _ = run_with("failed_runs = 0", "--transfers", "40000", "--json")
    result = json.loads(out)
    assert code == 0 and (result["passed"], result["failed"], result["transfers"]) == (40, 0, 40_000), out
    assert result["sums"]["causes"] == {"refused": 4} and result["sums"]["faults"]["WR"]["lost"] == 8, out
    assert set(result["scenes"]) == {"calm", "rough"} and result["seed"] == 100


def test_messages_are_another_campaign():
    code, out, _ = run_with("", "--messages", "20000", "--json", campaign=soak.MESSAGES)
    result = json.loads(out)
    assert code == 0 and (result["passed"], result["messages"], result["sums"]["long"]) == (20, 20_000, 6), out
    code, out, _ = run_with("", "--messages", "20000", campaign=soak.MESSAGES)
    assert code == 0 and "20 passed, 0 failed" in out and "runs of up to 1,000 messages" in out, out
    assert run_with("", "--messages", "1", "--transfers", "1", campaign=soak.MESSAGES)[0] == 2


def test_a_failed_run_is_counted_and_fails():
    code, out, error = run_with(
        "failed_runs = 2 if scene == 'rough' else 0\nif failed_runs: print('how to repeat it', file=sys.stderr)",
        "--transfers", "20000",
    )  # fmt: skip
    assert code == 1 and "18 passed, 2 failed" in out, out
    assert "how to repeat it" in error and "seed 100" in error, error


def test_a_program_that_dies_fails_all_its_runs():
    code, out, error = run_with("failed_runs = 0\nimport os\nif scene == 'calm': os.abort()", "--transfers", "20000")
    assert code == 1 and "10 passed, 10 failed" in out, out
    assert "scene calm, seeds 100 to 109: killed by SIGABRT" in error, error


def test_interrupted_it_reports_what_was_done():
    code, out, error = run_with(
        "failed_runs = 0\nif scene == 'rough': open(sys.argv[0] + '-asleep', 'w'); time.sleep(60)",
        "--transfers", "20000", interrupt_when=f"{soak.TRANSFERS.program}-asleep",
    )  # fmt: skip
    assert code == 130 and " passed, 0 failed" in out and "interrupted by SIGINT" in error, (out, error)


def test_a_negative_number_is_a_usage_error():
    assert run_with("", "--transfers", "0")[0] == 2


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("soak.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("soak")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"soak.{short}"):
            with report.case("soak", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
