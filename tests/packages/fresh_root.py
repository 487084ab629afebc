#!/usr/bin/env python3
"""Packages in a fresh Debian: installed, used, upgraded, removed.

    tests/packages/fresh_root.py [--build BUILD-FOLDER | --packages FOLDER] [--base FOLDER | --over | --keep FOLDER]
    tests/packages/fresh_root.py --packages FOLDER --upgrade-to FOLDER

Takes some minutes; needs root and debootstrap, and a mirror: the one that this machine's apt is set to.
Without a mirror it lays packages over this machine's own system instead, which shows less: what the
packages need is there already. Packages are made of BUILD-FOLDER (build), unless a folder has some.
Exits with 1 when something is wrong, 77 when it cannot run here. Nothing outside a temporary folder changes, also
when it is interrupted.

    installed     apt installs all packages; nothing is left unconfigured; programs and man pages are there
    wrong release another release refuses a package with a word, and nothing is changed
    without systemd the manager runs as docs/operate/installing.md says, and keeps a job
    upgrade       a higher version: the job is still there, and so is what the operator wrote in /etc
    demo          scripts/demo from the packages' programs: sixteen hosts, six switches
    removal       remove keeps configuration and store, purge leaves nothing: no file, user or group

With --upgrade-to, packages of the next release of Debian, the root becomes that release between:

    wrong release the next release's packages are refused, with a word
    the system    apt-get dist-upgrade to the next release; job and configuration are still there
    upgrade       its packages over the old ones: the versions, the job, the file in /etc
"""

import argparse
import itertools
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).resolve().parent)]

from platforms import archive, bare  # noqa: E402
from platforms.names import PLATFORMS, release_in  # noqa: E402
from tributary.cases import Cases, Skip  # noqa: E402

SKIPPED = 77
INSIDE = "TRIBUTARY_FRESH_ROOT"
PACKAGES = "/srv/packages"
NEWER = "0.1.0+newer"
# What the demonstration needs in addition to the packages.
FOR_THE_DEMO = ("python3", "iproute2", "iputils-ping", "procps", "man-db")
# Folders where a package may install files.
SYSTEM = ("bin", "boot", "etc", "lib", "lib64", "opt", "sbin", "usr", "var")
# Files that apt and dpkg write themselves, and others that are not the packages'.
NOT_OURS = re.compile(r"^(var/(lib/(dpkg|apt|systemd|ucf|man-db)|cache|log|backups)|tmp|srv|proc|sys|dev|run|root)(/|$)"
                      r"|^etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$|^etc/(ld\.so\.cache|\.pwd\.lock)$")


def must(done):
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, done.args))} ended with {done.returncode}:\n"
                             f"{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout


class Root:
    def __init__(self, path):
        self.path = path

    def run(self, *command):
        return bare.in_root(self.path, *command)

    def must(self, *command):
        return must(self.run(*command))

    def shell(self, text):
        return self.must("sh", "-ec", text)

    def apt(self, *words):
        return self.run("apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "--no-install-recommends",
                        *words)

    def files(self):
        found = set()
        for folder, folders, names in itertools.chain(*(os.walk(self.path / name) for name in SYSTEM)):
            at = os.path.relpath(folder, self.path)
            folders[:] = [name for name in folders if not NOT_OURS.match(os.path.normpath(f"{at}/{name}"))]
            for name in [*folders, *names]:
                path = os.path.normpath(f"{at}/{name}")
                if not NOT_OURS.match(path):
                    found.add(path)
        return found

    def accounts(self):
        return {kind: {line.split(":")[0] for line in (self.path / "etc" / kind).read_text().splitlines()}
                for kind in ("passwd", "group")}

    def mount(self):
        """So that programs in it find a usual system. Nothing of this machine's own is mounted
        there: the folder is removed in the end."""
        for words in (["--bind", self.path, self.path], ["-t", "proc", "proc", self.path / "proc"],
                      ["-t", "sysfs", "sysfs", self.path / "sys"]):
            must(subprocess.run(["mount", *words], capture_output=True, text=True, check=False))
        for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9)):
            device = self.path / "dev" / name
            if not device.exists():
                os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))


def made_empty(path):
    """A Debian of the minimal variant; False when no mirror can be reached."""
    print(f"an empty Debian in {path}", flush=True)
    if said := bare.bootstrap(path):
        print(f"debootstrap: {said}")
        return False
    bare.copy_settings(path)
    return True


def lay_over(path, place):
    """This machine's own system, with all changes beside it."""
    for name in ("upper", "work"):
        (place / name).mkdir()
    path.mkdir(exist_ok=True)
    options = f"lowerdir=/,upperdir={place / 'upper'},workdir={place / 'work'}"
    must(subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, path],
                        capture_output=True, text=True, check=False))
    listed = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\n"], capture_output=True, text=True, check=True)
    ours = [name for name in listed.stdout.split() if name.startswith(("tributary", "libtributary"))]
    if ours:
        raise Skip(f"this machine has {ours} installed, so that nothing would show")


class Story:
    """One after the other; each case needs those before it."""

    def __init__(self, root, packages, newer, fresh):
        self.root, self.packages, self.newer, self.fresh = root, packages, newer, fresh
        self.before = None
        self.accounts = None
        self.configuration = root.path / "etc/tributary/fabricd.toml"

    def debs(self, folder):
        there = sorted((self.root.path / f"srv/packages/{folder}").iterdir())
        return [f"{PACKAGES}/{folder}/{path.name}" for path in there]

    def prepared(self):
        root = self.root
        bare.start_nothing(root.path)
        for name, folder in (("old", self.packages), ("new", self.newer)):
            shutil.copytree(folder, root.path / f"srv/packages/{name}", ignore=lambda _, names: [
                each for each in names if not each.endswith(".deb")])
        if self.fresh:
            root.must("apt-get", "-q", "-y", "update")
            must(root.apt("install", *FOR_THE_DEMO))
            # Dependencies are installed first, so that they are not taken for leftovers.
            simulated = must(root.apt("install", "--simulate", *self.debs("old")))
            names = re.findall(r"^Inst (\S+)", simulated, re.MULTILINE)
            needed = [name for name in names if "tributary" not in name]
            must(root.apt("install", *needed))
        self.before, self.accounts = root.files(), root.accounts()
        already = [name for name in self.before if "tributary" in name]
        assert not already, f"they are there already: {already}"

    def refused(self, folder, words):
        """dpkg installs none of the folder's packages, prints this text, and changes nothing."""
        before = self.root.files()
        tried = self.root.run("dpkg", "-i", *[name for name in self.debs(folder) if "libtributary0_" in name])
        assert tried.returncode != 0
        assert words in tried.stderr, tried.stderr
        assert self.root.files() == before, self.root.files() ^ before

    def another_release_refuses_them(self):
        release = self.root.path / "etc/os-release"
        real = os.readlink(release) if release.is_symlink() else None
        text = release.read_text()
        own = re.search(r'^PRETTY_NAME="(.*)"', text, re.MULTILINE).group(1)
        release.unlink()
        release.write_text('ID=debian\nVERSION_ID="99"\nVERSION_CODENAME=other\nPRETTY_NAME="Debian GNU/Linux 99 (other)"\n')
        try:
            self.refused("old", f"is built for {own}, and this is Debian GNU/Linux 99 (other)")
        finally:
            release.unlink()
            release.symlink_to(real) if real else release.write_text(text)

    def apt_installs_them(self):
        self.install("old")
        self.programs_start()
        library = self.root.must("sh", "-c", "echo /usr/lib/*/libtributary_mpi_ompi.so").strip()
        # Where tributary-run looks for it, from its own place.
        found = self.root.must("sh", "-c", "grep -ao '[.][.]/lib/[a-z0-9_-]*' /usr/bin/tributary-run | head -1").strip()
        assert (self.root.path / "usr/bin" / found / Path(library).name).exists(), (library, found)
        assert {"tributary"} <= self.root.accounts()["passwd"] & self.root.accounts()["group"]

    def install(self, folder):
        """The folder's packages, each in its version."""
        must(self.root.apt("install", *self.debs(folder)))
        states = self.root.must("dpkg-query", "-W", "-f", "${Package}_${Version} ${db:Status-Status}\n", "*tributary*")
        found = {line.split()[0] for line in states.splitlines() if line.endswith(" installed")}
        wanted = {Path(name).name.rpartition("_")[0] for name in self.debs(folder)}
        assert found == wanted and len(found) >= 9, states
        verified = self.root.run("dpkg", "--verify", *[name.rpartition("_")[0] for name in found]).stdout
        assert "missing" not in verified, verified

    def programs_start(self):
        for program in ("tributary-switch", "tributary-fabricd", "tributary-hostd", "tributaryctl", "tributary-pktgen", "tributary-run",
                        "tributary-sim", "tributary-host"):
            assert program in self.root.must(program, "--describe"), program
            section = "8" if program in ("tributary-switch", "tributary-fabricd", "tributary-hostd") else "1"
            assert self.root.must("man", "-w", section, program).strip(), f"no man page of {program}"
        tried = self.root.run("python3", "-c", "import tributary; tributary.Host('nowhere')")
        assert "TributaryError: interface 'nowhere' does not exist" in tried.stderr, tried.stderr

    def start_manager(self):
        """As docs/operate/installing.md says for a system without systemd."""
        child = subprocess.Popen(
            ["chroot", str(self.root.path), "setpriv", "--reuid", "tributary", "--regid", "tributary",
             "--init-groups", "tributary-fabricd"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in child.stdout:
            if "ready:" in line:
                return child
        raise AssertionError(f"tributary-fabricd ended with {child.wait()}")

    def stop(self, child):
        child.terminate()
        rest = child.communicate(timeout=60)[0]
        assert child.returncode == 0, rest

    def ctl(self, *words):
        return self.root.must("tributaryctl", "fabric", *words)

    def a_manager_runs_without_systemd(self):
        # The minimal variant has no systemd-tmpfiles, so by hand, as the man page says.
        page = re.sub(r"\\(.)", r"\1", self.root.must("zcat", "/usr/share/man/man8/tributary-fabricd.8.gz"))
        commands = re.findall(r"^  (install -d .*)$", page.split(".SH WITHOUT SYSTEMD")[1], re.MULTILINE)
        assert len(commands) == 2, page
        self.root.shell("\n".join(commands))
        child = self.start_manager()
        try:
            self.ctl("job", "create", "kept", "--group-limit", "3")
            assert "kept" in self.ctl("show", "jobs", "--json")
        finally:
            self.stop(child)
        assert self.root.shell("stat -c %U /var/lib/tributary/fabric.db").strip() == "tributary"

    def an_upgrade_keeps_store_and_configuration(self):
        self.change_configuration()
        self.install("new")
        self.has_kept_everything()

    def change_configuration(self):
        self.configuration.write_text(self.configuration.read_text().replace('name = "fabric"', 'name = "ours"'))

    def has_kept_everything(self):
        assert 'name = "ours"' in self.configuration.read_text()
        child = self.start_manager()
        try:
            assert "kept" in self.ctl("show", "jobs", "--json")
        finally:
            self.stop(child)

    def the_demo_runs_from_packages(self):
        for name in ("demonstration", "platforms", "tributary", "runner"):
            shutil.copytree(ROOT / "scripts" / name, self.root.path / "srv/tributary/scripts" / name,
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "scripts/demo", self.root.path / "srv/tributary/scripts/demo")
        shown = self.root.must("/srv/tributary/scripts/demo", "--no-setup", "--build", "/usr", "--reductions", "1000",
                               "--seed", "7")
        assert "all exact, bit for bit" in shown and "left behind in the switches        nothing" in shown, shown
        print(shown)

    def removal_keeps_what_is_the_operators(self):
        must(self.root.apt("remove", *[Path(name).name.split("_")[0] for name in self.debs("new")]))
        assert self.configuration.exists()
        assert (self.root.path / "var/lib/tributary/fabric.db").exists()
        assert not (self.root.path / "usr/bin/tributary-switch").exists()

    def purge(self):
        # apt does not know packages of which only the configuration is left.
        states = self.root.must("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", "*tributary*")
        known = [line.split()[1] for line in states.splitlines() if line.startswith("config-files ")]
        assert set(known) == {"tributary-compute", "tributary-fabricd", "tributary-switch"}, known
        self.root.must("dpkg", "--purge", *known)
        assert not (self.root.path / "run/tributary").exists()

    def purge_leaves_nothing(self):
        self.purge()
        left = self.root.files() - self.before
        assert not left, f"left: {sorted(left)}"
        gone = self.before - self.root.files()
        assert not gone, f"taken along: {sorted(gone)}"
        assert self.root.accounts() == self.accounts, "an account is left"

    def chapters(self):
        return (self.prepared, self.another_release_refuses_them, self.apt_installs_them,
                self.a_manager_runs_without_systemd, self.an_upgrade_keeps_store_and_configuration,
                self.the_demo_runs_from_packages, self.removal_keeps_what_is_the_operators, self.purge_leaves_nothing)


class ReleaseUpgrade(Story):
    """The next release's packages are "new"."""

    def __init__(self, *words, to):
        super().__init__(*words)
        self.to = to

    def the_next_release_s_packages_are_refused(self):
        here = release_in(self.root.path)[1]
        self.refused("new", f"is built for Debian GNU/Linux {self.to.version} ({self.to.codename}), and this is {here}")

    def the_system_becomes_the_next_release(self):
        self.change_configuration()
        shutil.rmtree(self.root.path / "etc/apt/sources.list.d")
        found = archive.of_release(archive.sources(), self.to.codename)
        (self.root.path / "etc/apt/sources.list").write_text(archive.sources_list(found), encoding="utf-8")
        self.root.must("apt-get", "-q", "-y", "update")
        said = must(self.root.apt("dist-upgrade"))
        removed = re.findall(r"^Removing (\S*tributary\S*)", said, re.MULTILINE)
        print(*re.findall(r"^\d+ upgraded.*", said, re.MULTILINE), "of ours are removed:", *removed or ["none"])
        assert release_in(self.root.path)[0] == self.to.name
        assert 'name = "ours"' in self.configuration.read_text()
        assert (self.root.path / "var/lib/tributary/fabric.db").exists()

    def its_packages_are_an_upgrade(self):
        self.install("new")
        version = self.root.must("dpkg-query", "-W", "-f", "${Version}", "tributary-fabricd")
        assert version.endswith(f"~deb{self.to.version}"), version
        self.programs_start()
        self.has_kept_everything()

    def purge_leaves_nothing(self):
        """The rest of the system is another one than before."""
        ours = self.root.must("sh", "-c", "cat /var/lib/dpkg/info/*tributary*.list").splitlines()
        self.purge()
        left = [name for name in self.root.files() if "tributary" in name]
        left += [name for name in ours if os.path.lexists(path := self.root.path / name.lstrip("/")) and not path.is_dir()]
        assert not left, f"left: {sorted(left)}"
        assert not any("tributary" in names for names in self.root.accounts().values()), "an account is left"

    def chapters(self):
        return (self.prepared, self.the_next_release_s_packages_are_refused, self.apt_installs_them,
                self.a_manager_runs_without_systemd, self.the_system_becomes_the_next_release,
                self.its_packages_are_an_upgrade, self.removal_keeps_what_is_the_operators, self.purge_leaves_nothing)


def packages_of(build, to):
    lintian = ["--lintian"] if shutil.which("lintian") else []
    must(subprocess.run([ROOT / "scripts/package", "--dirty", "--weak-compression", "--build", build, "--output", to,
                         *lintian], capture_output=True, text=True, check=False))
    return to


def newer_than(packages, to):
    """The same packages with a higher version."""
    to.mkdir()
    for path in packages.glob("*.deb"):
        unpacked = to / "unpacked"
        must(subprocess.run(["dpkg-deb", "--raw-extract", path, unpacked], capture_output=True, text=True, check=False))
        version = path.name.split("_")[1]
        for name in ("control", "preinst"):
            if (file := unpacked / "DEBIAN" / name).exists():
                file.write_text(file.read_text().replace(version, NEWER))
        must(subprocess.run(["dpkg-deb", "--build", "-Zgzip", "-z1", unpacked, to / path.name.replace(version, NEWER)],
                            capture_output=True, text=True, check=False))
        shutil.rmtree(unpacked)
    return to


def next_release():
    """The one after this machine's; None for the last."""
    releases = [*PLATFORMS.values(), None]
    return next((after for each, after in zip(releases, releases[1:]) if each.name == release_in("/")[0]), None)


def check(chosen, place):
    root = Root(chosen.keep or place / "root")
    if chosen.base:
        must(subprocess.run(["cp", "-a", chosen.base, root.path], capture_output=True, text=True, check=False))
    fresh = bool(chosen.base) or (not chosen.over and made_empty(root.path))
    if not fresh:
        if chosen.upgrade_to:
            print("skipped: this needs a mirror, which has the next release")
            return SKIPPED
        shutil.rmtree(root.path, ignore_errors=True)
        lay_over(root.path, place)
    old = chosen.packages or packages_of(chosen.build, place / "old")
    root.mount()
    story = (ReleaseUpgrade(root, old, chosen.upgrade_to, fresh, to=next_release()) if chosen.upgrade_to
             else Story(root, old, newer_than(old, place / "new"), fresh))
    report = Cases("fresh_root")
    for chapter in story.chapters():
        started = time.monotonic()
        with report.case("fresh_root", chapter.__name__):
            chapter()
        print(f"    {time.monotonic() - started:.0f} s", flush=True)
    return report.finish()


def unmount(root):
    """All that is mounted at or below it, also one upon the other."""
    while f" {root}" in Path("/proc/self/mountinfo").read_text(encoding="utf-8"):
        done = subprocess.run(["umount", "--recursive", "--lazy", root], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{root} stays mounted, so nothing is removed: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="a release build (default: build)")
    parser.add_argument("--packages", type=Path, help="packages to begin with, instead of some of the build")
    parser.add_argument("--upgrade-to", type=Path, metavar="FOLDER",
                        help="packages of the next release of Debian, which the root is upgraded to")
    parser.add_argument("--base", type=Path, help="an empty Debian that debootstrap has made, to be copied")
    parser.add_argument("--over", action="store_true", help="lay packages over this system, as without a mirror")
    parser.add_argument("--keep", type=Path, help="a folder that the Debian is made in, and stays in")
    chosen = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("skipped: this needs root and debootstrap")
        sys.exit(SKIPPED)
    if INSIDE not in os.environ:
        # Mounts end with the program.
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, INSIDE: "yes"})
    # So that all is removed when this is interrupted, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    if chosen.upgrade_to and next_release() is None:
        parser.error("--upgrade-to: no release after this machine's is known to scripts/platforms")
    for folder in filter(None, (chosen.packages, chosen.upgrade_to)):
        if not any(folder.glob("*.deb")):
            parser.error(f"{folder} has no packages; scripts/package makes some")
    with tempfile.TemporaryDirectory(prefix="tributary-fresh-root-") as place:
        try:
            code = check(chosen, Path(place))
        finally:
            unmount(chosen.keep or Path(place) / "root")
    sys.exit(code)


if __name__ == "__main__":
    main()
