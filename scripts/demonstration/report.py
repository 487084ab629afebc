"""The output of the demo: the progress line, the table, the JSON."""

import json
import os
import sys
import time

from fabric import HOSTS, LEAVES, SPINES


class Progress:
    """One line, rewritten in place on a terminal; elsewhere a new line now and then."""

    def __init__(self):
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.last_plain = 0.0

    def show(self, what, done, total, started):
        seconds = time.monotonic() - started
        rate = done / seconds if seconds > 0 else 0
        self._put(f"  {what:<9} [{_bar(done, total)}] {done:>6,} of {total:,} allreduces, {rate:,.0f}/s")

    def show_bytes(self, done, total, rate, state):
        self._put(f"  [{_bar(done, total)}] {done} of {total} vectors, {rate / 1e6:,.1f} MB/s{state}")

    def _put(self, line):
        if self.live:
            sys.stdout.write(f"\r\033[K{line}")
            sys.stdout.flush()
        elif time.monotonic() - self.last_plain > 5:
            self.last_plain = time.monotonic()
            print(line, flush=True)

    def done(self, text):
        sys.stdout.write("\r\033[K" if self.live else "")
        print(text, flush=True)


def _bar(done, total):
    width = 30
    filled = width * done // total
    return "#" * filled + "." * (width - filled)


def table(armed, disarmed, repair, engines, drops):
    results = "all exact, bit for bit" if armed.wrong + disarmed.wrong == 0 else (
        f"{armed.wrong + disarmed.wrong} WRONG"
    )
    rows = [
        ("hosts, switches", f"{HOSTS}, {LEAVES + SPINES}"),
        ("allreduces of mixed operators", f"{armed.iterations:,} armed, {disarmed.iterations:,} disarmed"),
        ("results checked on every host", results),
        ("allreduces per second", f"{armed.per_second:,.0f} armed, {disarmed.per_second:,.0f} disarmed"),
        ("latency p50, p99", f"{armed.p50:,.0f} us, {armed.p99:,.0f} us (eight in flight)"),
        ("reductions on the wire", f"{armed.on_the_wire:,} armed, {disarmed.on_the_wire:,} disarmed"),
        ("frames at the root for each", f"{armed.root_frames:.3f} armed, {disarmed.root_frames:.3f} disarmed"
                                        f" (ideal: 1 and {HOSTS - 1})"),
        ("the cut uplink", f"{repair.link}; a new tree {repair.text()}"),
    ]  # fmt: skip
    lines = [f"  {name:<34} {value}" for name, value in rows]
    columns = ("contributions", "full", "partial", "arms", "rearms", "arm_failures")
    lines += ["", "  engine" + " " * 12 + "".join(f"{name:>15}" for name in columns)]
    for engine in engines:
        name = f"{engine['switch']} to {engine['port']}"
        lines.append(f"  {name:<18}" + "".join(f"{engine[column]:>15,}" for column in columns))
    if drops:
        shown = ", ".join(f"{count} {reason}" for reason, count in sorted(drops.items()))
        lines += ["", f"  frames dropped: {shown}"]
    return "\n".join(lines)


def write_json(out, armed, disarmed, repair, engines):
    document = {
        "hosts": HOSTS,
        "switches": LEAVES + SPINES,
        "reductions": armed.iterations,
        "wrong": armed.wrong + disarmed.wrong,
        "root_frames_armed": armed.root_frames,
        "root_frames_disarmed": disarmed.root_frames,
        "latency_us": {"p50": armed.p50, "p99": armed.p99},
        "reductions_per_second": armed.per_second,
        "cut_link": repair.link,
        "repaired": repair.repaired,
        "repair_seconds": repair.seconds,
        "engines": engines,
    }
    json.dump(document, out, indent=1)
    out.write("\n")
