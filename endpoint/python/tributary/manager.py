"""The fabric manager's HTTP API (docs/protocol/manager-api.md): lists of objects, jobs, groups, events.

    manager = tributary.Manager()                      the one of this machine, as root
    manager.list("links")                              dictionaries, all pages of them
    manager.frame("hosts")                             the same as a pandas.DataFrame
    token = manager.create_job("j1", mcastLimit=4)
    for event in manager.events(follow=True): ...
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import urllib.parse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

DEFAULT_URL = "unix:/run/tributary/fabricd.sock"
DEFAULT_PORT = 7580
URL, TOKEN, AUTHORITY = (f"TRIBUTARY_FABRIC_MANAGER_{name}" for name in ("URL", "TOKEN", "CACERT"))
SECONDS_TO_CONNECT = 1.0  # to one of several addresses
ELSEWHERE = (421, 503)  # a standby; not ready


class ManagerError(Exception):
    """The manager cannot be reached (status 0), or refuses: an HTTP status, and its message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def _content(answer: http.client.HTTPResponse) -> tuple[Any, str]:
    """The value of JSON, otherwise the text; and the text."""
    text = answer.read().decode("utf-8", "replace")
    is_json = "json" in (answer.getheader("Content-Type") or "") and text
    return (json.loads(text) if is_json else text), text


def _refusal(method: str, path: str, status: int, value: Any, text: str) -> str:
    said = value.get("message") if isinstance(value, dict) else text
    return f"{method} {path}: {status} {said}"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _Elsewhere(ManagerError):
    """Another address may have a better answer: this one does not answer, is not ready, or stands by."""

    def __init__(self, status: int, text: str, leader: str = "") -> None:
        super().__init__(status, text)
        self.leader = leader  # the address that a standby has named


def _place(url: str) -> tuple[str, ...]:
    """What two spellings of an address have in common."""
    place = urllib.parse.urlsplit(url)
    return (url,) if place.scheme == "unix" else (place.scheme, place.hostname or "", str(place.port or DEFAULT_PORT))


class Manager:
    """Address, token and CA default to those of the environment, as for the C library. Several addresses, with commas
    between them, are those of a manager and its standbys: the next is asked when one does not answer."""

    def __init__(self, url: str | None = None, token: str | None = None, certificate_authority: str | None = None,
                 timeout: float = 60.0) -> None:
        self.url = url or os.environ.get(URL) or DEFAULT_URL
        self.token = token if token is not None else os.environ.get(TOKEN, "")
        self.certificate_authority = certificate_authority or os.environ.get(AUTHORITY) or "yes"
        self.timeout = timeout
        self._urls = [one.strip() for one in self.url.split(",")]
        self._at = 0  # the one that answered last

    def _connection(self, url: str) -> http.client.HTTPConnection:
        limit = self.timeout if len(self._urls) == 1 else min(self.timeout, SECONDS_TO_CONNECT)
        if url.startswith("unix:"):
            return _UnixConnection(url.removeprefix("unix:"), limit)
        place = urllib.parse.urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ManagerError(0, f"{url} is not an address of a manager; give unix:PATH, http://HOST:PORT or "
                                  "https://HOST:PORT")
        if place.scheme == "http":
            return http.client.HTTPConnection(place.hostname, place.port or DEFAULT_PORT, timeout=limit)
        return http.client.HTTPSConnection(place.hostname, place.port or DEFAULT_PORT, timeout=limit,
                                           context=self._tls())

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.certificate_authority == "no":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.certificate_authority != "yes":
            folder = os.path.isdir(self.certificate_authority)
            context.load_verify_locations(**{"capath" if folder else "cafile": self.certificate_authority})
        return context

    def _ask_at(self, url: str, method: str, path: str, body: Any,
                accept: dict[str, str]) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = dict(accept)
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection(url)
        try:
            connection.connect()
            connection.sock.settimeout(self.timeout)
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            if answer.status not in ELSEWHERE:
                return connection, answer
            value, text = _content(answer)
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise _Elsewhere(0, f"the fabric manager at {url} does not answer: {problem}") from problem
        connection.close()
        leader = value.get("leader") if isinstance(value, dict) else None
        raise _Elsewhere(answer.status, _refusal(method, path, answer.status, value, text), leader or "")

    def _ask(self, method: str, path: str, body: Any = None,
             accept: dict[str, str] | None = None) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Asks each address, from the one that answered last, until one answers; or one that is named next."""
        errors: list[_Elsewhere] = []
        waiting = [(self._at + step) % len(self._urls) for step in range(len(self._urls))]
        while waiting:
            self._at = waiting.pop(0)
            try:
                return self._ask_at(self._urls[self._at], method, path, body, accept or {"Accept": "application/json"})
            except _Elsewhere as error:
                errors.append(error)
                if error.leader:
                    waiting.sort(key=lambda at: _place(self._urls[at]) != _place(error.leader))
        # What a leader says comes before what a standby says, and both before silence.
        raise max(errors, key=lambda error: ELSEWHERE.index(error.status) + 1 if error.status in ELSEWHERE else 0)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer: the value of JSON, otherwise the text. ManagerError for 400 and above."""
        connection, answer = self._ask(method, path, body)
        try:
            value, text = _content(answer)
        finally:
            connection.close()
        if answer.status >= 400:
            raise ManagerError(answer.status, _refusal(method, path, answer.status, value, text))
        return value

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def list(self, what: str) -> list[dict[str, Any]]:
        """All of /api/v1/<what>: switches, hosts, links, groups, trees, transactions, jobs."""
        found: list[dict[str, Any]] = []
        path: str | None = f"/api/v1/{what}"
        while path:
            answer = self.get(path)
            found += answer[what]
            path = f"/api/v1/{what}?after={answer['next']}" if "next" in answer else None
        return found

    def frame(self, what: str) -> pandas.DataFrame:
        """The same as a DataFrame, a row each; nested members become columns with dots. Needs pandas."""
        import pandas

        return pandas.json_normalize(self.list(what))

    def create_job(self, job: str, **options: Any) -> str:
        """The job's token. Options are fields of POST /fabric/collectives/jobs, such as mcastLimit."""
        return str(self.request("POST", "/fabric/collectives/jobs", {"jobID": job, **options})["sessionToken"])

    def delete_job(self, job: str) -> None:
        self.request("DELETE", f"/fabric/collectives/jobs/{urllib.parse.quote(job, safe='')}")

    def events(self, follow: bool = False, after: int | None = None) -> Iterator[dict[str, Any]]:
        """The retained events; with `follow` also each new one, forever."""
        if not follow:
            yield from self.get("/api/v1/events?follow=false")["events"]
            return
        accept = {"Accept": "text/event-stream", **({"Last-Event-ID": str(after)} if after is not None else {})}
        connection, answer = self._ask("GET", "/api/v1/events", accept=accept)
        try:
            if answer.status >= 400:
                raise ManagerError(answer.status, f"GET /api/v1/events: {answer.status} {answer.read().decode()}")
            kind, number = "", 0
            for raw in answer:
                name, _, value = raw.decode("utf-8", "replace").rstrip("\r\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "id":
                    number = int(value)
                elif name == "data":
                    yield {"number": number, "event": kind, **json.loads(value)}
        except (OSError, http.client.HTTPException) as problem:
            raise ManagerError(0, f"the events of {self.url} have ended: {problem}") from problem
        finally:
            connection.close()
