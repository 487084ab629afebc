"""tributary-run on machines that it reaches through ssh, and in a Slurm allocation: sshd on the loopback interface,
and a Slurm of one node, both from Debian's packages and only in the test's own world."""

import os
import platform
import signal
import subprocess
from pathlib import Path

from launching import finish, kill, mpi_program, processes, run, start
from tributary.cases import Skip
from tributary.network import wait_until

PEERS = Path(__file__).resolve().parents[2] / "build-peers"
LIBRARIES_OF_PEERS = PEERS / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
PLUGINS = LIBRARIES_OF_PEERS / "slurm-wlm"
LIBRARIES = f"{PLUGINS}:{LIBRARIES_OF_PEERS}"
PLAIN = "--no-offload"

daemons = []


def need(*programs):
    for program in programs:
        if not (PEERS / "usr" / program).exists():
            raise Skip(f"{Path(program).name} is not unpacked: scripts/setup")


def an_address(lab):
    """Name look-up takes no address while the machine has none beside loopback."""
    lab.sh("ip link add up0 type veth peer name up1; ip address add 10.1.0.1/24 dev up0; ip link set up0 up")


def background(lab, *command, log=None):
    log = lab.file(f"{log or Path(str(command[0])).name}.log").open("wb")
    daemons.append(subprocess.Popen(
        [str(word) for word in command], env={**os.environ, "LD_LIBRARY_PATH": LIBRARIES},
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
    ))  # fmt: skip


def sshd(lab):
    """The command with which its only user is reached."""
    need("sbin/sshd")
    an_address(lab)
    place = lab.place / "ssh"
    place.mkdir(mode=0o700)
    Path("/run/sshd").mkdir(mode=0o755)
    for key in ("host", "user"):
        lab.sh(f"ssh-keygen -q -t ed25519 -N '' -f {place}/{key}")
    users = Path("/etc/passwd").read_text(encoding="utf-8")
    if "\nsshd:" not in users:
        lab.file("passwd", users + "sshd:x:499:65534::/run/sshd:/usr/sbin/nologin\n")
        lab.sh(f"mount --bind {lab.place}/passwd /etc/passwd")
    lab.file("sshd_config", f"""
ListenAddress 127.0.0.1:2222
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
SetEnv TMPDIR={lab.place}/files
""")
    # Since OpenSSH 9.8 separate programs serve a connection, which sshd looks for where it is
    # installed.
    parts = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}
    with (lab.place / "sshd_config").open("a", encoding="utf-8") as config:
        for option, program in parts.items():
            if (path := PEERS / "usr/lib/openssh" / program).exists():
                config.write(f"{option} {path}\n")
    background(lab, PEERS / "usr/sbin/sshd", "-D", "-f", lab.place / "sshd_config")
    command = (f"ssh -F none -p 2222 -i {place}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
               " -o LogLevel=ERROR")  # fmt: skip
    wait_until(lambda: lab.run(*command.split(), "127.0.0.1", "true")[0] == 0, "sshd answers")
    return command


def test_other_machines_are_reached_through_ssh(lab):
    lab.need(lab.binaries.run)
    ssh = sshd(lab)
    hosts = lab.file("hosts", "# two ranks here\n127.0.0.1:2\n")
    program = mpi_program(lab, "ompi")
    ended = run(lab, PLAIN, "--ssh", ssh, "--hostfile", hosts, "--env", "A=b", "sh", "-c", f"echo $A >&2; exec {program}")
    assert ended.code == 0 and [rank["sum"] for rank in ended.lines()] == [1, 1], ended.err
    assert ended.err.count("b\n") == 2, ended.err
    # One that refuses, one without tributary-run, one with another protocol version.
    ended = run(lab, PLAIN, "--ssh", ssh, "--hostfile", lab.file("closed", "127.0.0.2\n"), "true")
    assert ended.code == 1 and "no node daemon on 127.0.0.2: ssh ended with exit code 255" in ended.err, ended.err
    ended = run(lab, PLAIN, "--ssh", ssh, "--hostfile", hosts, "--remote-program", "/nowhere", "true")
    assert ended.code == 1 and "no node daemon on 127.0.0.1: ssh ended with exit code 127" in ended.err, ended.err
    # Whichever process is killed here, none is left there.
    child = start(lab, PLAIN, "--ssh", ssh, "--hostfile", hosts, "sh", "-c", "sleep 100 & sleep 100")
    wait_until(lambda: len(processes("^sleep 100")) == 4, "ranks run")
    kill(child.pid)
    child.communicate(timeout=60)
    wait_until(lambda: not processes("^sleep 100|daemon --name"), "nothing runs there any more")
    # A daemon that is killed leaves none either, be it alone or with its keeper, the first of the two.
    for end in (lambda _, daemon: kill(daemon), lambda keeper, _: os.killpg(os.getpgid(keeper), signal.SIGTERM)):
        child = start(lab, PLAIN, "--ssh", ssh, "--hostfile", hosts, "--grace", "100ms", "sh", "-c", "sleep 100 & sleep 100")
        wait_until(lambda: len(processes("^sleep 100")) == 4, "ranks run")
        end(*processes(r"^\S*tributary-run daemon --name"))
        out, err = child.communicate(timeout=60)
        assert child.returncode == 1 and "the node daemon of 127.0.0.1 is lost" in err and "ranks 0, 1" in err, err
        wait_until(lambda: not processes("^sleep 100"), "nothing runs there any more")


def slurm(lab):
    """What a user of a Slurm of one node has in the environment."""
    need("sbin/munged", "sbin/slurmctld-wlm", "sbin/slurmd-wlm", "sbin/slurmstepd-wlm", "bin/srun")
    an_address(lab)
    place = lab.place / "slurm"
    for folder in ("", "state", "spool"):
        (place / folder).mkdir(mode=0o700)
    (place / "munge.key").write_bytes(os.urandom(64))
    (place / "munge.key").chmod(0o600)
    node = os.uname().nodename.split(".")[0]
    lab.file("slurm/slurm.conf", f"""
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
AuthInfo=socket={place}/munge.sock
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmUser=root
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.pid
PluginDir={PLUGINS}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
NodeName={node} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES State=UP
""")
    lab.file("slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n")  # it is not used; none exists
    # slurmd looks for slurmstepd only there, and each of them determines its role by its own name.
    (place / "sbin").mkdir()
    for name in ("slurmctld", "slurmd", "slurmstepd"):
        (place / "sbin" / name).symlink_to(PEERS / f"usr/sbin/{name}-wlm")
    lab.sh(f"mount -t overlay overlay -o lowerdir={place}/sbin:/usr/sbin /usr/sbin")
    background(lab, PEERS / "usr/sbin/munged", "--foreground", "--force", f"--key-file={place}/munge.key",
               f"--socket={place}/munge.sock", f"--pid-file={place}/munged.pid", f"--seed-file={place}/munge.seed")  # fmt: skip
    wait_until(lambda: (place / "munge.sock").exists(), "munged listens")
    for daemon in ("slurmctld", "slurmd"):
        background(lab, Path("/usr/sbin") / daemon, "-D", "-c", "-f", place / "slurm.conf")
    environment = {**os.environ, "SLURM_CONF": str(place / "slurm.conf"), "LD_LIBRARY_PATH": LIBRARIES,
                   "PATH": f"{PEERS}/usr/bin:{os.environ['PATH']}"}  # fmt: skip

    def idle():
        command = [PEERS / "usr/bin/sinfo", "-h", "-o", "%t"]
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return shown.stdout.strip() == "idle"

    try:
        wait_until(idle, "the node is idle", 60)
    except TimeoutError:
        for log in sorted(lab.place.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')}")
        raise
    return environment


def test_a_slurm_allocation_is_started_with_srun(lab):
    lab.need(lab.binaries.run)
    environment = slurm(lab)
    program = mpi_program(lab, "ompi")
    (lab.place / "files").mkdir()
    environment["TMPDIR"] = str(lab.place / "files")

    def allocated(*arguments):
        words = ["salloc", "-Q", "-N1", "-n2", lab.binaries.run, PLAIN, "--report", lab.place / "report", *arguments]
        return subprocess.Popen([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

    ended = finish(lab, allocated(program))
    assert ended.code == 0 and [rank["sum"] for rank in ended.lines()] == [1, 1], ended.err
    ended = finish(lab, allocated("sh", "-c", "exit $((PMI_RANK * 3))"))
    assert ended.code == 3 and "rank 1 on" in ended.err, ended.err
    child = allocated("sh", "-c", "sleep 100 & sleep 100")
    wait_until(lambda: len(processes("^sleep 100")) == 4, "ranks run")
    kill(processes(rf"^{lab.binaries.run} {PLAIN}")[0], signal.SIGKILL)
    child.communicate(timeout=60)
    # Not srun itself, which may take half a minute to see that its allocation is gone.
    wait_until(lambda: not processes(rf"^sleep 100|^{lab.binaries.run} daemon"), "nothing runs there any more")
