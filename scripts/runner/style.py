"""The tier `style`: checks the formatting, that rooms use only what they may, and that every script
at least parses."""

import ast
import fnmatch
import re
import subprocess
import sys
import time
from pathlib import Path

import layering
import words
from outcome import FAILED, PASSED, SKIPPED


class NothingToCheck(Exception):
    pass


def project_files(root):
    """What git tracks or would track; without git, everything outside build directories."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=False,
    )
    if listed.returncode == 0:
        files = [root / name for name in listed.stdout.splitlines()]
    else:
        made = {p.name for p in root.iterdir() if p.name.startswith("build") or (p / "meson-private").is_dir()}
        files = [p for p in root.rglob("*") if p.relative_to(root).parts[0] not in made]
    return sorted(path for path in files if path.is_file())


FORMATTER = "clang-format version 14"


def check_format(files):
    sources = [str(path) for path in files if path.suffix in (".hpp", ".cpp", ".h", ".c")]
    if not sources:
        raise NothingToCheck("no C or C++ file")
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=False).stdout
    if FORMATTER not in version:
        raise NothingToCheck(f"{FORMATTER}, Debian 12's, decides about the format, and another one wants other lines")
    checked = subprocess.run(
        ["clang-format", "--dry-run", "--Werror", *sources],
        capture_output=True, text=True, check=False,
    )
    if not checked.returncode:
        return ""
    places = re.findall(r"^(.+?):(\d+):\d+: error", checked.stderr, re.MULTILINE)
    firsts = dict(reversed(places))
    listed = [f"{name}:{line}" for name, line in sorted(firsts.items())]
    return "\n".join([*listed, "to repair: clang-format -i FILE, or ninja -C build clang-format"])


LONGEST_LINE = 100


def check_comment_width(files):
    """clang-format leaves comments alone, so that tables and code in them keep their shape."""
    too_long = [
        f"{path}:{number}"
        for path in files
        if path.suffix in (".hpp", ".cpp", ".h", ".c")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST_LINE and line.lstrip().startswith(("//", "*", "/*"))
    ]
    return "\n".join([*too_long, f"comments have lines of {LONGEST_LINE} characters at most"]) if too_long else ""


def first_line(path):
    with path.open("rb") as text:
        return text.readline().decode(errors="replace")


ROOT = Path(__file__).resolve().parents[2]


def check_layering(files):
    return "\n".join(layering.problems(ROOT, [path.relative_to(ROOT).as_posix() for path in files]))


def check_words(files):
    return "\n".join(words.problems(ROOT, [path.relative_to(ROOT).as_posix() for path in files]))


def check_python(files):
    problems = []
    for path in files:
        if path.suffix == ".py" or "python3" in first_line(path) and not path.suffix:
            try:
                ast.parse(path.read_text(encoding="utf-8"), str(path))
            except SyntaxError as error:
                problems.append(str(error))
    return "\n".join(problems)


def check_shell(files):
    problems = []
    for path in files:
        interpreter = first_line(path).split("/")[-1].strip()
        if not path.suffix and interpreter in ("sh", "bash", "env bash", "env sh"):
            parsed = subprocess.run(
                [interpreter.split()[-1], "-n", str(path)], capture_output=True, text=True, check=False
            )
            problems.append(parsed.stderr)
    return "".join(problems)


def check_planted_faults(_files):
    """A changed line whose mutation no longer matches is found now, and not by the nightly run."""
    tests = Path(__file__).resolve().parents[2] / "tests" / "mutation"
    checked = subprocess.run([sys.executable, str(tests), "--check"], capture_output=True, text=True, check=False)
    return checked.stderr or checked.stdout if checked.returncode else ""


CHECKS = {
    "clang_format_agrees": check_format,
    "comments_fit_the_line": check_comment_width,
    "rooms_use_what_the_table_allows": check_layering,
    "planted_faults_apply": check_planted_faults,
    "python_files_parse": check_python,
    "shell_scripts_parse": check_shell,
    "words_are_the_fields": check_words,
}


def run(campaign):
    files = project_files(campaign.build.root)
    begun = time.monotonic()
    cases = []
    for name, check in CHECKS.items():
        if campaign.pattern and not fnmatch.fnmatchcase(name, campaign.pattern):
            continue
        started = time.monotonic()
        try:
            problems = check(files)
            result, reason = (FAILED if problems else PASSED), problems
        except FileNotFoundError as error:
            result, reason = SKIPPED, f"{error.filename} is not installed; scripts/setup installs it"
        except NothingToCheck as nothing:
            result, reason = SKIPPED, str(nothing)
        seconds = time.monotonic() - started
        cases.append(campaign.case("style", "style", name, result, reason, seconds))
    campaign.add("style", cases, time.monotonic() - begun)
