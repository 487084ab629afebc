"""A Slurm of several nodes on a fabric, from Debian's packages, set up by typing docs/operate/compute-nodes.md and
slurm.md. Every machine has its own /etc, /var, /tmp, /run/tributary and name; nodes have their own network, too: eth0 for
Slurm, eth1, with a vendor's MAC address, for the fabric.

    slurm = SlurmCluster(lab, nodes=3)
    slurm.run("alice", "srun", "-N3", "env")       (exit code, standard output, standard error)
    slurm.start("alice", "srun", ...)              the same in the background
    slurm.nodes[0].jobs()                          what its host agent has: {job: {...}}
    slurm.controller.type("/usr/libexec/tributary/tributary-slurm sweep")
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from test_fabric_manager import Fabric
from test_host_agent import AS_THE_UNIT, need as need_agent
from test_launch_nodes import LIBRARIES_OF_PEERS, PEERS, background, need
from tributary.network import wait_until

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "docs"))

import pages  # noqa: E402

USERS = {"alice": 1000, "bob": 2000}
ACCOUNTS = {"slurm": 499, "tributary": 990, **USERS}
SERVER = "10.2.0.254"  # of the controller and the fabric manager
SLURM_CONF = """
ClusterName=test
SlurmctldHost=controller({server})
AuthInfo=cred_expire=15
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmUser=slurm
StateSaveLocation=/var/spool/slurm/state
SlurmdSpoolDir=/var/spool/slurm/d
SlurmctldPidFile=/var/spool/slurm/slurmctld.pid
SlurmdPidFile=/var/spool/slurm/slurmd.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""
# Slurm waits until a job's processes are gone. Those whose parent has ended are gone when the first process of the machine has
# waited for them, and the first process of a test's world does not.
AS_FIRST_PROCESS = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
child = subprocess.Popen(sys.argv[1:])
while os.wait()[0] != child.pid:
    pass
"""
# What the packages' own scripts do, and how systemd starts the unit.
STAND_INS = {
    "apt": """
mkdir -p /etc/tributary
[ -e /etc/tributary/hostd.toml ] || tributary-hostd --print-config >/etc/tributary/hostd.toml
chown root:tributary /run/tributary && chmod 1775 /run/tributary
""",
    "systemctl": f"""
if [ "$*" = "stop tributary-hostd" ]; then
  kill "$(cat /run/tributary/hostd.pid)"
  while tributaryctl host show >/dev/null 2>&1; do sleep 0.1; done
  exit 0
fi
[ "$*" = "enable --now tributary-hostd" ] || exit 1
start=$(sed -n 's|^ExecStart=@bindir@|/usr/bin|p' /run/lab/tributary-hostd.service)
setsid {" ".join(AS_THE_UNIT)} $start >>/run/lab/hostd-$(uname -n).log 2>&1 </dev/null &
echo $! >/run/tributary/hostd.pid
n=0
until tributaryctl host show >/dev/null 2>&1; do n=$((n + 1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done
""",
    "logger": 'echo "$(uname -n): $*" >>/run/lab/system.log',
}


def blocks(page, heading):
    """The commands and files of a page below one of its headings, up to the next heading."""
    read = pages.Page(ROOT / "docs" / "operate" / page)
    headings = [(number, line.lstrip("#").strip()) for number, line in read.prose if pages.HEADING.match(line)]
    after = {title: following for (_, title), following in zip(headings, [*headings[1:], (1 << 30, "")], strict=True)}
    (first,) = (number for number, title in headings if title == heading)
    found = [block for block in read.blocks if first < block.line < after[heading][0]]
    assert found, f"{page} has no blocks below '{heading}'"
    return found


class Machine:
    def __init__(self, lab, name, namespace=None):
        self.lab, self.name = lab, name
        self.place = lab.place / "machines" / name
        mounts = []
        for folder in ("etc", "var"):
            for part in ("upper", "work"):
                (self.place / folder / part).mkdir(parents=True)
            lower = f"{lab.place}/common/{folder}:/{folder}"
            at = f"{self.place}/{folder}"
            mounts.append(f"mount -t overlay overlay -o lowerdir={lower},upperdir={at}/upper,workdir={at}/work /{folder}")
        enter = ["ip", "netns", "exec", namespace] if namespace else []
        script = f"""set -e
mount --make-rprivate /
{mounts[0]}
{mounts[1]}
for folder in /run/tributary /run/tributary-slurm; do
  mkdir -p $folder && mount -t tmpfs -o mode=755 tmpfs $folder
done
for folder in /tmp /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
hostname {name}
echo ready
exec sleep infinity"""
        self.child = subprocess.Popen([*enter, "unshare", "--mount", "--uts", "sh", "-c", script],
                                      stdout=subprocess.PIPE, text=True)  # fmt: skip
        assert self.child.stdout.readline() == "ready\n", f"machine {name} has not come up"

    @property
    def etc(self):
        """Its /etc, as the others see it: what was written there."""
        return self.place / "etc" / "upper"

    def command(self, *words, user=None, folder=None):
        enter = ["nsenter", f"--target={self.child.pid}", "--mount", "--uts", "--net"]
        home = str(self.lab.place / "home" / user) if user else "/root"
        environment = [f"HOME={home}", f"USER={user or 'root'}", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
        become = ["setpriv", "--reuid", str(ACCOUNTS[user]), "--regid", str(ACCOUNTS[user]), "--clear-groups",
                  "--inh-caps=-all"] if user else []  # fmt: skip
        where = folder or (home if user else self.lab.place)
        return [*enter, "env", "-i", f"--chdir={where}", *environment, *become, *(str(word) for word in words)]

    def start(self, *words, **how):
        return subprocess.Popen(self.command(*words, **how), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)  # fmt: skip

    def run(self, *words, **how):
        return finish(self.start(*words, **how))

    def type(self, text, **how):
        """Commands, as an administrator types them; their output. All have to succeed."""
        code, out, err = self.run("bash", "-euc", text, **how)
        assert code == 0, f"on {self.name}: {text}\nended with {code}:\n{out}{err}"
        return out

    def type_blocks(self, page, heading, **how):
        return [self.type(block.text, **how) for block in blocks(page, heading) if block.language == "sh"]

    def daemon(self, *words, reaping=False):
        first = ("python3", "-c", AS_FIRST_PROCESS) if reaping else ()
        background(self.lab, *self.command(*first, *words), log=f"{Path(str(words[0])).name}-{self.name}")

    # Of a node

    def agent(self):
        return json.loads(self.type("tributaryctl host show --json"))

    def jobs(self):
        return {job["job"]: job for job in self.agent()["jobs"]}

    def guard(self):
        return {name: count["packets"] for name, count in self.agent()["guard"].items()}


def finish(child, seconds=120):
    out, err = child.communicate(timeout=seconds)
    print(f"$ {' '.join(child.args[-6:])}\n{out}{err}")
    return child.returncode, out, err


class SlurmCluster:
    def __init__(self, lab, nodes=3):
        need("sbin/munged", "sbin/slurmctld-wlm", "sbin/slurmd-wlm", "sbin/slurmstepd-wlm", "bin/srun")
        need_agent(lab)
        self.lab = lab
        self._install()
        certificates = self._certificates([f"h{n}" for n in range(nodes)])
        manager = Machine(lab, "manager")
        manager.type("mkdir -p /etc/tributary")
        manager.type_blocks("slurm.md", "On the fabric manager's machine", folder=certificates)
        shutil.copy(manager.etc / "tributary" / "administrator.token", certificates)
        (file,) = (block for block in blocks("slurm.md", "On the fabric manager's machine") if block.language == "toml")
        rest = tomllib.loads(file.text.replace("/etc/tributary/", f"{manager.etc}/tributary/"))["rest"]
        rest["listen"][0] = f"unix:{lab.place}/fabricd.sock"
        # Ports admit the VNIs of jobs on their nodes alone.
        self.fabric = Fabric(lab, rest=rest)
        self.manager = self.fabric.manager
        self.administrator = (certificates / "administrator.token").read_text().strip()
        self._network(nodes)
        self.controller = Machine(lab, "controller")
        self.nodes = [Machine(lab, f"h{n}", f"h{n}") for n in range(nodes)]
        for node in self.nodes:
            for heading in ("Install", "Start the host agent"):
                node.type_blocks("compute-nodes.md", heading, folder=certificates)
        wait_until(lambda: {host["name"] for host in self.manager.list("hosts")} >= {node.name for node in self.nodes},
                   "the manager knows the nodes")  # fmt: skip
        self._slurm(certificates)

    def _install(self):
        """Slurm and Tributary in /usr, and what all machines have in /etc and /var."""
        lab = self.lab
        usr, etc, var = (lab.place / "common" / name for name in ("usr", "etc", "var"))
        for folder in (usr / "bin", usr / "sbin", usr / "libexec/tributary", etc / "slurm", etc / "cron.d",
                       var / "spool/slurm/d", var / "spool/slurm/state"):  # fmt: skip
            folder.mkdir(parents=True)
        for program in (lab.binaries.hostd, lab.binaries.ctl, lab.binaries.host):
            lab.need(program)
            shutil.copy(program, usr / "bin")
        self._install_for_mpi(usr / LIBRARIES_OF_PEERS.relative_to(PEERS / "usr"))
        shutil.copy(ROOT / "endpoint/launcher/slurm/tributary-slurm", usr / "libexec/tributary")
        shutil.copy(ROOT / "packaging/tributary-hostd.service.in", lab.place / "tributary-hostd.service")
        for name, lines in STAND_INS.items():
            (usr / "bin" / name).write_text(f"#!/bin/sh\n{lines.strip()}\n", encoding="utf-8")
            (usr / "bin" / name).chmod(0o755)
        for name in ("slurmctld", "slurmd", "slurmstepd"):
            (usr / "sbin" / name).symlink_to(f"{name}-wlm")
        users = Path("/etc/passwd").read_text(encoding="utf-8")
        groups = Path("/etc/group").read_text(encoding="utf-8")
        for name, number in ACCOUNTS.items():
            home = lab.place / "home" / name
            home.mkdir(parents=True)
            os.chown(home, number, number)
            users += f"{name}:x:{number}:{number}::{home}:/bin/sh\n"
            groups += f"{name}:x:{number}:\n"
        (etc / "passwd").write_text(users, encoding="utf-8")
        (etc / "group").write_text(groups, encoding="utf-8")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n{SERVER} controller manager.example\n", encoding="utf-8")
        (etc / "slurm/cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n", encoding="utf-8")  # not used
        os.chown(var / "spool/slurm", ACCOUNTS["slurm"], ACCOUNTS["slurm"])
        os.chown(var / "spool/slurm/state", ACCOUNTS["slurm"], ACCOUNTS["slurm"])
        log = lab.file("system.log", "")
        log.chmod(0o666)
        for folder in ("tributary", "munge"):
            Path("/run", folder).mkdir(mode=0o755, exist_ok=True)
        lab.sh(f"mount -t overlay overlay -o lowerdir={usr}:{PEERS}/usr:/usr /usr")

    def _install_for_mpi(self, folder):
        """The libraries that MPI programs preload, with those of the build that they need."""
        folder.mkdir(parents=True)
        for library in (self.lab.build / "endpoint" / "mpi").glob("libtributary_mpi_*.so"):
            shutil.copy(library, folder)
            for needed in re.findall(r"=> (/\S+)", self.lab.sh(f"ldd {library}")):
                if Path(needed).is_relative_to(self.lab.build):
                    shutil.copy(needed, folder / Path(needed).name)

    def _certificates(self, names):
        folder = self.lab.place / "certificates"
        folder.mkdir()
        (of_fabric, *_) = (block for block in blocks("fabric-manager.md", "Three machines") if block.language == "sh")
        (of_nodes,) = (block for block in blocks("fabric-manager.md", "Compute nodes") if block.language == "sh")
        more = "\n".join(f"ca=nodes-ca sign {name} DNS:{name}" for name in names)
        self.lab.file("sign.sh", f"set -eu\ncd {folder}\n{of_fabric.text}\n{of_nodes.text}\n{more}\n")
        self.lab.sh(f"bash {self.lab.place}/sign.sh 2>&1")
        return folder

    def _network(self, nodes):
        lab = self.lab
        lab.sh(f"ip link add name office type bridge; ip link set office up; ip address add {SERVER}/24 dev office")
        for n in range(nodes):
            # A vendor's address, of which the low 20 bits are the NID.
            lab.sh(f"ip -n h{n} link set eth0 down; ip -n h{n} link set eth0 name eth1 address 3c:ec:ef:1{n}:a0:0{n + 1};"
                   f" ip -n h{n} link set eth1 up")  # fmt: skip
            lab.network.cable(f"h{n}", "eth0", None, f"office{n}")
            lab.sh(f"ip link set office{n} master office; ip -n h{n} address add 10.2.0.{n + 1}/24 dev eth0")

    def _slurm(self, certificates):
        listed = [f"NodeName={node.name} NodeAddr=10.2.0.{n + 1} CPUs=4 State=UNKNOWN" for n, node in enumerate(self.nodes)]
        text = SLURM_CONF.format(server=SERVER, nodes="\n".join(listed))
        for machine in (self.controller, *self.nodes):
            heading = "On the controller" if machine is self.controller else "On each node"
            machine.type("mkdir -p /etc/tributary")
            machine.type_blocks("slurm.md", heading, folder=certificates)
            machine.type(f"cat > /etc/slurm/slurm.conf <<'END'\n{text}END")
            machine.type_blocks("slurm.md", "In Slurm's configuration, on all of them")
        key = self.lab.place / "munge.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o600)
        background(self.lab, "/usr/sbin/munged", "--foreground", "--force", f"--key-file={key}",
                   f"--pid-file={self.lab.place}/munged.pid", f"--seed-file={self.lab.place}/munge.seed")  # fmt: skip
        wait_until(lambda: list(Path("/run/munge").glob("*socket*")), "munged listens")
        self.start_controller()
        for node in self.nodes:
            node.daemon("slurmd", "-D", "-c", reaping=True)
        try:
            self.wait_until_idle()
        except TimeoutError:
            self.print_logs()
            raise

    def start_controller(self):
        self.controller.daemon("slurmctld", "-D")

    def wait_until_idle(self):
        idle = ["idle"] * len(self.nodes)
        wait_until(lambda: self.words("sinfo", "--noheader", "--Node", "--format=%T") == idle, "all nodes are idle", 60)

    def start(self, user, *words):
        return self.controller.start(*words, user=user)

    def run(self, user, *words):
        return finish(self.start(user, *words))

    def words(self, *command):
        """What a command of Slurm prints, for waiting."""
        return self.start("alice", *command).communicate(timeout=60)[0].split()

    def batch(self, user, script, *options):
        """The number of a job that runs this text on each of its nodes."""
        file = self.lab.file(f"{user}.sh", f"#!/bin/sh\n{script}\n")
        code, out, err = self.run(user, "sbatch", "--parsable", "--output=%j.out", *options, file)
        assert code == 0, err
        return int(out)

    def printed(self, user, job):
        file = self.lab.place / "home" / user / f"{job}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def jobs(self):
        """Those of the fabric manager that are Slurm's, by name."""
        return {job["job"]: job for job in self.manager.list("jobs") if job["job"].startswith("slurm-")}

    def permissions(self):
        return sum(one["permissions"] for one in self.fabric.switch.ctl("show", "manager"))

    def wait_until_nothing_is_left(self):
        self.wait_until_idle()
        wait_until(lambda: not self.jobs(), "the manager has no job of Slurm")
        wait_until(lambda: not any(node.jobs() for node in self.nodes), "no host agent has a job")
        wait_until(lambda: self.permissions() == 0, "the switches' ports are as before")

    def system_log(self):
        return (self.lab.place / "system.log").read_text(errors="replace")

    def print_logs(self):
        for log in sorted(self.lab.place.glob("*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-6000:]}")
