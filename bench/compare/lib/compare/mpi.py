"""Open MPI and MPICH, each rank in a network namespace of its own, talking TCP.

Both poll. Open MPI has a setting to yield when it finds nothing; MPICH over UCX has none, and gets
wait_when_idle.c preloaded instead. (Open MPI was measured with it, too: no difference.)

Both start a daemon on every "host" with a remote shell. Theirs here is a script that enters the
host's namespace instead. All daemons would have one host name, and the libraries would then take the
ranks for neighbours that can share memory; so each gets a host name of its own.
"""

import os
import shutil
import subprocess

from compare import places
from compare.host_network import BRIDGE_SIDE, GATEWAY, SUBNET, host_name

REMOTE_SHELL = """\
#!/bin/sh
# As a remote shell: HOST COMMAND..., with options in front that mean nothing here.
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c "hostname host-$(echo "$host" | tr . -); $*"
"""


def write_remote_shell(folder):
    path = folder / "enter-namespace"
    path.write_text(REMOTE_SHELL)
    path.chmod(0o755)
    return path


class MpiLibrary:
    """`name` for tables; `compiler` and `launcher` as Debian calls them."""

    def __init__(self, name, suffix, package):
        self.name, self.package = name, package
        self.compiler = shutil.which(f"mpicc.{suffix}")
        self.launcher = shutil.which(f"mpirun.{suffix}")

    def compile(self, sources, folder):
        """The program; raises Missing."""
        if not (self.compiler and self.launcher):
            raise places.Missing(f"{self.name} is not installed: run 'scripts/setup --bench'")
        program = folder / f"allreduce-{self.name}"
        subprocess.run([self.compiler, "-O2", "-o", program, sources / "mpi.c"], check=True)
        return program

    def environment(self):
        return {**os.environ, "TMPDIR": "/tmp"}


class OpenMpi(MpiLibrary):
    def __init__(self):
        super().__init__("openmpi", "openmpi", "openmpi-bin")

    def command(self, remote_shell, size):
        hosts = ",".join(f"{host_name(n)}:1" for n in range(size))
        settings = {
            "plm_rsh_agent": remote_shell, "plm_rsh_no_tree_spawn": 1,
            "pml": "ob1", "btl": "self,tcp",
            "btl_tcp_if_include": SUBNET, "oob_tcp_if_include": SUBNET,
            "mpi_yield_when_idle": 1,
        }
        words = [word for key, value in settings.items() for word in ("--mca", key, str(value))]
        return [self.launcher, "--allow-run-as-root", "--bind-to", "none", "--map-by", "node",
                "-np", str(size), "--host", hosts, *words]


class Mpich(MpiLibrary):
    def __init__(self):
        super().__init__("mpich", "mpich", "mpich")
        self.preloaded = None

    def compile(self, sources, folder):
        program = super().compile(sources, folder)
        self.preloaded = folder / "mpich-cures.so"
        subprocess.run([self.compiler, "-O2", "-shared", "-fPIC", "-o", self.preloaded,
                        sources / "wait_when_idle.c", sources / "end_together.c"], check=True)
        return program

    def command(self, remote_shell, size):
        return [self.launcher, "-localhost", GATEWAY, "-launcher", "ssh", "-launcher-exec",
                str(remote_shell), "-genv", "LD_PRELOAD", str(self.preloaded), "-n", str(size),
                "-ppn", "1", "-hosts", ",".join(host_name(n) for n in range(size))]

    def environment(self):
        return {**super().environment(), "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": BRIDGE_SIDE,
                "MPIR_CVAR_NOLOCAL": "1"}


LIBRARIES = (OpenMpi(), Mpich())
