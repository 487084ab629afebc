"""Runs the RDMA campaign (tests/rdma) for as many transfers as asked. Started by scripts/soak.

A run is one scene with one seed, in virtual time: a limited number of transfers, after which every
byte of every slot is checked and all contexts must be free. Runs are done in batches, one per
processor.
"""

import argparse
import json
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import processes
from building import ADDRESS, RELEASE, Build, BuildFailed
from platforms import options as platform_options

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "tests/rdma/rdma-campaign"
TRANSFERS_A_RUN = 1000
RUNS_A_BATCH = 10
HANG_SECONDS = 1800  # no batch takes that long; one that does is stuck
# The counts that make a violation (tests/rdma/campaign.hpp).
WRONG = {"corrupt": "corrupt", "hung": "hung", "twice": "arrived twice", "lost": "arrivals lost",
         "contexts_left": "contexts left"}  # fmt: skip
FAULTS = ("lost", "duplicated", "corrupted", "delayed", "queue_full", "trimmed")

EXAMPLES = """\
examples:
  scripts/soak                                 a million transfers, a new seed, printed
  scripts/soak --transfers 100000 --seed 17    the same again, however often
  scripts/soak --sanitize address,undefined --transfers 50000
  scripts/soak --json > soak.json
  scripts/soak --failover --help               faults of managers that share an etcd
exit codes:
  0  every run passed
  1  a run failed, or what it needs does not build
  2  usage error
  130  interrupted; the results until then are printed
"""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/soak",
        description="Moves RDMA transfers between hosts in virtual time while frames of every kind are lost,"
        " duplicated, corrupted and delayed, hosts restart, paths die and queues overflow; checks every byte,"
        " that everything ends, and that nothing is left.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--transfers", type=int, default=1_000_000, metavar="N", help="over all scenes (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, help="of the first run; each has its own (default: a new one, printed)")
    parser.add_argument(
        "--sanitize", choices=(ADDRESS, "none"), default="none", help="the build to use (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")
    platform_options.add(parser)
    parser.add_argument("--build", type=Path, metavar="DIR", help="take the program from there as it is")
    options = parser.parse_args()
    if options.transfers < 1:
        parser.error("--transfers: at least 1")
    if options.seed is not None and not 0 <= options.seed < 1 << 63:
        parser.error("--seed: from 0 to 2^63 - 1")
    return options


@dataclass
class Batch:
    scene: str
    seed: int  # of the first run; the others follow
    transfers: int

    @property
    def runs(self):
        return -(-self.transfers // TRANSFERS_A_RUN)


def batches(scenes, transfers, seed):
    """Equal shares of the scenes; scenes alternate, so that an interrupted run has done some of each."""
    shares = [transfers // len(scenes) + (i < transfers % len(scenes)) for i in range(len(scenes))]
    step = RUNS_A_BATCH * TRANSFERS_A_RUN
    found = []
    for first in range(0, max(shares), step):
        for scene, share in zip(scenes, shares, strict=True):
            if first < share:
                found.append(Batch(scene, seed + first // TRANSFERS_A_RUN, min(step, share - first)))
    return found


def add(to, more):
    """Sums of values with the same name, at any depth."""
    for name, value in more.items():
        if isinstance(value, dict):
            add(to.setdefault(name, {}), value)
        else:
            to[name] = to.get(name, 0) + value


class Soak:
    def __init__(self, program, environment, transfers, live):
        self.program = program
        self.environment = environment
        self.transfers = transfers
        self.live = live
        self.lock = threading.Lock()
        self.started = time.monotonic()
        self.sums = {"begun": 0}
        self.scenes = {}
        self.passed = 0
        self.failed = 0
        self.trouble = []  # lines
        self.stopped = False

    def run(self, batch):
        ended = processes.run(
            [str(self.program), "--scene", batch.scene, "--seed", str(batch.seed), "--json",
             "--transfers", str(batch.transfers), "--transfers-a-run", str(TRANSFERS_A_RUN)],
            env=self.environment, limit_seconds=HANG_SECONDS,
        )  # fmt: skip
        with self.lock:
            if not self.stopped:
                self._take(batch, ended)

    def _take(self, batch, ended):
        reports = [line for line in ended.lines if line.startswith('{"seed"')]
        said = [line for line in ended.lines if line not in reports]
        if ended.code not in (0, 1) or len(reports) != 1:
            how = "did not end" if ended.timed_out else processes.how_it_ended(ended.code)
            self.failed += batch.runs
            self.show([f"scene {batch.scene}, seeds {batch.seed} to {batch.seed + batch.runs - 1}: {how}", *said[-40:]])
            return
        report = json.loads(reports[0])
        self.failed += report["failed_runs"]
        self.passed += batch.runs - report["failed_runs"]
        of_scene = report["scenes"][batch.scene]
        add(self.sums, of_scene)
        add(self.scenes.setdefault(batch.scene, {}), of_scene)
        self.show(said)
        self.progress()

    def show(self, lines):
        self.trouble += lines
        if lines:
            print("\r\033[K" if self.live else "", *lines, sep="\n", file=sys.stderr, flush=True)

    def progress(self):
        if not self.live:
            return
        done = self.sums["begun"]
        seconds = time.monotonic() - self.started
        width = 30
        bar = "#" * (width * done // self.transfers)
        left = (self.transfers - done) * seconds / max(done, 1)
        print(f"\r\033[K[{bar:.<{width}}] {done:,} of {self.transfers:,} transfers, {done / seconds:,.0f}/s,"
              f" {self.failed} failed runs, {left:.0f} s left", end="", file=sys.stderr, flush=True)  # fmt: skip

    def figures(self, seed, interrupted):
        return {
            "seed": seed, "transfers": self.sums["begun"], "seconds": round(time.monotonic() - self.started, 1),
            "interrupted": interrupted, "passed": self.passed, "failed": self.failed, "sums": self.sums,
            "scenes": self.scenes, "trouble": self.trouble,
        }  # fmt: skip


def table(figures):
    sums = figures["sums"]
    causes = sums.get("causes", {})
    faults = {}
    for of_kind in sums.get("faults", {}).values():
        add(faults, of_kind)
    errors = ", ".join(f"{count:,} {cause}" for cause, count in sorted(causes.items(), key=lambda c: -c[1]))
    ended = sum(sums.get(name, 0) for name in ("done", "failed", "hung"))
    rows = [
        ("transfers", f"{sums['begun']:,} in {figures['seconds']:,.1f} s, {sums.get('done', 0):,} done"),
        ("ended with an error", f"{sums.get('failed', 0):,}{': ' + errors if errors else ''}"),
        ("given up by a restart", f"{sums['begun'] - ended:,}"),
        ("frames sent", f"{sums.get('frames', 0):,}"),
        *((f"  {name.replace('_', ' ')}", f"{faults.get(name, 0):,}") for name in FAULTS),
        *((text, f"{sums.get(name, 0):,}") for name, text in WRONG.items()),
    ]
    return "\n".join(f"  {name:<22} {value}" for name, value in rows)


def scenes_of(program):
    """As the program's own help lists them."""
    ended = processes.run([str(program), "--list-scenes"])
    if ended.code != 0:
        raise BuildFailed(f"{program} --list-scenes: {processes.how_it_ended(ended.code)}\n{ended.tail}")
    return ended.lines


def built(options):
    """(program, its environment)"""
    build = Build(ROOT, RELEASE if options.sanitize == "none" else options.sanitize)
    if options.build:
        return options.build / PROGRAM, build.environment()
    print(f"building {PROGRAM} in {build.name}/ (minutes the first time)", file=sys.stderr, flush=True)
    build.configure()
    build.compile([PROGRAM])
    return build.directory / PROGRAM, build.environment()


def interrupted(number, frame):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    options = arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    soak = None
    stopped = False
    try:
        program, environment = built(options)
        scenes = scenes_of(program)
        live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        print(f"seed {seed}", file=sys.stderr, flush=True)
        soak = Soak(program, environment, options.transfers, live)
        soak.progress()
        with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
            pending = [pool.submit(soak.run, batch) for batch in batches(scenes, options.transfers, seed)]
            try:
                for one in pending:
                    one.result()
            except BaseException:
                soak.stopped = True
                for one in pending:
                    one.cancel()
                processes.end()
                raise
    except (BuildFailed, FileNotFoundError) as failure:
        print(f"scripts/soak: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as interruption:
        stopped = True
        print(f"\ninterrupted by {interruption}; everything that was started is stopped", file=sys.stderr)
        if soak is None:
            return 130
    if soak.live:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    figures = soak.figures(seed, stopped)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print(table(figures))
        print(f"seed {seed}: {figures['passed']:,} passed, {figures['failed']:,} failed"
              f" (runs of up to {TRANSFERS_A_RUN:,} transfers)")  # fmt: skip
    return 130 if stopped else 1 if figures["failed"] or not figures["passed"] else 0


if __name__ == "__main__":
    if "--failover" in sys.argv[1:]:
        import failover_soak

        sys.exit(failover_soak.main())
    sys.exit(main())
