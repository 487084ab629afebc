"""The outcome of one test case, and the sums over many."""

from dataclasses import asdict, dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
WHOLE_PROGRAM = "(at its end)"  # the name of a failure that belongs to no case of a program


@dataclass
class Case:
    build: str  # "release", "address,undefined", ...
    tier: str
    program: str  # the test program it belongs to, e.g. "unit/core"
    name: str
    result: str
    reason: str = ""  # the reason for a skip, or the output of a failure
    seconds: float = 0.0


class Outcome:
    """All cases so far; several threads may add, one at a time under the caller's lock."""

    def __init__(self):
        self.cases = []
        self.seconds = {}  # (build, tier) -> how long it took
        self.builds = {}  # build -> the time spent waiting for the compiler, and its total
                          # processor time

    def add_build(self, build, waited, processor_seconds):
        self.builds[build] = (self.builds.get(build, (0.0, 0.0))[0] + waited, processor_seconds)

    def count(self, result, build=None, tier=None):
        return sum(
            1
            for case in self.cases
            if case.result == result
            and (build is None or case.build == build)
            and (tier is None or case.tier == tier)
        )

    def line(self, build=None, tier=None):
        return ", ".join(
            f"{self.count(result, build, tier)} {result}" for result in (PASSED, FAILED, SKIPPED)
        )

    def groups(self):
        """(build, tier) in the order in which they ran."""
        return list(dict.fromkeys((case.build, case.tier) for case in self.cases))

    def as_json(self, seed):
        return {
            "passed": self.count(PASSED),
            "failed": self.count(FAILED),
            "skipped": self.count(SKIPPED),
            "seed": seed,
            "tiers": [
                {
                    "build": build,
                    "tier": tier,
                    **{r: self.count(r, build, tier) for r in (PASSED, FAILED, SKIPPED)},
                    "seconds": round(self.seconds.get((build, tier), 0.0), 1),
                }
                for build, tier in self.groups()
            ],
            "builds": [
                {"build": build, "waited_seconds": round(wall, 1), "processor_seconds": round(processor, 1)}
                for build, (wall, processor) in self.builds.items()
            ],
            "cases": [asdict(case) for case in self.cases],
        }
