"""Builds Debian packages of the tree, for the release that it runs on, and container images of them. Started by
scripts/package."""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts/packaging")]

import images  # noqa: E402
from cross import database  # noqa: E402
from oci import OciError  # noqa: E402
from platforms import options as platform_options  # noqa: E402
from platforms.names import PLATFORMS, VARIABLE, release_in  # noqa: E402

MAINTAINER = "Tributary maintainers <none@tributary.invalid>"  # of debian/: a domain that never exists (RFC 2606)
EXAMPLES = """\
examples:
  scripts/package                        builds what is committed, and packs it in build-packages/
  scripts/package --build build          packs what a release build has
  scripts/package --lintian              and has lintian look at the packages
  scripts/package --arm64                packages for Arm, cross-built on x86-64, in build-arm64/packages
  scripts/package --image                also container images of them: compute, switch and manager
  scripts/package --image compute --packages build-packages
                                         this image, of packages that are there
  DEBFULLNAME='Our site' DEBEMAIL=root@site.org scripts/package    names who answers for them
exit codes: 0 packages and images are made, 1 they cannot be made, or lintian found something, 2 wrong command line.
"""


class PackageError(Exception):
    """The text describes the error and the remedy."""


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/package", description=__doc__, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    built = parser.add_mutually_exclusive_group()
    built.add_argument("--build", type=Path, metavar="DIR",
                       help="pack what this release build has, instead of making one (a quarter of an hour)")
    built.add_argument("--arm64", action="store_true",
                       help="packages for Arm: cross-build with scripts/cross-arm64, and pack that")
    built.add_argument("--packages", type=Path, metavar="DIR",
                       help="with --image: take the packages there, instead of making some")
    parser.add_argument("--image", nargs="*", choices=images.KINDS, metavar="KIND", default=None,
                        help="make container images, too; without a KIND all: " + ", ".join(images.KINDS) + ". Needs root, "
                        "debootstrap and a mirror of Debian")
    parser.add_argument("--base", type=Path, metavar="DIR",
                        help="with --image: keep the empty Debian there, and take it from there if it is")
    parser.add_argument("--json", action="store_true", help="print what is made as JSON")
    parser.add_argument("--output", type=Path, metavar="DIR",
                        help="where the packages go (default: build-packages; with --arm64 build-arm64/packages); images "
                        "go into its folder images")
    parser.add_argument("--version", metavar="V", help="version of the packages (default: debian/changelog's, with the release behind it: ~deb12)")
    parser.add_argument("--dirty", action="store_true", help="also what is not committed")
    parser.add_argument("--weak-compression", action="store_true", help="larger packages in less time, for tests")
    parser.add_argument("--lintian", action="store_true", help="check the packages with lintian")
    platform_options.add(parser)
    parser.add_argument("--verbose", action="store_true", help="show what the build prints")
    options = parser.parse_args()
    if options.image is None and (options.packages or options.base):
        parser.error(f"{'--packages' if options.packages else '--base'} applies to --image only")
    if options.image is not None and options.arm64:
        parser.error("--image makes images for this machine's own processor; run it on Arm for those of --arm64")
    options.output = options.output or ROOT / ("build-arm64/packages" if options.arm64 else "build-packages")
    return options


def need_tools(options):
    if options.image is not None:
        images.need_programs()
    if options.packages and not any(options.packages.glob("*.deb")):
        raise PackageError(f"{options.packages} has no packages; scripts/package makes some")
    if shutil.which("dpkg-deb") is None:
        raise PackageError("this system has no dpkg; packages can be built on Debian. `meson install` installs "
                           "elsewhere, see docs/operate/installing.md")
    missing = [tool for tool in ("dpkg-buildpackage", "dh", *(["lintian"] if options.lintian else []))
               if shutil.which(tool) is None]
    if missing:
        raise PackageError(f"{', '.join(missing)} is not installed; scripts/setup installs it")
    if options.build and not (options.build / "build.ninja").exists():
        raise PackageError(f"{options.build} is not a build folder; make one with: meson setup {options.build} "
                           f"&& ninja -C {options.build}")


def cross_build(options):
    """Builds for Arm; what is already built there is not built again."""
    if root := os.environ.get(VARIABLE):
        raise PackageError(f"--arm64 makes packages for this machine's own release, and this is the root of {root}")
    words = ["--installed-only", *(["--verbose"] if options.verbose else [])]
    if subprocess.run([ROOT / "scripts/cross-arm64", *words], check=False).returncode != 0:
        raise PackageError("it cannot be built for Arm (the reason is above)")
    options.build = ROOT / "build-arm64/build"


def of_arm(place):
    """The variables debian/rules needs to pack a cross build: the runner of its programs, its
    libraries and their packages."""
    root = ROOT / "build-arm64/root"
    return {"TRIBUTARY_RUN": f"qemu-aarch64-static -L {root}",
            "TRIBUTARY_ADMINDIR": str(database.of_this_machine(root, place)),
            "TRIBUTARY_LIBRARIES": str(root / "usr/lib/aarch64-linux-gnu")}


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


def tree(options):
    """The files to pack, relative to the root."""
    status = git("status", "--porcelain")
    if status.returncode != 0:  # sources without their history
        return [path.relative_to(ROOT) for path in ROOT.rglob("*")
                if path.is_file() and not path.relative_to(ROOT).parts[0].startswith(("build", "obj-", "."))]
    if status.stdout and not options.dirty:
        raise PackageError("the tree is not clean, so the contents of the packages would be unknown:\n"
                           f"{status.stdout.rstrip()}\nCommit it, or give --dirty.")
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def copy(files, to):
    for name in files:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name, follow_symlinks=False)


def versioned(changelog, release, version=None):
    """The text of debian/changelog for packages of `release` (debian12): `version`, or the current
    one with ~deb12 appended, so that packages of the next release are an upgrade; and the release's
    name for the distribution."""
    head, own, distribution, rest = re.match(r"(\S+ \()([^)]*)\) (\S+)(;.*)", changelog, re.DOTALL).groups()
    if platform := PLATFORMS.get(release):
        own, distribution = f"{own}~deb{platform.version}", platform.codename
    return f"{head}{version or own}) {distribution}{rest}"


def maintained(text, environment):
    """debian/control or debian/changelog with the maintainer that DEBFULLNAME and DEBEMAIL name. The sources have no
    mail address: the person who builds packages answers for them."""
    name, address = (environment.get(variable, "").strip() for variable in ("DEBFULLNAME", "DEBEMAIL"))
    if bool(name) != bool(address):
        raise PackageError("DEBFULLNAME and DEBEMAIL name the maintainer together; set both, or neither")
    return text.replace(MAINTAINER, f"{name} <{address}>") if name else text


def adapt(place, version):
    """The files of `place`/debian that depend on the release, the version and who builds the packages."""
    changelog, control = place / "debian" / "changelog", place / "debian" / "control"
    text = versioned(changelog.read_text(encoding="utf-8"), release_in("/")[0], version)
    changelog.write_text(maintained(text, os.environ), encoding="utf-8")
    control.write_text(maintained(control.read_text(encoding="utf-8"), os.environ), encoding="utf-8")


def build(options, place):
    environment = {**os.environ}
    parallel = os.cpu_count() or 1
    # An existing release build has no debug symbols.
    environment["DEB_BUILD_OPTIONS"] = f"nocheck parallel={parallel}" + (" noautodbgsym" if options.build else "")
    command = ["dpkg-buildpackage", "-b", "--no-sign"]
    if options.build:
        environment["TRIBUTARY_BUILD"] = str(options.build.resolve())
        command.append("-d")  # nothing is compiled
    if options.arm64:
        environment |= of_arm(place.parent / "dpkg")
        command.append(f"--host-arch={database.ARCHITECTURE}")
    if options.weak_compression:
        environment["TRIBUTARY_WEAK_COMPRESSION"] = "yes"
    done = subprocess.run(command, cwd=place, env=environment, text=True, check=False,
                          stdout=None if options.verbose else subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        said = "" if options.verbose else "\n".join(done.stdout.splitlines()[-30:]) + "\n"
        hint = "; scripts/setup installs what is missing" if "unmet build dependencies" in said.lower() else ""
        raise PackageError(f"{said}dpkg-buildpackage ended with {done.returncode}{hint}")


def lintian(packages):
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "bad-distribution-in-changes-file",
         *map(str, packages)], capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    if done.returncode != 0:
        raise PackageError(f"lintian found something in the packages {done.stderr}")
    print("lintian found nothing")


def build_packages(options):
    files = tree(options)
    if options.arm64:
        cross_build(options)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tributary-package-") as folder:
        place = Path(folder) / "tributary"
        place.mkdir()
        copy(files, place)
        adapt(place, options.version)
        build(options, place)
        return [Path(shutil.move(path, options.output / path.name)) for path in sorted(Path(folder).glob("*.deb"))]


def build_images(options, packages):
    kinds = [images.KINDS[name] for name in options.image or images.KINDS]
    progress = sys.stderr if options.json else sys.stdout
    return images.make(kinds, packages, options.output / "images", images.date_of(ROOT / "debian" / "changelog"), options.base,
                       lambda text: print(text, file=progress, flush=True))


def mib(count):
    return f"{count / 2**20:.1f} MiB"


def show(options, packages, made):
    if options.json:
        print(json.dumps({"packages": [{"path": str(path), "bytes": path.stat().st_size} for path in packages],
                          "images": [image.as_json() for image in made]}, indent=1))
        return
    for path in [] if options.packages else packages:
        print(f"{path.stat().st_size // 1024:>7} KiB  {os.path.relpath(path)}")
    for image in made:
        print(f"{image.reference}: {mib(image.compressed)} compressed, of which {mib(image.shared)} are in all images; "
              f"{mib(image.unpacked)} unpacked\n  {os.path.relpath(image.archive)}")


def run(options):
    need_tools(options)
    packages = sorted(options.packages.glob("*.deb")) if options.packages else build_packages(options)
    made = [] if options.image is None else build_images(options, packages)
    show(options, packages, made)
    if options.lintian:
        lintian(packages)


def main():
    # So that the folder of a build that is interrupted is removed, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        run(arguments())
    except (PackageError, OciError) as problem:
        print(f"scripts/package: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
