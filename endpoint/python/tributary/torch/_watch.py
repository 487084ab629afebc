"""Who is alive: every process has a connection to rank 0, whose end shows when either dies; rank 0 passes on what it sees.

Lines of JSON:

    rank, token, who      a process introduces itself
    bye                   it ends in good order
    ended, text, clean    rank 0 to all: this rank has ended
    broken, text          a group of the fabric was given up: by one of its ranks to rank 0, and from there to all

Where rank 0 cannot be reached the ends of ranks are noticed by time-outs alone, and a line says so. A machine that dies
shows after some fifteen seconds, by keepalives.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import selectors
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

KEY = "tributary/watch"
CONNECT_SECONDS = 2.0
LONGEST_LINE = 64 * 1024


def own_addresses() -> list[str]:
    """IPv4 addresses of this machine's interfaces, the loopback interface's last."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                found.append(socket.inet_ntoa(fcntl.ioctl(asked.fileno(), 0x8915, request)[20:24]))  # SIOCGIFADDR
            except OSError:
                continue  # it has none
    return sorted(found, key=lambda address: address.startswith("127."))


class _Peer:
    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.rank: int | None = None
        self.who = ""
        self.clean = False
        self.received = bytearray()
        self._sending = threading.Lock()

    def lines(self) -> list[dict[str, Any]] | None:
        """What has come; None at the end."""
        try:
            got = self.socket.recv(65536)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not got:
            return None
        self.received += got
        *whole, rest = bytes(self.received).split(b"\n")
        self.received = bytearray(rest)
        try:
            messages = [json.loads(line) for line in whole]
        except ValueError:
            return None  # not one of ours
        return None if len(rest) > LONGEST_LINE or not all(isinstance(each, dict) for each in messages) else messages

    def send(self, message: dict[str, Any]) -> None:
        try:
            with self._sending:
                self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # its end shows when it is read


class Watch:
    """`store`: of torch, shared by the ranks. `ended(rank, text, clean)` and `broken(token, text)` are called from the
    watch's thread."""

    def __init__(self, store: Any, rank: int, size: int, ended: Callable[[int, str, bool], None],
                 broken: Callable[[str, str], None], say: Callable[[str], None]) -> None:
        self._rank, self._size = rank, size
        self._ended, self._broken, self._say = ended, broken, say
        self._lock = threading.Lock()
        self._peers: list[_Peer] = []
        self._closing = False
        self._who = f"process {os.getpid()} on {socket.gethostname()}"
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._listener: socket.socket | None = None
        if rank == 0:
            self._listener = socket.create_server(("", 0), backlog=min(size, 4096))
            self._token = secrets.token_hex(16)
            where = {"addresses": own_addresses(), "port": self._listener.getsockname()[1], "token": self._token}
            store.set(KEY, json.dumps(where))
        else:
            self._where = json.loads(store.get(KEY))
            self._token = self._where["token"]
        self._thread = threading.Thread(target=self._run, name="tributary-watch", daemon=True)
        self._thread.start()

    def give_up(self, token: str, text: str) -> None:
        """This rank has given up a group: so do the others."""
        message = {"broken": token, "text": text}
        if self._rank == 0:
            self._pass_on(message)
        else:
            self._to_rank_0(message)

    def end(self) -> None:
        """In good order: the others continue for what they have."""
        if self._rank == 0:
            self._pass_on({"ended": 0, "text": f"rank 0 ({self._who}) has ended", "clean": True})
        else:
            self._to_rank_0({"bye": True})
        self._closing = True
        try:
            os.write(self._writer, b"e")
        except OSError:
            pass
        self._thread.join(1.0)

    def abandon(self) -> None:
        """In a child process: its copies must not keep connections open when the parent dies."""
        for peer in self._peers:
            peer.socket.close()
        if self._listener is not None:
            self._listener.close()
        os.close(self._reader)
        os.close(self._writer)

    # On its own thread.

    def _run(self) -> None:
        if self._rank != 0 and not self._connect():
            self._say("rank 0 cannot be reached over IP: the end of a rank is noticed by time-outs alone; "
                      "GLOO_SOCKET_IFNAME and the firewall of its node may be the reason")
            return
        selector = selectors.DefaultSelector()
        selector.register(self._reader, selectors.EVENT_READ)
        for peer in self._peers:
            selector.register(peer.socket, selectors.EVENT_READ, peer)
        if self._listener is not None:
            self._listener.setblocking(False)
            selector.register(self._listener, selectors.EVENT_READ, self._listener)
        while not self._closing:
            for key, _ in selector.select():
                if key.data is self._listener and self._listener is not None:
                    self._accept(selector)
                elif isinstance(key.data, _Peer):
                    self._hear(selector, key.data)
        for peer in self._peers:
            peer.socket.close()
        if self._listener is not None:
            self._listener.close()

    def _connect(self) -> bool:
        for address in self._where["addresses"]:
            try:
                connection = socket.create_connection((address, self._where["port"]), CONNECT_SECONDS)
            except OSError:
                continue
            peer = _Peer(_kept_alive(connection))
            peer.rank, peer.who = 0, "rank 0"
            peer.send({"rank": self._rank, "token": self._token, "who": self._who})
            # Another program may listen at this address on another network.
            connection.settimeout(CONNECT_SECONDS)
            hello = peer.lines()
            if hello and hello[0].get("token") == self._token:
                peer.who = hello[0].get("who", "")
                connection.settimeout(None)
                with self._lock:
                    self._peers.append(peer)
                for message in hello[1:]:
                    self._obey(message)
                return True
            connection.close()
        return False

    def _accept(self, selector: selectors.BaseSelector) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(True)
        connection.settimeout(CONNECT_SECONDS)
        peer = _Peer(_kept_alive(connection))
        hello = peer.lines()
        first = hello[0] if hello else {}
        if first.get("token") != self._token or not isinstance(first.get("rank"), int):
            connection.close()
            return
        connection.settimeout(None)
        peer.rank, peer.who = first["rank"], str(first.get("who", ""))
        peer.send({"token": self._token, "who": self._who})
        with self._lock:
            self._peers.append(peer)
        selector.register(connection, selectors.EVENT_READ, peer)

    def _hear(self, selector: selectors.BaseSelector, peer: _Peer) -> None:
        messages = peer.lines()
        if messages is None:
            selector.unregister(peer.socket)
            with self._lock:
                self._peers.remove(peer)
            peer.socket.close()
            if not peer.clean and not self._closing and peer.rank is not None:
                self._report(peer.rank, f"rank {peer.rank} ({peer.who}) has died", False)
            return
        for message in messages:
            if message.get("bye"):
                peer.clean = True
                assert peer.rank is not None
                self._report(peer.rank, f"rank {peer.rank} ({peer.who}) has ended", True)
            elif self._rank == 0 and "broken" in message:
                self._pass_on(message)
                self._broken(message["broken"], message["text"])
            else:
                if message.get("ended") == 0:
                    peer.clean = True
                self._obey(message)

    def _obey(self, message: dict[str, Any]) -> None:
        if "ended" in message:
            self._ended(message["ended"], message["text"], bool(message.get("clean")))
        elif "broken" in message:
            self._broken(message["broken"], message["text"])

    def _report(self, rank: int, text: str, clean: bool) -> None:
        if self._rank == 0:
            self._pass_on({"ended": rank, "text": text, "clean": clean})
        self._ended(rank, text, clean)

    def _pass_on(self, message: dict[str, Any]) -> None:
        with self._lock:
            peers = list(self._peers)
        for peer in peers:
            peer.send(message)

    def _to_rank_0(self, message: dict[str, Any]) -> None:
        with self._lock:
            peers = list(self._peers)
        for peer in peers:
            peer.send(message)


def _kept_alive(connection: socket.socket) -> socket.socket:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ((socket.TCP_KEEPIDLE, 5), (socket.TCP_KEEPINTVL, 3), (socket.TCP_KEEPCNT, 3),
                          (socket.TCP_USER_TIMEOUT, 15_000)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return connection
