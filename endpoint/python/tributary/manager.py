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
URL, TOKEN, AUTHORITY = (f"TRIBUTARY_FABRIC_MANAGER_{name}" for name in ("URL", "TOKEN", "CACERT"))


class ManagerError(Exception):
    """The manager cannot be reached (status 0), or refuses: an HTTP status, and its message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Manager:
    """Address, token and CA default to those of the environment, as for the C library."""

    def __init__(self, url: str | None = None, token: str | None = None, certificate_authority: str | None = None,
                 timeout: float = 60.0) -> None:
        self.url = url or os.environ.get(URL) or DEFAULT_URL
        self.token = token if token is not None else os.environ.get(TOKEN, "")
        self.certificate_authority = certificate_authority or os.environ.get(AUTHORITY) or "yes"
        self.timeout = timeout

    def _connection(self) -> http.client.HTTPConnection:
        if self.url.startswith("unix:"):
            return _UnixConnection(self.url.removeprefix("unix:"), self.timeout)
        place = urllib.parse.urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise ManagerError(0, f"{self.url} is not an address of a manager; give unix:PATH, http://HOST:PORT or "
                                  "https://HOST:PORT")
        if place.scheme == "http":
            return http.client.HTTPConnection(place.hostname, place.port or 7580, timeout=self.timeout)
        return http.client.HTTPSConnection(place.hostname, place.port or 7580, timeout=self.timeout,
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

    def _ask(self, method: str, path: str, body: Any) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise ManagerError(0, f"the fabric manager at {self.url} does not answer: {problem}") from problem

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer: the value of JSON, otherwise the text. ManagerError for 400 and above."""
        connection, answer = self._ask(method, path, body)
        try:
            text = answer.read().decode("utf-8", "replace")
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "") and text
        value = json.loads(text) if is_json else text
        if answer.status >= 400:
            said = value.get("message") if isinstance(value, dict) else text
            raise ManagerError(answer.status, f"{method} {path}: {answer.status} {said}")
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
        self_headers = {"Accept": "text/event-stream", **({"Last-Event-ID": str(after)} if after is not None else {})}
        connection = self._connection()
        try:
            if self.token:
                self_headers["Authorization"] = f"Bearer {self.token}"
            connection.request("GET", "/api/v1/events", None, self_headers)
            answer = connection.getresponse()
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
