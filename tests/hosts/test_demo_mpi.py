"""scripts/demo-mpi, smaller: the same results with the network as without, and nothing left."""

import json
import shutil
import subprocess
from pathlib import Path

from programs import programs
from tributary.cases import Skip
from tributary.mpi_library import OPENMPI

ALONE = True
DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo-mpi"


def start(lab, *extra):
    if not OPENMPI.launcher:
        raise Skip("Open MPI is not installed: scripts/setup")
    for binary in (lab.binaries.switch, lab.binaries.ctl, lab.binaries.fabricd, lab.binaries.hostd):
        lab.need(binary)
    if not shutil.which("nft"):
        raise Skip("nft is not installed: scripts/setup")
    return subprocess.Popen(
        [str(DEMO), "--no-setup", "--build", str(lab.binaries.switch.parents[1]), *extra],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def test_a_program_has_the_same_results_and_its_reductions_went_through_the_switch(lab):
    file = lab.file("mpi.json")
    demo = start(lab, "--nodes", "4", "--rounds", "200", "--seed", "7", "--output", str(file))
    printed, _ = demo.communicate(timeout=200)
    assert demo.returncode == 0, printed
    assert "the same results, bit for bit" in printed
    result = json.loads(file.read_text())
    assert result["same_results"] and result["plain"]["check_sum"] == result["network"]["check_sum"]
    assert result["user"] == 1000 and result["passed"] > 1000 and result["dropped"] == 0, result
    assert abs(result["network"]["pi"] - 3.1416) < 0.02, "800 times 200 points"
    assert programs() == []


def test_bad_input_is_refused(lab):
    for words in (["--nodes", "1"], ["--ranks", "3"], ["--rounds", "0"]):
        demo = start(lab, *words)
        printed, _ = demo.communicate(timeout=30)
        assert demo.returncode == 2, printed
        assert words[0] in printed
