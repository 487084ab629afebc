"""The parts of a run: something to build, and the tiers that then run."""

import os

import style

TIERS = ("style", "headers", "unit", "fabric", "hosts", "docs", "fuzz", "machines")
# ThreadSanitizer sees only the programs with threads, those that carry meson's suite `threads`:
# everything else is pure and single-threaded by construction.
THREADS_SUITE = "threads"
# Rooms whose object code differs in a release: kernels, engines, hot loops. Where the address
# sanitizer's build runs every test of these tiers, a release runs only these.
OPTIMISED_SUITE = "optimised"
PURE_TIERS = ("unit", "fabric")


def chosen_tiers(asked, environment=os.environ):
    """Those of --tier; without any, all but `machines`, which TRIBUTARY_MACHINES adds."""
    return asked or [tier for tier in TIERS if tier != "machines" or environment.get("TRIBUTARY_MACHINES")]


class Style:
    """The tiers that need no build."""

    what = ""
    tier = "style"

    def __init__(self, build, campaign):
        self.build = build
        self._campaign = campaign

    def prepare(self, behind=None, on_line=None):
        pass

    def parts(self):
        yield "style", lambda: style.run(self._campaign)


class Tests:
    """Tiers of one build."""

    what = "the tests"

    def __init__(self, build, tiers, campaign, kinds, whole):
        """`kinds`: of all builds of this run; `whole`: no tier was requested, so everything is
        built."""
        self.build = build
        self.tier = tiers[0]
        self._tiers = tiers
        self._campaign = campaign
        self._kinds = kinds
        self._whole = whole
        self._programs = []

    def prepare(self, behind=None, on_line=None):
        """`behind`: the Background to compile in, or None; `on_line` receives progress."""
        self.build.configure()
        self._programs, elsewhere = self._divided()
        needed = sorted({target for program in self._programs for target in program.targets})
        if self.build.is_release and self._whole:
            needed = self.build.everything_but(elsewhere)
        if needed:
            self.build.compile(needed, behind, on_line)

    def parts(self):
        """(tier, its runner)"""
        for tier in self._tiers:
            some = [program for program in self._programs if program.tier == tier]
            yield tier, lambda some=some: self._campaign.run(some)

    def _divided(self):
        """(programs to run, programs of these tiers that another build of this run runs instead)"""
        programs = [program for program in self.build.programs() if program.tier in self._tiers]
        if "thread" in self.build.what:
            return [program for program in programs if THREADS_SUITE in program.suites], []
        if self.build.is_release and any("address" in kind for kind in self._kinds):
            elsewhere = [p for p in programs if p.tier in PURE_TIERS and OPTIMISED_SUITE not in p.suites]
            return [program for program in programs if program not in elsewhere], elsewhere
        return programs, []


class Fuzz:
    """The libFuzzer targets, in the address sanitizer's build."""

    what = "the fuzz targets"
    tier = "fuzz"

    def __init__(self, build, fuzzing):
        self.build = build
        self._fuzzing = fuzzing
        self._targets = []

    def prepare(self, behind=None, on_line=None):
        self.build.configure()
        self._targets = self.build.fuzz_targets()
        files = [str(path.relative_to(self.build.directory)) for _, path in self._targets]
        self.build.compile(files, behind, on_line)

    def parts(self):
        yield "fuzz", lambda: self._fuzzing.run(self._targets)
