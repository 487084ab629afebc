"""Container images of this project's packages, made with debootstrap: no registry and no container tool is needed.

    images.make(kinds, packages, folder, when)     [Made]; the images are in the folder then

All images have the same first layer, an empty Debian of this machine's release without what a container does not read
(manual pages, translations, package lists). The second layer of each is what its packages changed in it.
"""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import oci
from oci import OciError
from platforms import bare
from platforms.names import PlatformError, release_in

# Numbers, because Kubernetes proves with them that a container is not root. Of the packages' own user, as they are here.
TRIBUTARY, USER = 990, 1000
LICENSE = "BSD-3-Clause"
PREFIX = "tributary"
# systemd-standalone-sysusers: packages make their users with it, and systemd is not needed then.
BASE_PACKAGES = ("systemd-standalone-sysusers",)
SOCKETS = "run/tributary"
# What dpkg leaves out, here and when a user of the image installs more. Licences stay.
EXCLUDED = ("usr/share/doc/*", "usr/share/info/*", "usr/share/lintian/*", "usr/share/locale/*", "usr/share/man/*")
INCLUDED = ("usr/share/doc/*/copyright",)
# Files that differ from run to run, that are this machine's, or that are made again when they are needed.
LEFT = (
    "etc/*-", "etc/hostname", "etc/machine-id", "etc/resolv.conf", "etc/ssh/ssh_host_*", "root/.cache",
    "usr/sbin/policy-rc.d", "var/cache/apt/*.bin", "var/cache/apt/archives/*", "var/cache/debconf/*-old",
    "var/cache/ldconfig/aux-cache", "var/lib/apt/lists/*", "var/lib/dpkg/*-old", "var/log/*", "var/lib/systemd/catalog/*",
)
# Of what is left, folders that apt needs.
EMPTY = ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial")


@dataclass(frozen=True)
class Kind:
    """An image: what it has, and how it starts. `ours`: packages of this project; `more`: of Debian."""

    name: str
    text: str
    ours: tuple
    more: tuple
    user: str
    entrypoint: tuple
    command: tuple
    health: tuple  # exit code 0: it does what it is for
    ports: tuple = ()


KINDS = {kind.name: kind for kind in (
    Kind("compute", "MPI programs and Python with reductions in the network, and the host agent",
         ("libtributary0", "libtributary-events0", "tributary-mpi", "tributary-client", "tributary-compute",
          "python3-tributary", "libtributary-fi"),
         # What MPI starts other containers with, and what a container waits for that does.
         ("openmpi-bin", "openssh-client", "openssh-server", "python3-mpi4py"), f"{USER}:{USER}", (), ("bash",),
         ("tributaryctl", "host", "show", "--json")),
    Kind("switch", "Software switch that performs reductions in the network",
         ("tributary-switch", "tributary-client"), (), "0:0", ("tributary-switch",), (),
         ("tributaryctl", "show", "ports", "--json")),
    Kind("manager", "Fabric manager of Tributary switches",
         ("tributary-fabricd", "tributary-client"), (), f"{TRIBUTARY}:{TRIBUTARY}", ("tributary-fabricd",), (),
         ("curl", "--fail", "--silent", "--output", "/dev/null", "--unix-socket", "/run/tributary/fabricd.sock",
          "http://localhost/readyz"), ("7580/tcp", "7581/tcp")),
)}


@dataclass(frozen=True)
class Made:
    """A finished image. Bytes: `compressed` as it is fetched, `unpacked` on the disk, both with the
    first layer, which has `shared` of the former."""

    reference: str
    digest: str
    archive: Path
    compressed: int
    unpacked: int
    shared: int

    def as_json(self):
        return {"reference": self.reference, "digest": self.digest, "archive": str(self.archive),
                "compressed_bytes": self.compressed, "unpacked_bytes": self.unpacked, "shared_bytes": self.shared}


def architecture():
    """As image indexes name this machine's."""
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def date_of(changelog):
    """Seconds of the last entry of a debian/changelog, or SOURCE_DATE_EPOCH: the latest time of a file in an image."""
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        if not epoch.isdigit():
            raise OciError(f"SOURCE_DATE_EPOCH is a number of seconds, and not {epoch!r}")
        return int(epoch)
    done = subprocess.run(["dpkg-parsechangelog", "-l", changelog, "-S", "Timestamp"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OciError(f"dpkg-parsechangelog cannot read {changelog}: {done.stderr.strip()}")
    return int(done.stdout)


def need_programs():
    """Raises OciError where no image can be made."""
    if os.geteuid() != 0:
        raise OciError("images need root: debootstrap makes the files of other users; run it with sudo")
    if shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        raise OciError("debootstrap is not installed; scripts/setup --platform installs it")


def version_of(kinds, packages):
    """Of the packages that the images have; raises OciError where one is missing, or they differ."""
    wanted = {name for kind in kinds for name in kind.ours}
    there = [tuple(path.name.split("_")[:2]) for path in packages if path.name.split("_")[0] in wanted]
    if lacking := sorted(wanted - {name for name, _ in there}):
        raise OciError(f"the packages {', '.join(lacking)} are missing; scripts/package makes them")
    found = {version for _, version in there}
    if len(found) != 1:
        raise OciError(f"the packages have several versions: {', '.join(sorted(found))}; name a folder with those of one")
    return found.pop()


def must(done, what):
    if done.returncode != 0:
        raise OciError(f"{what} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


class Root:
    """A folder with a Debian, in which packages are installed as for an image."""

    def __init__(self, path, when):
        self.path, self.when = path, when

    def run(self, *words):
        return must(bare.in_root(self.path, *words), " ".join(words))

    def apt(self, *words):
        self.run("apt-get", "-q", "-y", "--no-install-recommends", *words)

    def write(self, name, text, mode=0o644):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def folder(self, name, owner, mode):
        (self.path / name).mkdir(parents=True, exist_ok=True)
        (self.path / name).chmod(mode)
        os.chown(self.path / name, *owner)

    def remove(self, patterns, but=()):
        kept = {path for pattern in but for path in self.path.glob(pattern)}
        for pattern in patterns:
            for path in sorted(self.path.glob(pattern)):
                if any(each.is_relative_to(path) for each in kept):
                    for inner in sorted(path.rglob("*"), reverse=True):
                        if inner not in kept and not inner.is_dir():
                            inner.unlink()
                else:
                    bare.remove(path)

    def tidy(self):
        """What is left is the same whenever it is made."""
        self.remove(LEFT)
        self.remove(EXCLUDED, but=INCLUDED)
        # Compiled when they are read; as packages compile them, they can differ from run to run.
        for path in list(self.path.glob("usr/**/__pycache__")):
            bare.remove(path)
        for folder in EMPTY:
            (self.path / folder).mkdir(parents=True, exist_ok=True)
        shadow = self.path / "etc/shadow"
        shadow.write_text(undated(shadow.read_text(encoding="utf-8"), self.when), encoding="utf-8")

    def tree(self):
        return oci.tree(self.path, kept=(SOCKETS,))

    def check_complete(self):
        """Raises OciError where tidying has removed a file that a package needs."""
        said = bare.in_root(self.path, "dpkg", "--verify").stdout
        excluded = re.compile("|".join(pattern.replace("*", ".*") for pattern in EXCLUDED))
        lost = [line for line in said.splitlines() if line.startswith("missing") and not excluded.search(line)
                and "__pycache__" not in line and "/var/log" not in line]
        if lost:
            raise OciError("files of packages are not in the image:\n" + "\n".join(lost))


def undated(shadow, when):
    """/etc/shadow in which passwords were last changed at `when`, in seconds."""
    lines = [line.split(":") for line in shadow.splitlines()]
    return "".join(":".join([*line[:2], str(when // 86400), *line[3:]]) + "\n" for line in lines)


def make_base(path, when):
    """The first layer's files. Raises OciError without a mirror."""
    try:
        said = bare.bootstrap(path, BASE_PACKAGES)
    except PlatformError as problem:
        raise OciError(str(problem)) from None
    if said:
        raise OciError(f"debootstrap cannot make a Debian; is this machine's mirror reachable?\n{said}")
    root = Root(path, when)
    root.write("etc/dpkg/dpkg.cfg.d/image", "".join(f"path-exclude /{name}\n" for name in EXCLUDED)
               + "".join(f"path-include /{name}\n" for name in INCLUDED))
    root.remove(("etc/apt/sources.list", "etc/apt/sources.list.d/*"))  # those of this machine; users name theirs
    root.run("groupadd", "--system", "--gid", str(TRIBUTARY), "tributary")
    root.run("useradd", "--system", "--uid", str(TRIBUTARY), "--gid", "tributary", "--home-dir", "/var/lib/tributary",
             "--no-create-home", "--shell", "/usr/sbin/nologin", "--comment", "Tributary", "tributary")
    root.folder(SOCKETS, (0, TRIBUTARY), 0o1775)
    root.tidy()
    return root


def copied(root, to):
    must(subprocess.run(["cp", "-a", "--reflink=auto", root.path, to], capture_output=True, text=True, check=False), "cp")
    return Root(to, root.when)


def install(root, kind, packages):
    """The files of an image's last layer, beside those that are there."""
    root.folder("srv/packages", (0, 0), 0o755)
    chosen = sorted(path for path in packages if path.name.split("_")[0] in kind.ours)
    for path in chosen:
        shutil.copy(path, root.path / "srv/packages")
    policy = bare.start_nothing(root.path)
    with bare.reached(root.path):
        root.apt("update")
        root.apt("install", *kind.more, *(f"/srv/packages/{path.name}" for path in chosen))
    policy.unlink()
    bare.remove(root.path / "srv/packages")
    if kind.user == f"{USER}:{USER}":
        root.run("groupadd", "--gid", str(USER), "user")
        root.run("useradd", "--uid", str(USER), "--gid", "user", "--create-home", "--shell", "/bin/bash", "user")
    if kind.name == "manager":
        root.folder("var/lib/tributary", (TRIBUTARY, TRIBUTARY), 0o750)
    root.folder(SOCKETS, (0, TRIBUTARY), 0o1775)
    root.tidy()
    root.check_complete()


def settings_of(kind, version, release):
    """The specification's "config". Healthcheck is Docker's, which podman reads, too."""
    return {key: value for key, value in {
        "User": kind.user,
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"],
        "Entrypoint": list(kind.entrypoint), "Cmd": list(kind.command),
        "WorkingDir": "/home/user" if kind.user == f"{USER}:{USER}" else "/",
        "ExposedPorts": {port: {} for port in kind.ports},
        "Volumes": {"/var/lib/tributary": {}} if kind.name == "manager" else {},
        "StopSignal": "SIGTERM",
        "Healthcheck": {"Test": ["CMD", *kind.health], "Interval": 30 * 10**9, "Timeout": 10 * 10**9,
                        "StartPeriod": 30 * 10**9, "Retries": 3},
        "Labels": {
            "org.opencontainers.image.title": f"{PREFIX}-{kind.name}", "org.opencontainers.image.description": kind.text,
            "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": LICENSE,
            "org.opencontainers.image.base.name": release,
        },
    }.items() if value}


def make(kinds, packages, folder, when, base=None, say=print):
    """Makes the images, as a layout folder/layout and an archive of each beside it. `base`: an empty Debian from an earlier
    run, or a folder where one is kept. Returns [Made]."""
    need_programs()
    os.environ["SOURCE_DATE_EPOCH"] = str(when)  # useradd writes the day of the password
    version = version_of(kinds, packages)
    tag = oci.tag_of(version)
    layout = folder / "layout"
    shutil.rmtree(layout, ignore_errors=True)
    layout.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="tributary-image-") as place:
        started = time.monotonic()
        kept = Path(base) if base else Path(place) / "base"
        root = Root(kept, when) if (kept / "etc/dpkg/dpkg.cfg.d/image").exists() else make_base(kept, when)
        release = release_in(kept)[1]
        before = root.tree()
        first = oci.write_layer(layout, kept, before, (), when)
        say(f"{release}: {time.monotonic() - started:.0f} s")
        descriptors, made = [], []
        for kind in kinds:
            started = time.monotonic()
            own = copied(root, Path(place) / kind.name)
            install(own, kind, packages)
            changed, gone = oci.difference(before, own.tree())
            last = oci.write_layer(layout, own.path, changed, gone, when)
            shutil.rmtree(own.path)
            reference = f"{PREFIX}-{kind.name}:{tag}"
            layers = [(first, release), (last, " ".join((*kind.more, *kind.ours)))]
            descriptors.append(oci.write_image(layout, reference, settings_of(kind, version, release), layers, when, architecture()))
            oci.write_index(layout, descriptors)
            archive = folder / f"{PREFIX}-{kind.name}_{tag}_{architecture()}.tar"
            oci.write_archive(layout, descriptors[-1], archive, when)
            made.append(Made(reference, descriptors[-1]["digest"], archive, first.size + last.size,
                             first.unpacked + last.unpacked, first.size))
            say(f"{reference}: {time.monotonic() - started:.0f} s")
    return made
