"""scripts/setup: which packages it takes from the lists, on which release. The test provides fake
apt programs."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "packages")]

import programs  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

LISTS = programs.DEVELOPMENT


class Machine:
    """`installed`: names; `known`: the packages in apt's lists."""

    def __init__(self, place, installed, known):
        self.place, self.log = Path(place), Path(place) / "log"
        self.scripts, self.bin = self.place / "tree/scripts", self.place / "bin"
        self.scripts.mkdir(parents=True)
        self.bin.mkdir()
        shutil.copy(ROOT / "scripts/setup", self.scripts / "setup")
        for name in LISTS:
            (self.scripts / name).write_text("")
        lines = "".join(f"installed {name} \\n" for name in installed)
        self.program("dpkg-query", f"printf '{lines}'")
        self.program("apt-cache", f'case " {" ".join(known)} " in *" $2 "*) echo "  Candidate: 1.0" ;; '
                                  '*) echo "  Candidate: (none)" ;; esac')
        self.program("apt-get", f'echo "$@" >> {self.log}; case "$*" in *download*) '
                                'for name; do :; done; touch "${name}_1.0.deb" ;; esac')
        self.program("dpkg-deb", "exit 0")
        self.program("id", "echo 0")

    def program(self, name, text):
        (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.bin / name).chmod(0o755)

    def lists(self, text):
        (self.scripts / "packages").write_text(text)
        return self

    def run(self, *arguments):
        done = subprocess.run(["sh", str(self.scripts / "setup"), *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"})
        return done.returncode, done.stdout + done.stderr

    def asked(self):
        return self.log.read_text().splitlines() if self.log.exists() else []


def machine(text, installed=(), known=()):
    return Machine(tempfile.mkdtemp(dir=PLACE.name), installed, known).lists(text)


PLACE = tempfile.TemporaryDirectory(prefix="tributary-setup-")


def test_any_installed_alternative_is_enough():
    here = machine("old | new  # why\nplain # why\n", installed=["new", "plain"])
    assert here.run() == (0, "setup: nothing to do, all packages are installed\n"), here.run()
    assert not here.asked()


def test_of_alternatives_the_first_that_apt_knows_is_installed():
    here = machine("a | b | c # why\n", known=["b", "c"])
    code, said = here.run()
    assert code == 0 and "missing: a|b|c" in said, said
    (install,) = [line for line in here.asked() if "install" in line and "--assume-no" not in line]
    assert install.split()[-1] == "b" and "--no-remove" in install, install
    # If apt knows none, its own message about the first is the most useful.
    here = machine("a | b\n")
    here.run()
    assert here.asked()[-1].endswith(" a"), here.asked()


def test_a_line_of_another_release_does_not_count():
    here = programs.release_of()
    assert here, "/etc/os-release has no name"
    assert machine("x debian7 # why\n").run("--check")[0] == 0
    code, said = machine(f"x {here} # why\ny debian7\n").run("--check")
    assert code == 1 and said == "setup: missing: x\n", said


def test_dpkg_asks_no_question_about_a_file_that_was_changed():
    here = machine("x # why\n", known=["x"])
    here.run()
    installing = [line for line in here.asked() if " install " in line and "--assume-no" not in line]
    assert installing and all("--force-confdef" in line and "--force-confold" in line for line in installing), here.asked()


def test_what_is_marked_is_unpacked_and_not_installed():
    here = machine("u | v unpack # why\n", known=["v"])
    code, said = here.run()
    assert code == 0 and "apt-get download of v;" in said, said
    assert not [line for line in here.asked() if " install " in line], here.asked()
    assert (here.place / "tree/build-peers/v.unpacked").exists()
    assert here.run() == (0, "setup: nothing to do, all packages are installed\n")


def test_of_a_kernel_the_package_that_it_names_is_unpacked():
    here = machine("linux-image-amd64 unpack # why\n", known=["linux-image-amd64"])
    here.program("apt-cache", 'echo "$3"; echo "  Candidate: 1.0"; echo "  Depends: linux-image-6.1.0-1-amd64"')
    code, said = here.run()
    assert code == 0, said
    assert here.asked()[-1].endswith(" download linux-image-6.1.0-1-amd64"), here.asked()
    assert (here.place / "tree/build-peers/linux-image-amd64.unpacked").exists()


def test_the_tests_read_the_lists_as_the_script_does():
    text = "a | b # why\nc unpack\nd debian12\ne|f unpack debian13 # g | h\n\n# i\n"
    root = machine(text).place / "tree"
    listed = lambda unpacked, release, known: programs.listed(  # noqa: E731
        root, ("packages",), unpacked, release, known.__contains__)
    assert listed(False, "debian12", "b") == ["b", "d"]
    assert listed(False, "debian13", "") == ["a"]
    assert listed(True, "debian13", "f") == ["c", "f"]
    assert listed(True, "debian12", "f") == ["c"]
    of_the_release = {"debian12": "a|b d c", "debian13": "a|b c e|f"}.get(programs.release_of(), "a|b c")
    assert machine(text).run("--check")[1] == f"setup: missing: {of_the_release}\n"


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("setup.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("setup")
    with PLACE:
        for name, function in tests:
            short = name.removeprefix("test_")
            if wanted(f"setup.{short}"):
                with report.case("setup", short):
                    function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
