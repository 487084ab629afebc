"""The demo's third part: sixteen hosts reduce vectors of a million floats in wide frames, and for a while in the
middle every port of the leaf switches loses one frame in a hundred.

The manager's file allows wide frames; hosts and switches negotiate the payload of a frame and the
number in flight when the group is joined.
"""

import json
import threading
import time

import workload
from fabric import HOSTS, LEAVES, lay
from tributary.network import wait_until

ELEMENTS, BYTES = 1_000_000, 4_000_000
VECTORS = 8  # each checked at every host, which takes longer than reducing it
SITE = {"payload": 8192, "slots": 128}  # lowered to what links and switches carry
LOSS, LOSS_SECONDS = "1%", 4.0
LOST_FROM = 1 / 4  # of the vectors


class Losses:
    """Ports that lose frames for a while."""

    def __init__(self, fabric, seed, say):
        self.fabric, self.seed, self.say = fabric, seed, say
        self.timer = None
        self.began = self.ended = None

    def begin(self):
        self._impair("set", "--direction", "sent", "--loss", LOSS, "--seed", str(self.seed))
        self.began = time.monotonic()
        self.say(f"  from now on, for {LOSS_SECONDS:g} s, every port of the leaf switches loses {LOSS} of what it sends")
        self.timer = threading.Timer(LOSS_SECONDS, self._end)
        self.timer.start()

    def finish(self):
        if self.timer:
            self.timer.cancel()
            self.timer.join()

    def _end(self):
        self._impair("clear")
        self.ended = time.monotonic()

    def _impair(self, what, *settings):
        for leaf in range(LEAVES):
            name = f"leaf{leaf}"
            switch = self.fabric.process_of(name)
            for port in self.fabric.ports_of(name):
                switch.ctl("impair", what, "--switch", name, "--port", port, *settings)


def show(options, fabric, progress, say):
    lay(options, fabric, say, groups=SITE)
    vectors = options.reductions
    say(f"allreduces of {ELEMENTS:,} floats on every host, every element checked; seed {options.seed}")
    losses = Losses(fabric, options.seed, say)
    started = time.monotonic()

    def on_progress(done):
        seconds = time.monotonic() - started
        state = f", {LOSS} lost" if losses.began and not losses.ended else ""
        progress.show_bytes(done, vectors, done * BYTES / seconds if seconds else 0, state)
        if losses.began is None and done >= vectors * LOST_FROM:
            losses.begin()

    run = workload.run(fabric, "vectors", vectors, True, options.seed, on_progress, operator="sum-float",
                       length=ELEMENTS, in_flight=2, timeout=240)  # fmt: skip
    losses.finish()
    progress.done(f"  {vectors} vectors of {BYTES / 1e6:.0f} MB in {run.seconds:.1f} s")
    lost = sum(count for reason, count in fabric.drops().items() if reason == "impaired")
    wait_until(lambda: not fabric.manager.list("groups"), "all groups are gone", 60)
    left = fabric.trees_left()
    asked = sum(report["statistics"]["overdue"] for report in run.reports)
    slots, payload = run.reports[0]["slots"], run.reports[0]["payload"]
    say("")
    rows = [
        ("hosts, switches", f"{HOSTS}, {len(fabric.names)}"),
        ("what they agreed on", f"frames of {payload:,} bytes, {slots} in flight"),
        ("vectors", f"{vectors} of {ELEMENTS:,} floats, sums over {HOSTS} hosts"),
        ("elements checked on every host", "all exact, bit for bit" if run.wrong == 0 else f"{run.wrong} vectors WRONG"),
        ("of a vector a second, checks included", f"{run.per_second * BYTES / 1e6:,.1f} MB"),
        ("time of a vector, median", f"{run.p50 / 1000:,.0f} ms (two in flight)"),
        ("frames lost on purpose", f"{lost:,}"),
        ("pieces found missing by later ones", f"{asked:,}"),
        ("frames at the root for each piece", f"{run.root_frames:.3f} (ideal: 1, without losses)"),
        ("left behind in the switches", "nothing" if not left else str(left)),
    ]  # fmt: skip
    for name, value in rows:
        say(f"  {name:<40} {value}")
    if options.result is not None:
        with open(options.result, "w", encoding="utf-8") as out:
            json.dump(
                {
                    "hosts": HOSTS, "vectors": vectors, "elements": ELEMENTS, "wrong": run.wrong, "payload": payload,
                    "slots": slots, "megabytes_per_second": run.per_second * BYTES / 1e6, "frames_lost": lost,
                    "overdue": asked, "root_frames": run.root_frames,
                },
                out, indent=1,
            )  # fmt: skip
            out.write("\n")
    return 1 if run.wrong or left else 0
