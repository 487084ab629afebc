"""The senders through the path, and how much of their traffic arrives."""

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager

from compare import places, processes
from compare.program import progress
from path import INTERFACE, address

OURS, XDP, CUBIC, BBR, UCX = "tributary", "af_xdp", "cubic", "bbr", "ucx"
WRITER, SINK = 0, 1
TIMEOUT_SECONDS = 60
PAUSE_SECONDS = 0.3
LONGEST_XDP = 3000  # MTU
OMIT_SECONDS = 1  # of TCP's slow start


class RunFailed(Exception):
    """The text names the program and contains its output."""


def contenders(path, options, folder):
    """The requested contenders that are installed, ours first."""
    found = [Writes(path, options, folder)]
    if path.mtu <= LONGEST_XDP:
        found.append(Writes(path, options, folder, XDP))
    for name in filter(None, options.peers.split(",")):
        program, make = PEERS[name]
        if shutil.which(program):
            found.append(make(path, options, name))
        else:
            progress(f"{program} is not installed: run 'scripts/setup --bench'; {name} is left out")
    return found


def talk(command, timeout=TIMEOUT_SECONDS, **environment):
    """Runs a program to its end; returns its standard output. Raises RunFailed."""
    with processes.running(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as child:
        try:
            out, error = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"did not finish in {timeout} s") from None
    if child.returncode:
        raise RunFailed(f"exit code {child.returncode}: {(error or out).strip()[-500:]}")
    return out


@contextmanager
def server(command, **environment):
    """Runs a program in the background."""
    with processes.running(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env={**os.environ, **environment}) as child:
        time.sleep(PAUSE_SECONDS)
        if child.poll() is not None:
            raise RunFailed(f"the server ended with exit code {child.returncode}")
        yield child


class Writes:
    """libtributary, on raw sockets or on AF_XDP."""

    def __init__(self, path, options, folder, name=OURS):
        self.name = name
        self.environment = {"TRIBUTARY_TRANSPORT": "af_xdp"} if name == XDP else {}
        self.path, self.bytes, self.slots, self.folder = path, options.bytes, options.slots, folder
        self.program = path.build / "bench" / "rdma-writes"
        if not self.program.exists():
            raise places.Missing(f"{self.program} is not built: run 'ninja -C {path.build}'")

    def run(self, seconds):
        region = self.folder / "region"
        region.unlink(missing_ok=True)
        arguments = (INTERFACE, self.folder, self.bytes, self.slots)
        serve = self.path.inside(SINK, self.program, "serve", *arguments)
        with processes.running(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **self.environment}) as sink:
            self.wait_for(region, sink)
            wrote = json.loads(talk(self.path.inside(WRITER, self.program, "write", *arguments, seconds),
                                    **self.environment))
            said, error = sink.communicate(timeout=TIMEOUT_SECONDS)  # the end of its standard input
        if sink.returncode:
            raise RunFailed(f"the sink: exit code {sink.returncode}: {error.strip()}")
        sink_said = json.loads(said)
        needed = wrote["data_sent"] - wrote["data_resent"]
        return {**wrote, "sink": sink_said,
                "sent_a_frame": wrote["data_sent"] / needed,
                "control_a_frame": (wrote["control_sent"] + sink_said["control_sent"]) / needed}

    @staticmethod
    def wait_for(file, child):
        end = time.monotonic() + TIMEOUT_SECONDS
        while not file.exists():
            if child.poll() is not None:
                raise RunFailed(f"the sink: exit code {child.returncode}: {child.stderr.read().strip()}")
            if time.monotonic() > end:
                raise RunFailed("the sink registers nothing")
            time.sleep(0.01)


class Tcp:
    """One stream of iperf3."""

    def __init__(self, path, options, name):
        self.path, self.name = path, name

    def run(self, seconds):
        whole = max(1, round(seconds))  # it takes no parts of seconds
        with server(self.path.inside(SINK, "iperf3", "--server", "--one-off")):
            said = json.loads(talk(self.path.inside(
                WRITER, "iperf3", "--client", address(SINK), "--json", "--congestion", self.name,
                "--time", whole, "--omit", OMIT_SECONDS)))
        if "error" in said:
            raise RunFailed(said["error"])
        return {"bits_per_second": said["end"]["sum_received"]["bits_per_second"],
                "resent": said["end"]["sum_sent"].get("retransmits", 0)}


class UcxPuts:
    """ucx_perftest; it takes a count, not a time, so a short first run determines the count."""

    FEW, TIMEOUT = 200, 30

    def __init__(self, path, options, name):
        self.path, self.name, self.bytes = path, name, options.bytes

    def run(self, seconds):
        first = self.once(self.FEW)
        count = max(self.FEW, int(seconds * first / (8 * self.bytes)))
        return {"bits_per_second": self.once(count)}

    def once(self, count):
        environment = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": INTERFACE, "UCX_LOG_LEVEL": "error"}
        with server(self.path.inside(SINK, "ucx_perftest"), **environment):
            said = talk(self.path.inside(
                WRITER, "ucx_perftest", address(SINK), "-t", "ucp_put_bw", "-s", self.bytes, "-n", count,
                "-w", self.FEW // 4, "-f", "-v"), self.TIMEOUT, **environment)
        # The last line of its CSV: iterations, median overhead, mean, overall, and bandwidths in MiB/s.
        rows = [line for line in said.splitlines() if line.strip()[:1].isdigit()]
        if not rows:
            raise RunFailed(f"no figures: {said.strip()[-500:]}")
        cells = rows[-1].split(",")
        return float(cells[5]) * (1 << 20) * 8


PEERS = {CUBIC: ("iperf3", Tcp), BBR: ("iperf3", Tcp), UCX: ("ucx_perftest", UcxPuts)}
