"""docs/guide/first-steps.md works: its shell blocks run unchanged."""

import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "first-steps.md"


def test_every_block_of_the_page_works(lab):
    for binary in (lab.binaries.switch, lab.binaries.host, lab.binaries.ctl):
        lab.need(binary)
    # All except those with a mark that excludes them (tests/docs/pages.py).
    blocks = re.findall(r"(?<!-->\n)^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 6, "the page has lost its blocks"
    (lab.place / "build").symlink_to(lab.binaries.switch.parents[1])
    script = lab.file("steps.sh", "set -eu\n" + "\n".join(blocks))
    done = subprocess.run(
        ["bash", "-x", str(script)], cwd=lab.place, capture_output=True, text=True, timeout=200,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"rank 0 of 3 on tree 7: 1000 reductions, 0 wrong", done.stdout), done.stdout
    assert "ready" in done.stdout
