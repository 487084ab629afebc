#!/usr/bin/env python3
"""Container images of packages: made twice, looked into, and run.

    tests/packages/container_images.py --packages FOLDER [--base FOLDER] [--build BUILD-FOLDER]

Takes ten minutes; needs root, debootstrap and a mirror: the one that this machine's apt is set to. Exits with 1 when
something is wrong, 77 when it cannot run here. Nothing outside a temporary folder changes.

    reproducible      made again of the same packages, and of another empty Debian, each has the same digest
    small             no image is larger than LARGEST says
    of this machine   is nothing: no setting by which apt reaches its mirror, no host name, no key
    programs          of each image start, as its user
    containers        with --build: the tests of the tier hosts with containers, whose root is the image compute
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts" / "packaging"), str(ROOT / "scripts")]

import images  # noqa: E402
import oci  # noqa: E402
from platforms import archive  # noqa: E402
from tributary.cases import Cases, Failed  # noqa: E402

SKIPPED = 77
MIB = 2**20
# Compressed, in MiB, with the first layer.
LARGEST = {"compute": 90, "switch": 60, "manager": 60}
STARTED = {
    "compute": (["tributaryctl", "--version"], ["tributary-run", "--version"], ["tributary-hostd", "--version"],
                ["mpirun", "--version"], ["python3", "-c", "import tributary, mpi4py, numpy"], ["/usr/sbin/sshd", "-V"]),
    "switch": (["tributary-switch", "--version"], ["tributaryctl", "--version"]),
    "manager": (["tributary-fabricd", "--version"], ["curl", "--version"]),
}  # fmt: skip


class Story:
    def __init__(self, packages, base, place, build):
        self.packages, self.base, self.place, self.build = packages, base, place, build
        self.made = {}

    def make(self, to, base):
        words = [ROOT / "scripts/package", "--image", "--packages", self.packages, "--base", base, "--output", to, "--json"]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"scripts/package --image ended with {done.returncode}")
        return {image["reference"].split(":")[0].removeprefix("tributary-"): image for image in json.loads(done.stdout)["images"]}

    def root(self, kind):
        folder = self.place / kind
        if not folder.exists():
            oci.Image(self.made[kind]["archive"]).unpack(folder)
        return folder

    def they_are_made(self):
        self.made = self.make(self.place / "first", self.base)
        assert self.made.keys() == images.KINDS.keys(), self.made

    def they_are_reproducible(self):
        again = self.make(self.place / "second", self.place / "another-base")
        differ = {kind: (image["digest"], again[kind]["digest"]) for kind, image in self.made.items()
                  if image["digest"] != again[kind]["digest"]}
        for kind in differ:
            one, other = (oci.Image(each[kind]["archive"]) for each in (self.made, again))
            one.unpack(self.place / f"{kind}-one")
            other.unpack(self.place / f"{kind}-other")
            print(kind, oci.difference(oci.tree(self.place / f"{kind}-one"), oci.tree(self.place / f"{kind}-other")))
        assert not differ, differ

    def they_are_small(self):
        for kind, image in self.made.items():
            print(f"{kind}: {image['compressed_bytes'] / MIB:.1f} MiB, {image['unpacked_bytes'] / MIB:.1f} MiB unpacked")
        large = {kind: image["compressed_bytes"] for kind, image in self.made.items()
                 if image["compressed_bytes"] > LARGEST[kind] * MIB}
        assert not large, large

    def nothing_of_this_machine_is_in_them(self):
        addresses = [each.address.split("://")[-1].strip("/").encode() for each in archive.sources()]
        for kind in self.made:
            root = self.root(kind)
            keys = [*root.glob("etc/ssh/ssh_host_*"), *(root / name for name in ("etc/resolv.conf", "etc/hostname", "etc/apt/auth.conf"))]
            assert not [path for path in keys if path.exists()], keys
            found = [path for path in (root / "etc").rglob("*") if path.is_file() and not path.is_symlink()
                     and any(address in path.read_bytes() for address in addresses)]
            assert not found, found

    def their_programs_start(self):
        for kind, commands in STARTED.items():
            configuration = oci.Image(self.made[kind]["archive"]).configuration["config"]
            uid, gid = configuration["User"].split(":")
            (self.root(kind) / "dev/null").touch()
            (self.root(kind) / "dev/null").chmod(0o666)
            for words in commands:
                done = subprocess.run(["chroot", f"--userspec={uid}:{gid}", "--groups=", self.root(kind), *words],
                                      env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{kind}: {words}: {done.stdout}{done.stderr}"

    def containers_of_it_reduce(self):
        done = subprocess.run(
            [sys.executable, ROOT / "tests/hosts/run.py", "--build", self.build],
            env={**os.environ, "GTEST_FILTER": "containers.*", "TRIBUTARY_IMAGE": self.made["compute"]["archive"]},
            stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout)
        assert done.returncode == 0 and "[  SKIPPED ]" not in done.stdout

    def chapters(self):
        return (self.they_are_made, self.they_are_reproducible, self.they_are_small, self.nothing_of_this_machine_is_in_them,
                self.their_programs_start, *([self.containers_of_it_reduce] if self.build else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True, help="packages that scripts/package has made")
    parser.add_argument("--base", type=Path, help="an empty Debian that is kept there")
    parser.add_argument("--build", type=Path, help="a release build, for the tests of the tier hosts")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("skipped: this needs root and debootstrap")
        sys.exit(SKIPPED)
    report = Cases("images")
    with tempfile.TemporaryDirectory(prefix="tributary-images-") as folder:
        place = Path(folder)
        story = Story(chosen.packages.resolve(), chosen.base or place / "base", place, chosen.build)
        for chapter in story.chapters():
            with report.case("images", chapter.__name__):
                chapter()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
