"""scripts/cross-arm64: the root of arm64 packages that it makes, and its errors when it cannot.
With a fake apt; the nightly run builds for Arm and runs that."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts")]

from cross import database  # noqa: E402
from tributary.cases import Cases, Skip, wanted  # noqa: E402

TOOLS = ("aarch64-linux-gnu-g++", "qemu-aarch64-static", "meson", "ninja", "pkg-config")
# It knows two packages, of which one has a file below /lib, and records its calls.
APT = """#!/bin/sh
archives=$(sed -n 's/^Dir::Cache::archives "\\(.*\\)";$/\\1/p' "$APT_CONFIG" | tail -1)
echo "$@" >> {place}/asked
case " $* " in
  *" update "*) {on_update} ;;
  *" install "*) {on_install}; cp {place}/debs/*.deb "$archives" ;;
esac
"""


class Sources:
    """A copy of the parts of the tree that the script needs, and its programs."""

    def __init__(self, place):
        self.place = place
        for folder in ("scripts/cross", "scripts/runner", "scripts/platforms"):
            shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (place / "packaging").mkdir()
        for name in ("scripts/cross-arm64", "packaging/aarch64-linux-gnu.ini", "scripts/packages",
                     "scripts/packages-mpi", "scripts/packages-test"):
            shutil.copy2(ROOT / name, place / name)
        self.bin = place / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            self.put(tool, "#!/bin/sh\nexit 0\n")
        self.put("apt-config", "#!/bin/sh\necho 'Acquire::Retries \"3\";'\n"
                 "echo 'APT::Update::Post-Invoke:: \"rm -f /var/cache/apt/archives/*.deb\";'\n")
        self.put("apt-cache", "#!/bin/sh\necho '  Candidate: 1'\n")
        self.apt()
        (place / "debs").mkdir()
        for name, file in (("one", "lib/aarch64-linux-gnu/libone.so"), ("two", "usr/include/two.h")):
            self.package(name, file)

    def put(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def apt(self, on_update=":", on_install=":"):
        self.put("apt-get", APT.format(place=self.place, on_update=on_update, on_install=on_install))

    def package(self, name, file, fields="", *control):
        root = self.place / "unpacked" / name
        for path, text in ((file, name), *((f"DEBIAN/{kind}", text) for kind, text in control),
                           ("DEBIAN/control", f"Package: {name}\nVersion: 1\nArchitecture: arm64\n{fields}"
                            "Maintainer: nobody <nobody@example.com>\nDescription: a test\n")):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        subprocess.run(["dpkg-deb", "--build", "-Znone", root, self.place / "debs" / f"{name}.deb"], check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, *words):
        path = f"{self.bin}:{Path(sys.executable).parent}:/usr/bin:/bin"
        return subprocess.Popen([self.place / "scripts" / "cross-arm64", *words], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, "PATH": path})

    def run(self, *words):
        child = self.start(*words)
        out, error = child.communicate(timeout=60)
        return child.returncode, out, error

    def left(self):
        made = self.place / "build-arm64"
        return sorted(path.name for path in made.iterdir()) if made.exists() else []

    def asked(self):
        file = self.place / "asked"
        return file.read_text() if file.exists() else ""


@contextmanager
def sources():
    if shutil.which("dpkg-deb") is None:
        raise Skip("no dpkg-deb here")
    with tempfile.TemporaryDirectory() as place:
        yield Sources(Path(place))


def test_a_root_has_the_files_of_all_packages_and_is_made_once():
    with sources() as tree:
        code, out, error = tree.run("--root-only")
        assert code == 0, error
        assert "2 packages" in out
        root = tree.place / "build-arm64" / "root"
        assert (root / "lib").is_symlink() and (root / "usr/lib/aarch64-linux-gnu/libone.so").read_text() == "one"
        assert (root / "usr/include/two.h").read_text() == "two"
        assert tree.left() == ["root", "root.ini"], tree.left()
        asked = tree.asked()
        assert "libdpdk-dev" in asked and "libgtest-dev" in asked and "linux-libc-dev" in asked, asked
        assert "libclang-rt-dev" not in asked and "chromium" not in asked, asked
        assert tree.run("--root-only")[0] == 0 and tree.asked() == asked, "it was made again"
        assert tree.run("--root-only", "--fetch")[0] == 0 and tree.asked() == 2 * asked


def test_dpkg_knows_which_package_of_the_root_a_library_is_of():
    with sources() as tree:
        tree.package("three", "usr/lib/aarch64-linux-gnu/libthree.so.3", "Multi-Arch: same\n",
                     ("shlibs", "libthree 3 three (>= 2)\n"))
        assert tree.run("--root-only")[0] == 0
        root = tree.place / "build-arm64" / "root"
        made = database.of_this_machine(root, tree.place / "dpkg")

        def asked(*words):
            return subprocess.run(["dpkg-query", f"--admindir={made}", *words], capture_output=True, text=True,
                                  check=True).stdout.strip()

        libraries = root / "usr/lib/aarch64-linux-gnu"
        for package, library in (("one:arm64", "libone.so"), ("three:arm64", "libthree.so.3")):
            answer = asked("--search", libraries / library)
            assert answer == f"{package}: {libraries / library}", answer
        assert "libthree 3 three" in Path(asked("--control-path", "three:arm64", "shlibs")).read_text()
        assert asked("-W", "-f", "${Status} ${Architecture}", "one") == "install ok installed arm64"


def test_no_run_path_of_the_root_is_linked():
    with sources() as tree:
        tree.package("four", "usr/lib/aarch64-linux-gnu/pkgconfig/four.pc")
        text = "Libs: -L${libdir} -Wl,-rpath -Wl,${libdir} -Wl,--enable-new-dtags -lfour\n"
        (tree.place / "unpacked/four/usr/lib/aarch64-linux-gnu/pkgconfig/four.pc").write_text(text)
        subprocess.run(["dpkg-deb", "--build", "-Znone", tree.place / "unpacked/four", tree.place / "debs/four.deb"],
                       check=True, stdout=subprocess.DEVNULL)
        assert tree.run("--root-only")[0] == 0
        made = (tree.place / "build-arm64/root/usr/lib/aarch64-linux-gnu/pkgconfig/four.pc").read_text()
        assert made == "Libs: -L${libdir} -Wl,--enable-new-dtags -lfour\n", made


def test_a_change_of_the_lists_makes_it_again():
    with sources() as tree:
        assert tree.run("--root-only")[0] == 0
        with (tree.place / "scripts" / "packages").open("a") as more:
            more.write("libmore-dev   # for this test\nliblater-dev debian99   # of a release that this is not\n")
        assert tree.run("--root-only")[0] == 0
        assert "libmore-dev" in tree.asked() and "liblater-dev" not in tree.asked()


def test_of_two_names_it_takes_the_one_that_the_release_has():
    with sources() as tree:
        tree.put("apt-cache", "#!/bin/sh\ncase $* in *libnew-dev) echo '  Candidate: 1' ;; *) echo '  Candidate: (none)' ;; esac\n")
        (tree.place / "scripts" / "packages").write_text("libold-dev | libnew-dev   # for this test\n")
        assert tree.run("--root-only")[0] == 0
        assert "libnew-dev" in tree.asked() and "libold-dev" not in tree.asked()
        (tree.place / "scripts" / "packages").write_text("libold-dev | libolder-dev\n")
        code, _, error = tree.run("--root-only")
        assert code == 1 and "no arm64 package libold-dev or libolder-dev" in error, error


def test_the_machines_apt_hooks_are_not_run_and_its_settings_are_kept():
    with sources() as tree:
        tree.apt(on_update=f'cp "$APT_CONFIG" {tree.place}/config')
        assert tree.run("--root-only")[0] == 0
        config = (tree.place / "config").read_text()
        assert 'Acquire::Retries "3";' in config and "Post-Invoke" not in config
        assert 'APT::Architecture "arm64";' in config


def test_an_apt_that_fails_leaves_nothing():
    for failing in ("on_update", "on_install"):
        with sources() as tree:
            tree.apt(**{failing: "echo no route to the archive; exit 100"})
            code, _, error = tree.run("--root-only")
            assert code == 1 and "no route to the archive" in error and "ended with 100" in error, error
            assert tree.left() == ["root.ini"], tree.left()


def test_an_archive_that_is_cut_leaves_the_old_root():
    with sources() as tree:
        assert tree.run("--root-only")[0] == 0
        deb = tree.place / "debs" / "two.deb"
        deb.write_bytes(deb.read_bytes()[:200])
        code, _, error = tree.run("--root-only", "--fetch")
        assert code == 1 and "two.deb" in error, error
        assert (tree.place / "build-arm64/root/usr/include/two.h").exists()
        assert tree.left() == ["root", "root.ini"], tree.left()


def test_an_interrupted_run_leaves_nothing():
    with sources() as tree:
        tree.apt(on_install="sleep 60")
        child = tree.start("--root-only")
        while " --download-only" not in tree.asked() and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
        assert child.returncode == 128 + signal.SIGTERM
        assert tree.left() == ["root.ini"], tree.left()


def test_a_tool_that_is_missing_is_named():
    with sources() as tree:
        (tree.bin / "qemu-aarch64-static").unlink()
        if shutil.which("qemu-aarch64-static"):
            tree.put("python3", f'#!/bin/sh\nPATH={tree.bin} exec {sys.executable} "$@"\n')
        code, _, error = tree.run("--root-only")
        assert code == 1 and "qemu-aarch64-static" in error and "scripts/setup --night" in error, error
        assert tree.left() == []


def test_a_wrong_command_line_is_refused():
    with sources() as tree:
        assert tree.run("--no-tests", "--tests-only")[0] == 2
        assert tree.run("--frobnicate")[0] == 2
        code, out, _ = tree.run("--help")
        assert code == 0 and "exit codes" in out
        assert tree.left() == []


def main():
    report = Cases("cross")
    for name, test in sorted(globals().items()):
        if name.startswith("test_") and wanted(f"cross.{name[5:]}"):
            with report.case("cross", name[5:]):
                test()
    sys.exit(report.finish())


main()
