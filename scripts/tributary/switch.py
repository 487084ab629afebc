"""tributary-switch as a child process: writes its configuration, starts, queries and stops it.

    config = Config(control_socket="/run/a.sock")
    leaf = config.switch("leaf0")
    leaf.port("host0", interface="host0", nid=1, vnis=[0x400])
    leaf.tree(1, wait_count=4, parent="up", children=["host0", ...])
    switch = Switch(build, config)                     running and ready
    switch.ctl("show", "ports")                        the answer of tributaryctl --json
    switch.stop()                                      SIGTERM; the exit code
"""

import contextlib
import json
import signal
import socket
import subprocess
from pathlib import Path

from tributary.daemon import Daemon

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2


def _toml(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)  # strings, numbers and booleans look the same


def section_text(header, values):
    """A table of a configuration file; values that are None are left out."""
    lines = [header, *(f"{key} = {_toml(value)}" for key, value in values.items() if value is not None)]
    return "\n".join(lines) + "\n"


class SwitchSection:
    """One [[switch]] with its ports, trees and routes, in the order in which they were added."""

    def __init__(self, name, **settings):
        self.head = {"name": name, **settings}
        self.ports, self.trees, self.routes, self.impairments = {}, {}, {}, {}
        self.classes = {}

    def port(self, name, impairment=None, **settings):
        self.ports[name] = settings
        if impairment:
            self.impairments[name] = impairment

    def traffic_class(self, number, **settings):
        self.classes[number] = settings

    def tree(self, number, wait_count, parent, children):
        self.trees[number] = {"wait_count": wait_count, "parent": parent, "children": children}

    def route(self, nid, port):
        self.routes[nid] = port

    def text(self):
        parts = [section_text("[[switch]]", self.head)]
        for number, settings in self.classes.items():
            parts.append(section_text("[[switch.class]]", {"class": number, **settings}))
        for name, settings in self.ports.items():
            parts.append(section_text("[[switch.port]]", {"name": name, **settings}))
            if name in self.impairments:
                parts.append(section_text("[switch.port.impairment]", self.impairments[name]))
        for number, settings in self.trees.items():
            parts.append(section_text("[[switch.tree]]", {"tree": number, **settings}))
        for nid, port in self.routes.items():
            parts.append(section_text("[[switch.route]]", {"nid": nid, "port": port}))
        return "\n".join(parts)


class Config:
    def __init__(self, control_socket, manager=None, **process):
        """`manager`: the address to which the process's switches connect, or the keys of [manager],
        or None."""
        self.process = {"control_socket": str(control_socket), **process}
        self.manager = manager
        self.switches = []

    def switch(self, name, **settings):
        self.switches.append(SwitchSection(name, **settings))
        return self.switches[-1]

    def text(self):
        head = [section_text("[process]", self.process)]
        if self.manager:
            keys = self.manager if isinstance(self.manager, dict) else {"address": self.manager}
            head.append(section_text("[manager]", keys))
        return "\n".join([*head, *(s.text() for s in self.switches)])

    def write(self, path):
        Path(path).write_text(self.text(), encoding="utf-8")


class QuickConfig(Config):
    """For what is started often and carries little. A port on AF_XDP takes 2,048 buffers; half of a
    switch's start with the default, 4,096, is to touch them."""

    def __init__(self, control_socket, manager=None, **process):
        super().__init__(control_socket, manager, **{"buffers_per_port": 2304, **process})


class TextConfig:
    """An existing configuration file; only its control socket has to be known."""

    def __init__(self, text, control_socket):
        self._text = text
        self.process = {"control_socket": str(control_socket)}

    def write(self, path):
        Path(path).write_text(self._text, encoding="utf-8")


class Binaries:
    """The paths of programs in a build directory, or under an installation prefix such as /usr."""

    def __init__(self, build):
        build = Path(build)
        installed = build / "bin" if (build / "bin" / "tributary-switch").exists() else None
        self.switch = (installed or build / "dataplane") / "tributary-switch"
        self.ctl = (installed or build / "tools" / "tributaryctl") / "tributaryctl"
        self.host = (installed or build / "tools" / "host") / "tributary-host"
        self.fabricd = (installed or build / "controlplane" / "process") / "tributary-fabricd"
        self.hostd = (installed or build / "endpoint" / "hostd") / "tributary-hostd"
        self.pktgen = (installed or build / "pktgen") / "tributary-pktgen"
        self.run = (installed or build / "endpoint" / "launcher") / "tributary-run"
        self.library = build / "endpoint" / "library" / "libtributary.so.0"
        self.pmix_rank = build / "tests" / "launch" / "pmix-rank"
        self.group_rank = build / "tests" / "launch" / "group-rank"
        self.event_rank = build / "tests" / "launch" / "event-rank"


class Switch(Daemon):
    def __init__(self, binaries, config, place, name="switch", namespace=None, prefix=()):
        """Starts a switch and waits until its control socket answers.

        `place` is a directory for its files; `prefix` is put before the command (setpriv, say).
        """
        self.binaries = binaries
        self.config = config
        self.file = Path(place) / f"{name}.toml"
        self.log = Path(place) / f"{name}.log"
        self.config.write(self.file)
        self.socket = config.process["control_socket"]
        Path(self.socket).parent.mkdir(parents=True, exist_ok=True)
        enter = ["ip", "netns", "exec", namespace] if namespace else []
        command = [*enter, *prefix, str(binaries.switch), "--config", str(self.file)]
        self.run(command, f"{name} opens its control socket", log_mode="wb")

    def _answers(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if probe.connect_ex(self.socket):
                return False
            # The kernel accepts a connection before the switch does. The switch closes an empty
            # request, which proves that its loop runs: clang 14's thread sanitizer loses a signal
            # that arrives while a thread is about to block for the first time.
            probe.shutdown(socket.SHUT_WR)
            probe.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                return probe.recv(1) == b""
            return True

    def ctl_raw(self, *arguments):
        """Runs tributaryctl: (exit code, standard output, standard error)."""
        done = subprocess.run(
            [str(self.binaries.ctl), "--socket", self.socket, *arguments],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout, done.stderr

    def ctl(self, *arguments):
        code, out, err = self.ctl_raw(*arguments, "--json")
        if code:
            raise RuntimeError(f"tributaryctl {' '.join(arguments)}: exit code {code}\n{out}{err}")
        return json.loads(out)

    def reload(self):
        self.config.write(self.file)
        self.child.send_signal(signal.SIGHUP)
