"""The contenders of the comparisons of allreduces: libtributary through its switch, and MPI over a bridge.

`run(folder, size, seconds)` has every rank of `size` hosts store its measurements in the folder;
`figures(folder, size)` reads it, `take_turns` does both for all contenders. See
programs/timed_loop.h for the loop, host_network.py for the hosts.
"""

import copy
import json
import random
import statistics
import subprocess
import time
from contextlib import ExitStack

from compare import host_network, mpi, places, processes
from compare.program import progress
from tributary.mpi_library import Missing
from tributary.switch import Config, Switch

ARMED, DISARMED, BEFORE = "tributary", "tributary-disarmed", "tributary-before"
ROOT = "tributary-root"  # armed, and the root combines; the other armed ones have in-switch results
OURS = (ARMED, DISARMED, BEFORE, ROOT)
COSTS = ("processor_us", "waits", "preempted")  # per operation and host
TIMEOUT_SECONDS = 60


class RunFailed(Exception):
    """The run of a library failed; the text contains its output."""


def tree_of(hosts, in_switch):
    return 2 * hosts + int(in_switch)


SLOTS = 128  # of trees with wide frames
PAYLOAD = {1500: 1408, 9000: 8896}  # of their frames, by MTU
LONGEST = {1500: 1792, 9000: 9216}  # frames of the switch


def switch_config(folder, kind, hosts, wide, mtu, in_switch, shared=False, **process):
    """One switch, every host at a port, and for each number of hosts a tree."""
    config = Config(folder / "switch.sock", log_level="warning",
                    **({"longest_frame": LONGEST[mtu]} if mtu != 1500 else {}), **process)
    switch = config.switch("bench")
    ports = [host_network.port_name(n) for n in range(max(hosts))]
    for port in ports:
        switch.port(port, kind=kind, interface=port)
    for count in hosts:
        tree = tree_of(count, in_switch)
        switch.tree(tree, wait_count=count if in_switch else count - 1, parent=ports[0],
                    children=ports[1:count])
        if in_switch:
            switch.trees[tree]["in_switch_results"] = True
        if wide:
            switch.trees[tree].update(slots=SLOTS, payload=PAYLOAD[mtu])
        if shared:
            switch.trees[tree]["shared"] = True
    return config


class OurLibrary:
    """The library of one build, through its switch, which runs only meanwhile. `counts`: elements
    of each operation; `before_hosts(switch)` is called when the switch runs and before any host
    starts."""

    def __init__(self, name, build, kind, hosts, mtu=1500, counts=None, before_hosts=None, call=None, **process):
        build = places.build_folder(build)
        self.name, self.kind, self.hosts = name, kind, hosts
        self.mtu, self.counts, self.before_hosts = mtu, counts, before_hosts
        self.call = call  # of programs/timed_loop.h; None: allreduces
        self.process = process  # keys of the switch's [process]
        self.binaries, self.program = places.binaries(build), build / "bench" / "allreduce-tributary"
        if not self.program.exists():
            raise places.Missing(f"{self.program} is not built: run 'ninja -C {build}'")
        # An older build is measured with the features it has.
        usage = subprocess.run([self.program], stderr=subprocess.PIPE, text=True, check=False).stderr
        self.wide, self.in_switch = "PAYLOAD" in usage, "IN_SWITCH_RESULTS" in usage and name in (ARMED, BEFORE)

    def run(self, folder, size, seconds):
        config = switch_config(folder, self.kind, self.hosts, self.wide, self.mtu, self.in_switch,
                               self.call is not None, **self.process)
        switch = Switch(self.binaries, config, folder)
        try:
            if self.before_hosts:
                self.before_hosts(switch)
            self.run_hosts(folder, size, seconds)
        finally:
            processes.end(switch.child)

    def more(self):
        """Arguments that programs of older builds do not take."""
        if not self.wide:
            return []
        counts = ",".join(map(str, self.counts)) if self.counts else None
        return [SLOTS, PAYLOAD[self.mtu], *([counts or ""] if counts or self.in_switch else []),
                *([1] if self.in_switch else []), *([self.call] if self.call else [])]

    def run_hosts(self, folder, size, seconds):
        armed, cookie = self.name != DISARMED, random.getrandbits(32)
        tree = tree_of(size, self.in_switch)
        with ExitStack() as stack:
            hosts = [stack.enter_context(processes.running(
                ["ip", "netns", "exec", host_network.host_name(rank), self.program, folder,
                 host_network.SWITCH_SIDE, seconds, rank, size, int(armed),
                 tree, cookie, *self.more()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True)) for rank in range(size)]
            end = time.monotonic() + TIMEOUT_SECONDS
            for rank, host in enumerate(hosts):
                try:
                    _, said = host.communicate(timeout=max(1.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    raise RunFailed(f"rank {rank} did not finish in {TIMEOUT_SECONDS} s") from None
                if host.returncode:
                    raise RunFailed(f"rank {rank} failed: {said.strip()}")


class TheirLibrary:
    def __init__(self, name, program, hosts, counts, call=None):
        self.counts = [] if counts is None else [",".join(map(str, counts)), *([call] if call else [])]
        self.name, self.package, self.program, self.hosts = name, mpi.PACKAGES[name], program, hosts
        self.library, self.parameters = mpi.LIBRARIES[name], {}

    def forced(self, name, parameters):
        """The same library with these parameters (of Open MPI's MCA)."""
        other = copy.copy(self)
        other.name, other.parameters = f"{self.name}-{name}", parameters
        return other

    def run(self, folder, size, seconds):
        command, environment = self.library.command(
            self.hosts, size, [self.program, folder, host_network.BRIDGE_SIDE, seconds, *self.counts])
        environment = {**environment, **{f"OMPI_MCA_{key}": str(value) for key, value in self.parameters.items()}}
        said = folder / "said"
        with said.open("w") as out, processes.running(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
        ) as child:
            try:
                child.wait(TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                raise RunFailed(f"did not finish in {TIMEOUT_SECONDS} s") from None
        if child.returncode:
            raise RunFailed(f"exit code {child.returncode}: {said.read_text().strip()[-500:]}")


def figures(folder, size):
    """The figures of one run, {bytes: figures}: latencies over all ranks, received traffic of the
    root from rank 0."""
    ranks = [[json.loads(text) for text in (folder / f"rank{r}").read_text().splitlines()]
             for r in range(size)]
    result = {}
    for of_operation in zip(*ranks):
        root = of_operation[0]
        result[root["bytes"]] = {
            "median_us": statistics.median(f["median_us"] for f in of_operation),
            "p99_us": max(f["p99_us"] for f in of_operation),
            "per_second": statistics.median(f["per_second"] for f in of_operation),
            "root_bytes": root["received_bytes"],
            "root_frames": root["received_frames"],
            "sent_bytes": statistics.median(f.get("sent_bytes", 0) for f in of_operation),
            # Programs of older builds do not report these.
            **{key: statistics.mean(f[key] for f in of_operation) for key in COSTS if key in root},
        }
    return result


def take_turns(options, folder, libraries, size):
    """[{library: {bytes: figures}}], one for each turn; a library that fails is out from then on."""
    turns = []
    libraries = list(libraries)
    for turn in range(options.runs):
        got = {}
        for library in libraries[:: -1 if turn % 2 else 1]:  # a copy
            place = folder / f"{size}-{turn}-{library.name}"
            place.mkdir()
            try:
                library.run(place, size, options.seconds)
                got[library.name] = figures(place, size)
            except RunFailed as failure:
                if library.name == ARMED:
                    raise RuntimeError(f"{library.name}, {size} hosts: {failure}") from None
                progress(f"{library.name}, {size} hosts, left out: {failure}")
                libraries.remove(library)
        turns.append(got)
    names = [library.name for library in libraries]
    return [{name: turn[name] for name in names} for turn in turns]


def their_libraries(programs, folder, wanted, most, counts=None, call=None):
    """The requested ones that are installed, for up to `most` ranks."""
    hosts = mpi.hosts(most, folder)
    found = []
    for name in [name for name in mpi.LIBRARIES if name in wanted]:
        try:
            program = mpi.LIBRARIES[name].compile(programs / "mpi.c", folder / f"allreduce-{name}")
        except Missing as missing:
            progress(f"{missing}; it is left out")
            continue
        found.append(TheirLibrary(name, program, hosts, counts, call))
    return found
