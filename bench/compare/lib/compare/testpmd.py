"""dpdk-testpmd as a contender: it forwards between vdevs, and its terminal is asked for counts."""

import os
import pty
import re
from contextlib import contextmanager, suppress

from compare import places, processes
from compare.interleave import Contender

PROMPT = b"testpmd> "


class Testpmd(Contender):
    def __init__(self, terminal, pid, name, counter, threads):
        self.terminal, self.pid, self.name, self.counter = terminal, pid, name, counter
        self.threads = threads

    def frames(self):
        return sum(map(int, re.findall(rf"{self.counter}-packets:\s+(\d+)", self.say("show port stats all"))))

    def say(self, line):
        self.terminal.write(line.encode() + b"\n")
        return self.prompt()

    def prompt(self):
        text = b""
        while not text.endswith(PROMPT):
            try:
                text += self.terminal.read(1)
            except OSError:
                raise RuntimeError(f"dpdk-testpmd ended early:\n{text.decode()}") from None
        return text.decode()


@contextmanager
def testpmd(mode, vdevs, setting, buffers, counter="TX", name="testpmd", cores=None):
    """Forwarding and stopped. `vdevs` are device arguments; `counter`: TX or RX frames count. `cores`:
    of the polling threads, each with a queue of each port (default: that under test)."""
    cores = cores or [setting.core]
    lcores = ",".join(f"{i}@{core}" for i, core in enumerate([setting.control_core, *cores]))
    count = len(cores)
    memory = ["--in-memory"] if setting.huge else [
        "--no-huge", "-m", str(256 + buffers * 3 // 1024), f"--file-prefix=b{os.getpid()}"]
    devices = [word for vdev in vdevs for word in ("--vdev", vdev)]
    command = [
        places.peer("dpdk-testpmd"), *memory, "--no-pci", "--no-telemetry",
        "--lcores", lcores, *devices, "--",
        "-i", f"--forward-mode={mode}", f"--nb-cores={count}", f"--rxq={count}", f"--txq={count}",
        f"--burst={setting.burst}",
        f"--total-num-mbufs={buffers}", "--no-flush-rx",
    ]
    # A terminal, because testpmd buffers what it prints to a pipe, but not its prompt.
    ours, theirs = pty.openpty()
    with open(ours, "r+b", buffering=0) as terminal, processes.running(
        processes.preferred(command), stdin=theirs, stdout=theirs, stderr=theirs
    ) as child:
        os.close(theirs)
        contender = Testpmd(terminal, child.pid, name, counter, count)
        if "failed" in (said := contender.prompt()):
            raise RuntimeError(f"dpdk-testpmd could not start its ports:\n{said}")
        contender.say("start")
        contender.stop()
        try:
            yield contender
        finally:
            contender.go_on()
            terminal.write(b"quit\n")
            with suppress(OSError):
                while terminal.read(4096):
                    pass
            child.wait(20)
