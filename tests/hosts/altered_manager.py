"""A fabric manager whose answers a test alters on their way: all else is from the real one.

    with AlteredManager(lab, manager, alter) as altered:     alter(path, answer) changes the answer's JSON in place
        run(lab, "--manager", altered.url, ...)
"""

import http.client
import json
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler

TIMEOUT_SECONDS = 60


class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that went away


class AlteredManager:
    def __init__(self, lab, manager, alter, name="altered.sock"):
        path = lab.place / name
        self.url = f"unix:{path}"

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def relay(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                connection = _Connection(manager.socket)
                connection.request(self.command, self.path, body or None, dict(self.headers))
                answer = connection.getresponse()
                text = answer.read()
                if text and "json" in (answer.getheader("Content-Type") or ""):
                    document = json.loads(text)
                    alter(self.path, document)
                    text = json.dumps(document).encode()
                self.send_response(answer.status)
                if content_type := answer.getheader("Content-Type"):
                    self.send_header("Content-Type", content_type)
                if answer.status != 204:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                connection.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = relay

            def log_message(self, *_):
                pass

            def address_string(self):
                return "a Unix socket"

        self.server = _Server(str(path), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
