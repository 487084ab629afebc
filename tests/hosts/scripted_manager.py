"""A fabric manager for one switch that sends a test's messages, given in protobuf's text format.

    manager = ScriptedManager(lab, "switches.sock")     listening; before or after the switch starts
    hello = manager.meet()                              the switch's hello; Welcome is sent
    manager.say("prepare { transaction: 5 ... }")
    assert "prepared { transaction: 5 }" in manager.hear()

A received message is one line, with one blank between words. protoc translates, so that no library
is needed.
"""

import shutil
import socket
import struct
import subprocess
from pathlib import Path

from tributary.cases import Skip

MESSAGES = Path(__file__).resolve().parents[2] / "include" / "tributary" / "control.proto"
TIMEOUT_SECONDS = 30


class ScriptedManager:
    def __init__(self, lab, name="switches.sock"):
        if not shutil.which("protoc"):
            raise Skip("protoc is not here")
        self.path = lab.file(name)
        self.address = f"unix:{self.path}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.listener.settimeout(TIMEOUT_SECONDS)
        self.connection = None

    def meet(self, welcome='manager: "scripted"'):
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(TIMEOUT_SECONDS)
        hello = self.hear()
        self.say("welcome { " + welcome + " }")
        return hello

    def say(self, text):
        payload = self._protoc("--encode=tributary.control.ManagerMessage", text.encode())
        self.connection.sendall(struct.pack(">I", len(payload)) + payload)

    def hear(self):
        (length,) = struct.unpack(">I", self._exactly(4))
        text = self._protoc("--decode=tributary.control.SwitchMessage", self._exactly(length))
        return " ".join(text.decode().split())

    def hear_until(self, words):
        """The first message with these words; earlier ones are skipped."""
        while words not in (text := self.hear()):
            pass
        return text

    def hang_up(self):
        self.connection.close()

    def install(self, transaction, changes):
        """Prepares and commits; the version of the tables that have it."""
        self.say(f"prepare {{ transaction: {transaction} {changes} }}")
        self.hear_until(f"prepared {{ transaction: {transaction} }}")
        self.say(f"commit {{ transaction: {transaction} }}")
        committed = self.hear_until(f"committed {{ transaction: {transaction} ")
        return int(committed.split("version: ")[1].split()[0])

    def _exactly(self, count):
        taken = b""
        while len(taken) < count:
            piece = self.connection.recv(count - len(taken))
            if not piece:
                raise EOFError("the switch closed the channel")
            taken += piece
        return taken

    def _protoc(self, what, given):
        command = ["protoc", f"--proto_path={MESSAGES.parent}", what, MESSAGES.name]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout


def tree(number, wait_count, parent, children):
    bits = sum(1 << child for child in children)
    return (f"changes {{ set_tree {{ number: {number} wait_count: {wait_count} parent: {parent} "
            f"children: {bits} }} }}")
