"""tributary-hostd as a child process, and a client of its socket.

    agent = HostAgent(binaries, place, "h1", interface="eth0")    in the namespace h1; it answers
    agent.ask(request="show")                                     the result, or Refused
    agent.ctl("host", "job", "add", "j1", "--vni", "1024")        as an operator types it
    agent.stop()                                                  SIGTERM; the exit code
"""

import json
import os
import socket
import subprocess
from pathlib import Path

from tributary.daemon import Daemon
from tributary.switch import section_text


class Refused(Exception):
    """The reason and the text of an answer that is no."""

    def __init__(self, answer):
        super().__init__(answer.get("error"))
        self.reason = answer.get("reason")


class HostAgent(Daemon):
    def __init__(self, binaries, place, namespace, services=(), limits=None, prefix=(), **agent):
        """Its files are in `place`. `prefix` is put before the command (setpriv, say); `agent` are keys of [agent]."""
        place = Path(place)
        self.binaries, self.namespace, self.prefix = binaries, namespace, prefix
        self.socket = Path(agent.get("socket", place / f"{namespace}-host.sock"))
        self.record = place / f"{namespace}-host.json"
        self.file = place / f"{namespace}-hostd.toml"
        self.log = place / f"{namespace}-hostd.log"
        keys = {"socket": str(self.socket), "record": str(self.record), "name": namespace, **agent}
        parts = [section_text("[agent]", keys), section_text("[limits]", limits or {})]
        parts += [section_text("[[service]]", each) for each in services]
        self.file.write_text("\n".join(parts), encoding="utf-8")
        self.start()

    @property
    def environment(self):
        """For programs of this node."""
        return {**os.environ, "TRIBUTARY_HOST_AGENT": str(self.socket)}

    def start(self):
        enter = ["ip", "netns", "exec", self.namespace, *self.prefix]
        self.run([*enter, str(self.binaries.hostd), "--config", str(self.file)], "the host agent answers")

    def _answers(self):
        try:
            return self.ask(request="show") is not None
        except OSError:
            return False

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
            asked.settimeout(30)
            asked.connect(str(self.socket))
            asked.sendall(json.dumps(request).encode() + b"\n")
            with asked.makefile("r", encoding="utf-8") as lines:
                answer = json.loads(lines.readline())
        if not answer["ok"]:
            raise Refused(answer)
        return answer["result"]

    def ctl(self, *arguments):
        """(exit code, standard output, standard error) of tributaryctl."""
        done = subprocess.run(
            [str(self.binaries.ctl), *map(str, arguments)], env=self.environment, capture_output=True,
            text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
        )
        return done.returncode, done.stdout, done.stderr

    def guard(self):
        """Frames by counter."""
        return {name: count["packets"] for name, count in self.ask(request="show")["guard"].items()}
