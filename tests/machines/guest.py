"""A guest: QEMU with a kernel of Debian, whose root is this machine's own.

    kernel = Kernel.unpacked()                     raises CannotRun
    guest = Guest(kernel, build, place, devices)   boots; place has console.log, qemu.log, and the folder `out`
    guest.run("lspci")                             (exit code, output)
    guest.monitor("set_link", name="nic0", up=False)
    guest.stop()

The root is read-only, with an overlay in the guest's memory; `place/out` is /out there. Processors are emulated (TCG), for a
machine that is itself virtual often has no others to give. Only for inside isolation.py's world, with which all of it ends.
"""

import base64
import contextlib
import gzip
import json
import lzma
import platform
import re
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tributary.cases import Failed
from tributary.network import wait_until

ROOT = Path(__file__).resolve().parents[2]
QEMU = "qemu-system-x86_64"
BUSYBOX = Path("/bin/busybox")
SOCKETS = Path("/run")
MEMORY_MIB = 3072  # the guide's hugepages and 1 GiB; untouched memory takes none of the machine's
NEEDED_MIB = 1536  # of the machine's memory
BOOT_SECONDS = 120
# For the initial RAM disk: the modules that mount the machine's root. All others are loaded from
# there.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
INIT = """\
#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in $(cat /order); do insmod /$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=524288 root /machine
mount -t tmpfs memory /memory
mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/machine,upperdir=/memory/upper,workdir=/memory/work overlay /new
for each in proc sys dev; do mount --move /$each /new/$each; done
exec switch_root /new @GUEST_INIT@
""".replace("@GUEST_INIT@", str(ROOT / "tests/machines/guest_init"))


class CannotRun(Exception):
    """The text says what is missing or fails on this machine, and the remedy."""


@dataclass(frozen=True)
class Kernel:
    """A kernel package of Debian that scripts/setup has unpacked."""

    folder: Path
    release: str  # 6.1.0-30-amd64

    @classmethod
    def unpacked(cls, folder=ROOT / "build-peers"):
        found = sorted(path.name.removeprefix("vmlinuz-") for path in folder.glob("boot/vmlinuz-*"))
        if not found:
            raise CannotRun(f"{folder} has no unpacked kernel; run scripts/setup --machines")
        if not (folder / "lib").exists():
            (folder / "lib").symlink_to("usr/lib")  # Debian 13 has its modules there, and modprobe looks in lib
        return cls(folder, found[-1])

    @property
    def image(self):
        return self.folder / "boot" / f"vmlinuz-{self.release}"

    def modules(self, wanted):
        """Files of these modules and of those they need, in the order in which they are loaded."""
        if not (self.folder / "lib/modules" / self.release / "modules.dep").exists():
            subprocess.run(["depmod", "-b", self.folder, self.release], check=True)
        command = ["modprobe", "-d", str(self.folder), "-S", self.release, "--show-depends", "--all", *wanted]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return list(dict.fromkeys(Path(line.split()[1]) for line in output.splitlines() if line.startswith("insmod ")))

    def write_initrd(self, path):
        files = {"init": INIT.encode(), "bin/busybox": BUSYBOX.read_bytes()}
        order = []
        for module in self.modules(MODULES):
            content = module.read_bytes()
            name = module.name.removesuffix(".xz")
            files[name] = lzma.decompress(content) if module.suffix == ".xz" else content
            order.append(name)
        files["order"] = "\n".join(order).encode()
        links = {f"bin/{name}": b"busybox" for name in ("sh", "mount", "mkdir", "cat", "insmod", "switch_root")}
        folders = ("bin", "proc", "sys", "dev", "machine", "memory", "new")
        entries = [*((name, 0o040755, b"") for name in folders), *((name, 0o120777, to) for name, to in links.items()),
                   *((name, 0o100755, content) for name, content in files.items()), ("TRAILER!!!", 0, b"")]
        path.write_bytes(gzip.compress(b"".join(_cpio(*entry) for entry in entries), 1))


def _cpio(name, mode, content):
    """An entry of an archive in the "new" format, as the kernel reads it."""
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def check():
    """Raises CannotRun unless guests can run here."""
    if platform.machine() != "x86_64":
        raise CannotRun(f"the guest's root is this machine's own, and its processor x86-64; this one is {platform.machine()}")
    for program, package in ((QEMU, "qemu-system-x86"), ("modprobe", "kmod"), ("dpdk-devbind.py", "dpdk"),
                             ("lspci", "pciutils"), ("ethtool", "ethtool")):
        if shutil.which(program) is None:
            raise CannotRun(f"{program} is missing (package {package}); run scripts/setup --machines")
    if not BUSYBOX.exists():
        raise CannotRun(f"{BUSYBOX} is missing (package busybox-static); run scripts/setup --machines")
    if not Path("/dev/net/tun").exists():
        raise CannotRun("this kernel or container has no /dev/net/tun, so no tap devices")
    available = int(re.search(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())[1]) // 1024
    if available < NEEDED_MIB:
        raise CannotRun(f"{available} MiB of memory are free, and a guest needs {NEEDED_MIB} MiB")


class Guest:
    def __init__(self, kernel, build, place, devices, limit_seconds):
        """`devices`: QEMU's options for them. No command runs for longer than `limit_seconds` from
        now."""
        self.place, self.out = place, place / "out"
        self.end = time.monotonic() + limit_seconds
        self.out.mkdir()
        kernel.write_initrd(place / "initrd.gz")
        # Sockets in a place with a short name: the kernel allows 107 bytes.
        self.sockets = sockets = SOCKETS / place.name
        sockets.mkdir()
        # On a busy machine the kernel measures the TSC wrong, by any factor; QEMU's HPET keeps the
        # time.
        words = ("console=ttyS0 quiet panic=-1 mitigations=off clocksource=hpet intel_iommu=on iommu=pt "
                 f"tributary.kernel={kernel.folder} tributary.build={build}")
        share = "local,security_model=none"
        command = [
            QEMU, "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MIB),
            "-nodefaults", "-no-reboot", "-display", "none",
            "-kernel", kernel.image, "-initrd", place / "initrd.gz", "-append", words,
            "-serial", f"file:{place}/console.log", "-serial", f"unix:{sockets}/shell,server=on,wait=off",
            "-qmp", f"unix:{sockets}/monitor,server=on,wait=off",
            "-fsdev", f"{share},id=root,path=/,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-fsdev", f"{share},id=out,path={self.out}", "-device", "virtio-9p-pci,fsdev=out,mount_tag=out",
            "-device", "intel-iommu,intremap=on,caching-mode=on", *devices,
        ]
        with (place / "qemu.log").open("wb") as log:
            self.child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(self._is_up, f"the guest boots; {place}/console.log", BOOT_SECONDS)
            self._shell = self._connected(sockets / "shell")
            self._monitor = self._connected(sockets / "monitor").makefile("rw")
            self._events = []
            self._monitor.readline()
            self.monitor("qmp_capabilities")
        except TimeoutError as late:
            self.stop()
            raise CannotRun(str(late)) from None

    def _is_up(self):
        if self.child.poll() is not None:
            said = (self.place / "qemu.log").read_text(errors="replace") or self.console()[-800:]
            raise CannotRun(f"QEMU ended with exit code {self.child.returncode}: {said.strip()}")
        return "GUEST IS UP" in self.console()

    def _connected(self, path):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(str(path))
        return connection

    def console(self):
        path = self.place / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def run(self, command, seconds=60):
        """(exit code, standard output and error) of a shell's command."""
        self._shell.sendall(base64.b64encode(command.encode()) + b"\n")
        said, end = b"", min(self.end, time.monotonic() + seconds)
        while not (found := re.search(rb"@@END (\d+)\r?\n", said)):
            self._shell.settimeout(max(0.01, end - time.monotonic()))
            try:
                part = self._shell.recv(65536)
            except TimeoutError:
                part = b""
            if not part:
                # Its later output would be taken for another command's.
                self.stop()
                raise Failed(f"guest: $ {command}\n{said.decode(errors='replace')}\nit did not end; the guest is stopped")
            said += part
        return int(found[1]), said[: found.start()].decode(errors="replace")

    def must(self, command, seconds=60):
        """Its output; an exit code other than 0 is a failure."""
        code, said = self.run(command, seconds)
        if code:
            raise Failed(f"guest: $ {command}\n{said}exit code {code}")
        return said

    def monitor(self, execute, **arguments):
        self._monitor.write(json.dumps({"execute": execute, "arguments": arguments}) + "\n")
        self._monitor.flush()
        while "return" not in (answer := json.loads(self._monitor.readline())):
            if "error" in answer:
                raise Failed(f"QEMU: {execute} {arguments}: {answer['error']['desc']}")
            self._events.append(answer)

    def unplug(self, device, seconds=30):
        """Asks the guest to release a device. Returns whether it did so in time."""
        self.monitor("device_del", id=device)
        gone = {"event": "DEVICE_DELETED", "device": device}

        def let_go():
            self.monitor("query-status")  # events arrive before the answer
            return any(gone == {"event": each["event"], "device": each.get("data", {}).get("device")}
                       for each in self._events)

        with contextlib.suppress(TimeoutError):
            return wait_until(let_go, f"{device} is let go of", seconds)
        return False

    def alive(self):
        return self.child.poll() is None

    def stop(self):
        if self.alive():
            self.child.kill()
        self.child.wait(30)
