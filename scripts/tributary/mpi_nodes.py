"""Stand-in nodes for MPI programs: namespaces that share neither network, host name nor /dev/shm.

    nodes = Nodes(network, 4, folder)               only inside isolation.py's world
    nodes.port(n)                                   the switch's end of node n's link
    code, out, err = nodes.run(OPENMPI, ranks, [program, ...], preload=library, environment={...})

Each node has two interfaces: fabric0 leads to the switch, eth0 to a plain Linux bridge, over which the MPI
library talks TCP.
"""

import os
import subprocess
from dataclasses import replace

from tributary.mpi_library import Hosts, write_remote_shell
from tributary.network import shell

FABRIC, PLAIN = "fabric0", "eth0"
SUBNET, GATEWAY = "10.78.0.0/24", "10.78.0.254"


def processors_of(count, machine=None):
    """A set for each of `count` nodes: its share of this machine's processors, or one that it
    shares with others."""
    all_of_them = sorted(machine or os.sched_getaffinity(0))
    if count >= len(all_of_them):
        return [{all_of_them[n % len(all_of_them)]} for n in range(count)]
    ends = [n * len(all_of_them) // count for n in range(count + 1)]
    return [set(all_of_them[begin:end]) for begin, end in zip(ends, ends[1:])]


class Nodes:
    """`bound`: the ranks of a node run on processors_of it. Otherwise on all, and the kernel
    migrates them. `user`: the number of whom they run as; None: root."""

    def __init__(self, network, count, folder, bound=True, user=None):
        names = [self.name(n) for n in range(count)]
        processors = dict(zip(names, processors_of(count))) if bound else None
        # Where a user may be, too; ranks begin where the launcher is.
        self.start_in = None if user is None else folder
        self.hosts = Hosts(names, SUBNET, GATEWAY, PLAIN, write_remote_shell(folder, processors, user))
        shell("ip link add plain0 type bridge forward_delay 0 && ip link set plain0 up"
              f" && ip address add {GATEWAY}/24 dev plain0")
        for n, name in enumerate(names):
            network.host(name)
            network.cable(name, FABRIC, None, self.port(n), mac_a=f"02:00:00:00:00:{n + 1:02x}")
            network.cable(name, PLAIN, None, f"p{n}")
            shell(f"ip link set p{n} master plain0 && ip -n {name} address add {name}/24 dev {PLAIN}")

    @staticmethod
    def name(number):
        return f"10.78.0.{number + 1}"

    @staticmethod
    def port(number):
        return f"n{number}"

    def start(self, library, ranks, program, preload=None, environment=None, stderr=subprocess.PIPE, nodes=None):
        """Runs on the first `nodes` nodes (None: all), ranks in turn."""
        hosts = replace(self.hosts, names=self.hosts.names[:nodes])
        words, around = library.command(hosts, ranks, program, environment, preload)
        return subprocess.Popen(words, env=around, cwd=self.start_in, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)

    def run(self, *arguments, seconds=120, **options):
        """(exit code, standard output, standard error)."""
        child = self.start(*arguments, **options)
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
            return None, out, f"{err}\nit did not end within {seconds} s"
        return child.returncode, out, err
