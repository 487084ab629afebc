"""Hosts and links made of network namespaces and veth pairs. Only for use inside isolation.py's
world.

    network = Network()
    host = network.host("h0")                                  a namespace
    network.cable("h0", "eth0", None, "host0")                 None: this process's own namespace
    port = RawPort(host, "eth0")                               frames in and out, from this process
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import time
from contextlib import contextmanager

_CLONE_NEWNET = 0x40000000
_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23
_ETH_P_ALL = 3
_SIOCETHTOOL = 0x8946
# Work that a kernel leaves to its NIC, and that a switch between two veths does not do:
# ETHTOOL_STXCSUM, _STSO, _SGSO, _SGRO.
_OFFLOADS = (0x17, 0x1F, 0x24, 0x2C)
_libc = ctypes.CDLL(None, use_errno=True)


class CommandFailed(Exception):
    pass


def shell(command, check=True, quiet=True):
    """Runs a command as an operator would type it; its standard output as text."""
    done = subprocess.run(
        command, shell=True, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
    )
    if not quiet:
        print(f"$ {command}\n{done.stdout}{done.stderr}", end="", flush=True)
    if check and done.returncode:
        raise CommandFailed(f"$ {command}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


@contextmanager
def inside(namespace):
    """This thread lives in `namespace` (None: stay); sockets made meanwhile belong there for good."""
    if namespace is None:
        yield
        return
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        _enter(there)
        yield
    finally:
        _enter(here)
        os.close(there)
        os.close(here)


def _enter(descriptor):
    if _libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


# A new namespace inherits these from the machine, where containers, a VPN or an administrator may
# have set them.
_KERNEL = {
    "ipv6/conf/{}/disable_ipv6": 1,  # its neighbour discovery would add unrequested frames
    "ipv4/conf/{}/forwarding": 0,  # a host that forwards announces itself as a router in LLDP
    "ipv4/conf/{}/rp_filter": 0,
    "ipv4/conf/{}/accept_local": 0,
    "ipv4/conf/{}/arp_ignore": 0,
    "ipv4/conf/{}/arp_announce": 0,
}


def _configure_kernel():
    """For the namespace of this process."""
    for name, value in _KERNEL.items():
        for scope in ("all", "default"):
            path = f"/proc/sys/net/{name.format(scope)}"
            if os.path.exists(path):
                with open(path, "w", encoding="ascii") as setting:
                    setting.write(str(value))


def without_offloads(namespace, interface):
    with inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            fcntl.ioctl(control, _SIOCETHTOOL, struct.pack("16sP", interface.encode(), ctypes.addressof(value)))


def _ip(command):
    """`ip` without a shell, for networks of tests are made of many; its standard output."""
    done = subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise CommandFailed(f"$ ip {command}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def operational(namespace, interface):
    """Whether the kernel reports the link as up; it does so a moment after the cable is plugged in."""
    option = f"-n {namespace} " if namespace else ""
    return "state UP" in _ip(f"{option}link show dev {interface}")


class Network:
    def __init__(self):
        _configure_kernel()

    def host(self, name):
        _ip(f"netns add {name}")
        with inside(name):
            _configure_kernel()
        _ip(f"-n {name} link set lo up")
        return name

    def cable(self, at_a, interface_a, at_b, interface_b, mac_a=None, mac_b=None):
        """A veth pair, up at both ends. `at_...` is a namespace or None for this process's own."""
        first = f"netns {at_a} " if at_a else ""
        second = f"netns {at_b} " if at_b else ""
        address_a = f"address {mac_a} " if mac_a else ""
        address_b = f"address {mac_b} " if mac_b else ""
        _ip(
            f"link add {interface_a} {first}{address_a}type veth"
            f" peer name {interface_b} {second}{address_b}"
        )
        for where, interface in ((at_a, interface_a), (at_b, interface_b)):
            option = f"-n {where} " if where else ""
            _ip(f"{option}link set {interface} up")
        for where, interface in ((at_a, interface_a), (at_b, interface_b)):
            wait_until(lambda w=where, i=interface: operational(w, i), f"{interface} is up")


class RawPort:
    """One interface seen through AF_PACKET: sends and receives whole Ethernet frames."""

    def __init__(self, namespace, interface, ethertype=_ETH_P_ALL):
        with inside(namespace):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            self.socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, struct.pack("i", 1))
            self.socket.bind((interface, ethertype))
        self.name = f"{namespace or 'here'}/{interface}"

    def send(self, *frames):
        for frame in frames:
            self.socket.send(bytes(frame))

    def receive(self, count=1, timeout_seconds=10.0):
        """The next `count` frames; fewer if none arrived within the time-out."""
        frames = []
        while len(frames) < count and select.select([self.socket], [], [], timeout_seconds)[0]:
            frames.append(self.socket.recv(65536))
        return frames

    def waiting(self):
        """The frames that have already arrived."""
        frames = []
        while True:
            try:
                frames.append(self.socket.recv(65536, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return frames

    def nothing_more(self, quiet_seconds=0.3):
        """Frames that arrive until the interface has been quiet for a while: tests expect an empty
        list."""
        return self.receive(1 << 30, quiet_seconds)

    def close(self):
        self.socket.close()


def wait_until(true, what, timeout_seconds=30.0):
    """Polls until `true()` holds. The time-out is a guard against a hang and not a measurement.

    A question is often a program that has to be started. The longer it has been waited, the later the next
    one: what is noticed a tenth later leaves the processor to what is waited for."""
    begin = time.monotonic()
    while not (result := true()):
        waited = time.monotonic() - begin
        if waited > timeout_seconds:
            raise TimeoutError(f"waited {timeout_seconds:g} s in vain: {what}")
        time.sleep(min(max(0.01, waited / 10), 0.2))
    return result
