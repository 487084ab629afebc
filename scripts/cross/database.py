"""The dpkg database of the root of arm64 packages, which dpkg did not create. Packaging of a cross
build looks up in it which package a library belongs to, and since which version."""

import re
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path("var/lib/dpkg")
ARCHITECTURE = "arm64"
MERGED = re.compile(r"^/(bin|lib|sbin)(?=/|$)")  # links into /usr
USR = r"/usr/\1"


def field(control, name):
    found = re.search(rf"^{name}: *(.*)$", control, re.MULTILINE)
    return found[1] if found else ""


def record(root, archive, names):
    """Notes a package that was unpacked into `root`; `names`: its files as tar lists them."""
    info = root / FOLDER / "info"
    if not info.exists():
        info.mkdir(parents=True)
        (info / "format").write_text("1\n", encoding="utf-8")
        native = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout
        (root / FOLDER / "arch").write_text(f"{native}{ARCHITECTURE}\n", encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="tributary-control-") as place:
        subprocess.run(["dpkg-deb", "--control", archive, place], check=True)
        control = (Path(place) / "control").read_text(encoding="utf-8")
        package = field(control, "Package")
        if field(control, "Multi-Arch") == "same":
            package += f":{ARCHITECTURE}"
        for kind in ("symbols", "shlibs"):
            if (given := Path(place) / kind).exists():
                (info / f"{package}.{kind}").write_bytes(given.read_bytes())
    with (root / FOLDER / "status").open("a", encoding="utf-8") as status:
        status.write(control.rstrip("\n").replace("\n", "\nStatus: install ok installed\n", 1) + "\n\n")
    listed = "".join(f"{name.removeprefix('.').rstrip('/') or '/.'}\n" for name in names.splitlines())
    (info / f"{package}.list").write_text(listed, encoding="utf-8")


def of_this_machine(root, to):
    """A copy that names files by their paths on this machine, below `root`, as dpkg-shlibdeps needs
    them."""
    source = root / FOLDER
    for folder in ("info", "updates"):
        (to / folder).mkdir(parents=True)
    for path in (*source.glob("*"), *source.glob("info/*")):
        if path.suffix == ".list":
            names = path.read_text(encoding="utf-8").splitlines()
            places = "".join(f"{root}{MERGED.sub(USR, name)}\n" for name in names)
            (to / "info" / path.name).write_text(places, encoding="utf-8")
        elif path.is_file():
            (to / path.relative_to(source)).write_bytes(path.read_bytes())
    return to
