"""Moves data from h1 to h2: a generator at each end (`tributary-pktgen rdma`), and a progress bar.
"""

import json
import os
import subprocess
import sys
import time

from pair import NIDS
from tributary.network import inside, wait_until

TRANSFER_BYTES = 1_000_000
PARALLEL = 8
OVERHEAD = 70  # of a frame with data: Ethernet, fabric and RDMA header
TIMEOUT_SECONDS = 3600
FIGURES = (
    "writes_arrived", "bytes_arrived", "written_digest", "arrived_digest", "digest_errors", "transfers",
    "transfers_failed", "transfers_unfinished", "data_frames", "resent_frames", "control_frames", "lost_frames", "late_frames",
    "duplicate_frames", "timeouts", "refused_frames",
)  # fmt: skip


class Failed(Exception):
    """A generator failed; the text is its output."""


class Bar:
    """Rewritten in place on a terminal; elsewhere a new line now and then."""

    WIDTH = 40

    def __init__(self, total):
        self.total = total
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.said = time.monotonic()

    def show(self, done, seconds):
        filled = self.WIDTH * done // self.total
        bar = "#" * filled + "." * (self.WIDTH - filled)
        rate = 8 * done / seconds / 1e6 if seconds > 0 else 0
        line = f"  [{bar}] {done / 1e6:>7,.0f} of {self.total / 1e6:,.0f} MB, {rate:,.0f} Mbit/s"
        if self.live:
            sys.stdout.write(f"\r\033[K{line}")
            sys.stdout.flush()
        elif time.monotonic() - self.said > 5:
            self.said = time.monotonic()
            print(line, flush=True)

    def done(self):
        if self.live:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()


class Transfer:
    def __init__(self, pair, size, seed):
        self.pair = pair
        self.seed = seed
        self.count = -(-size // TRANSFER_BYTES)
        self.bytes = self.count * TRANSFER_BYTES
        self.programs = {}
        self.seconds = 0.0
        self.sender, self.receiver = {}, {}

    @property
    def goodput(self):
        return 8 * self.bytes / self.seconds if self.seconds else 0.0

    @property
    def digest_equal(self):
        return self.sender["written_digest"] == self.receiver["arrived_digest"]

    @property
    def all_right(self):
        sender, receiver = self.sender, self.receiver
        return (self.digest_equal and receiver["digest_errors"] == 0 and receiver["bytes_arrived"] == self.bytes
                and sender["transfers_failed"] == sender["transfers_unfinished"] == 0)  # fmt: skip

    def _start(self, host, *options):
        result = self.pair.place / f"{host}.json"
        errors = (self.pair.place / f"{host}.log").open("wb")
        with errors:
            self.programs[host] = subprocess.Popen(
                ["ip", "netns", "exec", host, str(self.pair.binaries.pktgen), "rdma", "--interface", "eth0",
                 "--first-nid", str(NIDS[host]), "--seed", str(self.seed), "--transfer-sizes", str(TRANSFER_BYTES),
                 "--in-flight", str(PARALLEL), "--read-share", "0", "--mtu", str(self.pair.mtu), "--warmup", "0s",
                 "--duration", f"{TIMEOUT_SECONDS}s", "--timeout", "30s", "--operations", str(self.count), "--json",
                 "--output", str(result), *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
            )  # fmt: skip

    def run(self):
        self._start("h2", "--serve")
        wait_until(self._serves, "h2 answers", 60)
        bar = Bar(self.bytes)
        before = received_bytes("h2")
        self._start("h1", "--to", str(NIDS["h2"]))
        started = time.monotonic()
        while self.programs["h1"].poll() is None and self.programs["h2"].poll() in (None, 0):
            arrived = (received_bytes("h2") - before) * (self.pair.mtu + 14 - OVERHEAD) // (self.pair.mtu + 14)
            bar.show(min(arrived, self.bytes), time.monotonic() - started)
            time.sleep(0.1)
        bar.done()
        self.sender, self.seconds = self._figures("h1")
        self.receiver, _ = self._figures("h2")

    def _serves(self):
        log = self._log("h2")
        if self.programs["h2"].poll() is not None:
            raise Failed(f"h2: tributary-pktgen has ended:\n{log}")
        return "measuring" in log

    def _log(self, host):
        return (self.pair.place / f"{host}.log").read_text(encoding="utf-8", errors="replace")

    def _figures(self, host):
        code = self.programs[host].wait(120)
        result = self.pair.place / f"{host}.json"
        measured = json.loads(result.read_text())["repeats"] if result.exists() else []
        if not measured:
            raise Failed(f"{host}: tributary-pktgen ended with exit code {code}:\n{self._log(host)}")
        counts = measured[0]["figures"]
        if code:
            print(f"{host}: {self._log(host)}", file=sys.stderr)
        return {name: counts.get(name, {"value": 0})["value"] for name in FIGURES}, measured[0]["seconds"]

    def stop(self):
        for program in self.programs.values():
            if program.poll() is None:
                program.kill()
            program.wait()


def received_bytes(namespace):
    """Bytes at the host's eth0, as its kernel counts them."""
    with inside(namespace), open("/proc/thread-self/net/dev", encoding="ascii") as devices:
        for line in devices:
            name, _, counts = line.partition(":")
            if name.strip() == "eth0":
                return int(counts.split()[0])
    return 0
