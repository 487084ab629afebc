"""Other releases of Debian: what is a root and what is not, what is recreated and what is left
alone, the source of Debian, the place of builds. No root is made here."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "runner")]

from building import Build  # noqa: E402
from platforms import archive, inside, names, options, root  # noqa: E402
from platforms.archive import Source  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402

TWELVE, THIRTEEN = names.PLATFORMS["debian12"], names.PLATFORMS["debian13"]


def refused(call, *words):
    """Its message, which contains all of `words`."""
    try:
        call()
    except names.PlatformError as problem:
        for word in words:
            assert word in str(problem), (word, str(problem))
        return problem
    raise AssertionError("nothing was refused")


def folder(place, platform=None, complete=True, release=None, text=None):
    """A root's folder as `root` finds it."""
    made = Path(place) / "debian13"
    (made / "etc").mkdir(parents=True)
    if release:
        (made / "etc/os-release").write_text(f'ID=debian\nVERSION_ID="{release}"\nPRETTY_NAME="Debian {release}"\n')
    if platform or text is not None:
        marker = json.dumps({"platform": platform, "complete": complete}) if text is None else text
        (made / root.MARKER).write_text(marker)
    return made


def test_an_unknown_platform_is_a_usage_error_that_names_the_known_ones():
    problem = refused(lambda: options.taken_from(["--platform", "debian11"]), "debian11", "debian12, debian13")
    assert isinstance(problem, names.UsageError)
    assert isinstance(refused(lambda: options.taken_from(["--tier", "unit"])), names.UsageError)
    assert isinstance(refused(lambda: options.taken_from(["--platform"])), names.UsageError)
    for script in ("test", "demo", "demo-mpi", "package"):
        done = subprocess.run([ROOT / "scripts" / script, "--no-setup", "--platform", "no"], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and done.stderr.startswith(f"scripts/{script}: unknown platform 'no'"), done


def test_a_file_outside_of_the_tree_is_refused():
    other = next(name for name in names.PLATFORMS if name != names.release_in("/")[0])
    for words in (["--json", "/var/x.json"], ["--json=/var/x.json"]):
        done = subprocess.run([ROOT / "scripts/test", "--no-setup", "--platform", other, *words], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 2 and "/var/x.json is outside of the tree" in done.stderr, done


def test_the_option_is_taken_out_of_the_arguments_wherever_it_stands():
    assert options.taken_from(["--tier", "unit", "--platform", "debian13", "-x"]) == (THIRTEEN, ["--tier", "unit", "-x"])
    assert options.taken_from(["--platform=debian12"]) == (TWELVE, [])


def test_a_root_is_used_made_or_made_again_by_what_is_there():
    with tempfile.TemporaryDirectory() as place:
        assert root.state_of(Path(place) / "debian13", THIRTEEN) == root.ABSENT
        assert root.state_of(Path(place), THIRTEEN) == root.ABSENT, "an empty folder"
    for marked, release, state in (
        ({"platform": "debian13"}, "13", root.COMPLETE),
        ({"platform": "debian13", "complete": False}, "13", root.HALF),
        ({"platform": "debian13", "complete": False}, None, root.HALF),
        ({"text": ""}, "13", root.HALF),
        ({"text": '{"platform": "deb'}, "13", root.HALF),
    ):
        with tempfile.TemporaryDirectory() as place:
            assert root.state_of(folder(place, release=release, **marked), THIRTEEN) == state, (marked, release)


def test_what_is_no_root_of_ours_or_of_another_release_is_refused():
    with tempfile.TemporaryDirectory() as place:
        made = folder(place, release="13")
        refused(lambda: root.state_of(made, THIRTEEN), str(made), "remove it", root.VARIABLE)
    with tempfile.TemporaryDirectory() as place:
        made = folder(place, "debian13", release="12")  # after an upgrade, or a copy
        refused(lambda: root.state_of(made, THIRTEEN), "Debian 12", "not of debian13")
    with tempfile.TemporaryDirectory() as place:
        made = folder(place, "debian12", release="13")
        refused(lambda: root.state_of(made, THIRTEEN), "made for debian12")
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "debian13"
        file.write_text("")
        refused(lambda: root.state_of(file, THIRTEEN), "not a folder")


def test_a_root_that_is_marked_is_recognised():
    with tempfile.TemporaryDirectory() as place:
        made = folder(place, release="13")
        root.mark(made, THIRTEEN, complete=False)
        assert root.state_of(made, THIRTEEN) == root.HALF
        root.mark(made, THIRTEEN, complete=True)
        assert root.state_of(made, THIRTEEN) == root.COMPLETE


def test_nothing_is_removed_in_which_something_is_mounted():
    line = "36 35 98:0 / {} rw,noatime shared:1 - ext4 /dev/root rw\n"
    info = line.format("/") + line.format("/a/root/tree") + line.format("/a/rooted") + line.format(r"/a/root/of\040two")
    assert root.mounted_below(Path("/a/root"), info) == ["/a/root/tree", "/a/root/of two"]
    assert root.mounted_below(Path("/b"), info) == []
    real = root.mounted_below
    root.mounted_below = lambda place: ["/a/root/tree"]
    try:
        with tempfile.TemporaryDirectory() as place:
            made = folder(place)
            refused(lambda: root.remove(made), "/a/root/tree", "umount -R")
            assert made.exists()
    finally:
        root.mounted_below = real


def test_where_a_root_is_can_be_shared_between_trees():
    assert root.place_of(Path("/tree"), THIRTEEN, {}) == Path("/tree/build-debian13/root")
    assert root.place_of(Path("/tree"), THIRTEEN, {root.VARIABLE: "/roots"}) == Path("/roots/debian13")


def test_no_space_and_a_program_that_is_missing_are_said():
    with tempfile.TemporaryDirectory() as place:
        needed, path = root.NEEDED_BYTES, inside.PATH
        try:
            root.NEEDED_BYTES = 1 << 60
            said = (place, "GiB left") if not missing_here() else ("is not installed",)
            refused(lambda: root.check_possible(Path(place) / "a/b"), *said)
            inside.PATH = "/nowhere"
            refused(lambda: root.check_possible(Path(place)), "debootstrap", "scripts/setup --platform")
        finally:
            root.NEEDED_BYTES, inside.PATH = needed, path


def missing_here():
    return any(not any(os.access(f"{folder}/{program}", os.X_OK) for folder in inside.PATH.split(":"))
               for program in root.PROGRAMS)


def test_only_root_makes_roots_and_not_in_a_root():
    real, environment = os.geteuid, dict(os.environ)
    try:
        os.environ.pop(names.VARIABLE, None)
        os.geteuid = lambda: 1000
        refused(lambda: root.ready(ROOT, THIRTEEN, []), "sudo")
        os.environ[names.VARIABLE] = "debian12"
        refused(lambda: root.ready(ROOT, THIRTEEN, []), "in the root of debian12")
    finally:
        os.geteuid = real
        os.environ.clear()
        os.environ.update(environment)


def test_who_finds_a_root_being_made_waits():
    with tempfile.TemporaryDirectory() as place:
        at = Path(place) / "debian13"
        program = (f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r})\nfrom pathlib import Path\n"
                   f"from platforms.root import locked\nwith locked(Path({str(at)!r})): print('mine', flush=True)\n")
        with root.locked(at):
            other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
            assert "waiting for it" in other.stdout.readline()
            assert other.poll() is None
        assert other.communicate(timeout=60)[0] == "mine\n"


def made_with(place, code, said):
    """`root.make` where debootstrap ends so; the folder."""
    real = root.run_bounded, root.check_possible, archive.sources
    root.run_bounded = lambda command: (code, said)
    root.check_possible = lambda place: None
    archive.sources = lambda: [Source("http://a.example/debian/", "bookworm")]
    at = Path(place) / "debian13"
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            root.make(at, THIRTEEN)
    finally:
        root.run_bounded, root.check_possible, archive.sources = real
    return at


def test_an_archive_that_does_not_answer_leaves_a_half_root_and_is_said():
    with tempfile.TemporaryDirectory() as place:
        refused(lambda: made_with(place, 1, "I: Retrieving\nE: Failed getting release file"), "E: Failed getting release",
                "http://a.example/debian/ reachable", "trixie")
        assert root.state_of(Path(place) / "debian13", THIRTEEN) == root.HALF
        real, archive.shutil.which = archive.shutil.which, lambda name: None
        try:
            refused(archive.sources, "no apt")
        finally:
            archive.shutil.which = real


def test_debian_is_got_from_where_apt_gets_it():
    listed = ("https://other.example/x nodistro\nhttp://a.example/debian/ trixie-updates\nhttp://a.example/debian/ trixie\n"
              "http://a.example/debian/ trixie\nhttp://s.example/security/ trixie-security\nhttp://c.example sdk-trixie\n\n")
    found = archive.sources_of(listed)
    assert found[0] == Source("http://a.example/debian/", "trixie") and len(found) == 3, found
    older = archive.of_release(found, "bookworm")
    assert [each.suite for each in older] == ["bookworm", "bookworm-updates", "bookworm-security"]
    assert archive.sources_list(older).splitlines()[2] == "deb http://s.example/security/ bookworm-security main"
    assert archive.sources_of("http://c.example sdk-trixie\n") == []


def test_settings_of_apt_that_packages_bring_are_not_copied():
    with tempfile.TemporaryDirectory() as place:
        archive.copy_settings(place, ["etc/apt/apt.conf.d"])
        copied = {path.name for path in (Path(place) / "etc/apt/apt.conf.d").iterdir()}
    here = {path.name for path in Path("/etc/apt/apt.conf.d").iterdir()}
    owned = archive.of_packages("/etc/apt/apt.conf.d")
    # In a root with the same package dpkg would take it for a user's file, and ask.
    assert "01autoremove" in owned and owned < here | owned, (owned, here)
    assert copied == here - owned, copied ^ (here - owned)


def test_builds_on_two_releases_stand_side_by_side():
    def directory(kind, lean=False, platform=None, environment=()):
        return str(Build(Path("/tree"), kind, lean, platform, dict(environment)).directory)

    assert directory("release") == "/tree/build"
    assert directory("address,undefined", True) == "/tree/build-address-undefined-lean"
    for where in ({"platform": THIRTEEN}, {"environment": {names.VARIABLE: "debian13"}}):
        assert directory("release", **where) == "/tree/build-debian13/release"
        assert directory("address,undefined", True, **where) == "/tree/build-debian13/address-undefined-lean"
    build = Build(Path("/tree"), "address,undefined", platform=THIRTEEN)
    assert build.kind == "address,undefined@debian13" and build.sanitizers == "address,undefined" and not build.is_release
    assert build.name == "build-debian13/address-undefined" and build.scratch == build.directory
    here = Build(Path("/tree"), "release", environment={names.VARIABLE: "debian13"})
    assert here.kind == "release@debian13" and here.command(["a"]) == ["a"] and here.scratch is None


def test_a_command_in_a_root_has_the_trees_path_and_no_mount_of_it_is_seen_outside():
    with tempfile.TemporaryDirectory() as tree:
        words = inside.Inside(tree, "/roots/debian13", THIRTEEN).command(["meson", "--version"], stand="/somewhere")
        assert words[:4] == ["unshare", "--mount", "--propagation", "private"], words
        assert words[-2:] == ["meson", "--version"] and f"{names.VARIABLE}=debian13" in words
        at = words.index("/roots/debian13")
        assert words[at + 1] == "/somewhere" and words[at + 3 : at + 6] == [tree, tree, "rw"], words[at:]
        assert words[at + 6 : at + 8] == [f"{tree}/build-debian13/peers", f"{tree}/build-peers"], words[at:]


def test_packages_of_two_releases_sort_as_an_upgrade():
    spec = importlib.util.spec_from_file_location("packaging_main", ROOT / "scripts/packaging/__main__.py")
    packaging = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(packaging)
    text = "tributary (0.1.0) bookworm; urgency=medium\n\n  * (x) y; z.\n"
    assert packaging.versioned(text, "debian12").startswith("tributary (0.1.0~deb12) bookworm; urgency=medium\n\n  * (x)")
    assert packaging.versioned(text, "debian13").startswith("tributary (0.1.0~deb13) trixie; ")
    assert packaging.versioned(text, "debian13", "2.0").startswith("tributary (2.0) trixie; ")
    assert packaging.versioned(text, "fedora40") == text


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    if "--gtest_list_tests" in sys.argv:
        print("platforms.", *(f"  {name.removeprefix('test_')}" for name, _ in tests), sep="\n")
        return 0
    report = Cases("platforms")
    for name, function in tests:
        short = name.removeprefix("test_")
        if wanted(f"platforms.{short}"):
            with report.case("platforms", short):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
