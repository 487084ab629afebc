"""The output of the faults' demo: the line of throughput, and the events with their times."""

import os
import sys
from datetime import datetime

STEPS = ("computed", "verified", "sent", "installed")
STILL_LOST_SECONDS = 0.5  # frames lost this shortly before the end: the loss would continue


class Line:
    """Rewritten in place on a terminal; elsewhere a new line every second."""

    BARS = "▁▂▃▄▅▆▇█"

    def __init__(self, victim):
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.victim = victim
        self.shares = []
        self.lowest = 1.0
        self.said = 0.0

    def show(self, seconds, rate, share, what):
        """`share` of the watched frames arrived."""
        self.lowest = min(self.lowest, share)
        self.shares.append(share)
        if self.live:
            bars = "".join(self.BARS[round(7 * one)] for one in self.shares[-30:])
            print(
                f"\r\033[K  {seconds:4.1f} s  {rate:>6,} frames/s, through {self.victim}: {bars}  {what}",
                end="", flush=True,
            )  # fmt: skip
        elif seconds - self.said >= 1:
            self.said = seconds
            print(f"  {seconds:4.1f} s  {rate:>6,} frames/s  {what}; of those through {self.victim}"
                  f" {100 * self.lowest:.0f} % in the worst 20 ms", flush=True)  # fmt: skip
            self.lowest = 1.0

    def done(self):
        if self.live:
            print(flush=True)


class Episode:
    """A change of the fabric: the faults that the manager reports, and the effect on frames."""

    def __init__(self, what, moment, outage, lost, faults, until):
        self.what = what
        self.moment = moment
        self.lost = lost
        self.faults = [(detected, fault) for fault in faults if moment - 0.1 <= (detected := _time_of(fault)) < until]
        self.outage_ms = 1e3 * (outage[1] - outage[0]) if outage else 0.0
        self.restored_ms = 1e3 * (outage[1] - moment) if outage else 0.0
        self.is_restored = not outage or outage[1] < until - STILL_LOST_SECONDS

    @property
    def detected_ms(self):
        return 1e3 * (self.faults[0][0] - self.moment) if self.faults else None

    def figures(self):
        """Milliseconds since the change."""
        seen = self.is_restored and self.detected_ms is not None
        return {
            "detected_ms": self.detected_ms,
            "restored_ms": self.restored_ms if self.is_restored else None,
            "detected_to_restored_ms": max(0.0, self.restored_ms - self.detected_ms) if seen else None,
            "outage_ms": self.outage_ms,
            "lost": self.lost,
            "faults": [fault["fault"] for _, fault in self.faults],
        }


def _time_of(fault):
    return datetime.fromisoformat(fault["time"].replace("Z", "+00:00")).timestamp()


def _moments(episode):
    """(milliseconds, event) in the order of time."""
    yield 0.0, episode.what
    for detected, fault in episode.faults:
        at = 1e3 * (detected - episode.moment)
        more = len(fault["events"]) - 1 + fault["more_events"]
        yield at, f"fault {fault['fault']} detected: {fault['events'][0]}" + (f", and {more} more" if more > 0 else "")
        notes = {
            "computed": f"routes to {fault['destinations']} switches change",
            "sent": f"{fault['transactions']} transactions" if fault["transactions"] != 1 else "1 transaction",
        }
        for step in STEPS:
            if f"{step}_us" in fault:
                note = f": {notes[step]}" if step in notes else ""
                yield at + fault[f"{step}_us"] / 1e3, f"fault {fault['fault']} {step}{note}"
        for why in fault["failures"]:
            yield at, f"fault {fault['fault']} failed: {why}"
    if not episode.is_restored:
        yield float("inf"), "frames of the watched pairs do NOT arrive again"
    elif episode.lost:
        yield episode.restored_ms, f"the last frame is lost, of {episode.lost:,} of the watched pairs"


def timeline(episode):
    lines = [f"  {at:>8.1f} ms  {what}" for at, what in sorted(_moments(episode), key=lambda moment: moment[0])]
    if not episode.lost:
        lines.append(f"  {'':>8}     no frame of the watched pairs is lost")
    return "\n".join(lines)
