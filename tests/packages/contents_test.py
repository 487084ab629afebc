"""The contents of packages: what the build installs, each file in one package, and only public
files.

    contents_test.py BUILD-FOLDER

Without building packages, which takes too long here; fresh_root.py does that, and installs them.
"""

import fnmatch
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "packaging"), str(Path(__file__).resolve().parent)]

import programs  # noqa: E402
import stage  # noqa: E402
from platforms.names import PLATFORMS  # noqa: E402
from tributary.cases import Cases  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
DEBIAN = ROOT / "debian"


def sh(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)


def packages():
    return re.findall(r"^Package: (\S+)", (DEBIAN / "control").read_text(encoding="utf-8"), re.MULTILINE)


def lists():
    """{package: patterns of the installed files that it takes}"""
    found = {}
    for package in packages():
        file = DEBIAN / f"{package}.install"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        found[package] = [line.split()[0] for line in lines if line.startswith("usr/")]
    return found


class Staged:
    def __init__(self, place):
        self.place = place / "staged"
        stage.stage(BUILD, self.place)
        self.files = sorted(str(path.relative_to(self.place)) for path in self.place.rglob("*") if not path.is_dir())

    def each_file_is_in_one_package(self):
        taken = {}
        for package, patterns in lists().items():
            for pattern in patterns:
                matched = [*fnmatch.filter(self.files, pattern), *fnmatch.filter(self.files, f"{pattern}/*")]
                assert matched, f"debian/{package}.install: {pattern} is not installed by the build"
                for name in matched:
                    taken.setdefault(name, []).append(package)
        assert len(taken) > 40, f"{len(taken)} files cannot be all"
        lost = [name for name in self.files if name not in taken]
        assert not lost, f"no package has {lost}"
        twice = {name: of for name, of in taken.items() if len(of) > 1}
        assert not twice, f"in several packages: {twice}"

    def only_the_c_api_is_public(self):
        beside = [name for name in self.files if name.endswith("dist-packages/tributary/tributary.h")]
        assert len(beside) == 1, beside  # the headers that the Python package reads
        headers = [name for name in self.files if name.startswith("usr/include/")]
        assert headers == [f"usr/include/tributary/{name}.h" for name in ("events", "rdma", "tributary")], headers
        library = next(self.place.rglob("libtributary.so.0.*"))
        exported = sh("nm", "-D", "--defined-only", library).stdout.split("\n")
        names = [line.split()[-1].split("@")[0] for line in exported if " T " in line]
        assert len(names) > 30 and all(name.startswith("tributary_") for name in names), names

    def the_library_has_its_soname(self):
        said = sh("readelf", "-d", next(self.place.rglob("libtributary.so.0.*"))).stdout
        assert "soname: [libtributary.so.0]" in said, said
        links = {path.name: os.readlink(path) for path in self.place.rglob("libtributary.so*") if path.is_symlink()}
        assert links == {"libtributary.so": "libtributary.so.0", "libtributary.so.0": "libtributary.so.0.1.0"}, links

    def a_program_compiles_with_pkg_config(self):
        configuration = next(self.place.rglob("tributary.pc"))
        environment = {**os.environ, "PKG_CONFIG_PATH": str(configuration.parent),
                       "PKG_CONFIG_SYSROOT_DIR": str(self.place),
                       "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"}
        flags = sh("pkg-config", "--cflags", "--libs", "tributary", env=environment)
        assert flags.returncode == 0, flags.stderr
        program = self.place.parent / "consumer"
        source = Path(__file__).with_name("consumer.c")
        compiled = sh("cc", "-Wall", "-Werror", "-o", program, source, *flags.stdout.split())
        assert compiled.returncode == 0, compiled.stderr
        ran = sh(program, env={"LD_LIBRARY_PATH": str(configuration.parents[1])})
        assert ran.returncode == 0 and "no-such-interface" not in ran.stderr, ran.stdout + ran.stderr

    def no_text_names_the_prefix_of_the_build(self):
        prefix = str(stage.prefix_of(BUILD))
        assert prefix != "/"
        texts = [path for pattern in stage.TEXTS for path in self.place.rglob(pattern)]
        units = {path.name.removesuffix(".in") for path in (ROOT / "packaging").glob("*.service*")}
        assert units < {path.name for path in texts}, texts
        for path in texts:
            text = path.read_text(encoding="utf-8")
            assert prefix == "/usr" or prefix not in text, f"{path.name}: {text}"

    def programs_and_libraries_are_hardened(self):
        """Position independent, with read-only relocations, and stack protection."""
        binaries = [path for path in self.place.rglob("*") if path.is_file() and not path.is_symlink()
                    and path.read_bytes()[:4] == b"\x7fELF"]
        assert len(binaries) > 8, binaries
        for path in binaries:
            read = sh("readelf", "-W", "-h", "-d", "-l", "--dyn-syms", path).stdout
            for word in ("DYN (", "GNU_RELRO", "NOW", "__stack_chk_fail"):
                assert word in read, f"{path.name} lacks {word}"

    def units_start_what_is_installed(self):
        packed_in = {"tributary-hostd": "tributary-compute"}
        for name in ("tributary-switch", "tributary-fabricd", "tributary-hostd"):
            text = next(self.place.rglob(f"{name}.service")).read_text(encoding="utf-8")
            program = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE).group(1)
            assert os.access(self.place / program.lstrip("/"), os.X_OK), program
            file = re.search(r"^ExecStart=.*--config (\S+)$", text, re.MULTILINE).group(1)
            assert f"debian/{packed_in.get(name, name)}{file}" in (DEBIAN / "rules").read_text(encoding="utf-8"), file
            user = re.search(r"^Group=(\S+)", text, re.MULTILINE).group(1)
            made = next(self.place.rglob(f"sysusers.d/{name}.conf")).read_text(encoding="utf-8")
            assert re.search(rf"^u {user} ", made, re.MULTILINE), made


def units_may_do_little():
    """No higher than at the last review, by systemd's own measure; 10 is everything."""
    if shutil.which("systemd-analyze") is None:
        return
    with tempfile.TemporaryDirectory(prefix="tributary-units-") as place:
        for name, most in (("tributary-fabricd", "16"), ("tributary-hostd", "30"), ("tributary-switch", "56")):
            unit = Path(place) / f"{name}.service"
            text = (ROOT / "packaging" / f"{name}.service.in").read_text(encoding="utf-8")
            unit.write_text(text.replace("@bindir@", "/usr/bin"), encoding="utf-8")
            ran = sh("systemd-analyze", "security", "--offline=true", f"--threshold={most}", unit)
            assert ran.returncode == 0, ran.stdout.strip().splitlines()[-1:]


def purge_keeps_the_store_of_a_manager_that_runs():
    text = (DEBIAN / "tributary-fabricd.postrm").read_text(encoding="utf-8").replace("#DEBHELPER#", "")
    with tempfile.TemporaryDirectory(prefix="tributary-purge-") as place:
        store = Path(place) / "tributary"
        store.mkdir()
        # Only the store is checked: another place, and no accounts.
        text = text.replace("/var/lib/tributary", str(store)).replace("/run/tributary", f"{place}/run")
        text = text.replace("userdel", ":").replace("groupdel", ":")
        with (store / "fabric.db").open("w"):
            ran = sh("sh", "-s", "purge", input=text)
            assert ran.returncode == 0 and (store / "fabric.db").exists(), ran
            assert "a manager that still runs" in ran.stderr, ran.stderr
        ran = sh("sh", "-s", "purge", input=text)
        assert ran.returncode == 0 and not store.exists(), ran


def another_release_is_refused():
    text = (DEBIAN / "preinst.in").read_text(encoding="utf-8").replace("#DEBHELPER#", "")
    values = {"@PACKAGE@": "tributary-switch", "@VERSION@": "0.1.0", "@RELEASE_NAME@": "Debian GNU/Linux 99"}
    for before, after in values.items():
        text = text.replace(before, after)
    here = sh("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").stdout.strip()
    for release, code in ((here, 0), ("ninetynine", 1)):
        ran = sh("sh", "-s", "install", input=text.replace("@RELEASE@", release))
        assert ran.returncode == code, (release, ran)
    assert "tributary-switch 0.1.0 is built for Debian GNU/Linux 99, and this is " in ran.stderr, ran.stderr
    assert "scripts/package" in ran.stderr


def scripts_setup_brings_what_packages_are_built_with():
    control = (DEBIAN / "control").read_text(encoding="utf-8")
    needed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE).group(1)
    # dpkg-buildpackage wants build-essential, whatever debian/control says.
    lines = [{"build-essential"}] + [{re.split(r"[ :(,]", name.strip())[0].replace("-compat", "") for name in line.split("|")}
             for line in needed.splitlines()]
    for release in PLATFORMS:
        missing = [names for names in lines
                   if not names & set(programs.listed(ROOT, release=release, known=names.__contains__))]
        assert len(lines) > 20 and not missing, f"scripts/packages, -mpi and -test lack for {release}: {missing}"


def every_licence_is_in_copyright():
    text = (DEBIAN / "copyright").read_text(encoding="utf-8")
    listed = sh("grep", "-rlE", "^// SPDX-License-Identifier", "--include=*.c", "--include=*.h", "--include=*.?pp",
                *[ROOT / folder for folder in ("lib", "dataplane", "include", "endpoint")]).stdout.split()
    assert listed, "no file names a licence of its own any more; debian/copyright does"
    for path in listed:
        assert f"Files: {Path(path).relative_to(ROOT)}" in text, path


def what_cannot_be_packed_is_said():
    ran = sh(sys.executable, ROOT / "scripts" / "packaging", "--build", "/nowhere", "--dirty")
    if shutil.which("dpkg-buildpackage") is None or shutil.which("dh") is None:
        assert ran.returncode == 1 and "scripts/setup installs it" in ran.stderr, ran.stderr
    else:
        expected = "/nowhere is not a build folder; make one with: meson setup"
        assert ran.returncode == 1 and expected in ran.stderr, ran.stderr


def versions_are_one():
    """The versions of the build, the packages and the Python package."""
    project = (ROOT / "meson.build").read_text(encoding="utf-8")
    built = re.search(r"^  version: '(.+)',$", project, re.MULTILINE).group(1)
    packed = re.match(r"tributary \(([^)]+)\)", (DEBIAN / "changelog").read_text(encoding="utf-8")).group(1)
    python = (ROOT / "endpoint/python/tributary/__init__.py").read_text(encoding="utf-8")
    imported = re.search(r'^__version__ = "(.+)"$', python, re.MULTILINE).group(1)
    assert built == packed.split("-")[0] == imported, (built, packed, imported)


def who_builds_packages_maintains_them():
    """The sources name no mail address; DEBFULLNAME and DEBEMAIL do."""
    module = runpy.run_path(str(ROOT / "scripts" / "packaging" / "__main__.py"))
    for name in ("control", "changelog"):
        text = (DEBIAN / name).read_text(encoding="utf-8")
        addresses = set(re.findall(r"<([^<>\s]+@[^<>\s]+)>", text))
        assert addresses == {"none@tributary.invalid"}, f"debian/{name} names {addresses}"
        ours = module["maintained"](text, {"DEBFULLNAME": "A Site", "DEBEMAIL": "root@site.org"})
        assert "A Site <root@site.org>" in ours and "tributary.invalid" not in ours, ours
        assert module["maintained"](text, {}) == text
        try:
            module["maintained"](text, {"DEBEMAIL": "root@site.org"})
            raise AssertionError("half a maintainer is taken")
        except module["PackageError"] as refused:
            assert "set both" in str(refused)


def what_is_built_for_packages_has_debug_symbols():
    """debhelper puts them into packages of their own; the build decides how a room is optimised."""
    if shutil.which("dpkg-buildflags") is None:
        return
    for flags in ("CFLAGS", "CXXFLAGS"):
        shown = sh("make", "-f", "debian/rules", f"--eval=shown: ; @dpkg-buildflags --get {flags}", "shown", cwd=ROOT)
        words = shown.stdout.split()
        assert "-g" in words and "-O2" not in words and "-fstack-protector-strong" in words, shown


def an_unclean_tree_is_refused():
    """In a repository of its own that contains only the packaging."""
    if shutil.which("git") is None or shutil.which("dpkg-buildpackage") is None or shutil.which("dh") is None:
        return
    with tempfile.TemporaryDirectory(prefix="tributary-unclean-") as place:
        for name in ("cross", "packaging", "platforms"):
            shutil.copytree(ROOT / "scripts" / name, Path(place) / "scripts" / name)
        assert sh("git", "init", "-q", place).returncode == 0
        ran = sh(sys.executable, Path(place) / "scripts" / "packaging")
        assert ran.returncode == 1 and "the tree is not clean" in ran.stderr and "--dirty" in ran.stderr, ran.stderr
        assert not (Path(place) / "build-packages").exists()


def main():
    report = Cases("contents")
    with tempfile.TemporaryDirectory(prefix="tributary-contents-") as place:
        staged = None
        with report.case("contents", "the_build_can_be_staged"):
            staged = Staged(Path(place))
        for check in (Staged.each_file_is_in_one_package, Staged.only_the_c_api_is_public,
                      Staged.the_library_has_its_soname, Staged.a_program_compiles_with_pkg_config,
                      Staged.no_text_names_the_prefix_of_the_build, Staged.units_start_what_is_installed,
                      Staged.programs_and_libraries_are_hardened):
            with report.case("contents", check.__name__):
                check(staged)
    for check in (units_may_do_little, purge_keeps_the_store_of_a_manager_that_runs, another_release_is_refused,
                  scripts_setup_brings_what_packages_are_built_with, every_licence_is_in_copyright,
                  what_cannot_be_packed_is_said,
                  what_is_built_for_packages_has_debug_symbols, versions_are_one,
                  who_builds_packages_maintains_them, an_unclean_tree_is_refused):
        with report.case("contents", check.__name__):
            check()
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
