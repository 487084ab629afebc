"""Stand-in nodes for MPI programs: namespaces that share neither network, host name nor /dev/shm.

    nodes = Nodes(network, 4)                       only inside isolation.py's world
    nodes.port(n)                                   the switch's end of node n's cable
    done = nodes.run(OPENMPI, ranks, program, preload=library, environment={...})

Each node has two interfaces: fabric0 leads to the switch, eth0 to a plain Linux bridge, over which the MPI
library talks TCP. A launcher starts its daemon on a node with a remote shell; here that enters the node's
namespaces instead. MPI libraries name what they share by the host's name, in /dev/shm: nodes that had those
in common would take each other's ranks for their own.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tributary.network import shell

FABRIC, PLAIN = "fabric0", "eth0"
SUBNET, GATEWAY = "10.78.0.0/24", "10.78.0.254"

REMOTE_SHELL = """\
#!/bin/sh
# As a remote shell: HOST COMMAND..., with options in front that mean nothing here.
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
exec ip netns exec "$host" unshare --uts --mount sh -c \\
  "mount -t tmpfs -o size=256m node-shm /dev/shm && hostname node-$(echo "$host" | tr . -) && $*"
"""

# MPICH over UCX polls without a pause: with more ranks than processors it measures time slices. And its
# ranks may wait for each other for ever in MPI_Finalize. The same sources as bench/compare's.
PROGRAMS = Path(__file__).resolve().parents[2] / "bench/compare/programs"
MPICH_CURES = [PROGRAMS / "wait_when_idle.c", PROGRAMS / "end_together.c"]


class Missing(Exception):
    """An MPI library is not installed."""


class Library:
    def __init__(self, name, suffix):
        self.name = name
        self.compiler, self.launcher = shutil.which(f"mpicc.{suffix}"), shutil.which(f"mpirun.{suffix}")
        self.preload = f"libtributary_mpi_{'ompi' if suffix == 'openmpi' else suffix}.so"

    def compile(self, source, program):
        if not (self.compiler and self.launcher):
            raise Missing(f"{self.name} is not installed: run 'scripts/setup'")
        subprocess.run([self.compiler, "-O2", "-o", program, source, "-lm"], check=True)
        return program


OPENMPI, MPICH = Library("Open MPI", "openmpi"), Library("MPICH", "mpich")


class Nodes:
    def __init__(self, network, count, folder):
        self.count, self.folder = count, Path(folder)
        self.shell = self.folder / "enter-node"
        self.shell.write_text(REMOTE_SHELL)
        self.shell.chmod(0o755)
        shell("ip link add plain0 type bridge forward_delay 0 && ip link set plain0 up"
              f" && ip address add {GATEWAY}/24 dev plain0")
        for n in range(count):
            name = network.host(self.name(n))
            network.cable(name, FABRIC, None, self.port(n), mac_a=f"02:00:00:00:00:{n + 1:02x}")
            network.cable(name, PLAIN, None, f"p{n}")
            shell(f"ip link set p{n} master plain0 && ip -n {name} address add {name}/24 dev {PLAIN}")

    @staticmethod
    def name(number):
        return f"10.78.0.{number + 1}"

    @staticmethod
    def port(number):
        return f"n{number}"

    def command(self, library, ranks, program, preload=None, environment=None):
        """(words, environment) that start `program` (a list) on all nodes, ranks in turn."""
        variables = {key: str(value) for key, value in (environment or {}).items()}
        names = [self.name(n) for n in range(min(self.count, ranks))]
        # The launcher itself is no rank and must not be preloaded.
        loaded = [str(preload)] if preload else []
        if library is MPICH:
            loaded += [str(self._mpich_cures())]
            each = -(-ranks // len(names))
            words = [library.launcher, "-localhost", GATEWAY, "-launcher", "ssh", "-launcher-exec",
                     str(self.shell), "-n", str(ranks), "-ppn", str(each), "-hosts", ",".join(names)]
            variables |= {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": PLAIN, "MPIR_CVAR_NOLOCAL": "1"}
            words += [w for key, value in variables.items() for w in ("-genv", key, value)]
            if loaded:
                words += ["-genv", "LD_PRELOAD", ":".join(loaded)]
            return [*words, *map(str, program)], {**os.environ, "TMPDIR": "/tmp"}
        each = -(-ranks // len(names))
        settings = {
            "plm_rsh_agent": self.shell, "plm_rsh_no_tree_spawn": 1, "pml": "ob1", "btl": "self,vader,tcp",
            "btl_tcp_if_include": SUBNET, "oob_tcp_if_include": SUBNET, "mpi_yield_when_idle": 1,
            "btl_vader_single_copy_mechanism": "none",
        }
        words = [library.launcher, "--allow-run-as-root", "--bind-to", "none", "--map-by", "node",
                 "--oversubscribe", "-np", str(ranks), "--host", ",".join(f"{name}:{each}" for name in names)]
        words += [w for key, value in settings.items() for w in ("--mca", key, str(value))]
        if loaded:
            variables["LD_PRELOAD"] = ":".join(loaded)
        words += [w for key, value in variables.items() for w in ("-x", f"{key}={value}")]
        return [*words, *map(str, program)], {**os.environ, "TMPDIR": "/tmp"}

    def start(self, *arguments, **options):
        words, environment = self.command(*arguments, **options)
        return subprocess.Popen(words, env=environment, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

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

    def _mpich_cures(self):
        made = self.folder / "mpich-cures.so"
        if not made.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, *MPICH_CURES], check=True)
        return made
