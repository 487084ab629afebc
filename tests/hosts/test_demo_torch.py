"""scripts/demo-torch, smaller: gloo's losses with the network, the same bits twice, and nothing left."""

import json
import subprocess
from pathlib import Path

from programs import programs
from tributary.cases import Skip

ALONE = True
DEMO = Path(__file__).resolve().parents[2] / "scripts" / "demo-torch"


def start(lab, *extra):
    for binary in (lab.binaries.switch, lab.binaries.ctl, lab.binaries.fabricd, lab.binaries.run, lab.binaries.library):
        lab.need(binary)
    return subprocess.Popen(
        [str(DEMO), "--no-setup", "--build", str(lab.binaries.switch.parents[1]), *extra],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def test_it_trains_as_by_gloo_and_twice_with_the_same_bits(lab):
    if lab.run("/usr/bin/python3", "-c", "import torch, numpy, cffi")[0] != 0:
        raise Skip("python3-torch is not installed: run 'scripts/setup --torch'")
    file, plot = lab.file("torch.json"), lab.file("torch.svg")
    demo = start(lab, "--ranks", "2", "--steps", "10", "--seed", "7", "--output", str(file), "--plot", str(plot))
    printed, _ = demo.communicate(timeout=250)
    assert demo.returncode == 0, printed
    assert "the same weights, bit for bit" in printed and "links of 200 Mbit/s" in printed, printed
    runs = json.loads(file.read_text())["runs"]
    assert runs["deterministic"]["weights"] == runs["deterministic, again"]["weights"]
    assert runs["network"]["statistics"]["network"] > 10 and len(runs["gloo"]["step_ms"]) == 10
    assert "<svg" in plot.read_text() or "gnuplot is not installed" in printed
    assert programs() == []


def test_bad_input_is_refused(lab):
    for words in (["--ranks", "1"], ["--steps", "1"], ["--rate", "-1"]):
        demo = start(lab, *words)
        printed, _ = demo.communicate(timeout=30)
        assert demo.returncode == 2, printed
        assert words[0] in printed
