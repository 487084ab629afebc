"""scripts/demo --kill-member. It reports times, so no other test runs beside it."""

import json

from test_demo import programs, start

ALONE = True


def test_a_killed_member_is_named_by_the_others_who_go_on_without_it(lab):
    file = lab.file("demo.json")
    demo = start(lab, "--kill-member", "--reductions", "1000", "--output", str(file))
    printed, _ = demo.communicate(timeout=280)
    assert demo.returncode == 0, printed
    result = json.loads(file.read_text())
    assert (result["notified"], result["wrong"], result["survivor_reductions"]) == (15, 0, 100)
    assert 0 < result["slowest_seconds"] <= result["documented_seconds"]
    assert printed.count(f"(host h{result['killed_rank']}") == 15, printed
    assert programs() == []
