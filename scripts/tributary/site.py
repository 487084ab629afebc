"""Several tributary-fabricd that share an etcd of several members, as child processes of one machine.

    cluster = Cluster(place)                     three members of etcd, with a leader
    site = Site(binaries, place, cluster)        managers "a", which leads, and "b", which stands by
    site.get("/api/v1/groups")                   of the one that leads
    site.signal("a", SIGKILL)
    site.wait_for("b")                           until it leads and answers
    site.stop()

Each member is reached at 127.0.0.1, and manager N, from 0, reaches it at 127.0.0.(N + 2), so that it can
be cut off alone."""

import base64
import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM

from tributary.daemon import StartFailed
from tributary.manager import Manager, _UnixConnection
from tributary.network import shell, wait_until
from tributary.switch import section_text

UNPACKED = Path(__file__).resolve().parents[2] / "build-peers"
PREFIX = "/tributary/fabric"
MOST_MANAGERS = 4
FIRST_PEER_PORT = 17582


def etcd_binary():
    """None where it is not installed."""
    for place in (shutil.which("etcd"), UNPACKED / "usr/bin/etcd"):
        if place and Path(place).exists():
            return str(place)
    return None


class Cluster:
    """`tls`: the files "ca", "certificate" and "key", by these names: of the members, and of their clients, who
    must show one. `token` is that of the user who asks, once etcd has users."""

    def __init__(self, place, members=3, quota=None, tls=None):
        self.place, self.binary, self.quota = Path(place), etcd_binary(), quota
        self.children = [None] * members
        self.tls, self.context, self.token = tls, None, None
        if tls:
            self.context = ssl.create_default_context(cafile=tls["ca"])
            self.context.load_cert_chain(tls["certificate"], tls["key"])
        try:
            for number in range(members):
                self.start(number)
            wait_until(self.has_leader, "etcd has a leader", 60)
        except BaseException:
            self.stop()
            raise

    def port(self, number):
        return 12379 + 10 * number

    def urls(self, host="127.0.0.1"):
        return [f"{self.scheme()}://{host}:{self.port(n)}" for n in range(len(self.children))]

    def scheme(self):
        return "https" if self.tls else "http"

    def start(self, number):
        peers = [f"http://127.0.0.1:{self.port(n) + 1}" for n in range(len(self.children))]
        clients = ",".join(f"{self.scheme()}://127.0.0.{n}:{self.port(number)}" for n in range(1, 2 + MOST_MANAGERS))
        place = self.place / f"etcd{number}"
        place.mkdir(mode=0o700, exist_ok=True)
        with (self.place / f"etcd{number}.log").open("ab") as log:
            self.children[number] = subprocess.Popen(
                [self.binary, "--name", f"m{number}", "--data-dir", str(place),
                 "--listen-client-urls", clients, "--advertise-client-urls", clients,
                 "--listen-peer-urls", peers[number], "--initial-advertise-peer-urls", peers[number],
                 "--initial-cluster", ",".join(f"m{n}={peer}" for n, peer in enumerate(peers)),
                 "--heartbeat-interval", "100", "--election-timeout", "1000",
                 *(["--quota-backend-bytes", str(self.quota)] if self.quota else []),
                 *(["--client-cert-auth", "--trusted-ca-file", str(self.tls["ca"]), "--cert-file",
                    str(self.tls["certificate"]), "--key-file", str(self.tls["key"])] if self.tls else [])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, "ETCD_UNSUPPORTED_ARCH": os.uname().machine.replace("aarch64", "arm64")},
            )  # fmt: skip

    def kill(self, number):
        self.children[number].kill()
        self.children[number].wait()
        self.children[number] = None

    def signal(self, what):
        """All members."""
        for child in filter(None, self.children):
            child.send_signal(what)

    def call(self, path, body, number=None):
        url = self.urls()[next(n for n, c in enumerate(self.children) if c) if number is None else number]
        request = urllib.request.Request(f"{url}/v3/{path}", json.dumps(body).encode(), method="POST")
        if self.token:
            request.add_header("Authorization", self.token)
        with urllib.request.urlopen(request, timeout=10, context=self.context) as answer:
            return json.loads(answer.read())

    def has_leader(self):
        try:
            return "header" in self.call("kv/range", {"key": text(PREFIX)})
        except OSError:
            return False

    def get(self, key):
        found = self.call("kv/range", {"key": text(f"{PREFIX}/{key}")}).get("kvs")
        return base64.b64decode(found[0]["value"]).decode() if found else None

    def stop(self):
        for child in filter(None, self.children):
            child.kill()
            child.wait()


def text(key):
    return base64.b64encode(key.encode()).decode()


class Site(Manager):
    """As many managers as names, each with its sockets; asked as one."""

    def __init__(self, binaries, place, cluster, names=("a", "b"), **sections):
        self.binaries, self.cluster = binaries, cluster
        self.place = Path(place)
        self.socket = self.place / "fabricd.sock"
        self.names, self.children = names, {}
        self.url = self.addresses()
        self.switches_address = self.switches_of(names[0])
        self.file = self.file_of(names[0])
        for number, name in enumerate(names):
            tables = {
                "manager": {"name": name},
                "rest": {"listen": [self.address_of(name)], "advertise": [self.address_of(name)]},
                "switches": {"listen": [self.switches_of(name)], "advertise": [self.switches_of(name)]},
                "store": {
                    "etcd": cluster.urls(f"127.0.0.{number + 2}"), "lease_ms": 2000,
                    "peer": f"127.0.0.1:{FIRST_PEER_PORT + number}",
                },
            }
            for table, values in sections.items():
                tables.setdefault(table, {}).update(values)
            self.file_of(name).write_text(
                "\n".join(section_text(f"[{table}]", values) for table, values in tables.items()), encoding="utf-8"
            )
        try:
            self._begin_all()
        except BaseException:
            self.kill()
            raise

    def _begin_all(self):
        first, *others = self.names
        self.begin(first)
        wait_until(self.survives(lambda: self.leader() == first), "the first manager leads", 60)
        for name in others:
            self.begin(name)
            wait_until(lambda name=name: f"standby: manager {first} leads" in self.log_of(name), "it follows", 60)
        self.wait_for_answers()

    def create_whole_job(self, job, **fields):
        """Asks again while it is not known who leads."""
        answers = []

        def answered():
            self.follow()
            answers.append(self.request("POST", "/fabric/collectives/jobs", {"jobID": job, **fields}))
            return answers[-1][0] not in (421, 503)

        wait_until(self.survives(answered), f"job {job} is created", 60)
        status, answer = answers[-1]
        if status != 201:
            raise StartFailed(f"job {job}: {status} {answer}")
        return answer

    @staticmethod
    def survives(ask):
        """The same, but false while no manager can be reached."""

        def asked():
            try:
                return ask()
            except (OSError, HTTPException):
                return False

        return asked

    def trees(self):
        """The numbers of their trees, by group, of groups that are ready."""
        found = {group["name"]: [] for group in self.list("groups") if group["state"] == "ready"}
        for tree in self.list("trees"):
            if tree["group"] in found:
                found[tree["group"]].append(tree["tree"])
        return {name: sorted(numbers) for name, numbers in found.items()}

    def file_of(self, name):
        return self.place / f"{name}.toml"

    def socket_of(self, name):
        return self.place / f"{name}.sock"

    def address_of(self, name):
        return f"unix:{self.socket_of(name)}"

    def switches_of(self, name):
        return f"unix:{self.place}/{name}-switches.sock"

    def addresses(self):
        return ",".join(map(self.address_of, reversed(self.names)))

    def follow(self):
        """The link leads to the manager that leads."""
        if name := self.leader():
            new = self.socket.with_suffix(".new")
            new.unlink(missing_ok=True)
            new.symlink_to(self.socket_of(name))
            new.replace(self.socket)

    def ask(self, name, path):
        """This manager, whether it leads or not: status and body."""
        connection = _UnixConnection(self.socket_of(name))
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def log_of(self, name):
        return (self.place / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def log_text(self):
        return "".join(f"--- {name}\n{self.log_of(name)}" for name in self.children)

    def begin(self, name, entering=None):
        """`entering` is called in the child before the program begins."""
        with (self.place / f"{name}.log").open("ab") as log:
            self.children[name] = subprocess.Popen(
                [str(self.binaries.fabricd), "--config", str(self.file_of(name))],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, preexec_fn=entering,
            )  # fmt: skip

    def leader(self):
        value = self.cluster.get("leader")
        return json.loads(value)["name"] if value else None

    def epoch(self):
        return int(self.cluster.get("epoch"))

    def wait_for_answers(self):
        def answers():
            self.follow()
            return self.get("/leader")[0] == 200

        wait_until(self.survives(answers), "the leader answers", 60)

    def wait_for(self, name):
        """Until this one leads and answers; the seconds that it took."""
        begin = time.monotonic()
        wait_until(self.survives(lambda: self.leader() == name), f"{name} leads", 60)
        wait_until(lambda: "ready: " in self.log_of(name), f"{name} is ready", 60)
        self.wait_for_answers()
        return time.monotonic() - begin

    def cut_off(self, name):
        """Nothing that this manager sends to etcd or to the others arrives, until `join_again`."""
        number = self.names.index(name)
        shell(
            "nft add table ip cut; nft 'add chain ip cut out { type filter hook output priority 0; }'; "
            f"nft add rule ip cut out ip daddr 127.0.0.{number + 2} drop; "
            f"nft 'add rule ip cut out tcp sport {FIRST_PEER_PORT + number} drop'"
        )

    @staticmethod
    def join_again():
        shell("nft delete table ip cut")

    def signal(self, name, what):
        self.children[name].send_signal(what)

    def alive(self):
        return any(child.poll() is None for child in self.children.values())

    def end(self, number=SIGTERM, timeout_seconds=60):
        """All managers, in good order: an exit code that is not 0, if there is one. Those that were killed
        before do not count."""
        for child in self.children.values():
            if child.poll() is None:
                child.send_signal(SIGCONT)
                child.send_signal(number)
        codes = [child.wait(timeout_seconds) for child in self.children.values()]
        return next((code for code in codes if code not in (0, -SIGKILL)), 0)

    def stop(self, number=SIGTERM, timeout_seconds=60):
        """The managers, and then etcd."""
        code = self.end(number, timeout_seconds)
        self.cluster.stop()
        return code

    def kill(self):
        for child in self.children.values():
            child.kill()
            child.wait()
        self.cluster.stop()
