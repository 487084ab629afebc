"""tributary-switch as a contender: its own counters are read over its control socket."""

from contextlib import contextmanager

from compare import processes
from compare.interleave import Contender
from tributary.switch import Config, Switch

# What a worker can hold beside its ports' buffers, as dataplane/port/eal_plan.cpp counts them.
BUFFERS_PER_WORKER = 8192


class TributarySwitch(Contender):
    def __init__(self, switch, name, counter):
        self.switch, self.name, self.counter = switch, name, counter
        self.pid = switch.child.pid
        self.threads = switch.config.process["workers"]

    def frames(self):
        return sum(port[self.counter] for port in self.switch.ctl("show", "ports"))


def configuration(folder, setting, cores, buffers_per_port):
    """A process of one busy worker for each of `cores`."""
    return Config(
        folder / "switch.sock", workers=len(cores), cores=list(cores), poll="busy",
        hugepages="require" if setting.huge else "never",
        buffers_per_port=buffers_per_port, log_level="warning",
    )


@contextmanager
def tributary_switch(binaries, config, folder, counter="tx_frames", name="tributary", trace="on"):
    """Running and stopped. `counter`: tx_frames or rx_frames."""
    switch = Switch(binaries, config, folder, prefix=processes.preferred([]))
    try:
        switch.ctl("trace", trace)
        contender = TributarySwitch(switch, name, counter)
        contender.stop()
        yield contender
        contender.go_on()
    finally:
        processes.end(switch.child)
