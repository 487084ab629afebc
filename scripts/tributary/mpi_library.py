"""Open MPI and MPICH as Debian has them, and how they start a program on hosts that are network namespaces.

    where = Hosts(names, subnet, gateway, interface, shell=write_remote_shell(folder))
    words, environment = OPENMPI.command(where, ranks, [program, ...], variables={...}, preload=library)

The launchers start a daemon on every host with a remote shell; that of write_remote_shell enters the host's
namespace instead. All ranks talk TCP over one interface. MPI libraries name what they share by the host's name,
in /dev/shm: hosts that had those in common would take each other's ranks for their own, so each gets its own.

Both libraries poll. Open MPI has a setting to yield when it finds nothing. MPICH over UCX has none, and its ranks
may wait for each other for ever in MPI_Finalize: they get programs of bench/compare/programs preloaded.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / "bench/compare/programs"
MPICH_CURES = [PROGRAMS / "wait_when_idle.c", PROGRAMS / "end_together.c"]

REMOTE_SHELL = """\
#!/bin/sh
# As a remote shell: HOST COMMAND..., with options in front that mean nothing here.
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
case $host in
{processors}*) processors={all} ;;
esac
exec taskset -c "$processors" ip netns exec "$host" unshare --uts --mount sh -c \\
  "mount -t tmpfs -o size=256m node-shm /dev/shm && hostname node-$(echo "$host" | tr . -) && $*"
"""


class Missing(Exception):
    """An MPI library is not installed."""


@dataclass(frozen=True)
class Hosts:
    """Where ranks are started: namespaces, each called by its address in `subnet`, at `interface`; the launcher is here,
    at `gateway`."""

    names: list
    subnet: str
    gateway: str
    interface: str
    shell: Path


def write_remote_shell(folder, processors=None):
    """`processors`: {host: numbers}, those that its programs run on. None: on all."""
    def listed(numbers):
        return ",".join(map(str, sorted(numbers)))

    cases = "".join(f"{host}) processors={listed(numbers)} ;;\n" for host, numbers in (processors or {}).items())
    path = Path(folder) / "enter-namespace"
    path.write_text(REMOTE_SHELL.replace("{processors}", cases).replace("{all}", listed(os.sched_getaffinity(0))))
    path.chmod(0o755)
    return path


class Library:
    def __init__(self, name, suffix):
        self.name = name
        self.compiler, self.launcher = shutil.which(f"mpicc.{suffix}"), shutil.which(f"mpirun.{suffix}")
        self.fortran = shutil.which(f"mpifort.{suffix}")
        self.preload = f"libtributary_mpi_{'ompi' if suffix == 'openmpi' else suffix}.so"

    def compile(self, source, program):
        if not (self.compiler and self.launcher):
            raise Missing(f"{self.name} is not installed: run 'scripts/setup'")
        subprocess.run([self.compiler, "-O2", "-o", program, source, "-lm"], check=True)
        return program

    def compile_fortran(self, source, program):
        if not (self.fortran and self.launcher):
            raise Missing(f"{self.name} is not installed: run 'scripts/setup'")
        subprocess.run([self.fortran, "-O1", "-J", program.parent, "-o", program, source], check=True)
        return program

    def command(self, hosts, ranks, program, variables=None, preload=None):
        """(words, environment) that start `program` (a list) on the first hosts, ranks in turn. The launcher itself is no
        rank: what is in `variables`, and `preload`, is for the ranks alone."""
        names = hosts.names[:ranks]
        each = -(-ranks // len(names))
        variables = {key: str(value) for key, value in (variables or {}).items()}
        loaded = [str(preload)] if preload else []
        words = self._launch(hosts, names, ranks, each, variables, loaded)
        # Of its own: Open MPI 5 refuses the folder of a session that a killed launcher with the same number has left.
        return [str(word) for word in [*words, *program]], {**os.environ, "TMPDIR": str(hosts.shell.parent)}


class OpenMpi(Library):
    def __init__(self):
        super().__init__("Open MPI", "openmpi")

    def _launch(self, hosts, names, ranks, each, variables, loaded):
        settings = {
            "plm_rsh_agent": hosts.shell, "plm_rsh_no_tree_spawn": 1, "pml": "ob1", "btl": "self,vader,tcp",
            "btl_tcp_if_include": hosts.subnet, "oob_tcp_if_include": hosts.subnet, "mpi_yield_when_idle": 1,
            "btl_vader_single_copy_mechanism": "none",
        }
        if loaded:
            variables = {**variables, "LD_PRELOAD": ":".join(loaded)}
        return [self.launcher, "--allow-run-as-root", "--bind-to", "none", "--map-by", "node",
                "--oversubscribe", "-np", ranks, "--host", ",".join(f"{name}:{each}" for name in names),
                *(w for key, value in settings.items() for w in ("--mca", key, value)),
                *(w for key, value in variables.items() for w in ("-x", f"{key}={value}"))]


class Mpich(Library):
    def __init__(self):
        super().__init__("MPICH", "mpich")

    def _launch(self, hosts, names, ranks, each, variables, loaded):
        variables = {**variables, "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": hosts.interface, "MPIR_CVAR_NOLOCAL": "1",
                     "LD_PRELOAD": ":".join([*loaded, str(self.cures(hosts.shell.parent))])}
        return [self.launcher, "-localhost", hosts.gateway, "-launcher", "ssh", "-launcher-exec", hosts.shell,
                "-n", ranks, "-ppn", each, "-hosts", ",".join(names),
                *(w for key, value in variables.items() for w in ("-genv", key, value))]

    @staticmethod
    def cures(folder):
        """What ranks preload against MPICH's own faults; made in `folder`."""
        made = folder / "mpich-cures.so"
        if not made.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, *MPICH_CURES], check=True)
        return made


OPENMPI, MPICH = OpenMpi(), Mpich()
