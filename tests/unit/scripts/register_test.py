"""The model of a group's name that the soak of managers compares answers with."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from tributary.cases import Cases, wanted  # noqa: E402
from tributary.register import Lost, Register  # noqa: E402


def loses(work):
    try:
        work()
    except Lost:
        return True
    return False


def test_what_was_answered_is_there_until_it_is_deleted():
    register = Register("g")
    register.got(None)
    register.joined(7)
    register.joined(7)
    register.got(7)
    assert loses(lambda: register.got(None)), "an acknowledged group is gone"
    register.deleted()
    register.got(None)
    assert loses(lambda: register.got(7)), "a deleted group is back"


def test_a_group_that_was_made_again_has_replaced_an_acknowledged_one():
    register = Register("g")
    register.joined(7)
    assert loses(lambda: register.joined(8))
    register = Register("g")
    register.joined(7)
    register.deleted()
    register.joined(8)
    register.got(8)
    register.deleted()
    assert loses(lambda: register.joined(7)), "the first one has risen again"


def test_a_request_without_an_answer_may_have_happened_or_not():
    for answer in (7, None):
        register = Register("g")
        register.unanswered("join")
        register.got(answer)
    for answer in (7, None):
        register = Register("g")
        register.joined(7)
        register.unanswered("delete")
        register.got(answer)


def test_and_may_happen_later_until_it_is_settled():
    register = Register("g")
    register.joined(7)
    register.unanswered("delete")
    register.got(7)
    register.got(None)
    register = Register("g")
    register.joined(7)
    register.unanswered("delete")
    register.got(7)
    register.settled()
    assert register.possible() == {7, None}, "it may have happened since"
    register.got(7)
    assert loses(lambda: register.got(None))


def test_a_join_without_an_answer_does_not_replace_a_group():
    register = Register("g")
    register.joined(7)
    register.unanswered("join")
    assert loses(lambda: register.got(8))


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("register.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("register")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"register.{short}"):
            with report.case("register", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
