"""The fabric that blocks marked `needs a fabric` run in: a manager and four switches, without host
programs.

    spine0    spine3        leaf0 and leaf1 to both; their host ports lead nowhere
      |  \\   /  |
    leaf0     leaf1         sockets are where the programs look for them
"""

import sys
from pathlib import Path

from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from tributary.network import wait_until  # noqa: E402
from tributary.manager import Manager  # noqa: E402
from tributary.switch import Config, Switch  # noqa: E402

SOCKETS = "/run/tributary"
LEAVES = {"leaf0": ("host0", "host1", "l1", "l2"), "leaf1": ("host2", "host3")}  # with the ports of hosts
SPINES = ("spine0", "spine3")


class DocumentedFabric:
    def __init__(self, binaries, place):
        Path(SOCKETS).mkdir(parents=True, exist_ok=True)
        self.manager = Manager(binaries, SOCKETS)
        config = Config(f"{SOCKETS}/switch.sock", manager=self.manager.switches_address, buffers_per_port=256)
        for leaf, ports in LEAVES.items():
            switch = config.switch(leaf)
            for port in ports:
                switch.port(port, kind="null")
            for spine in SPINES:
                switch.port(f"to-{spine}", kind="ring", ring=f"{leaf}-{spine}")
        for spine in SPINES:
            switch = config.switch(spine)
            for leaf in LEAVES:
                switch.port(f"to-{leaf}", kind="ring", ring=f"{leaf}-{spine}")
        self.switch = Switch(binaries, config, place)
        wait_until(lambda: len(self.manager.list("links")) == len(LEAVES) * len(SPINES), "the links are found")

    def stop(self):
        self.switch.stop()
        self.manager.stop()
