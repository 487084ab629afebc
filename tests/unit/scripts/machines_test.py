"""The messages of the tier `machines` on a machine that cannot run a guest, and which kinds of NICs
it takes."""

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/machines"), str(ROOT / "tests/docs"), str(ROOT / "scripts"), str(ROOT / "scripts/runner")]

import guest  # noqa: E402
import pages  # noqa: E402
import run as tier  # noqa: E402
from cases import cases_of  # noqa: E402
from guest import CannotRun, Guest, Kernel  # noqa: E402
from kinds import KINDS, Nics  # noqa: E402
from machine import GUIDE  # noqa: E402
from tributary.cases import Cases, wanted  # noqa: E402


def refused(function, *arguments, error=CannotRun):
    try:
        function(*arguments)
    except error as reason:
        return str(reason)
    raise AssertionError(f"{function.__name__} did not refuse")


def test_a_program_that_is_missing_is_named_with_its_package_and_what_to_do():
    path, os.environ["PATH"] = os.environ["PATH"], "/nowhere"
    try:
        said = refused(guest.check)
    finally:
        os.environ["PATH"] = path
    assert ("qemu-system-x86" in said and "scripts/setup --machines" in said) or "x86-64" in said, said


def test_without_a_kernel_it_says_how_to_get_one():
    with tempfile.TemporaryDirectory() as place:
        assert "scripts/setup --machines" in refused(Kernel.unpacked, Path(place))


class NoKernel:
    folder, image = Path("/nowhere"), "/nowhere/vmlinuz"

    def write_initrd(self, path):
        path.write_bytes(b"")


def boot(program):
    """A guest whose QEMU is a program of the shell."""
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        (place / "qemu").write_text(f"#!/bin/sh\n{program}\n")
        (place / "qemu").chmod(0o755)
        (place / "guest").mkdir()
        (place / "sockets").mkdir()
        guest.QEMU, guest.SOCKETS, guest.BOOT_SECONDS = str(place / "qemu"), place / "sockets", 0.5
        said = refused(Guest, NoKernel(), "/build", place / "guest", [], 10)
        started = place / "pid"
        return said, int(started.read_text()) if started.exists() else None


def test_a_qemu_that_ends_at_once_is_said_with_its_words():
    said, _ = boot("echo 'no such device: igb' >&2; exit 1")
    assert "exit code 1" in said and "no such device: igb" in said, said


def test_a_guest_that_does_not_boot_is_ended_and_its_console_named():
    said, process = boot('echo $$ > "$(dirname "$0")/pid"; exec sleep 60')
    assert "console.log" in said and "boots" in said, said
    assert process and not Path(f"/proc/{process}").exists()


def test_kinds_are_those_that_are_named_or_all_that_the_release_has():
    assert [kind.name for kind in tier.kinds_of("vmxnet3,virtio_2", "debian12")] == ["vmxnet3", "virtio_2"]
    assert {kind.name for kind in tier.kinds_of("", "debian13")} - {kind.name for kind in tier.kinds_of("", "debian12")} == {"igb"}
    assert "virtio_1" in refused(tier.kinds_of, "e1000", "debian12", error=ValueError)


def test_a_kind_has_the_cases_that_apply_to_it():
    names = {kind: [case.__name__ for case in cases_of(KINDS[kind], "debian12")] for kind in ("e1000e", "virtio_2")}
    assert "two_workers" in names["e1000e"] and "af_xdp_where_the_mtu_is_too_long_for_the_driver" not in names["e1000e"]
    assert len(names["virtio_2"]) > len(names["e1000e"]) - 2
    by_hash = [case.__name__ for case in cases_of(KINDS["virtio_hash_4"], "debian12")]
    assert "the_hash_brings_each_tree_to_its_worker" in by_hash and "two_workers" not in by_hash
    assert "the_hash_brings_each_tree_to_its_worker" not in names["virtio_2"]


def test_each_nic_is_behind_a_slot_of_its_own_with_its_queues():
    options = Nics(KINDS["virtio_2"]).devices()
    devices = [word for word in options if word.startswith("driver=virtio-net-pci,")]
    assert len(devices) == 5 and len({re.search("bus=(slot[0-9])", each)[1] for each in devices}) == 5, devices
    assert sum("mq=on,vectors=6" in each for each in devices) == 4, devices
    by_hash = Nics(KINDS["virtio_hash_4"]).devices()
    assert sum("rss=on,mq=on,vectors=10" in word for word in by_hash) == 4, by_hash
    assert sum("queues=4" in word for word in by_hash) == 4, by_hash


def test_each_block_of_the_pages_that_is_marked_for_a_guest_is_run_by_a_case():
    marked = [block for page in pages.all_pages() for block in page.blocks if block.mark == "in a machine"]
    assert len(marked) > 4 and {block.page for block in marked} == {GUIDE}, marked
    sources = "".join((ROOT / "tests/machines" / name).read_text() for name in ("cases.py", "machine.py"))
    beginnings = re.findall(r'\.guide\("([^"]+)"\)', sources)
    for block in marked:
        asked = [each for each in beginnings if block.text.startswith(each)]
        assert asked, f"{block.place} is run by no case of tests/machines"


def main():
    tests = [(name, function) for name, function in globals().items() if name.startswith("test_")]
    report = Cases("unit/machines")
    for name, function in tests:
        if wanted(f"Machines.{name.removeprefix('test_')}"):
            with report.case("Machines", name.removeprefix("test_")):
                function()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
