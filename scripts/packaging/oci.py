"""Container images as the image specification of the Open Container Initiative (1.1) has them, without another tool.

    scripts/packaging/oci.py IMAGE FOLDER     unpacks an image, a folder or a tar, as any user

A *layout* is a folder with oci-layout, index.json and blobs/sha256: what podman, skopeo, Apptainer and containerd read.
An *archive* is a tar of one image's layout, with the list that `docker load` reads, too. The same files give the same
bytes: names are sorted, times are at most the given one, and no user names, inodes or device numbers are in a layer.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
REFERENCE = "org.opencontainers.image.ref.name"
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
# A container's own; files in them are not part of an image.
OF_THE_CONTAINER = ("dev", "proc", "run", "sys", "tmp")
CAPABILITIES = "security.capability"


class OciError(Exception):
    """The text describes the error and the remedy."""


@dataclass(frozen=True)
class Entry:
    """A file, folder or link of a tree. `content`: the SHA-256 of a file, the target of a link."""

    kind: str
    mode: int
    uid: int
    gid: int
    content: str = ""


@dataclass(frozen=True)
class Layer:
    """A blob of a layout. `size`: bytes of the blob; `unpacked`: bytes of its files; `diff_id`: the
    digest of the tar that is compressed in it."""

    digest: str
    size: int
    diff_id: str
    unpacked: int


def digest_of(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def blob(digest):
    return f"blobs/{digest.replace(':', '/')}"


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def time_text(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def tag_of(version):
    """A version as a tag may be: 0.1.0~deb12 is 0.1.0-deb12."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", version)[:128]


# Trees and layers


def content_of(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def entry_of(path):
    """Raises OciError for what a layer cannot have."""
    status = path.lstat()
    facts = stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", *facts, os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", *facts)
    if not stat.S_ISREG(status.st_mode):
        raise OciError(f"{path} is neither a file, nor a folder or a link; remove it")
    if CAPABILITIES in os.listxattr(path):
        raise OciError(f"{path} has capabilities, which are lost in an image; remove them with setcap -r")
    return Entry("file", *facts, content_of(path))


def tree(root, kept=()):
    """{name relative to `root`: Entry}; of folders that a container brings itself only themselves, and `kept`."""
    found = {}
    for folder, folders, names in os.walk(root):
        at = os.path.relpath(folder, root)
        for name in [*folders, *names]:
            path = os.path.normpath(f"{at}/{name}")
            top, _, below = path.partition("/")
            if not below or top not in OF_THE_CONTAINER or path in kept:
                found[path] = entry_of(root / path)
    return found


def difference(before, after):
    """(names that are new or changed, names that are gone, without what is below one that is gone)"""
    changed = sorted(name for name, entry in after.items() if before.get(name) != entry)
    gone = sorted(name for name in before if name not in after
                  and ((parent := name.rpartition("/")[0]) == "" or parent in after))
    return changed, gone


class _Counted:
    """A file that is written to, with its size and digest."""

    def __init__(self, to):
        self.to, self.size, self.sha = to, 0, hashlib.sha256()

    def write(self, data):
        self.sha.update(data)
        self.size += len(data)
        return self.to.write(data)

    def tell(self):
        return self.size

    def flush(self):
        self.to.flush()

    @property
    def digest(self):
        return f"sha256:{self.sha.hexdigest()}"


def _plain(info, when):
    """Without what depends on the machine and the hour."""
    info.uname = info.gname = ""
    info.mtime = min(int(info.mtime), when)
    info.devmajor = info.devminor = 0
    return info


def _whiteout(name, when):
    folder, _, last = name.rpartition("/")
    info = tarfile.TarInfo(f"{folder}/{WHITEOUT}{last}" if folder else f"{WHITEOUT}{last}")
    info.mtime, info.mode = when, 0o644
    return info


def write_layer(layout, root, names, gone, when):
    """Adds a layer with these names of `root` to the layout; `when`: the latest time of a file, in seconds."""
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    made = blobs / "new-layer"
    unpacked = 0
    with made.open("wb") as file:
        outer = _Counted(file)
        with gzip.GzipFile(filename="", mode="wb", fileobj=outer, mtime=0) as packed:
            inner = _Counted(packed)
            with tarfile.open(fileobj=inner, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in sorted([*names, *gone]):
                    if name in gone:
                        tar.addfile(_whiteout(name, when))
                        continue
                    info = _plain(tar.gettarinfo(root / name, name), when)
                    if info.isreg():
                        unpacked += info.size
                        with (root / name).open("rb") as content:
                            tar.addfile(info, content)
                    else:
                        tar.addfile(info)
    made.rename(layout / blob(outer.digest))
    return Layer(outer.digest, outer.size, inner.digest, unpacked)


# Images


def write_blob(layout, data):
    path = layout / blob(digest_of(data))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest_of(data)


def descriptor(media, data, **more):
    return {"mediaType": media, "digest": digest_of(data), "size": len(data), **more}


def write_image(layout, reference, settings, layers, when, architecture):
    """Adds an image and returns its descriptor in an index. `settings`: the specification's "config": User, Entrypoint,
    Labels ...; `layers`: [(Layer, a word on what it has)]; `architecture`: as Go names it (amd64)."""
    created = time_text(when)
    configuration = as_json({
        "architecture": architecture, "os": "linux", "created": created, "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer, _ in layers]},
        "history": [{"created": created, "created_by": text} for _, text in layers],
    })
    manifest = as_json({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor(CONFIGURATION, configuration),
        "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer, _ in layers],
        "annotations": settings.get("Labels", {}),
    })
    write_blob(layout, configuration)
    write_blob(layout, manifest)
    return descriptor(MANIFEST, manifest, platform={"architecture": architecture, "os": "linux"},
                      annotations={REFERENCE: reference})


def index_of(descriptors):
    return as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors})


def write_index(layout, descriptors):
    """Completes a layout: its images are these."""
    (layout / "oci-layout").write_bytes(as_json({"imageLayoutVersion": "1.0.0"}))
    (layout / "index.json").write_bytes(index_of(descriptors))


def write_archive(layout, image, to, when):
    """A tar of one image of the layout, which podman, Apptainer and Docker read."""
    manifest = json.loads((layout / blob(image["digest"])).read_bytes())
    parts = [manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])]
    for_docker = [{"Config": blob(parts[0]), "RepoTags": [image["annotations"][REFERENCE]],
                   "Layers": [blob(digest) for digest in parts[1:]]}]
    files = {"index.json": index_of([image]), "manifest.json": as_json(for_docker),
             "oci-layout": (layout / "oci-layout").read_bytes(),
             **{blob(digest): layout / blob(digest) for digest in (image["digest"], *parts)}}
    with tarfile.open(to, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = when, 0o644
            if isinstance(content, Path):
                info.size = content.stat().st_size
                with content.open("rb") as file:
                    tar.addfile(info, file)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))


# Reading


class Image:
    """An image in a layout or an archive: `reference` names it where there are several."""

    def __init__(self, source, reference=None):
        self.source = Path(source)
        self.tar = None if self.source.is_dir() else self._opened()
        images = json.loads(self.read("index.json"))["manifests"]
        names = [each.get("annotations", {}).get(REFERENCE, "") for each in images]
        if reference is None and len(images) != 1:
            raise OciError(f"{source} has {len(images)} images; name one of: {', '.join(names)}")
        if reference is not None and reference not in names:
            raise OciError(f"{source} has no image {reference}; it has: {', '.join(names)}")
        self.descriptor = images[0 if reference is None else names.index(reference)]
        self.manifest = json.loads(self.verified(self.descriptor))
        self.configuration = json.loads(self.verified(self.manifest["config"]))

    def _opened(self):
        try:
            return tarfile.open(self.source)
        except (OSError, tarfile.TarError) as error:
            raise OciError(f"{self.source} is neither a layout nor an archive of an image: {error}") from None

    def open(self, name):
        try:
            return self.tar.extractfile(name) if self.tar else (self.source / name).open("rb")
        except (OSError, KeyError) as error:
            raise OciError(f"{self.source} is not an image: it lacks {name} ({error})") from None

    def read(self, name):
        with self.open(name) as file:
            return file.read()

    def verified(self, part):
        data = self.read(blob(part["digest"]))
        if digest_of(data) != part["digest"]:
            raise OciError(f"{self.source}: {blob(part['digest'])} is damaged; get the image again")
        return data

    def unpack(self, folder):
        """Into a folder that is new or empty, with the rights of who does it: no owners, no set-user-ID bits."""
        folder = Path(folder)
        if folder.exists() and any(folder.iterdir()):
            raise OciError(f"{folder} is not empty; name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        modes = {}
        for layer in self.manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(self.verified(layer)), mode="r:gz") as tar:
                for member in tar:
                    _unpack_member(tar, member, folder, modes)
        # Last, so that a folder without the right to write does not refuse what is in it. A later layer may have
        # put a link in the place of a folder, or of one above it.
        inside = folder.resolve()
        for path, mode in sorted(modes.items(), reverse=True):
            if path.is_dir() and path.resolve().is_relative_to(inside):
                path.chmod(mode)


def _within(folder, name):
    """The path of a member's name; its parents are there and lie in the folder."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts:
        raise OciError(f"a layer names {name}, which is outside of the image")
    path = folder / pure
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise OciError(f"a layer names {name}, which leads out of the image through a link")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unpack_member(tar, member, folder, modes):
    if not PurePosixPath(member.name).parts:
        return  # the root itself, which is there
    path = _within(folder, member.name)
    if path.name == OPAQUE:
        for each in list(path.parent.iterdir()):
            _remove(each)
    elif path.name.startswith(WHITEOUT):
        removed = path.name.removeprefix(WHITEOUT)
        if removed in ("", ".", ".."):
            raise OciError(f"a layer has {member.name}, which removes no name of its folder")
        _remove(path.parent / removed)
    elif member.isdir():
        if path.is_symlink() or not path.is_dir():
            _remove(path)
            path.mkdir()
        modes[path] = (member.mode & 0o777) | 0o700
    elif member.issym():
        _remove(path)
        path.symlink_to(member.linkname)
    elif member.islnk():
        linked = _within(folder, member.linkname)
        if linked == path or not os.path.lexists(linked) or (linked.is_dir() and not linked.is_symlink()):
            raise OciError(f"a layer has {member.name}, a link to {member.linkname}, but no such file came before it")
        _remove(path)
        os.link(linked, path, follow_symlinks=False)
    elif member.isreg():
        _remove(path)
        with path.open("wb") as file:
            shutil.copyfileobj(tar.extractfile(member), file)
        path.chmod((member.mode & 0o777) | 0o400)
    else:
        raise OciError(f"a layer has {member.name}, which is neither a file, nor a folder or a link")


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1].startswith("-"):
        print("usage: oci.py IMAGE FOLDER [REFERENCE]\nIMAGE is a folder or tar that scripts/package --image makes, FOLDER is "
              "made and gets its files;\nREFERENCE names the image where IMAGE has several.", file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    try:
        Image(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else None).unpack(sys.argv[2])
    except OciError as problem:
        print(f"oci.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
