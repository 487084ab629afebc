"""packaging/wireshark/tributary.lua can decode all that tributaryctl captures of a running fabric:
no frame of ours is malformed, none has bytes left as "data"."""

import shutil
import signal
import subprocess

from test_fabric_manager import Fabric
from test_rdma import Served, ask, hosts
from test_vectors import reduced, vector_star
from tributary import dissector
from tributary.cases import Skip
from tributary.network import wait_until

ETHERTYPE = "0x88b5"
FIELDS = ("eth.type", "tributary.kind", "frame.protocols", "_ws.malformed", "_ws.lua.error",
          "data.data", "_ws.expert.message")  # fmt: skip


class Captured:
    """All frames of all ports of a switch process, until `end`."""

    def __init__(self, lab, switch):
        if shutil.which("tshark") is None:
            raise Skip("tshark is not installed; scripts/setup installs it")
        self.lab, self.file = lab, lab.file("all.pcapng")
        self.process = subprocess.Popen(
            [str(lab.binaries.ctl), "--socket", switch.socket, "capture", "-o", str(self.file)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        wait_until(lambda: self.file.exists() and self.file.stat().st_size > 0, "the capture begins")

    def end(self):
        """The fields of each frame of ours; fails if tshark cannot decode one completely."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said
        done = subprocess.run(
            [*dissector.command(self.file), "-2", "-T", "fields",
             "-E", "separator=\x1f", *(word for field in FIELDS for word in ("-e", field))],
            capture_output=True, text=True, check=False, timeout=300,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.lab.place)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        frames = [dict(zip(FIELDS, line.split("\x1f"), strict=True)) for line in done.stdout.splitlines()]
        ours = [frame for frame in frames if frame["eth.type"] == ETHERTYPE]
        for frame in ours:
            assert frame["tributary.kind"], frame
            assert not frame["_ws.malformed"] and not frame["_ws.lua.error"], frame
            assert not frame["data.data"] and "data" not in frame["frame.protocols"].split(":"), frame
        return ours


def kinds(frames):
    return {kind for frame in frames for kind in frame["tributary.kind"].split(",")}


def test_reductions_and_hellos_of_a_fabric_with_a_manager_are_all_named(lab):
    fabric = Fabric(lab)
    captured = Captured(lab, fabric.switch)
    fabric.finish(fabric.start_hosts("demo", 60, "--operators", "mix"))
    ours = captured.end()
    assert {"contribution", "result", "hello"} <= kinds(ours), kinds(ours)


def test_wide_frames_of_every_operator_are_all_named(lab):
    switch = vector_star(lab, 2)
    captured = Captured(lab, switch)
    reduced(lab, "--elements", "1000")
    ours = captured.end()
    assert len(ours) > 100 and {"contribution", "result"} <= kinds(ours), (len(ours), kinds(ours))


def test_transfers_that_lose_frames_are_all_named(lab):
    switch = hosts(lab)
    switch.ctl("impair", "set", "--port", "host1", "--loss", "5%", "--seed", "3")
    captured = Captured(lab, switch)
    served = Served(lab, 1, "--length", 300_000, "--seed", 1)
    assert isinstance(ask(lab, 0, "write", "--region", served.region, "--seed", 2), dict)
    assert isinstance(ask(lab, 2, "read", "--region", served.region), dict)
    served.end()
    ours = captured.end()
    assert len(ours) > 300, len(ours)
    assert {"RDMA RQT", "RDMA RD_RQT", "RDMA WR", "RDMA DONE"} <= kinds(ours), kinds(ours)
