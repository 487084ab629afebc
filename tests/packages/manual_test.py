"""Man pages and completions describe exactly what the programs take.

    manual_test.py BUILD-FOLDER PROGRAM...
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "scripts" / "manual")]

import command_line  # noqa: E402
from tributary.cases import Cases, Skip  # noqa: E402

MADE = Path(sys.argv[1]).resolve() / "scripts" / "manual"
PROGRAMS = {Path(path).name: MADE.parents[1] / path for path in sys.argv[2:]}
OPTION_IN_HELP = re.compile(r"^ {2,6}(-\S+)", re.MULTILINE)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)


def page_of(name, section=None):
    found = [path for path in sorted(MADE.glob(f"{name}.[158]")) if section is None or path.suffix == f".{section}"]
    assert len(found) == 1, f"{name} has {len(found)} man pages in {MADE}"
    return found[0]


def plain_text(page):
    """Without roff's escapes."""
    text = re.sub(r"\\f[BIR]|\\&", "", page.read_text(encoding="utf-8"))
    return text.replace("\\-", "-").replace("\\e", "\\")


def tops(name, program):
    """The command lines that a page is about; tributary-host has two."""
    return [(command_line.of(program), ())] + (
        [(command_line.of(program, "rdma"), ("rdma",))] if name == "tributary-host" else [])


def every_option_is_in_the_man_page(name, program):
    text = plain_text(page_of(name))
    seen = 0
    for top, _ in tops(name, program):
        for command in top.walk():
            assert command.path[-1] in text, f"{' '.join(command.path)} is missing"
            for option in command.options:
                lost = [word for word in [*option.names, *option.choices, *option.help.split()] if word not in text]
                assert not lost, f"{' '.join(command.path)} {option.names[0]}: the page lacks {lost}"
                seen += 1
    assert seen > 3, f"{program} describes {seen} options, which cannot be all"


def what_is_described_is_what_help_shows(name, program):
    for top, words in tops(name, program):
        for command in top.walk():
            path = [*words, *command.path[1:]]
            printed = run(program, *path, "--help")
            assert printed.returncode == 0, f"{' '.join(path)} --help: {printed.stderr}"
            until_examples = re.split(r"^\s*examples?:", printed.stdout, flags=re.MULTILINE | re.IGNORECASE)[0]
            shown = {one for names in OPTION_IN_HELP.findall(until_examples) for one in names.split(",")}
            described = {one for option in command.named for one in option.names}
            assert described, f"{' '.join(path)} describes nothing"
            assert described <= shown, f"{name} {' '.join(path)}: --help lacks {sorted(described - shown)}"
            assert shown - described <= {"--"}, f"{name} {' '.join(path)}: not described: {sorted(shown - described)}"


def unread_output_is_a_failure(name, program):
    services = name in ("tributary-switch", "tributary-fabricd", "tributary-hostd")
    for words in (["--help"], *([["--print-keys"], ["--print-config"]] if services else [])):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1, f"{name} {words[0]}: exit code {done.returncode}, {done.stderr}"
        assert re.search("(cannot|could not) (be written|write)", done.stderr), f"{name} {words[0]}: {done.stderr}"


def every_key_is_in_the_page_of_the_file(name, program):
    text = plain_text(page_of(f"{name}.toml"))
    keys = run(program, "--print-keys")
    assert keys.returncode == 0, keys.stderr
    rows = re.findall(r"^\| `([^`]+)` \|", keys.stdout, re.MULTILINE)
    assert len(rows) > 10, f"{len(rows)} keys cannot be all"
    for section in re.findall(r"^### `(.+)`", keys.stdout, re.MULTILINE):
        assert section in text, f"{section} is missing"
    for key in rows:
        assert f"\n{key} = " in text, f"{key} is missing"


def man_can_read(page):
    if shutil.which("man") is None:
        raise Skip("man is not installed; scripts/setup installs it")
    done = run("man", "--warnings=mac,char,escape,syntax", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page,
               env={"PATH": "/usr/bin:/bin", "MANROFFSEQ": "", "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    whatis = run("lexgrog", page)
    assert f"{page.name.rpartition('.')[0]} - " in whatis.stdout, whatis.stdout + whatis.stderr


def bash_offers(script, words):
    """The completions of <Tab> after these words."""
    listed = " ".join("'" + word + "'" for word in words)
    code = (f"source {script}; compopt() {{ :; }}; COMP_WORDS=({listed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1));"
            f" $(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/') && printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = run("bash", "--norc", "-c", code)
    assert done.returncode == 0 and not done.stderr, f"{words}: {done.stderr}"
    return set(done.stdout.split())


def bash_completes(name, program):
    script = MADE / f"{name}.bash"
    for command in command_line.of(program).walk():
        options = {one for option in command.named for one in option.names}
        assert bash_offers(script, [*command.path, "-"]) == options, command.path
        if command.commands:
            assert {sub.name for sub in command.commands} <= bash_offers(script, [*command.path, ""]), command.path
        for option in command.named:
            if option.choices:
                assert bash_offers(script, [*command.path, option.names[-1], ""]) == set(option.choices), option.names
                break


def zsh_parses(name, _):
    if shutil.which("zsh") is None:
        raise Skip("zsh is not installed; scripts/setup installs it")
    done = run("zsh", "-n", MADE / f"{name}.zsh")
    assert done.returncode == 0 and not done.stderr, done.stderr


def fish_completes(name, program):
    if shutil.which("fish") is None:
        raise Skip("fish is not installed; scripts/setup installs it")
    top = command_line.of(program)
    asked = [command for command in top.walk() if command.commands][-1:] + [top]
    code = f"source {MADE / (name + '.fish')}\n" + "\n".join(
        f"complete -C '{' '.join(command.path)} {what}'; echo ===" for command in asked for what in ("", "--"))
    with tempfile.TemporaryDirectory() as home:
        done = run("fish", "--no-config", "-c", code, cwd=home, env={"HOME": home, "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and not done.stderr, done.stderr
    answers = iter(done.stdout.split("===\n"))
    for command in asked:
        for expected in ({sub.name for sub in command.commands},
                         {one for option in command.named for one in option.names if one.startswith("--")}):
            offered = {line.split("\t")[0] for line in next(answers).splitlines()}
            assert expected <= offered, f"{command.path}: not offered: {sorted(expected - offered)}"


def every_help_fits_80_columns(name, program):
    for top, words in tops(name, program):
        for command in top.walk():
            path = [*words, *command.path[1:]]
            printed = run(program, *path, "--help", env={**os.environ, "COLUMNS": "80"}).stdout
            long = [line for line in printed.splitlines() if len(line) > 80]
            assert printed and not long, f"{name} {path}: {long}"


def exit_codes_are_in_the_man_page(name, _):
    assert re.search(r"^\.SH EXIT STATUS\n(.*\n)*?.*\b0\b", page_of(name).read_text(encoding="utf-8"), re.MULTILINE)


CHECKS = (every_option_is_in_the_man_page, what_is_described_is_what_help_shows,
          unread_output_is_a_failure, bash_completes, zsh_parses, fish_completes,
          every_help_fits_80_columns, exit_codes_are_in_the_man_page)


def main():
    report = Cases("manual")
    for name, program in PROGRAMS.items():
        for check in CHECKS:
            with report.case("manual", f"{name.replace('-', '_')}_{check.__name__}"):
                check(name, program)
        if (MADE / f"{name}.toml.5").exists():
            with report.case("manual", f"{name.replace('-', '_')}_{every_key_is_in_the_page_of_the_file.__name__}"):
                every_key_is_in_the_page_of_the_file(name, program)
    for page in sorted(MADE.glob("*.[158]")):
        with report.case("manual", f"man_can_read_{re.sub(r'[^a-z0-9]', '_', page.name)}"):
            man_can_read(page)
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
