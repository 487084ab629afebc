#!/usr/bin/env python3
"""Packages for Arm that were cross-built: what they are for, what they depend on, and that their programs start.

    tests/packages/arm64.py [FOLDER]

Of the packages in FOLDER (build-arm64/packages), which scripts/package --arm64 makes. Nothing is installed: they are
unpacked, and programs run under qemu-user with the libraries of build-arm64/root. Exits with 1 when something is wrong.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts")]

from cross import database  # noqa: E402
from tributary.cases import Cases  # noqa: E402

ARM = ROOT / "build-arm64/root"
LIBRARIES = "usr/lib/aarch64-linux-gnu"
AARCH64 = 183  # e_machine of ELF


def must(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


class Package:
    def __init__(self, archive, place):
        self.archive = archive
        control = must("dpkg-deb", "--field", archive)
        self.name, self.architecture = (database.field(control, key) for key in ("Package", "Architecture"))
        self.needs = {word.split()[0].split(":")[0] for key in ("Depends", "Pre-Depends", "Recommends")
                      for word in re.split(r"[,|]", database.field(control, key)) if word.strip()}
        self.place = place / self.name
        must("dpkg-deb", "--extract", archive, self.place)

    def binaries(self):
        return [path for path in self.place.rglob("*") if path.is_file() and not path.is_symlink()
                and path.read_bytes()[:4] == b"\x7fELF"]


def every_package_is_there(packages, _):
    control = (ROOT / "debian/control").read_text(encoding="utf-8")
    wanted = dict(re.findall(r"^Package: (\S+)\n(?:.+\n)*?Architecture: (.+)$", control, re.MULTILINE))
    wanted = {name: "arm64" if "arm64" in of else of for name, of in wanted.items()}
    assert {each.name: each.architecture for each in packages} == wanted


def all_that_is_compiled_is_for_arm(packages, _):
    for package in packages:
        machines = {int.from_bytes(path.read_bytes()[18:20], "little") for path in package.binaries()}
        assert machines <= {AARCH64}, f"{package.name}: {machines}"
        assert machines or package.architecture == "all" or package.name == "libtributary-dev", package.name


def whose_libraries_are_needed_are_depended_on(packages, admindir):
    """Asked of the libraries that each program names, and not of dpkg-shlibdeps, which has written the field."""
    ours = {path.name: package.name for package in packages for path in package.place.rglob("lib*.so.*")}
    for package in packages:
        for binary in package.binaries():
            for library in re.findall(r"NEEDED.*\[(.+)\]", must("readelf", "-d", binary)):
                if library not in ours:
                    path = (ARM / LIBRARIES / library).resolve()
                    assert path.exists(), f"{package.name}: {binary.name} needs {library}, which is not in the root"
                    output = must("dpkg-query", f"--admindir={admindir}", "--search", path)
                    owner = output.split(":")[0]
                    # Some are depended on by a name that they provide.
                    provided = must("dpkg-query", f"--admindir={admindir}", "-W", "-f", "${Provides}", owner)
                    names = {owner, *(word.split()[0] for word in provided.split(",") if word.strip())}
                else:
                    names = {ours[library]}
                assert names & {package.name, *package.needs}, f"{package.name}: {binary.name} needs {names}"


def programs_start(packages, _):
    folders = ":".join(str(package.place / LIBRARIES) for package in packages)
    programs = {path.name: path for package in packages for path in (package.place / "usr").glob("*bin/*")}
    assert len(programs) >= 7, programs
    for name, path in sorted(programs.items()):
        if path.read_bytes()[:4] == b"\x7fELF":
            said = must("qemu-aarch64-static", "-L", ARM, "-E", f"LD_LIBRARY_PATH={folders}", path, "--help")
            assert name in said, f"{name}: {said}"


def what_its_own_programs_have_written_is_in_them(packages, _):
    """Configurations and man pages, which the build and debian/rules ask the programs for."""
    places = {package.name: package.place for package in packages}
    for package, name, file in (("tributary-switch", "tributary-switch", "switch.toml"),
                                ("tributary-fabricd", "tributary-fabricd", "fabricd.toml"),
                                ("tributary-compute", "tributary-hostd", "hostd.toml")):
        text = (places[package] / "etc/tributary" / file).read_text(encoding="utf-8")
        assert len(text.splitlines()) > 30, text
        assert list((places[package] / "usr/share/man/man8").glob(f"{name}.8*")), f"no man page of {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build-arm64/packages")
    chosen = parser.parse_args()
    archives = sorted(chosen.folder.glob("*.deb"))
    if not archives or not ARM.exists():
        parser.error(f"{chosen.folder} has no packages, or build-arm64/root is missing; scripts/package --arm64 makes both")
    report = Cases("arm64")
    with tempfile.TemporaryDirectory(prefix="tributary-arm64-") as folder:
        place = Path(folder)
        admindir = database.of_this_machine(ARM.resolve(), place / "dpkg")
        packages = [Package(archive, place) for archive in archives]
        for check in (every_package_is_there, all_that_is_compiled_is_for_arm,
                      whose_libraries_are_needed_are_depended_on, programs_start,
                      what_its_own_programs_have_written_is_in_them):
            with report.case("arm64", check.__name__):
                check(packages, admindir)
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
