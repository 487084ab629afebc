"""The NICs that QEMU emulates, and the expected features of each."""

import subprocess
from dataclasses import dataclass

from tributary.network import shell

PORTS = 4
MANAGEMENT = "management"  # of a tap device, and of the NIC at its other end


@dataclass(frozen=True)
class Kind:
    name: str
    device: str  # QEMU's name
    driver: str  # the kernel's
    xdp: dict  # release of Debian -> how its kernel's driver runs XDP programs: "native" or "generic"
    pairs: int = 1  # queue pairs
    # Whether its hash can be set, and frames spread by it: QEMU computes it as a NIC does.
    hash: bool = False
    # Whether each change of the link raises an interrupt. QEMU's e1000e raises only the first: the
    # kernel's driver is not notified either, see
    # the_kernels_driver_hears_of_its_link_unless_qemu_is_silent.
    link_interrupts: bool = True
    # An address at which each start makes a fault of the IOMMU: vmxnet3's driver of DPDK gives two commands, UPDATE_FEATURE
    # and UPDATE_VLAN_FILTERS, before it sets the memory address that QEMU reads for them.
    known_fault: str = ""
    pauses: bool = False  # whether DPDK's driver can leave pause frames to the switch

    def runs_on(self, release):
        return release in self.xdp


KINDS = {
    each.name: each
    for each in (
        Kind("e1000e", "e1000e", "e1000e", {"debian12": "generic", "debian13": "generic"}, link_interrupts=False,
             pauses=True),
        Kind("vmxnet3", "vmxnet3", "vmxnet3", {"debian12": "generic", "debian13": "native"}, known_fault="0x0"),
        Kind("virtio_1", "virtio-net-pci", "virtio-pci", {"debian12": "native", "debian13": "native"}),
        Kind("virtio_2", "virtio-net-pci", "virtio-pci", {"debian12": "native", "debian13": "native"}, pairs=2),
        Kind("virtio_hash_2", "virtio-net-pci", "virtio-pci", {"debian12": "native", "debian13": "native"}, pairs=2, hash=True),
        Kind("virtio_hash_4", "virtio-net-pci", "virtio-pci", {"debian12": "native", "debian13": "native"}, pairs=4, hash=True),
        # QEMU of Debian 12 has none.
        Kind("igb", "igb", "igb", {"debian13": "native"}, pauses=True),
    )
}


class Nics:
    """Four NICs of one kind, the other end of each a tap device t0, t1, ... here; and one that the guest keeps for itself,
    at the tap device MANAGEMENT."""

    def __init__(self, kind):
        self.kind = kind
        self.taps = [f"t{n}" for n in range(PORTS)]

    def create(self):
        for tap in [*self.taps, MANAGEMENT]:
            several = "multi_queue" if tap in self.taps and self.kind.pairs > 1 else ""
            shell(f"ip tuntap add {tap} mode tap {several}")
            shell(f"ip link set {tap} mtu 9000 up")

    def remove(self):
        for tap in [*self.taps, MANAGEMENT]:
            shell(f"ip link del {tap}", check=False)

    @staticmethod
    def address(n):
        return f"0000:{n + 1:02x}:00.0"

    def devices(self):
        """QEMU's options: each NIC behind a port of its own, so that it has an IOMMU group to itself and can be unplugged."""
        options = []
        for n, tap in enumerate([*self.taps, MANAGEMENT]):
            pairs = self.kind.pairs if tap in self.taps else 1
            options += [
                "-netdev", f"tap,id=net{n},ifname={tap},script=no,downscript=no" + (f",queues={pairs}" if pairs > 1 else ""),
                "-device", f"pcie-root-port,id=slot{n},chassis={n + 1},slot={n + 1}",
                "-device", ",".join(f"{key}={'on' if value is True else value}" for key, value in self.device(n).items()),
            ]
        return options

    def device(self, n):
        """QEMU's properties of a NIC; PORTS: the one that the guest keeps."""
        driver, pairs = (self.kind.device, self.kind.pairs) if n < PORTS else ("virtio-net-pci", 1)
        found = {"driver": driver, "netdev": f"net{n}", "id": f"nic{n}", "bus": f"slot{n}", "mac": f"02:00:00:00:01:{n:02x}"}
        if driver == "virtio-net-pci":
            found |= {"iommu_platform": True, "disable-legacy": "on"}
        if n < PORTS and self.kind.hash:
            found |= {"rss": True}
        return found | ({"mq": True, "vectors": 2 * pairs + 2} if pairs > 1 else {})


def emulated(qemu):
    """Names of the devices that this QEMU has."""
    return subprocess.run([qemu, "-device", "help"], capture_output=True, text=True, check=False).stdout
