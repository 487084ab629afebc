"""Several polling threads in each contender: a core, and a capture file of each port, for each.

A port's capture has {queue} in its name, as in a switch's configuration; file n is what a NIC would
bring to worker n.
"""

import os

from tributary import frames

CORES = sorted(os.sched_getaffinity(0), reverse=True)  # before a comparison keeps off most of them
WORKERS = (1, 2, 4, 8, 16)


def add_option(add):
    add("--workers", type=int, choices=WORKERS, default=1,
        help="threads of each program, a core each (default: %(default)s)")


def cores_of(options, setting):
    """The one under test first, and the one for everything else last."""
    others = [core for core in CORES if core not in (setting.core, setting.control_core)]
    there = dict.fromkeys([setting.core, *others, setting.control_core])
    if len(there) < options.workers:
        raise RuntimeError(f"{options.workers} workers need a core each, and {len(there)} are there")
    return list(there)[:options.workers]


def capture(folder, port, workers):
    """The name of a port's file, as a switch's configuration has it."""
    return folder / (f"port{port}.pcap" if workers == 1 else f"port{port}-{{queue}}.pcap")


def write(name, contents):
    """`contents`: by worker, its frames."""
    for queue, one in enumerate(contents):
        frames.write_pcap(file(name, queue), one)


def file(name, queue):
    return str(name).replace("{queue}", str(queue))


def device(number, name, workers):
    """testpmd's argument for a port that replays these files without end."""
    files = [f"rx_pcap={file(name, queue)}" for queue in range(workers)]
    return ",".join([f"net_pcap{number}", *files, "infinite_rx=1"])


def words(workers):
    """What a line of the result begins with."""
    return f"{workers} workers, each: " if workers > 1 else ""
