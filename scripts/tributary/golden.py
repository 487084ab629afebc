"""The golden frames: those of docs/protocol, and those of hellos, which the tests of their codecs have.

Read from where people read them, so that there is one copy. Each is (name, bytes), with its Ethernet header."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ETHERNET = bytes.fromhex("02fe00012345" "020000012345" "88b5")


def _dump(block):
    out = b""
    for line in block.splitlines():
        text = line.partition(":")[2].strip()
        zeros = re.fullmatch(r"(\d+) zero bytes", text)
        out += bytes(int(zeros[1])) if zeros else bytes.fromhex(text)
    return out


def reductions():
    page = (ROOT / "docs/protocol/wire-format.md").read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^    \d\d: .*\n)+", page, re.M)
    names = ("wide contribution", "contribution", "pre-arm")
    assert len(blocks) == len(names), "the page has other golden frames than it had"
    return [(name, ETHERNET + _dump(block)) for name, block in zip(names, blocks, strict=True)]


def shared():
    page = (ROOT / "docs/protocol/shared-frames.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"(?:^    \d\d: .*\n)+", page, re.M)
    return [("shared frame", ETHERNET + _dump(block))]


def rdma():
    page = (ROOT / "docs/protocol/rdma.md").read_text(encoding="utf-8")
    found = re.findall(r"golden: (.*)\n\n((?:    \d+: .*\n)+)", page)
    assert len(found) >= 6, found
    return [(f"RDMA {name}", _dump(block)) for name, block in found]


def hellos():
    """Hellos of a switch and of a host, and a link hello."""
    frames = []
    for file, names in (("hello_test.cpp", ("switch hello", "host hello")), ("link_hello_test.cpp", ("link hello",))):
        text = (ROOT / "tests/unit/include/wire" / file).read_text(encoding="utf-8")
        blocks = re.findall(r'(?:"[0-9a-f]+"\s*){6,}', text)
        assert len(blocks) == len(names), file
        for name, block in zip(names, blocks, strict=True):
            frames.append((name, bytes.fromhex("".join(re.findall(r'"([0-9a-f]+)"', block)))))
    return frames


def every():
    return [*reductions(), *shared(), *rdma(), *hellos()]
