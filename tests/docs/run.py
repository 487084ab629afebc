"""The tier `docs`: what the documentation says is so. Its commands run and print what is shown of them, its links lead
somewhere, its options exist.

    run.py --build BUILD-FOLDER PROGRAM...

pages.py says how a page marks what cannot run as it stands. Commands run in a private world of namespaces, with
folders of their own in the place of /etc, /var and /run; each page has an empty folder, where `scripts`, `bench`,
`docs` and `build` are as in the sources. Where TRIBUTARY_DOCS is "night", blocks marked so run, too, and no others.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "scripts")]

import options as option_names  # noqa: E402
import pages as documentation  # noqa: E402
import shown  # noqa: E402
from fabric import DocumentedFabric  # noqa: E402
from tributary import isolation  # noqa: E402
from tributary.cases import Cases, Failed, Skip, wanted  # noqa: E402
from tributary.switch import Binaries  # noqa: E402

AT_NIGHT = os.environ.get("TRIBUTARY_DOCS") == "night"
PAGE_SECONDS = 600 if AT_NIGHT else 60
WORLD = ("etc", "var")


def marks_are_right(pages):
    wrong = [text for page in pages for text in page.wrong]
    blocks = [block for page in pages for block in page.blocks]
    wrong += [f"{block.place}: a mark before a block of {block.language or 'no language'}, which never runs"
              for block in blocks if block.mark and block.language not in documentation.LANGUAGES]
    if wrong:
        raise Failed("\n".join(wrong))
    assert sum(block.language in documentation.LANGUAGES for block in blocks) > 50, "blocks have lost their languages"


def commands_stand_in_blocks_that_run(pages):
    found = [text for page in pages for text in page.unlabelled()]
    if found:
        raise Failed("\n".join([*found, "commands stand in a block ```sh or ```console, see tests/docs/pages.py"]))


def drawn_trees_add_up(pages):
    wrong, seen = [], 0
    for page in pages:
        for block in page.blocks:
            lines = block.text.split("\n")
            seen += any("waits for" in line and "─ " in line for line in lines)
            if line := shown.waits_wrongly(lines):
                wrong.append(f"{block.place}: '{line.strip()}' does not fit the hosts that are drawn below it")
    if wrong:
        raise Failed("\n".join(wrong))
    assert seen >= 2, f"only {seen} trees were found"


def links_lead_somewhere(pages):
    anchors = {page.path: page.anchors() for page in pages}
    wrong, seen = [], 0
    for page in pages:
        for number, link in page.links():
            seen += 1
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            file, _, anchor = link.partition("#")
            target = (page.path.parent / file).resolve() if file else page.path
            if not target.exists():
                wrong.append(f"{page.name}:{number}: no {file}")
            elif anchor and target.suffix == ".md" and anchor not in anchors.get(target, set()):
                wrong.append(f"{page.name}:{number}: {file or 'this page'} has no heading #{anchor}")
    if wrong:
        raise Failed("\n".join(wrong))
    assert seen > 200, f"only {seen} links were found"


def every_page_is_reached(pages):
    """From the index, in any number of steps."""
    by_path = {page.path: page for page in pages}
    todo, reached = [ROOT / "README.md"], set()
    while todo:
        path = todo.pop()
        if path in reached or path not in by_path:
            continue
        reached.add(path)
        todo += [(path.parent / link.split("#")[0]).resolve() for _, link in by_path[path].links()
                 if not link.startswith("http")]
    lost = [page.name for page in pages if page.path not in reached and page.path.parent != ROOT]
    assert not lost, f"no page leads to {lost}"


def decisions_are_indexed(pages):
    """Each page has a status line, no date in its name, and a place in the index."""
    decisions = [page for page in pages if page.path.parent.name == "decisions"]
    index = next(page for page in decisions if page.path.name == "README.md")
    listed = {link.split("#")[0] for _, link in index.links()}
    wrong = []
    for page in decisions:
        name, lines = page.path.name, page.path.read_text(encoding="utf-8").split("\n")
        if page is index:
            continue
        if name not in listed:
            wrong.append(f"{page.name}: not in {index.name}")
        if not lines[2].startswith("Status: "):
            wrong.append(f"{page.name}:3: does not begin with \"Status: \"")
        if any(letter.isdigit() for letter in name):
            wrong.append(f"{page.name}: name the page after its topic, without a date")
    assert not wrong, "\n".join(wrong)
    assert len(decisions) > 20, f"only {len(decisions)} decisions were found"


def options_exist(pages, programs):
    known = option_names.Options(programs)
    wrong, seen = [], 0
    for page in pages:
        if page.path.name == "changelog.md":
            continue  # it describes the past
        for number, text in page.code():
            seen += "--" in text
            wrong += [f"{page.name}:{number}: {what}" for what in known.unknown(text)]
            if not known.alone(text):
                wrong.append(f"{page.name}:{number}: nothing has {text}")
    if wrong:
        raise Failed("\n".join(wrong))
    assert seen > 100, f"only {seen} options were found"


def runs_now(block):
    if block.language not in documentation.LANGUAGES or block.mark in ("not run", "in a machine"):
        return False
    return (block.mark == "at night") == AT_NIGHT


class World:
    """The folder in which the commands of a page run."""

    def __init__(self, build, programs):
        self.build = build
        self.path = ":".join(dict.fromkeys(str(path.parent) for path in programs.values()))

    def run(self, blocks, name):
        place = Path(tempfile.mkdtemp(prefix=f"docs-{name.replace('/', '-')}-", dir="/run"))
        for shared in ("scripts", "bench", "tests", "docs", "endpoint", ".ci"):
            (place / shared).symlink_to(ROOT / shared)
        (place / "build").symlink_to(self.build)
        script = [f"PATH={self.path}:$PATH", "shopt -s expand_aliases"]
        outputs = []
        for block in blocks:
            script.append(f"echo {block.place} > {place}.at")
            for command, lines in block.steps:
                if any(line.strip() for line in lines):
                    outputs.append((block, command, lines, Path(f"{place}.out{len(outputs)}")))
                    command = f"{{ {command}\n}} > {outputs[-1][3]} 2>&1"
                script.append(command)
        file = place.with_suffix(".sh")
        file.write_text("\n".join(["set -euo pipefail", *script, ""]), encoding="utf-8")
        try:
            done = subprocess.run(["bash", str(file)], cwd=place, capture_output=True, text=True, check=False,
                                  timeout=PAGE_SECONDS, stdin=subprocess.DEVNULL)
            said, code = done.stdout + done.stderr, f"ended with {done.returncode}"
        except subprocess.TimeoutExpired as late:
            done, code = None, f"does not end within {PAGE_SECONDS} s"
            said = "".join(part.decode(errors="replace") for part in (late.stdout, late.stderr) if part)
        if done is None or done.returncode != 0:
            at = Path(f"{place}.at").read_text(encoding="utf-8").strip()
            said += "".join(file.read_text(errors="replace") for *_, file in outputs[-1:] if file.exists())
            raise Failed(f"{at}: {code}\n{said[-2000:]}")
        self.compare(outputs)

    @staticmethod
    def compare(outputs):
        """Raises Failed where a command does not print what its page shows."""
        wrong = []
        for block, command, lines, file in outputs:
            printed = file.read_text(errors="replace").splitlines()
            wanted = lines
            if block.example:
                wanted = shown.headings(lines) if shown.headings(printed) else []
            line = shown.missing(wanted, printed)
            if line is not None:
                wrong.append(f"{block.place}: '{command.splitlines()[-1]}' does not print '{line.strip()}' where the page shows "
                             f"it. It prints:\n" + "\n".join(printed[-40:]))
        if wrong:
            raise Failed("\n".join(wrong))


def own_folders():
    """/etc and /var are writable, and nothing written there is kept."""
    for name in WORLD:
        for part in ("upper", "work"):
            Path(f"/run/world/{name}/{part}").mkdir(parents=True)
        folders = f"lowerdir=/{name},upperdir=/run/world/{name}/upper,workdir=/run/world/{name}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", folders, f"/{name}"], check=True, capture_output=True)
    Path("/etc/tributary").mkdir(exist_ok=True)
    Path("/var/lib/tributary").mkdir(parents=True, exist_ok=True)
    Path("/run/tributary").mkdir()


def run_pages(report, pages, world, build):
    alone, with_fabric = {}, {}
    for page in pages:
        blocks = [block for block in page.blocks if runs_now(block)]
        if any(block.mark == "needs a fabric" for block in blocks):
            with_fabric[page] = blocks
        elif blocks:
            alone[page] = blocks

    def one(item):
        page, blocks = item
        name = page.name.removesuffix(".md").replace("/", "_").replace("-", "_").lower()
        if wanted(f"docs.{name}_runs"):
            with report.case("docs", f"{name}_runs"):
                world.run(blocks, page.name)

    with ThreadPoolExecutor(max(1, os.cpu_count() or 1)) as pool:
        list(pool.map(one, alone.items()))
    if not with_fabric:
        return
    fabric = DocumentedFabric(Binaries(build), Path("/run/tributary"))
    try:
        for item in with_fabric.items():
            one(item)
    finally:
        fabric.stop()


def inside(build, programs):
    isolation.prepare()
    own_folders()
    report = Cases("docs", side_by_side=True)
    pages = documentation.all_pages()
    checks = {
        "marks_are_right": lambda: marks_are_right(pages),
        "commands_stand_in_blocks_that_run": lambda: commands_stand_in_blocks_that_run(pages),
        "drawn_trees_add_up": lambda: drawn_trees_add_up(pages),
        "links_lead_somewhere": lambda: links_lead_somewhere(pages),
        "every_page_is_reached": lambda: every_page_is_reached(pages),
        "decisions_are_indexed": lambda: decisions_are_indexed(pages),
        "options_exist": lambda: options_exist(pages, programs),
    }

    def look():
        for name, check in ({} if AT_NIGHT else checks).items():
            if wanted(f"docs.{name}"):
                with report.case("docs", name):
                    check()

    with ThreadPoolExecutor(1) as beside:
        looked = beside.submit(look)
        run_pages(report, pages, World(build, programs), build)
        looked.result()
    return report.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("programs", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.inside:
        build = chosen.build.resolve()  # to which the build's program names are relative
        return inside(build, {path.name: build / path for path in chosen.programs})
    try:
        isolation.check()
    except isolation.NotPossible as reason:
        report = Cases("docs")
        with report.case("docs", "can_run_here"):
            raise Skip(str(reason))
        return report.finish()
    started = time.monotonic()
    code = subprocess.run(isolation.command([sys.executable, *sys.argv, "--inside"]), check=False).returncode
    print(f"docs: {time.monotonic() - started:.0f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
