"""The links between the hosts of a comparison: their MTU, offloads and rate.

  plain      interfaces as the kernel makes them: TCP hands it 64 KiB at a time (TSO, GSO, GRO)
  bare       without those offloads: a frame is a frame for both
  shaped     links of `options.rate` Mbit/s in each direction (tbf at hosts and bridge; the switch's own rate
             limit at its ports), where bandwidth decides, and not the CPU
"""

import json
import subprocess
from contextlib import suppress

from compare import host_network
from tributary.network import shell, without_offloads

PLAIN, BARE, SHAPED = "plain", "bare", "shaped"
BURST_BYTES = 32 * 1024


def lay(options, setting):
    host_network.lay(max(options.hosts))
    for number in range(max(options.hosts)):
        name = host_network.host_name(number)
        inner = [(name, host_network.SWITCH_SIDE), (name, host_network.BRIDGE_SIDE)]
        outer = [(None, host_network.port_name(number)), (None, f"b{number}")]
        for namespace, interface in inner + outer:
            shell(f"ip {f'-n {namespace} ' if namespace else ''}link set {interface} mtu {options.mtu}")
        if setting != PLAIN:
            for namespace, interface in inner:
                without_offloads(namespace, interface)
        if setting == SHAPED:
            rate = f"root handle 1: tbf rate {options.rate}mbit burst {BURST_BYTES} latency 400ms"
            for namespace, interface in inner:
                shell(f"ip netns exec {namespace} tc qdisc add dev {interface} {rate}")
            shell(f"tc qdisc add dev b{number} {rate}")
    shell(f"ip link set bridge0 mtu {options.mtu}")


def lose(options):
    """Each interface of the bridge's network loses its share; `shape_switch` sees to the switch's ports."""
    netem = f"netem loss random {100 * options.loss}%"
    for number in range(max(options.hosts)):
        inside = f"ip netns exec {host_network.host_name(number)} tc qdisc add dev {host_network.BRIDGE_SIDE}"
        where = "parent 1:1" if options.setting == SHAPED else "root"
        shell(f"{inside} {where} {netem}")
        shell(f"tc qdisc add dev b{number} {where} {netem}")


def shape_switch(options):
    """Limits the ports of a switch that has just started to the rate of the hosts' interfaces, and has them
    lose `options.loss` of their frames in each direction, if it is given; None where there is nothing to do."""
    rate = ["--rate", f"{options.rate}M", "--rate-queue", str(4 << 20)] if options.setting == SHAPED else []
    loss = ["--loss", str(options.loss)] if getattr(options, "loss", 0) else []
    if not rate and not loss:
        return None

    def limit(switch):
        for number in range(max(options.hosts)):
            port = ["--port", host_network.port_name(number)]
            switch.ctl("impair", "set", *port, "--direction", "sent", *rate, *loss)
            if loss:
                switch.ctl("impair", "set", *port, "--direction", "received", *loss)
    return limit


def ceiling():
    """Bits a second of one TCP stream between two hosts; None without iperf3."""
    with suppress(FileNotFoundError, subprocess.SubprocessError, KeyError, ValueError):
        inside = ["ip", "netns", "exec"]
        server = subprocess.Popen([*inside, host_network.host_name(0), "iperf3", "--server", "--one-off"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            shell("sleep 0.3")
            said = subprocess.run([*inside, host_network.host_name(1), "iperf3", "--client",
                                   host_network.host_name(0), "--json", "--time", "1"],
                                  capture_output=True, text=True, check=True, timeout=30)
            return json.loads(said.stdout)["end"]["sum_received"]["bits_per_second"]
        finally:
            server.terminate()
            server.wait()
    return None
