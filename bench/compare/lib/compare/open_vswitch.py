"""Open vSwitch with its DPDK data path as a contender, in directories of its own.

One bridge in user space; the first port replays a capture, all others discard received frames. Its
daemons use only the sockets and the database in the given folder, and end with it. The bridge makes
a tap interface, so this must run in a network namespace of its own.
"""

import re
import subprocess
from contextlib import contextmanager

from compare import places, processes
from compare.interleave import Contender
from tributary.network import wait_until

BRIDGE = "br0"
TOOLS = {
    "ovs-vswitchd-dpdk": "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk",
    "ovsdb-server": "usr/sbin/ovsdb-server",
    "ovsdb-tool": "usr/bin/ovsdb-tool",
    "ovs-vsctl": "usr/bin/ovs-vsctl",
    "ovs-ofctl": "usr/bin/ovs-ofctl",
}
SCHEMA = "usr/share/openvswitch/vswitch.ovsschema"


def tools():
    """The paths of its programs; raises Missing."""
    return {name: places.peer(name, path) for name, path in TOOLS.items()}


def version():
    output = subprocess.run([tools()["ovs-vswitchd-dpdk"], "--version"],
                          capture_output=True, text=True, check=True).stdout
    return " ".join(line.split(")", 1)[-1].strip() for line in output.splitlines()[:2])


class OpenVSwitch(Contender):
    def __init__(self, programs, folder, pid, name):
        self.programs, self.folder, self.pid, self.name = programs, folder, pid, name

    def frames(self):
        ports = self.openflow("dump-ports")
        return sum(map(int, re.findall(r"tx pkts=(\d+)", ports)))

    def replicate(self, copies, group):
        """From port 1 to the `copies` ports behind it: through a group of type all, or a list."""
        outputs = range(2, 2 + copies)
        self.openflow("del-flows")
        self.openflow("del-groups", version="OpenFlow13")
        if group:
            buckets = ",".join(f"bucket=actions=output:{port}" for port in outputs)
            self.openflow("add-group", f"group_id=1,type=all,{buckets}", version="OpenFlow13")
        actions = "group:1" if group else ",".join(f"output:{port}" for port in outputs)
        self.openflow("add-flow", f"in_port=1,actions={actions}", version="OpenFlow13")

    def openflow(self, command, *arguments, version="OpenFlow10"):
        return run(self.programs["ovs-ofctl"], "-O", version, command,
                   f"unix:{self.folder}/{BRIDGE}.mgmt", *arguments)


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def open_vswitch(folder, source, sinks, setting, descriptors=2048, name="ovs-dpdk"):
    """Running and stopped. `source`: device arguments of port 1; `sinks`: of ports 2, 3, ..."""
    programs = tools()
    schema = places.UNPACKED / SCHEMA
    schema = schema if schema.exists() else f"/{SCHEMA}"
    run(programs["ovsdb-tool"], "create", folder / "conf.db", schema)
    database = f"unix:{folder}/db.sock"
    surroundings = {"OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder), "OVS_DBDIR": str(folder),
                    "OVS_SYSCONFDIR": str(folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    log = folder / "ovs.log"

    def configure(*words):
        return run(programs["ovs-vsctl"], f"--db={database}", "--timeout=30", *words)

    def ready():
        if child.poll() is not None:
            raise RuntimeError(f"ovs-vswitchd ended:\n{log.read_text()}")
        return "true" in configure("get", "Open_vSwitch", ".", "dpdk_initialized")

    with log.open("w") as out, processes.running(
        [programs["ovsdb-server"], folder / "conf.db", f"--remote=p{database}",
         f"--unixctl={folder}/db.ctl"], stdout=out, stderr=out, env=surroundings,
    ):
        wait_until((folder / "db.sock").exists, "ovsdb-server opens its socket")
        memory = "--in-memory" if setting.huge else "--no-huge -m 1024"
        configure(
            "--no-wait", "init", "--", "set", "Open_vSwitch", ".",
            "other_config:dpdk-init=true",
            f'other_config:dpdk-extra="--no-pci --no-telemetry {memory}"',
            f"other_config:pmd-cpu-mask={1 << setting.core:#x}",
            f"other_config:dpdk-lcore-mask={1 << setting.control_core:#x}",
            "other_config:per-port-memory=true",
        )
        with processes.running(
            processes.preferred([programs["ovs-vswitchd-dpdk"], database,
                                 f"--unixctl={folder}/vswitchd.ctl"]),
            stdout=out, stderr=out, env=surroundings,
        ) as child:
            wait_until(ready, "ovs-vswitchd starts DPDK")
            words = ["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev",
                     "fail_mode=secure"]
            for number, device in enumerate([source, *sinks], 1):
                words += ["--", "add-port", BRIDGE, f"port{number}", "--", "set", "Interface",
                          f"port{number}", "type=dpdk", f"options:dpdk-devargs={device}",
                          f"options:n_rxq_desc={descriptors}", f"options:n_txq_desc={descriptors}",
                          f"ofport_request={number}"]
            configure(*words)
            problems = configure("--columns=name,error", "--format=csv", "--no-headings", "find",
                                 "Interface", "error!=[]").strip()
            if problems:
                raise RuntimeError(f"ovs-vswitchd cannot open a port: {problems}")
            contender = OpenVSwitch(programs, folder, child.pid, name)
            contender.stop()
            try:
                yield contender
            finally:
                contender.go_on()
