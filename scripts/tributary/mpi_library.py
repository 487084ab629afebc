"""Open MPI and MPICH as Debian has them, and how they start a program on hosts that are network namespaces.

    where = Hosts(names, subnet, gateway, interface, shell=write_remote_shell(folder))
    words, environment = OPENMPI.command(where, ranks, [program, ...], variables={...}, preload=library)

The launchers start a daemon on every host with a remote shell; that of write_remote_shell enters the host's
namespace instead. All ranks talk TCP over one interface. MPI libraries name shared memory in
/dev/shm by the host's name: hosts that shared both would take each other's ranks for their own, so
each gets its own.

TRIBUTARY_MPI_ROOT may name the root of another Debian (a folder made by debootstrap, with its openmpi-bin, mpich, their
libraries for development, iproute2 and util-linux). Then compilers, launchers and programs are from
that root, started there by chroot, with the libraries of this build preloaded: only inside
isolation.py's world, in whose mounts it is opened.

Both libraries poll. Open MPI has a setting to yield when it finds nothing. MPICH over UCX has none,
and its ranks may wait for each other forever in MPI_Finalize: they get programs of
bench/compare/programs preloaded.
"""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[2] / "bench/compare/programs"
MCA = "OMPI_MCA_"  # what names of variables with Open MPI's parameters begin with
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
exec taskset -c "$processors" ip netns exec "$host" unshare --uts --mount sh -c '
  mount -t tmpfs -o size=256m node-shm /dev/shm && hostname "node-$(echo "$0" | tr . -)" && {run}' "$host" "$*"
"""
# What is started there: as root, or as an ordinary user, who may do nothing. A user finds his node's own folder where
# every machine has it, and writes where he may.
AS_ROOT = 'eval "$1"'
AS_USER = """mount --bind "{place}/$0" /run/tributary && cd / &&
  exec env HOME=/dev/shm TMPDIR=/dev/shm setpriv --reuid {user} --regid {user} --clear-groups --inh-caps=-all \\
    --bounding-set=-all --no-new-privs sh -c "$1\""""


class Missing(Exception):
    """An MPI library is not installed."""


ROOT = os.environ.get("TRIBUTARY_MPI_ROOT", "")
BROUGHT = Path("/run/mpi-root")  # the files of this Debian that programs in the root need


@functools.cache
def open_root():
    """From here on the root has this world's networks, files under /run and processes."""
    if not (Path(ROOT) / "usr/bin/env").exists():
        raise Missing(f"TRIBUTARY_MPI_ROOT: {ROOT} is not the root of a Debian")
    subprocess.run(["mount", "--make-shared", "/run"], check=True)  # for namespaces that are made later are mounted there
    for kind, folder in (("--bind", ""), *(("--rbind", name) for name in ("/proc", "/sys", "/dev", "/run", "/tmp"))):
        subprocess.run(["mount", kind, folder or ROOT, ROOT + folder], check=True)


def there(words):
    """The command as it runs in the root, if there is one."""
    if not ROOT:
        return words
    open_root()
    return ["chroot", ROOT, *words]


def brought(path, folder):
    """A file of this Debian where programs in the root find it."""
    if not ROOT or Path(path).is_relative_to("/run"):
        return Path(path)
    (BROUGHT / folder).mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, BROUGHT / folder))


def brought_with_its_libraries(library):
    """A library of this build, likewise, with those of this Debian that the root lacks."""
    if not ROOT:
        return library
    shown = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    own = dict(re.findall(r"(\S+) => (/\S+)", shown))
    path = brought(library, "libraries")
    brought(own["libtributary.so.0"], "libraries")
    while True:  # those that are brought have libraries of their own
        shown = subprocess.run(there(["env", f"LD_LIBRARY_PATH={BROUGHT}/libraries", "ldd", path]),
                               check=True, capture_output=True, text=True).stdout  # fmt: skip
        lacking = set(re.findall(r"(\S+) => not found", shown))
        if not lacking:
            return path
        for name in lacking:
            brought(own[name], "libraries")


@dataclass(frozen=True)
class Hosts:
    """Where ranks are started: namespaces, each called by its address in `subnet`, at `interface`; the launcher is here,
    at `gateway`."""

    names: list
    subnet: str
    gateway: str
    interface: str
    shell: Path


def write_remote_shell(folder, processors=None, user=None):
    """`processors`: {host: numbers}, those that its programs run on; None: on all. `user`: the number of whom they run
    as, with `folder`/HOST as /run/tributary; None: root."""
    def listed(numbers):
        return ",".join(map(str, sorted(numbers)))

    cases = "".join(f"{host}) processors={listed(numbers)} ;;\n" for host, numbers in (processors or {}).items())
    path = Path(folder) / "enter-namespace"
    run = AS_ROOT if user is None else AS_USER.replace("{place}", str(folder)).replace("{user}", str(user))
    text = REMOTE_SHELL.replace("{processors}", cases).replace("{all}", listed(os.sched_getaffinity(0)))
    path.write_text(text.replace("{run}", run))
    path.chmod(0o755)
    return path


class Library:
    def __init__(self, name, suffix):
        self.name, self.suffix = name, suffix
        programs = os.pathsep.join(f"{ROOT}/{folder}" for folder in ("usr/bin", "bin")) if ROOT else None
        self.compiler, self.launcher, self.fortran = (
            found and found.removeprefix(ROOT)
            for found in (shutil.which(f"{what}.{suffix}", path=programs) for what in ("mpicc", "mpirun", "mpifort"))
        )
        self.preload = f"libtributary_mpi_{'ompi' if suffix == 'openmpi' else suffix}.so"

    def compile(self, source, program):
        if not (self.compiler and self.launcher):
            raise Missing(f"{self.name} is not installed: run 'scripts/setup'")
        subprocess.run(there([self.compiler, "-O2", "-o", program, brought(source, "sources"), "-lm"]), check=True)
        return program

    def compile_fortran(self, source, program):
        if not (self.fortran and self.launcher):
            raise Missing(f"{self.name} is not installed: run 'scripts/setup'")
        subprocess.run(there([self.fortran, "-O1", "-J", program.parent, "-o", program, brought(source, "sources")]), check=True)
        return program

    def command(self, hosts, ranks, program, variables=None, preload=None):
        """(words, environment) that start `program` (a list) on the first hosts, ranks in turn. The
        launcher itself is not a rank: `variables` and `preload` apply to the ranks only."""
        names = hosts.names[:ranks]
        each = -(-ranks // len(names))
        variables = {key: str(value) for key, value in (variables or {}).items()}
        if preload and ROOT:
            variables["LD_LIBRARY_PATH"] = f"{BROUGHT}/libraries"
        loaded = [str(brought_with_its_libraries(preload))] if preload else []
        words = self._launch(hosts, names, ranks, each, variables, loaded)
        # A folder of its own: Open MPI 5 refuses the session folder that a killed launcher with the
        # same number has left.
        return [str(word) for word in there([*words, *program])], {**os.environ, "TMPDIR": str(hosts.shell.parent)}

    def command_here(self, ranks, program, variables, preload):
        """The same on this host, without a network."""
        loaded = brought_with_its_libraries(preload)
        variables = {**variables, "LD_PRELOAD": loaded, **({"LD_LIBRARY_PATH": loaded.parent} if ROOT else {})}
        return [str(word) for word in there([*self._launch_here(ranks, variables), *program])]

    @functools.cached_property
    def release(self):
        """For example (4, 1); (0, 0) if it is not installed."""
        if not self.launcher:
            return 0, 0
        said = subprocess.run(there([self.launcher, "--version"]), check=True, capture_output=True, text=True).stdout
        found = re.search(r"(?:\(Open ?\w+\)|Version:)\s+(\d+)\.(\d+)", said)
        return int(found[1]), int(found[2])


class OpenMpi(Library):
    has_large_counts = False

    def __init__(self):
        super().__init__("Open MPI", "openmpi")

    @property
    def has_sessions(self):
        return self.release >= (5, 0)

    @property
    def begins_again(self):
        """Whether a session may begin after all have ended."""
        return self.has_sessions

    def _launch(self, hosts, names, ranks, each, variables, loaded):
        settings = {
            "plm_rsh_agent": hosts.shell, "plm_rsh_no_tree_spawn": 1, "pml": "ob1", "btl": "self,vader,tcp",
            "btl_tcp_if_include": hosts.subnet, "oob_tcp_if_include": hosts.subnet, "mpi_yield_when_idle": 1,
            "btl_vader_single_copy_mechanism": "none",
        }
        # The command line has precedence over variables.
        own = {key: value for key, value in variables.items() if key.startswith(MCA)}
        settings |= {key.removeprefix(MCA): value for key, value in own.items()}
        variables = {key: value for key, value in variables.items() if key not in own}
        if loaded:
            variables = {**variables, "LD_PRELOAD": ":".join(loaded)}
        return [self.launcher, "--allow-run-as-root", "--bind-to", "none", "--map-by", "node",
                "--oversubscribe", "-np", ranks, "--host", ",".join(f"{name}:{each}" for name in names),
                *(w for key, value in settings.items() for w in ("--mca", key, value)),
                *(w for key, value in variables.items() for w in ("-x", f"{key}={value}"))]

    def _launch_here(self, ranks, variables):
        return [self.launcher, "--allow-run-as-root", "--oversubscribe", "-np", ranks, "--mca", "btl", "self,vader",
                "--mca", "mpi_yield_when_idle", 1, *(w for key, value in variables.items() for w in ("-x", f"{key}={value}"))]


class Mpich(Library):
    has_large_counts = has_sessions = True  # since 4.0
    begins_again = False  # 4.0 crashes, and 4.2 may fail at the end of the first session, over UCX
                          # and TCP

    def __init__(self):
        super().__init__("MPICH", "mpich")

    def _launch(self, hosts, names, ranks, each, variables, loaded):
        variables = {**variables, "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": hosts.interface, "MPIR_CVAR_NOLOCAL": "1",
                     "LD_PRELOAD": ":".join([*loaded, str(self.cures(hosts.shell.parent))])}
        return [self.launcher, "-localhost", hosts.gateway, "-launcher", "ssh", "-launcher-exec", hosts.shell,
                "-n", ranks, "-ppn", each, "-hosts", ",".join(names),
                *(w for key, value in variables.items() for w in ("-genv", key, value))]

    def _launch_here(self, ranks, variables):
        return [self.launcher, "-n", ranks, *(w for key, value in variables.items() for w in ("-genv", key, value))]

    @staticmethod
    def cures(folder):
        """The libraries that ranks preload as workarounds for MPICH; built in `folder`."""
        made = folder / "mpich-cures.so"
        if not made.exists():
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, *MPICH_CURES], check=True)
        return made


OPENMPI, MPICH = OpenMpi(), Mpich()


def use(root):
    """The libraries of the Debian in the folder `root`, from here on."""
    global ROOT
    ROOT = root
    for library in (OPENMPI, MPICH):
        vars(library).clear()  # its release, too
        library.__init__()
