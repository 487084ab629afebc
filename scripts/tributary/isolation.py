"""A private world for networks: its own network, mount and process namespaces.

Everything created inside (network namespaces, interfaces, processes, sockets under /run) is
invisible to other processes, and the kernel removes it when the program ends, however it ends: two
runs side by side cannot collide, and nothing is left behind even after SIGKILL.
"""

import os
import signal
import subprocess
import sys


class NotPossible(Exception):
    """The text says why this machine or user cannot isolate, and the remedy."""


def check():
    """Raises NotPossible unless this user may create namespaces."""
    if os.geteuid() != 0:
        raise NotPossible("needs root, to make network namespaces and to load XDP; run it with sudo")
    tried = subprocess.run(
        ["unshare", "--net", "--mount", "--pid", "--fork", "true"],
        capture_output=True, text=True, check=False,
    )
    if tried.returncode:
        raise NotPossible(f"this kernel or container refuses new namespaces: {tried.stderr.strip()}")


def command(argv):
    """The command that runs `argv` isolated. It ends with the process that starts it, and
    everything in it ends with it."""
    return [
        "setpriv", "--pdeathsig", "KILL",
        "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *argv,
    ]  # fmt: skip


def prepare():
    """To be called first inside: a /run of its own, and a BPF file system where libbpf expects it."""
    if os.getpid() != 1:
        raise RuntimeError("prepare() is for the first process of an isolated world")
    for mount in (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", "mode=755", "tributary-run", "/run"],
        ["mount", "-t", "sysfs", "sysfs", "/sys"],
        ["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"],
        ["ip", "link", "set", "lo", "up"],
    ):
        subprocess.run(mount, check=True, capture_output=True)
    # As the namespace's first process it would ignore signals that it does not handle.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, frame: sys.exit(128 + signum))
