"""Containers of ordinary users: a root for them, and how Charliecloud's ch-run and crun start a program in it.

    root = Root(lab)                                 a folder with a system, which users may read
    words = root.charliecloud(more=...)              in front of a command: as the user, with the node's network
    words = root.crun(name, uid, [program, ...])     the whole command: as root in a user namespace, with no network

TRIBUTARY_IMAGE may name an image that `scripts/package --image compute` has made; otherwise the root has this machine's
own programs, which differs only in where files come from.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tributary.cases import Skip

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "packaging"))

import oci  # noqa: E402

IMAGE = os.environ.get("TRIBUTARY_IMAGE", "")
FOLDERS = ("dev", "etc", "home", "mnt", "opt", "proc", "root", "run/lab", "run/tributary", "sys", "tmp", "usr", "var")
LINKS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
SETTINGS = ("alternatives", "group", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "openmpi", "passwd",
            "python3", "python3.11", "python3.13", "resolv.conf")  # fmt: skip
MANAGER = Path("/run/lab/fabricd.sock")
PRELOAD = "libtributary_mpi_ompi.so"


def need(program):
    if shutil.which(program) is None:
        raise Skip(f"{program} is not installed: scripts/setup")


class Root:
    def __init__(self, lab):
        self.lab, self.path = lab, Path("/run/container")
        if IMAGE:
            oci.Image(IMAGE).unpack(self.path)
        for name in FOLDERS:
            (self.path / name).mkdir(parents=True, exist_ok=True)
        if not IMAGE:
            self._lay_this_machines()
        for name in ("etc/hosts", "etc/resolv.conf", MANAGER.relative_to("/")):
            (self.path / name).touch()  # ch-run mounts the node's over them

    def _lay_this_machines(self):
        subprocess.run(["mount", "--bind", "/usr", self.path / "usr"], check=True)
        for name in LINKS:
            if os.path.islink(f"/{name}"):
                (self.path / name).symlink_to(os.readlink(f"/{name}"))
        for name in SETTINGS:
            source, target = Path("/etc", name), self.path / "etc" / name
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True, ignore_dangling_symlinks=True)
            elif source.exists():
                shutil.copy(source, target)

    def add(self, program):
        """A file of the test in the root; returns its path in there."""
        shutil.copy(program, self.path / "opt")
        return f"/opt/{Path(program).name}"

    def preloading(self, cluster, library):
        """Words in front of a program in there: the library of the image, or that of the build."""
        if IMAGE:
            return ["env", f"LD_PRELOAD={PRELOAD}"]
        built = cluster.preload(library)
        for file in built.parent.iterdir():
            self.add(file)
        return ["env", f"LD_PRELOAD=/opt/{built.name}", "LD_LIBRARY_PATH=/opt"]

    def charliecloud(self, *options, shown=("/run/tributary", MANAGER)):
        """`shown`: what of the node is in there, at the same paths. ch-run wants a user's name. The manager's socket is there, as
        the clusters of the tests have no network in common but the fabric."""
        need("ch-run")
        return ("env", "USER=user", "ch-run", *options, *(f"--bind={path}:{path}" for path in shown), str(self.path), "--")

    def crun(self, name, uid, words, shown="/run/lab"):
        """Makes a bundle, and returns (the command that runs it, the one that kills it with the signal that follows)."""
        need("crun")
        folder = Path("/run/bundles") / name
        (folder / "state").mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(self._bundle(uid, words, shown)))
        for path in (folder, folder / "state"):
            os.chown(path, uid, uid)
        # As where a user has no cgroup of his own; crun still asks for the kind of hierarchy.
        if not Path("/sys/fs/cgroup/cgroup.procs").exists():
            subprocess.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], check=True)
        crun = ["crun", f"--root={folder / 'state'}", "--cgroup-manager=disabled"]
        return (*crun, "run", f"--bundle={folder}", name), (*crun, "kill", name)

    def _bundle(self, uid, words, shown):
        own = [{"containerID": 0, "hostID": uid, "size": 1}]
        return {
            "ociVersion": "1.0.2",
            "process": {
                "terminal": False, "user": {"uid": 0, "gid": 0}, "args": list(words), "cwd": "/", "noNewPrivileges": True,
                "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH=/opt"],
            },
            "root": {"path": str(self.path), "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=65536k"]},
                {"destination": shown, "type": "bind", "source": shown, "options": ["rbind", "rw"]},
            ],
            "linux": {
                "uidMappings": own, "gidMappings": own,
                "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "user", "network")],
            },
        }  # fmt: skip
