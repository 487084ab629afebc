"""Two hosts and the switch between them, which drops a configured share of frames."""

from contextlib import ExitStack

from compare import places, processes
from tributary.network import Network, shell, without_offloads
from tributary.switch import Config, Switch

HOSTS = ("writer", "sink")
INTERFACE = "eth0"
LONGEST = {1500: 1792, 9000: 9216}


def address(number):
    return f"10.79.0.{number + 1}"


def nid(number):
    return number + 1


def mac(number):
    """The low 20 bits are the host's NID."""
    return f"02:00:00:00:00:{nid(number):02x}"


class Path:
    """A context manager; only for use inside isolation.py's world, one at a time."""

    def __init__(self, build, folder, setting, mtu, kind):
        self.build = places.build_folder(build)
        self.folder, self.setting, self.mtu, self.kind = folder, setting, mtu, kind
        self.stack = ExitStack()

    def __enter__(self):
        with ExitStack() as stack:
            config = Config(self.folder / "switch.sock", log_level="warning",
                            longest_frame=LONGEST.get(self.mtu, self.mtu + 216))
            section = config.switch("bench", forward_foreign=True)
            network = Network()
            for number, host in enumerate(HOSTS):
                port = f"p{number}"
                network.host(host)
                stack.callback(shell, f"ip netns delete {host}", check=False)
                network.cable(host, INTERFACE, None, port, mac_a=mac(number))
                stack.callback(shell, f"ip link delete {port}", check=False)
                for interface, where in ((INTERFACE, f"-n {host} "), (port, "")):
                    shell(f"ip {where}link set {interface} mtu {self.mtu}")
                shell(f"ip -n {host} address add {address(number)}/24 dev {INTERFACE}")
                without_offloads(host, INTERFACE)
                section.port(port, kind=self.kind, interface=port)
                section.route(nid(number), port)
            self.switch = Switch(places.binaries(self.build), config, self.folder)
            stack.callback(processes.end, self.switch.child)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        self.stack.close()

    def impair(self, loss, seed):
        """From here on this share of the frames of either direction is lost; the random sequence
        restarts."""
        self.switch.ctl("impair", "clear", "--all")
        if loss == 0:
            return
        for number in range(len(HOSTS)):
            self.switch.ctl("impair", "set", "--port", f"p{number}", "--direction", "sent",
                            "--loss", str(loss), "--seed", str(seed + number))

    @staticmethod
    def inside(number, *command):
        """The command that runs in a host."""
        return ["ip", "netns", "exec", HOSTS[number], *(str(word) for word in command)]
