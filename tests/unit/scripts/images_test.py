"""scripts/package --image without a Debian: layers, layouts and archives that scripts/packaging/oci.py writes, and what
it refuses. tests/packages/container_images.py makes real images."""

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "scripts" / "packaging"), str(ROOT / "scripts")]

import images  # noqa: E402
import oci  # noqa: E402
from tributary.cases import Cases  # noqa: E402

WHEN = 1_000_000_000
SETTINGS = {"User": "1000:1000", "Cmd": ["bash"], "Labels": {"org.opencontainers.image.title": "a"}}


def file(root, name, text="", mode=0o644, seconds=None):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    if seconds is not None:
        os.utime(path, (seconds, seconds))
    return path


def small(root, seconds=None):
    """A tree with all that layers have."""
    file(root, "etc/passwd", "root\n", seconds=seconds)
    file(root, "usr/bin/a", "program", 0o755, seconds)
    os.link(root / "usr/bin/a", root / "usr/bin/b")
    (root / "bin").symlink_to("usr/bin")
    file(root, "dev/null", "of the container")
    file(root, "run/tributary/host.sock", "of the container")
    (root / "usr/bin").chmod(0o555)
    return root


def made(place, when=WHEN):
    """(layout, the image's descriptor) of the tree in `place`/root, and a second layer."""
    root, layout = place / "root", place / "layout"
    before = oci.tree(root, kept=("run/tributary",))
    first = oci.write_layer(layout, root, before, (), when)
    file(root, "opt/new", "second layer")
    (root / "etc/passwd").unlink()
    changed, gone = oci.difference(before, oci.tree(root, kept=("run/tributary",)))
    second = oci.write_layer(layout, root, changed, gone, when)
    image = oci.write_image(layout, "a:1", SETTINGS, [(first, "base"), (second, "more")], when, "amd64")
    oci.write_index(layout, [image])
    return layout, image


def refused(call, *words):
    try:
        call()
    except oci.OciError as error:
        for word in words:
            assert word in str(error), error
        return
    raise AssertionError(f"nothing was refused that has {words}")


def in_place(test):
    def run():
        with tempfile.TemporaryDirectory(prefix="tributary-images-") as place:
            test(Path(place))
            for folder, _, _ in os.walk(place):
                os.chmod(folder, 0o755)

    run.__name__ = test.__name__
    return run


@in_place
def the_same_files_give_the_same_bytes(place):
    digests = []
    for name, seconds in (("one", 2 * WHEN), ("two", 3 * WHEN)):
        small(place / name / "root", seconds)
        digests.append(made(place / name)[1]["digest"])
    assert digests[0] == digests[1]
    (place / "one/root/usr/bin/a").write_text("another")
    assert oci.tree(place / "one/root")["usr/bin/a"] != oci.tree(place / "two/root")["usr/bin/a"]


@in_place
def a_layer_has_no_file_of_a_container_and_no_late_time(place):
    small(place / "root", 2 * WHEN)
    layout, image = made(place)
    seen = {}
    for part in json.loads((layout / oci.blob(image["digest"])).read_bytes())["layers"]:
        data = (layout / oci.blob(part["digest"])).read_bytes()
        assert len(data) == part["size"] and oci.digest_of(data) == part["digest"]
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            seen |= {member.name: member for member in tar}
    assert "dev" in seen and "dev/null" not in seen and "run/tributary" in seen and "run/tributary/host.sock" not in seen
    assert max(member.mtime for member in seen.values()) == WHEN
    assert not any(member.uname or member.gname for member in seen.values())
    assert seen["usr/bin/b"].islnk() and seen["usr/bin/b"].linkname == "usr/bin/a" and seen["bin"].issym()
    assert "etc/.wh.passwd" in seen and "opt/new" in seen


@in_place
def digests_of_a_configuration_are_those_of_its_layers(place):
    small(place / "root")
    layout, image = made(place)
    read = oci.Image(layout)
    for part, diff in zip(read.manifest["layers"], read.configuration["rootfs"]["diff_ids"], strict=True):
        tar = gzip.decompress((layout / oci.blob(part["digest"])).read_bytes())
        assert diff == f"sha256:{hashlib.sha256(tar).hexdigest()}"
    assert read.configuration["config"] == SETTINGS and read.configuration["created"] == "2001-09-09T01:46:40Z"
    assert read.manifest["annotations"] == SETTINGS["Labels"] and image["annotations"][oci.REFERENCE] == "a:1"
    assert (layout / "oci-layout").read_bytes() == b'{"imageLayoutVersion":"1.0.0"}'


@in_place
def an_unpacked_image_is_the_tree_of_its_last_layer(place):
    small(place / "root")
    layout, image = made(place)
    archive = place / "image.tar"
    oci.write_archive(layout, image, archive, WHEN)
    there = oci.tree(place / "root", kept=("run/tributary",))
    for number, source in enumerate((layout, archive)):
        to = place / f"unpacked{number}"
        oci.Image(source, "a:1").unpack(to)
        here = oci.tree(to)
        assert here.keys() | {"run/tributary"} == there.keys(), here.keys() ^ there.keys()
        assert {name: entry.content for name, entry in here.items()} == {name: there[name].content for name in here}
        assert (to / "usr/bin/a").stat().st_ino == (to / "usr/bin/b").stat().st_ino
        refused(lambda to=to: oci.Image(layout).unpack(to), "is not empty")


@in_place
def docker_finds_every_blob_that_its_list_names(place):
    small(place / "root")
    layout, image = made(place)
    archive = place / "image.tar"
    oci.write_archive(layout, image, archive, WHEN)
    with tarfile.open(archive) as tar:
        (listed,) = json.loads(tar.extractfile("manifest.json").read())
        for name in (listed["Config"], *listed["Layers"]):
            data = tar.extractfile(name).read()
            assert name == oci.blob(oci.digest_of(data))
    assert listed["RepoTags"] == ["a:1"] and len(listed["Layers"]) == 2


def of_members(place, *members):
    """An archive whose only layer has these."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for member in members:
            tar.addfile(member)
    layout = place / "layout"
    digest = oci.write_blob(layout, data.getvalue())
    layer = oci.Layer(digest, len(data.getvalue()), digest, 0)
    oci.write_index(layout, [oci.write_image(layout, "bad:1", {}, [(layer, "")], WHEN, "amd64")])
    return layout


@in_place
def a_layer_that_leads_out_of_the_image_is_refused(place):
    link = tarfile.TarInfo("way")
    link.type, link.linkname = tarfile.SYMTYPE, str(place / "outside")
    (place / "outside").mkdir()
    through, hard, device = tarfile.TarInfo("way/file"), tarfile.TarInfo("hard"), tarfile.TarInfo("dev/sda")
    hard.type, hard.linkname = tarfile.LNKTYPE, "../outside/file"
    device.type = tarfile.BLKTYPE
    cases = {"../file": [tarfile.TarInfo("../file")], "/file": [tarfile.TarInfo("/file")], "way/file": [link, through],
             "../outside/file": [hard], "neither": [device]}
    for number, (word, members) in enumerate(cases.items()):
        layout = of_members(place / str(number), *members)
        refused(lambda to=place / str(number) / "to", layout=layout: oci.Image(layout).unpack(to), word)
    assert not list((place / "outside").iterdir())


@in_place
def a_layer_removes_nothing_outside_of_the_image(place):
    kept = file(place, "near/kept")
    for number, name in enumerate((".wh...", "a/.wh...", ".wh..", ".wh.", "a/.wh.")):
        layout = of_members(place / str(number), tarfile.TarInfo(name))
        refused(lambda layout=layout: oci.Image(layout).unpack(place / "near/to"), name)
        shutil.rmtree(place / "near/to", ignore_errors=True)
        assert kept.exists(), name


@in_place
def a_layer_changes_no_rights_outside_of_the_image(place):
    """A folder of one layer is beyond a link of the next."""
    secret = place / "outside/secret"
    secret.mkdir(parents=True, mode=0o700)
    folder, inner, link = tarfile.TarInfo("a"), tarfile.TarInfo("a/secret"), tarfile.TarInfo("a")
    folder.type = inner.type = tarfile.DIRTYPE
    folder.mode = inner.mode = 0o777
    link.type, link.linkname = tarfile.SYMTYPE, str(place / "outside")
    oci.Image(of_members(place, folder, inner, link)).unpack(place / "to")
    assert (place / "to/a").is_symlink() and secret.stat().st_mode & 0o777 == 0o700


@in_place
def the_root_and_links_of_a_layer_are_checked(place):
    root, first, hard = tarfile.TarInfo("."), tarfile.TarInfo("./a"), tarfile.TarInfo("b")
    root.type = tarfile.DIRTYPE
    hard.type, hard.linkname = tarfile.LNKTYPE, "a"
    oci.Image(of_members(place / "good", root, first, hard)).unpack(place / "to")
    assert (place / "to/a").stat().st_ino == (place / "to/b").stat().st_ino
    for number, name in enumerate(("b", "nothing", "folder")):
        folder, link = tarfile.TarInfo("folder"), tarfile.TarInfo("b")
        folder.type = tarfile.DIRTYPE
        link.type, link.linkname = tarfile.LNKTYPE, name
        layout = of_members(place / str(number), folder, link)
        refused(lambda layout=layout, number=number: oci.Image(layout).unpack(place / f"to{number}"), f"link to {name}")


@in_place
def what_is_not_an_image_is_named(place):
    refused(lambda: oci.Image(place), "index.json")
    file(place, "text.tar", "no tar")
    refused(lambda: oci.Image(place / "text.tar"), "neither a layout nor an archive")
    small(place / "one/root")
    layout, image = made(place / "one")
    refused(lambda: oci.Image(layout, "b:1"), "no image b:1", "a:1")
    oci.write_index(layout, [image, image])
    refused(lambda: oci.Image(layout), "has 2 images")
    oci.write_index(layout, [image])
    (layout / oci.blob(image["digest"])).write_bytes(b"{}")
    refused(lambda: oci.Image(layout), "damaged")


@in_place
def a_folder_that_is_gone_is_one_whiteout(place):
    file(place / "root", "a/b/c")
    file(place / "root", "a/d")
    before = oci.tree(place / "root")
    (place / "root/a/b/c").unlink()
    (place / "root/a/b").rmdir()
    assert oci.difference(before, oci.tree(place / "root")) == ([], ["a/b"])


def a_tag_is_one_for_every_version():
    assert oci.tag_of("0.1.0~deb12") == "0.1.0-deb12" and oci.tag_of("1:2+x") == "1-2-x"


def passwords_have_no_date_of_their_own():
    assert images.undated("root:*:20400:0:99999:7:::\n", 86400 * 3) == "root:*:3:0:99999:7:::\n"


def packages_of_one_version_are_needed():
    kinds = [images.KINDS["switch"]]
    there = [Path("tributary-switch_1_amd64.deb"), Path("tributary-client_1_amd64.deb"), Path("other_2_all.deb")]
    assert images.version_of(kinds, there) == "1"
    refused(lambda: images.version_of(kinds, there[:1]), "tributary-client", "missing")
    refused(lambda: images.version_of(kinds, [*there[:1], Path("tributary-client_2_amd64.deb")]), "several versions")


def settings_say_who_and_how():
    for kind in images.KINDS.values():
        settings = images.settings_of(kind, "1", "Debian")
        assert settings["Healthcheck"]["Test"][0] == "CMD" and settings["Labels"]["org.opencontainers.image.version"] == "1"
        assert settings["User"].split(":")[0].isdigit(), "a number, which Kubernetes can prove not to be root"
    assert [kind.name for kind in images.KINDS.values() if kind.user.startswith("0")] == ["switch"]


def wrong_command_lines_are_refused():
    for words, said in ((["--packages", "x"], "--image only"), (["--image", "desktop"], "desktop"),
                        (["--image", "--arm64"], "own processor")):
        done = subprocess.run([ROOT / "scripts/package", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and said in done.stderr, done
    done = subprocess.run([sys.executable, ROOT / "scripts/packaging/oci.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr, done


TESTS = (
    the_same_files_give_the_same_bytes, a_layer_has_no_file_of_a_container_and_no_late_time,
    digests_of_a_configuration_are_those_of_its_layers, an_unpacked_image_is_the_tree_of_its_last_layer,
    docker_finds_every_blob_that_its_list_names, a_layer_that_leads_out_of_the_image_is_refused,
    a_layer_removes_nothing_outside_of_the_image, a_layer_changes_no_rights_outside_of_the_image,
    the_root_and_links_of_a_layer_are_checked, what_is_not_an_image_is_named,
    a_folder_that_is_gone_is_one_whiteout, a_tag_is_one_for_every_version, passwords_have_no_date_of_their_own,
    packages_of_one_version_are_needed, settings_say_who_and_how, wrong_command_lines_are_refused,
)

if __name__ == "__main__":
    report = Cases("unit/images")
    for test in TESTS:
        with report.case("images", test.__name__):
            test()
    sys.exit(report.finish())
