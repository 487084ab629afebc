"""scripts/demo --vector, smaller: vectors of a million floats in wide frames, exact through losses, and nothing left."""

import json

from programs import programs
from test_demo import start

ALONE = True


def test_vectors_are_exact_while_every_port_of_the_leaves_loses_frames(lab):
    file = lab.file("demo.json")
    demo = start(lab, "--vector", "--reductions", "3", "--output", str(file))
    printed, _ = demo.communicate(timeout=280)
    assert demo.returncode == 0, printed
    assert "all exact" in printed
    result = json.loads(file.read_text())
    assert (result["hosts"], result["vectors"], result["wrong"]) == (16, 3, 0)
    assert (result["payload"], result["slots"]) == (1408, 128)
    assert result["frames_lost"] > 0, "the ports lost frames while they reduced"
    assert result["overdue"] > 0, "and they were found by what completed behind them"
    assert programs() == []
