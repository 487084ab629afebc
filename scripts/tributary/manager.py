"""tributary-fabricd as a child process, and its HTTP API through the Unix socket.

    manager = Manager(binaries, place)                   running and ready to be asked
    manager.switches_address                             for [manager] address of switches
    manager.url                                          for hosts and tributaryctl
    status, body = manager.get("/api/v1/groups")
    manager.stop()                                       SIGTERM; the exit code
"""

import contextlib
import http.client
import json
import socket
import subprocess
from pathlib import Path

from tributary.daemon import Daemon, StartFailed
from tributary.switch import section_text


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Manager(Daemon):
    def __init__(self, binaries, place, name="fabricd", **sections):
        """Starts a manager and waits until it answers. `sections` add to its configuration, by table."""
        place = Path(place)
        self.binaries = binaries
        self.socket = place / f"{name}.sock"
        self.url = f"unix:{self.socket}"
        self.switches_address = f"unix:{place}/{name}-switches.sock"
        self.database = place / f"{name}.db"
        self.file = place / f"{name}.toml"
        self.log = place / f"{name}.log"
        tables = {
            "rest": {"listen": [self.url]},
            "switches": {"listen": [self.switches_address]},
            "store": {"file": str(self.database)},
        }
        for table, values in sections.items():
            tables.setdefault(table, {}).update(values)
        self.file.write_text(
            "\n".join(section_text(f"[{table}]", values) for table, values in tables.items()), encoding="utf-8"
        )
        self.start()

    def start(self):
        self.run([str(self.binaries.fabricd), "--config", str(self.file)], "the manager answers")

    def _answers(self):
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False

    def request(self, method, path, body=None, token=None):
        """(status, the answer's JSON)."""
        connection = _UnixConnection(self.socket)
        try:
            headers = {"Accept": "application/json"}
            if body is not None:
                headers["Content-Type"] = "application/json"
                body = json.dumps(body)
            if token:
                headers["Authorization"] = f"Bearer {token}"
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            is_json = "json" in (answer.getheader("Content-Type") or "")
            return answer.status, json.loads(text) if is_json and text else text.decode()
        finally:
            connection.close()

    def connection(self):
        """An http.client.HTTPConnection, for a `with` block."""
        return contextlib.closing(_UnixConnection(self.socket))

    def get(self, path, token=None):
        return self.request("GET", path, None, token)

    def create_job(self, job, limit=None):
        """The job's token."""
        return self.create_whole_job(job, **({"mcastLimit": limit} if limit else {}))["sessionToken"]

    def create_whole_job(self, job, **fields):
        """All that the manager says of it."""
        status, answer = self.request("POST", "/fabric/collectives/jobs", {"jobID": job, **fields})
        if status != 201:
            raise StartFailed(f"job {job}: {status} {answer}")
        return answer

    def list(self, what):
        """All entries of the list GET /api/v1/<what>."""
        listed, path = [], f"/api/v1/{what}"
        while path:
            answer = self.get(path)[1]
            listed += answer[what]
            path = f"/api/v1/{what}?after={answer['next']}" if "next" in answer else None
        return listed

    def ctl(self, *arguments):
        """tributaryctl fabric ... --json."""
        return json.loads(self.ctl_text(*arguments, "--json"))

    def ctl_text(self, *arguments):
        """The same for people."""
        done = subprocess.run(
            [str(self.binaries.ctl), "fabric", *arguments, "--manager", self.url],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise RuntimeError(f"tributaryctl fabric {' '.join(arguments)}: exit code {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return done.stdout
