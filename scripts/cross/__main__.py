"""Cross-builds the tree for Arm (aarch64) on Debian for x86-64, and runs unit tests of it under qemu-user. Started by
scripts/cross-arm64.

The headers and libraries are arm64 packages of this machine's own release, which apt fetches into a folder of their
own, build-arm64/root: nothing is installed, and this machine's apt and dpkg stay as they are."""

import argparse
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "runner"))
import building  # noqa: E402
import database  # noqa: E402
import layering  # noqa: E402

PLACE = ROOT / "build-arm64"
CROSS_FILE = ROOT / "packaging" / "aarch64-linux-gnu.ini"
ROOT_FILE = PLACE / "root.ini"  # says where the root is
LISTS = ("packages", "packages-mpi", "packages-test")
# Libraries for the compiler of the build, which is this machine's.
NOT_FOR_ARM = {"libclang-rt-dev"}
TOOLS = ("aarch64-linux-gnu-g++", "qemu-aarch64-static", "meson", "ninja", "pkg-config", "apt-get", "dpkg-deb")
FETCH_SECONDS = 1800
# qemu-user runs the tests some ten times slower than the processor would.
TIMEOUT_FACTOR = 20
EXAMPLES = """\
examples:
  scripts/cross-arm64                    fetches packages (once), builds all, runs the unit tests of pure rooms
  scripts/cross-arm64 --root-only        only makes build-arm64/root, for a meson setup of your own
  scripts/cross-arm64 --tests-only       builds only those tests, and runs them
  scripts/cross-arm64 --no-tests         builds all, and runs nothing
  scripts/cross-arm64 --installed-only   builds what scripts/package --arm64 packs, and runs nothing
exit codes: 0 done, all tests passed; 1 it could not be done, or a test failed; 2 wrong command line.
"""


class CrossError(Exception):
    """The text describes the error and the remedy."""


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/cross-arm64", description=__doc__, epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--root-only", action="store_true", help="make the root of arm64 packages, and stop")
    only.add_argument("--tests-only", action="store_true", help="build what the tests need, and no more")
    only.add_argument("--no-tests", action="store_true", help="build, and run no test")
    only.add_argument("--installed-only", action="store_true", help="build what is installed, and run no test")
    parser.add_argument("--fetch", action="store_true", help="make the root again although it is there")
    parser.add_argument("--verbose", action="store_true", help="show what apt and the build print")
    return parser.parse_args()


def say(text):
    print(f"cross-arm64: {text}", flush=True)


def run(command, verbose=False, what=None, timeout=None, **more):
    """Runs a command; its output is shown when it fails, or with `verbose`."""
    try:
        done = subprocess.run(command, stdout=None if verbose else subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        raise CrossError(f"{what or command[0]} was not done within {timeout} s; is the network reachable?") from None
    except OSError as error:
        raise CrossError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        said = "" if verbose else "\n".join(done.stdout.splitlines()[-30:]) + "\n"
        raise CrossError(f"{said}{what or command[0]} ended with {done.returncode}")
    return done.stdout or ""


def need_tools():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise CrossError(f"{', '.join(missing)} is not installed; scripts/setup and scripts/setup --night install "
                         "what a cross build needs, on Debian")


def wanted_packages():
    """For each library that the build needs, its possible names, the preferred first. A line of the
    lists that names a release applies to that release."""
    wanted = []
    here = f"debian{release('VERSION_ID')}"
    for name in LISTS:
        for line in (ROOT / "scripts" / name).read_text(encoding="utf-8").splitlines():
            alternatives = [one.split() for one in line.split("#")[0].split("|") if one.split()]
            names = [words[0] for words in alternatives]
            releases = [word for words in alternatives for word in words[1:] if word.startswith("debian")]
            if names and (not releases or here in releases) and names[0].endswith("-dev") and names[0].startswith(("lib", "linux-")) \
                    and names[0] not in NOT_FOR_ARM:
                wanted.append(names)
    return wanted


class Apt:
    """apt for arm64 with lists, a cache and a state of its own, and this machine's sources, keys and proxies."""

    def __init__(self, place, verbose):
        self.verbose = verbose
        self.archives = place / "cache" / "archives"
        for folder in (self.archives / "partial", place / "lists" / "partial"):
            folder.mkdir(parents=True)
        (place / "status").touch()
        dumped = run(["apt-config", "dump"])
        # Hooks that this machine runs after an update of its own must not run here.
        kept = [line for line in dumped.splitlines()
                if not re.match(r"(APT::Architectures?|APT::Update::|DPkg::|Dir::Etc::(main|parts)\b)", line)]
        ours = {
            "APT::Architecture": "arm64", "APT::Architectures": "arm64", "APT::Sandbox::User": "root",
            "Dir::Etc::main": "/dev/null", "Dir::Etc::parts": "/dev/null", "Dir::State": place,
            "Dir::State::lists": place / "lists", "Dir::State::status": place / "status",
            "Dir::Cache": place / "cache", "Dir::Cache::archives": self.archives,
        }
        self.config = place / "apt.conf"
        self.config.write_text("\n".join(kept + [f'{key} "{value}";' for key, value in ours.items()]) + "\n",
                               encoding="utf-8")

    def __call__(self, *words, program="apt-get"):
        return run([program, "-q", *words], self.verbose and program == "apt-get", f"apt-get {words[0]} for arm64",
                   FETCH_SECONDS, env={**os.environ, "LC_ALL": "C", "APT_CONFIG": str(self.config)})

    def fetch(self, wanted):
        """Fetches packages and all that they depend on. Returns the files."""
        self("update")
        chosen = []
        for names in wanted:
            known = [name for name in names if self.knows(name)] if len(names) > 1 else names
            if not known:
                raise CrossError(f"this release has no arm64 package {' or '.join(names)}")
            chosen.append(known[0])
        self("install", "-y", "--download-only", "--no-install-recommends", *chosen)
        return sorted(self.archives.glob("*.deb"))

    def knows(self, name):
        return re.search(r"Candidate: [^(]", self("policy", name, program="apt-cache")) is not None


def unpack(archive, to):
    """As dpkg would, but running no script. `--keep-directory-symlink`: /lib is a link to /usr/lib."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as reader:
        names = run(["tar", "-x", "-v", "--keep-directory-symlink", "--no-same-owner", "-C", str(to)], stdin=reader.stdout,
                    what=f"unpacking {archive.name}")
    if reader.returncode:
        raise CrossError(f"{archive.name} cannot be read; is the disk full?")
    database.record(to, archive, names)


def forget_rpaths(root):
    """pkg-config files may ask for a run path, as PMIx's does; it would be of this root, and in the packages."""
    for path in root.glob("usr/*/**/pkgconfig/*.pc"):
        if path.is_file() and "-rpath" in (text := path.read_text(encoding="utf-8")):
            path.write_text(re.sub(r" -Wl,-rpath[ ,=]\S+", "", text), encoding="utf-8")


def make_root(options):
    """The root is renamed to its place when it is whole, so half of one is never used."""
    wanted = wanted_packages()
    key = hashlib.sha256(repr((wanted, release("VERSION_CODENAME"), database.FOLDER)).encode()).hexdigest()
    root = PLACE / "root"
    stamp = root / ".tributary-packages"
    PLACE.mkdir(exist_ok=True)
    ROOT_FILE.write_text(f"[constants]\nroot = '{root}'\n", encoding="utf-8")
    if not options.fetch and stamp.exists() and stamp.read_text(encoding="utf-8") == key:
        say("build-arm64/root is there")
        return
    begun = time.monotonic()
    say("fetching arm64 packages through apt, into build-arm64; nothing is installed")
    made = PLACE / "root.new"
    apt = PLACE / "apt"
    for folder in (made, apt):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        archives = Apt(apt, options.verbose).fetch(wanted)
        for folder in ("bin", "lib", "sbin"):
            (made / "usr" / folder).mkdir(parents=True)
            (made / folder).symlink_to(Path("usr") / folder)
        for archive in archives:
            unpack(archive, made)
        forget_rpaths(made)
        (made / stamp.name).write_text(key, encoding="utf-8")
        shutil.rmtree(root, ignore_errors=True)
        made.rename(root)
        fetched = sum(archive.stat().st_size for archive in archives) // 1_000_000
    finally:
        for folder in (made, apt):
            shutil.rmtree(folder, ignore_errors=True)
    say(f"{len(archives)} packages, {fetched} MB, in {time.monotonic() - begun:.0f} s")


def release(key):
    """A value of this machine's /etc/os-release; "" if it is not there."""
    found = re.search(rf'^{key}="?(.*?)"?$', Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def ccached():
    """meson finds ccache on its own, but not for compilers that a cross file names."""
    links = Path("/usr/lib/ccache")
    there = (links / "aarch64-linux-gnu-g++").exists()
    return {**os.environ, "PATH": f"{links}:{os.environ['PATH']}"} if there else dict(os.environ)


class ArmBuild(building.Build):
    def __init__(self, root):
        super().__init__(root, building.RELEASE)
        self.directory = PLACE / "build"

    def configure_for_arm(self, verbose):
        if (self.directory / "build.ninja").exists():
            return
        run(["meson", "setup", str(self.directory), str(self.root), "--cross-file", str(ROOT_FILE),
             "--cross-file", str(CROSS_FILE), "--buildtype=release", "-Dunity=on"], verbose, "meson setup",
            env=ccached())

    def tests_of_pure_rooms(self):
        """Test programs, by name, whose room the table of rooms calls pure: they only compute."""
        table = layering.Table((self.root / layering.TABLE).read_text(encoding="utf-8"))
        folders = {}
        for target in self._introspect("--targets"):
            if target["type"] == "executable":
                folder = Path(target["defined_in"]).parent.relative_to(self.root)
                folders[target["filename"][0]] = folder.as_posix()
        chosen = []
        for program in self.programs():
            folder = folders.get(self._file_of(program), "")
            name = re.sub(r"^tests/unit/(include/)?",
                          lambda found: "include/tributary/" if found[1] else "", folder)
            room = table.rooms.get(name)
            if program.tier == "unit" and room is not None and room.pure:
                chosen.append(program)
        return chosen

    def installed(self):
        """The files that `meson install` copies, by their ninja names."""
        return [str(Path(file).relative_to(self.directory)) for target in self._introspect("--targets")
                if target["installed"] for file in target["filename"]]

    def _file_of(self, program):
        return next((word for word in program.command if word.startswith(str(self.directory))), "")


def build_and_test(options):
    build = ArmBuild(ROOT)
    build.configure_for_arm(options.verbose)
    untested = options.no_tests or options.installed_only
    tests = [] if untested else build.tests_of_pure_rooms()
    if not tests and not untested:
        raise CrossError("no unit test of a pure room found; does docs/develop/rooms.toml still fit tests/unit?")
    begun = time.monotonic()
    targets, what = [], "all"
    if options.tests_only:
        targets, what = sorted({target for test in tests for target in test.targets}), "the tests"
    elif options.installed_only:
        targets, what = build.installed(), "what is installed"
    say(f"building {what} in build-arm64/build")
    run(["ninja", "-C", str(build.directory), *targets], options.verbose, "the build", env=ccached())
    say(f"built in {time.monotonic() - begun:.0f} s")
    if untested:
        return
    begun = time.monotonic()
    say(f"running {len(tests)} unit test programs under qemu-user")
    run(["meson", "test", "-C", str(build.directory), "--no-rebuild", "--print-errorlogs", "--timeout-multiplier",
         str(TIMEOUT_FACTOR), *[test.name for test in tests]], options.verbose,
        f"a test failed; build-arm64/build/meson-logs/testlog.txt has the rest: meson test")
    say(f"{len(tests)} unit test programs passed under qemu-user in {time.monotonic() - begun:.0f} s")


def main():
    # So that half a root is removed when this is interrupted, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = arguments()
    try:
        need_tools()
        make_root(options)
        if not options.root_only:
            build_and_test(options)
    except CrossError as problem:
        print(f"scripts/cross-arm64: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
