"""Sixteen `tributary-host` processes, one in each host's namespace, that join a group by its name and reduce."""

import json
import selectors
import subprocess
import time

from fabric import JOB

# Runs the command under its own host name, the first argument: hosts announce it in their hellos.
NAMED = ("unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"')
ELEMENTS = 4  # what most operators fit into one frame


class Failed(Exception):
    """A host ended with an error, or a switch died; the text contains its output."""


class Run:
    """The result of one run, over all hosts."""

    def __init__(self, reports):
        self.reports = reports
        root = next(report for report in reports if report["root"])
        self.root_frames = root["root_frames_per_reduction"]
        # A vector that does not fit into one frame is several reductions on the wire.
        self.on_the_wire = sum(root["statistics"][way] for way in ("full", "partial", "unreduced"))
        self.iterations = min(report["iterations"] for report in reports)
        self.wrong = sum(report["wrong"] for report in reports)
        self.seconds = max(report["seconds"] for report in reports)
        self.per_second = self.iterations / self.seconds if self.seconds else 0.0
        # Each host measures its own calls. The median host's median; the slowest host's 99th
        # percentile.
        self.p50 = sorted(report["latency_us"]["p50"] for report in reports)[len(reports) // 2]
        self.p99 = max(report["latency_us"]["p99"] for report in reports)


def command(fabric, host, group, iterations, armed, seed, rank, size, operator="mix", length=ELEMENTS, in_flight=8,
            timeout=30):  # fmt: skip
    return [
        "ip", "netns", "exec", host.namespace, *NAMED, host.namespace, str(fabric.binaries.host),
        "--interface", host.interface, "--nid", str(host.nid),
        "--group", group, "--job", JOB, "--manager", fabric.manager.url, "--token-file", str(fabric.token_file),
        "--rank", str(rank), "--size", str(size), "--root-rank", "0",
        "--operators", operator, "--operations", str(iterations), "--in-flight", str(in_flight),
        "--elements", str(length), "--seed", str(seed), "--timeout", f"{timeout}s", "--check", "--json",
        *(["--progress"] if rank == 0 else []),
        *([] if armed else ["--no-armed"]),
    ]  # fmt: skip


def start(fabric, hosts, group, iterations, armed, seed, **what):
    """Starts the programs of these hosts; returns them by host, in rank order. `what`: as `command`
    takes it."""
    return {
        host: subprocess.Popen(
            command(fabric, host, group, iterations, armed, seed, rank, len(hosts), **what),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank, host in enumerate(hosts)
    }


def run(fabric, group, iterations, armed, seed, on_progress, hosts=None, **what):
    """Has the hosts, all by default, join, reduce and leave. `on_progress(done)` is called about
    twice a second. `what`: as `command` takes it."""
    children = start(fabric, hosts or fabric.hosts, group, iterations, armed, seed, **what)
    try:
        _follow(fabric, children, on_progress)
    except BaseException:
        for child in children.values():
            child.kill()
        raise
    reports = []
    for host, child in children.items():
        # Exit code 1 with a report means wrong results: the table shows them.
        try:
            reports.append(json.loads(child.report))
        except ValueError:
            raise Failed(f"{host.namespace} ended with exit code {child.wait()}:\n{child.said}") from None
        child.wait()
    return Run(reports)


class Crash:
    """The result of a run in which one member was killed."""

    def __init__(self, rank):
        self.rank = rank
        self.notified = []  # (host, seconds after the kill, its output), in order of time


def crash(fabric, group, rank, seed, on_progress, limit):
    """Has all hosts reduce without end, kills the member of this rank once `on_progress(done)`
    returns true, and waits until the others have ended, at most `limit` seconds."""
    endless = 1_000_000  # hours on any supported machine
    children = start(fabric, fabric.hosts, group, endless, True, seed)
    outcome = Crash(rank)
    try:
        _until_killed(fabric, children, rank, on_progress)
        killed = time.monotonic()
        waiting = {host: child for host, child in children.items() if host.number != rank}
        while waiting and time.monotonic() - killed < limit:
            for host, child in list(waiting.items()):
                if child.poll() is not None:
                    outcome.notified.append((host, time.monotonic() - killed, _last_line(child)))
                    del waiting[host]
            time.sleep(0.005)
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    return outcome


def _until_killed(fabric, children, rank, on_progress):
    root = next(iter(children.values()))
    for line in root.stderr:
        if not line.startswith("progress "):
            raise Failed(f"a host ended early:\n{line}")
        if on_progress(int(line.split()[1])):
            list(children.values())[rank].kill()
            return
    raise Failed(f"a host ended early:\n{fabric.manager.log_text()}")


def _last_line(child):
    said = [line for line in child.stderr.read().splitlines() if not line.startswith("progress ")]
    return said[-1] if said else ""


def _follow(fabric, children, on_progress):
    """Reads the hosts' output until all have ended."""
    selector = selectors.DefaultSelector()
    for child in children.values():
        child.report, child.said = "", ""
        selector.register(child.stdout, selectors.EVENT_READ, (child, "report"))
        selector.register(child.stderr, selectors.EVENT_READ, (child, "said"))
    last = time.monotonic()
    while selector.get_map():
        for key, _ in selector.select(timeout=1.0):
            child, member = key.data
            line = key.fileobj.readline()
            if not line:
                selector.unregister(key.fileobj)
                if member == "said" and child.wait() and not child.report.strip():
                    raise Failed(f"a host ended with exit code {child.returncode}:\n{child.said}")
            elif line.startswith("progress "):
                on_progress(int(line.split()[1]))
            else:
                setattr(child, member, getattr(child, member) + line)
        if time.monotonic() - last > 1:
            last = time.monotonic()
            if dead := fabric.died():
                raise Failed(f"{dead.file.stem} ended by itself:\n{dead.log_text()}")
